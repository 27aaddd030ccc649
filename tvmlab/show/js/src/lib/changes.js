// From blocks of lines that differ to characters that differ.

import { Change, diff } from "@codemirror/merge";

/** Where each line begins, and one past the end. */
function starts(text) {
  const at = [0];
  for (let i = text.indexOf("\n"); i >= 0; i = text.indexOf("\n", i + 1)) at.push(i + 1);
  at.push(text.length + 1);
  return at;
}

/** Changes of characters from the changed blocks of lines `[before from, to, after from, to]`. */
export function changesOf(before, after, blocks) {
  const [a, b] = [starts(before), starts(after)];
  const changes = [];
  for (const [fromLineA, toLineA, fromLineB, toLineB] of blocks) {
    const beyond = a[fromLineA] > before.length || b[fromLineB] > after.length ? 1 : 0; // then the line break before differs
    const [fromA, fromB] = [a[fromLineA] - beyond, b[fromLineB] - beyond];
    const [toA, toB] = [Math.min(a[toLineA], before.length), Math.min(b[toLineB], after.length)];
    const inner = diff(before.slice(fromA, toA), after.slice(fromB, toB), { scanLimit: 500, timeout: 20 });
    for (const each of inner) {
      changes.push(new Change(fromA + each.fromA, fromA + each.toA, fromB + each.fromB, fromB + each.toB));
    }
  }
  return changes;
}
