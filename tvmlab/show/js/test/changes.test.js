import assert from "node:assert/strict";
import { test } from "node:test";
import { changesOf } from "../src/lib/changes.js";

function apply(before, after, changes) {
  let made = "";
  let at = 0;
  for (const { fromA, toA, fromB, toB } of changes) {
    made += before.slice(at, fromA) + after.slice(fromB, toB);
    at = toA;
  }
  return made + before.slice(at);
}

const cases = [
  ["a\nb\nc", "a\nx\nc", [[1, 2, 1, 2]]],
  ["a\nb", "a\nb\nc\nd", [[2, 2, 2, 4]]],
  ["a\nb\nc", "c", [[0, 2, 0, 0]]],
  ["", "a\nb", [[0, 0, 0, 2]]],
  ["a\nb", "", [[0, 2, 0, 0]]],
  ["k = f(x)\nb\nz", "k = g(x)\nb\nz\nw", [[0, 1, 0, 1], [3, 3, 3, 4]]],
];

for (const [before, after, blocks] of cases) {
  test(`${JSON.stringify(before)} becomes ${JSON.stringify(after)}`, () => {
    assert.equal(apply(before, after, changesOf(before, after, blocks)), after);
  });
}

test("outside of the blocks nothing has changed, though names have", () => {
  const changes = changesOf("lv = f(x)\ny = lv", "gv = f(x)\ny = gv", []);
  assert.deepEqual(changes, []);
});
