// Two programs in CodeMirror, side by side or one in the other, with differences that Python has found.

import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView, Change, diff, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import "./merge.css";

const colours = HighlightStyle.define([
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.operatorKeyword, tags.bool, tags.null], color: "var(--code-keyword)" },
  { tag: [tags.function(tags.variableName), tags.function(tags.propertyName)], color: "var(--code-name)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
]);

function extensions(label) {
  return [
    lineNumbers(),
    python(),
    syntaxHighlighting(colours),
    EditorState.readOnly.of(true),
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", spellcheck: "false" }),
  ];
}

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
    const [fromA, fromB] = [a[fromLineA], b[fromLineB]];
    const [toA, toB] = [Math.min(a[toLineA], before.length), Math.min(b[toLineB], after.length)];
    const inner = diff(before.slice(fromA, toA), after.slice(fromB, toB), { scanLimit: 500, timeout: 20 });
    for (const each of inner) {
      changes.push(new Change(fromA + each.fromA, fromA + each.toA, fromB + each.fromB, fromB + each.toB));
    }
  }
  return changes;
}

/** Show the difference in `parent`; returns a function that removes it. */
export function showDifference(parent, { before, after, blocks, unified, folded, names }) {
  const shared = {
    gutter: true,
    highlightChanges: true,
    ...(folded ? { collapseUnchanged: { margin: 3, minSize: 6 } } : {}),
    diffConfig: { override: () => changesOf(before, after, blocks) },
  };
  if (unified) {
    const merged = unifiedMergeView({ ...shared, original: before, mergeControls: false, syntaxHighlightDeletions: true });
    const state = EditorState.create({ doc: after, extensions: [...extensions(`${names[0]} to ${names[1]}`), merged] });
    const view = new EditorView({ state, parent });
    return () => view.destroy();
  }
  const view = new MergeView({
    ...shared,
    a: { doc: before, extensions: extensions(names[0]) },
    b: { doc: after, extensions: extensions(names[1]) },
    parent,
  });
  return () => view.destroy();
}
