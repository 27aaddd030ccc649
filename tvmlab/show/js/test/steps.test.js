import assert from "node:assert/strict";
import { test } from "node:test";
import { neighbour, visibleSteps } from "../src/lib/steps.js";

const steps = [
  { name: "import", level: 0, changed: false },
  { name: "FuseOps", level: 1, changed: true },
  { name: "Idle", level: 1, changed: false },
  { name: "fuse", level: 0, changed: true },
];

test("unchanged passes are folded away, stages and the one looked at are not", () => {
  assert.deepEqual(visibleSteps(steps, "", false, 0), [0, 1, 3]);
  assert.deepEqual(visibleSteps(steps, "", false, 2), [0, 1, 2, 3]);
  assert.deepEqual(visibleSteps(steps, "", true, 0), [0, 1, 2, 3]);
});

test("search is by name, whatever the case", () => {
  assert.deepEqual(visibleSteps(steps, " FUSE ", false, 0), [1, 3]);
  assert.deepEqual(visibleSteps(steps, "nothing", true, 0), []);
});

test("a neighbour is found from a hidden place too, and none beyond the ends", () => {
  assert.equal(neighbour([0, 1, 3], 2, 1), 3);
  assert.equal(neighbour([0, 1, 3], 2, -1), 1);
  assert.equal(neighbour([0, 1, 3], 3, 1), null);
  assert.equal(neighbour([], 0, -1), null);
});
