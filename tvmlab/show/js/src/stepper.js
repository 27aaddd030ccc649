// The fusion stepper: the graph with its groups as they grow, the tree of post-dominators beside it, and what-if controls.

import { asker, button, element, frame, listbox, spoken } from "./lib/base.js";
import { picture } from "./lib/graph.js";
import { boxAround, sinksAfter } from "./lib/groups.js";
import "./stepper.css";

const REFUSALS = {
  MERGED: "merged",
  PATH_KIND: "path kind",
  ON_THE_WAY: "on the way",
  INTO: "post-dominator's kind",
  TOO_LARGE: "too large",
  TUPLE_WAITS: "tuple waits",
  OWN_KIND: "own kind",
  EXTERNAL: "needed outside",
  UNREAD: "unread",
  NO_MEETING: "no post-dominator",
};

const MOST_EDGES = 12;

function render({ model, el }) {
  const facts = model.get("facts");
  const ask = asker(model);
  const { root, stop } = frame(el, facts.label);
  const nameOf = (node) => (node === null ? "nowhere" : facts.nodes[node].label);
  const original = () => ({ kinds: {}, max_depth: facts.max_depth, without: [...facts.without] });
  let changes = original();
  let shown = null; // the answer on the screen
  let first = null; // the kernels without changes
  let chosen = null; // a node
  let moved = false; // at first the beginning of the graph is seen
  let turn = 0;
  let alive = true;

  const status = spoken();
  const kernels = element("span", { class: "tvmlab-quiet" });
  const slider = element("input", { type: "range", min: 0, step: 1, "aria-label": "Decision", on: { input: () => go(Number(slider.value)) } });
  const place = element("span", { class: "tvmlab-quiet tvmlab-place" });
  const previous = button("◀ Prev", () => go(position() - 1));
  const next = button("Next ▶", () => go(position() + 1));
  const search = element("input", {
    type: "search",
    placeholder: "name of a node",
    "aria-label": "Search nodes by name",
    on: {
      input: mark,
      keydown: (event) => event.key === "Enter" && nextMatch(),
    },
  });
  const fold = checkbox("fold repeated blocks", facts.folded, draw);
  const graph = picture("The graph in its groups", {
    kinds: facts.kinds,
    titleOf: (node) => facts.nodes[node].title,
    chooseNode: choose,
    chooseArrow: (a, b) => why(a, b),
  });
  const tree = picture("The tree of post-dominators", {
    kinds: facts.kinds,
    titleOf: (node) => facts.nodes[node].title,
    chooseNode: choose,
    chooseArrow: (a) => goTo(a),
  });
  const decisions = listbox("Decisions", (key) => go(key));
  const treeButton = button("Post-dominators", () => setBeside("tree"));
  const listButton = button("Decisions", () => setBeside("list"));
  const verdict = element("div", { class: "tvmlab-verdict" });
  const about = element("div", { class: "tvmlab-about tvmlab-quiet" });
  const edges = element("div", { class: "tvmlab-bar tvmlab-edges", role: "group", "aria-label": "Edges of the chosen node", hidden: true });
  const kind = element(
    "select",
    { "aria-label": "Kind of the chosen node", on: { change: changeKind } },
    Object.keys(facts.kinds).map((name) => element("option", { value: name }, name.toLowerCase())),
  );
  const chosenName = element("bdi", { class: "tvmlab-name" });
  const depth = element("input", { type: "number", min: 0, max: 100000, "aria-label": "max_depth", on: { change: changeDepth, keydown: enterDepth } });
  const phases = [0, 1, 2].map((number) => checkbox(`phase ${number}`, true, changePhases));
  const reset = button("Reset", () => change(original()));

  const beside = element(
    "div",
    { class: "tvmlab-beside" },
    element("div", { class: "tvmlab-bar", role: "group", "aria-label": "Beside the graph" }, treeButton, listButton),
    tree.box,
    decisions.list,
  );
  root.append(
    element("div", { class: "tvmlab-bar" }, element("bdi", { class: "tvmlab-title" }, facts.label), kernels),
    element("div", { class: "tvmlab-bar", role: "group", "aria-label": "Go through the decisions" }, previous, slider, next, place),
    element("div", { class: "tvmlab-bar" }, search, fold.label),
    element("div", { class: "tvmlab-stage" }, graph.box, beside),
    verdict,
    element(
      "div",
      { class: "tvmlab-bar tvmlab-what-if", role: "group", "aria-label": "What if" },
      element("b", {}, "What if"),
      element("label", {}, "the chosen node ", chosenName, " were ", kind),
      element("label", {}, "max_depth ", depth),
      phases.map(({ label }) => label),
      reset,
    ),
    about,
    edges,
    status,
  );

  function checkbox(text, checked, act) {
    const box = element("input", { type: "checkbox", checked, on: { change: act } });
    return { box, label: element("label", {}, box, text) };
  }

  // Where one is

  const turns = () => shown?.turns ?? [];
  const position = () => Math.min(Math.max(model.get("position"), 0), turns().length);

  function go(to) {
    moved = true;
    model.set("position", Math.min(Math.max(to, 0), turns().length));
    model.save_changes();
  }

  function goTo(node) {
    const at = turns().findLastIndex(([, each]) => each === node);
    if (at >= 0) go(at + 1);
  }

  // What is drawn

  async function draw({ keepEnd = false } = {}) {
    const mine = ++turn;
    try {
      const answer = await ask({ what: "scene", changes, folded: fold.box.checked });
      if (mine !== turn || !alive) return;
      shown = answer;
      first ??= answer.kernels[1];
      graph.show(shown.scene);
      if (shown.tree) tree.show(shown.tree);
      else setBeside("list");
      treeButton.disabled = !shown.tree;
      fillDecisions();
      fillControls();
      if (keepEnd && position() !== turns().length) go(turns().length);
      else arrive();
      root.dataset.drawn = JSON.stringify(changes);
    } catch (error) {
      if (mine === turn && alive) tell(error.message, null);
    }
  }

  function fillDecisions() {
    decisions.fill([
      { key: 0, content: element("span", { class: "tvmlab-name" }, "before: nothing is fused") },
      ...turns().map(([phase, node, into, , rule], at) => ({
        key: at + 1,
        title: `${nameOf(node)} → ${nameOf(into)}`,
        content: [
          element("span", { class: "tvmlab-quiet" }, `${phase}`),
          element("span", { class: "tvmlab-name" }, element("bdi", {}, nameOf(node)), " → ", element("bdi", {}, nameOf(into))),
          element("span", { class: rule === "MERGED" ? "tvmlab-plus" : "tvmlab-minus" }, REFUSALS[rule]),
        ],
      })),
    ]);
  }

  function fillControls() {
    const [before, after] = shown.kernels;
    const other = after === first ? "" : ` (${after > first ? "+" : "−"}${Math.abs(after - first)} by the changes)`;
    kernels.textContent = `${before} → ${after} kernels${other}`;
    depth.value = changes.max_depth;
    phases.forEach(({ box }, number) => (box.checked = !changes.without.includes(`phase${number}`)));
    reset.disabled = JSON.stringify(changes) === JSON.stringify(original());
    kind.disabled = chosen === null;
    chosenName.textContent = chosen === null ? "(none)" : nameOf(chosen);
    if (chosen !== null) kind.value = changes.kinds[chosen] ?? facts.nodes[chosen].kind;
    about.textContent = chosen === null ? "" : facts.nodes[chosen].title;
    fillEdges();
  }

  /** What a click on an arrow does, for the keyboard; and the node at its other end comes into sight. */
  function fillEdges() {
    const own = shown.scene.arrows.filter(({ start, end }) => start >= 0 && end >= 0 && (start === chosen || end === chosen));
    const pairs = new Map(own.map(({ start, end }) => [`${start}-${end}`, [start, end]]));
    edges.hidden = !pairs.size;
    edges.replaceChildren(
      ...[...pairs.values()].slice(0, MOST_EDGES).map(([start, end]) => {
        const other = start === chosen ? end : start;
        const made = button("", () => {
          why(start, end);
          graph.reveal(other);
        });
        made.append("why ", element("bdi", {}, nameOf(start)), " → ", element("bdi", {}, nameOf(end)), "?");
        return made;
      }),
    );
  }

  async function arrive() {
    if (!shown) return;
    const at = position();
    slider.max = turns().length;
    slider.value = at;
    previous.disabled = at === 0;
    next.disabled = at === turns().length;
    decisions.mark(at);
    mark();
    const now = turns()[at - 1];
    place.textContent = now ? `decision ${at} of ${turns().length}, phase ${now[0]}` : `0 of ${turns().length}`;
    slider.setAttribute("aria-valuetext", place.textContent);
    if (!now) {
      tell("Before the first decision every node is a kernel of its own. Go on with Next.", null);
      root.dataset.position = "0";
      return;
    }
    if (moved) {
      graph.reveal(now[1]);
      tree.reveal(now[1]);
    }
    try {
      const mine = turn;
      const { text, path, culprits } = await ask({ what: "turn", changes, turn: at - 1 });
      if (!alive || mine !== turn || at !== position()) return;
      const hidden = shown.hidden[now[1]] === undefined ? "" : " (In a block that is folded away.)";
      tell(text + hidden, now[4] === "MERGED");
      mark({ path, culprits });
      root.dataset.position = String(at);
      if (at < turns().length) ask({ what: "turn", changes, turn: at }).catch(() => {}); // so that Next is there at once
    } catch (error) {
      tell(error.message, null);
    }
  }

  function tell(text, merged) {
    verdict.textContent = text;
    if (merged === null) delete verdict.dataset.merged;
    else verdict.dataset.merged = String(merged);
    status.textContent = text;
  }

  function matches() {
    const wanted = search.value.trim().toLowerCase();
    if (!wanted) return null;
    return new Set(facts.nodes.flatMap(({ title }, node) => (title.toLowerCase().includes(wanted) ? [node] : [])));
  }

  function nextMatch() {
    const visible = shown.scene.tiles.map(({ node }) => node).filter((node) => matches()?.has(node));
    if (!visible.length) return;
    choose(visible[(visible.indexOf(chosen) + 1) % visible.length]);
    graph.reveal(chosen, true);
  }

  function mark({ path = [], culprits = [] } = {}) {
    if (!shown) return;
    const at = position();
    const now = turns()[at - 1];
    const sinks = sinksAfter(shown.start, turns(), at);
    const roles = new Map(chosen === null ? [] : [[chosen, "chosen"]]);
    const concerned = new Set();
    if (now) {
      const [, node, into, inner] = now;
      for (const each of inner) roles.set(each, "inner");
      if (into !== null) roles.set(into, "into");
      for (const each of culprits) roles.set(each, "culprit");
      roles.set(node, "node");
      for (const each of [node, into, ...inner]) concerned.add(each);
    }
    const steps = new Set(path.slice(1).map((node, index) => `${path[index]}-${node}`));
    const found = matches();
    graph.mark({
      roles,
      matches: found,
      style: ({ start, end }) => {
        const onTheWay = now && concerned.has(start) && concerned.has(end) && start !== now[2];
        if (onTheWay || steps.has(`${start}-${end}`)) return "way";
        return sinks.has(start) && sinks.get(start) === sinks.get(end) ? "inside" : "between";
      },
    });
    tree.mark({
      roles,
      matches: found,
      style: ({ start, style }) => (now && start === now[1] ? "way" : style === "end" ? "end" : told(start, at) ?? "inside"),
    });
    graph.boxes(boxesAt(sinks));
    tree.boxes(tree.ends());
    if (found) status.textContent = `${found.size} nodes found`;
  }

  /** How the decision about a node came out, if it was made by now. */
  function told(node, at) {
    const made = turns().slice(0, at).filter(([, each]) => each === node);
    if (!made.length) return null;
    return made.some(([, , , , rule]) => rule === "MERGED") ? "merged" : "refused";
  }

  function boxesAt(sinks) {
    const numbers = new Map(shown.numbers);
    const colour = (number) => (number === null || number === undefined ? "#9A9A9A" : facts.tints[(number - 1) % facts.tints.length]);
    const final = sinksAfter(shown.start, turns(), turns().length);
    const parts = new Map();
    for (const tile of shown.scene.tiles) {
      const sink = sinks.get(tile.node);
      if (!parts.has(sink)) parts.set(sink, []);
      parts.get(sink).push(tile);
    }
    const size = new Map();
    for (const sink of final.values()) size.set(sink, (size.get(sink) ?? 0) + 1);
    const wholes = new Map(
      shown.scene.boxes.filter(({ folded }) => !folded).map((box) => [shown.numbers[box.group][0], box]),
    );
    const drawn = [];
    for (const [sink, tiles] of parts) {
      const end = final.get(sink);
      const number = numbers.get(end);
      const whole = tiles.length === size.get(end) ? wholes.get(end) : null;
      const box = whole ?? boxAround(tiles);
      if (box) drawn.push({ ...box, text: [], number: whole ? number : null, colour: colour(number) });
    }
    return [...shown.scene.boxes.filter(({ folded }) => folded), ...drawn];
  }

  function setBeside(which) {
    treeButton.setAttribute("aria-pressed", String(which === "tree"));
    listButton.setAttribute("aria-pressed", String(which === "list"));
    tree.box.hidden = which !== "tree";
    decisions.list.hidden = which !== "list";
    if (which === "tree") tree.fit();
  }

  // What is asked

  function choose(node) {
    chosen = node;
    fillControls();
    mark();
    status.textContent = facts.nodes[node].title;
  }

  async function why(a, b) {
    try {
      const text = await ask({ what: "why", changes, a, b });
      if (alive) tell(text, null);
    } catch (error) {
      tell(error.message, null);
    }
  }

  function change(to) {
    changes = to;
    return draw({ keepEnd: true });
  }

  function changeKind() {
    const kinds = { ...changes.kinds, [chosen]: kind.value };
    if (kind.value === facts.nodes[chosen].kind) delete kinds[chosen];
    change({ ...changes, kinds });
  }

  /** JupyterLab keeps Enter from ending an input. */
  function enterDepth(event) {
    if (event.key === "Enter") changeDepth();
  }

  function changeDepth() {
    const wanted = Math.max(0, Math.trunc(Number(depth.value)));
    const limit = Number.isFinite(wanted) ? wanted : facts.max_depth;
    if (limit !== changes.max_depth) change({ ...changes, max_depth: limit });
  }

  function changePhases() {
    const without = phases.flatMap(({ box }, number) => (box.checked ? [] : [`phase${number}`]));
    change({ ...changes, without });
  }

  setBeside("tree");
  model.on("change:position", arrive);
  draw();
  return () => {
    alive = false;
    model.off("change:position", arrive);
    graph.stop();
    tree.stop();
    stop();
  };
}

export default { render };
