import assert from "node:assert/strict";
import { test } from "node:test";
import { boxAround, sinksAfter } from "../src/lib/groups.js";

const start = [[0], [1], [2], [3]];
const turns = [
  [0, 0, 2, [1], "MERGED"],
  [0, 1, 2, [], "PATH_KIND"],
  [1, 2, 3, [], "MERGED"],
];

test("groups grow by merges alone, inner nodes included", () => {
  assert.deepEqual([...sinksAfter(start, turns, 0)].sort(), [[0, 0], [1, 1], [2, 2], [3, 3]]);
  assert.deepEqual([...sinksAfter(start, turns, 2)].sort(), [[0, 2], [1, 2], [2, 2], [3, 3]]);
  assert.deepEqual([...sinksAfter(start, turns, 3)].sort(), [[0, 3], [1, 3], [2, 3], [3, 3]]);
});

test("what a template has put together is one group from the start", () => {
  assert.deepEqual([...sinksAfter([[0, 1], [2]], [], 0)].sort(), [[0, 1], [1, 1], [2, 2]]);
});

test("a box is around two tiles or more", () => {
  assert.equal(boxAround([{ x: 10, y: 10, width: 20 }]), null);
  assert.deepEqual(boxAround([{ x: 10, y: 20, width: 20 }, { x: 30, y: 60, width: 10 }]), {
    x: -7,
    y: 3,
    width: 49,
    height: 74,
  });
});
