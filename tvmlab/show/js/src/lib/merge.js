// Two programs in CodeMirror, side by side or one in the other, with differences that Python has found.

import { python } from "@codemirror/lang-python";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { MergeView, unifiedMergeView } from "@codemirror/merge";
import { EditorState } from "@codemirror/state";
import { EditorView, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { changesOf } from "./changes.js";
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
    EditorView.contentAttributes.of({ "aria-label": label, "aria-readonly": "true", spellcheck: "false", tabindex: "0" }),
  ];
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
