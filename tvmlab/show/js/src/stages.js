// The stage explorer: passes, the functions that each changed, and the program before and after.

import { asker, button, copy, counts, duration, element, frame, listbox, spoken } from "./lib/base.js";
import { showDifference } from "./lib/merge.js";
import { neighbour, visibleSteps } from "./lib/steps.js";
import "./stages.css";

const STATES = { changed: "", new: "new", gone: "gone" };

function render({ model, el }) {
  const facts = model.get("facts");
  const ask = asker(model);
  const { root, stop } = frame(el, facts.label);
  let steps = facts.steps;
  let functions = [];
  let chosenFunction = "main";
  let shown = null; // the difference on the screen
  let remove = () => {};
  let turn = 0; // an answer to an earlier turn comes too late
  let alive = true;
  const totals = new Map();

  const status = spoken();
  const search = element("input", {
    type: "search",
    placeholder: "name of a pass",
    "aria-label": "Search passes by name",
    on: { input: refill },
  });
  const unchanged = checkbox("unchanged passes", false, refill);
  const slider = element("input", { type: "range", min: 0, step: 1, "aria-label": "Pass", on: { input: slide } });
  const place = element("span", { class: "tvmlab-quiet tvmlab-place" });
  const previous = button("◀ Prev", () => move(-1));
  const next = button("Next ▶", () => move(1));
  const passes = listbox("Passes", go);
  const inside = listbox("Functions", (name) => choose(name));
  const sides = button("Side by side", () => setUnified(false));
  const unified = button("Unified", () => setUnified(true));
  const boilerplate = checkbox("boilerplate", false, draw);
  const equal = checkbox("unchanged lines", false, redraw);
  const heading = element("div", { class: "tvmlab-bar tvmlab-heading" });
  const difference = element("div", { class: "tvmlab-difference" });

  root.append(
    element("div", { class: "tvmlab-bar" }, element("span", { class: "tvmlab-title" }, facts.label)),
    element("div", { class: "tvmlab-bar", role: "group", "aria-label": "Go through the passes" }, previous, slider, next, place),
    element(
      "div",
      { class: "tvmlab-columns" },
      element(
        "div",
        { class: "tvmlab-side" },
        element("div", { class: "tvmlab-bar" }, search, unchanged.label),
        passes.list,
        element("div", { class: "tvmlab-quiet", "aria-hidden": "true" }, "functions"),
        inside.list,
      ),
      element(
        "div",
        { class: "tvmlab-main" },
        heading,
        element(
          "div",
          { class: "tvmlab-bar", role: "group", "aria-label": "How it is shown" },
          sides,
          unified,
          equal.label,
          boilerplate.label,
          button("Copy before", () => copied("before")),
          button("Copy after", () => copied("after")),
        ),
        difference,
      ),
    ),
    status,
  );

  function checkbox(text, checked, change) {
    const box = element("input", { type: "checkbox", checked, on: { change } });
    return { box, label: element("label", {}, box, text) };
  }

  const position = () => Math.min(Math.max(model.get("position"), 0), steps.length - 1);
  const visible = () => visibleSteps(steps, search.value, unchanged.box.checked, position());

  function refill() {
    const keys = visible();
    passes.fill(
      keys.map((key) => {
        const { name, level, seconds, changed, pending, title } = steps[key];
        const total = totals.get(key);
        const parts = [element("span", { class: "tvmlab-name" }, element("bdi", {}, name))];
        if (total && changed) parts.push(...counts(...total.sum));
        const took = pending ? "not yet" : seconds === null ? "" : duration(seconds);
        parts.push(element("span", { class: "tvmlab-quiet" }, took));
        return { key, level, dim: !changed && !pending, content: parts, title: title ?? name };
      }),
    );
    passes.mark(position());
    slider.max = Math.max(0, keys.length - 1);
    slider.value = keys.indexOf(position());
    slider.setAttribute("aria-valuetext", steps[position()]?.name ?? "");
    place.textContent = keys.length ? `${keys.indexOf(position()) + 1} of ${keys.length}` : "no pass of that name";
    previous.disabled = neighbour(keys, position(), -1) === null;
    next.disabled = neighbour(keys, position(), 1) === null;
  }

  function slide() {
    const key = visible()[Number(slider.value)];
    if (key !== undefined) go(key);
  }

  function move(by) {
    const key = neighbour(visible(), position(), by);
    if (key !== null) go(key);
  }

  function go(key) {
    model.set("position", key);
    model.save_changes();
  }

  async function arrive() {
    const mine = ++turn;
    refill();
    if (steps[position()].pending) {
      trouble("compiling …");
      await answered(mine, { what: "build" }, (made) => {
        steps = made.steps;
        refill();
      });
      if (mine !== turn) return;
    }
    await answered(mine, { what: "functions", step: position() }, (found) => {
      functions = found;
      fillFunctions();
      if (!functions.some(({ name }) => name === chosenFunction)) chosenFunction = functions[0]?.name ?? null;
      inside.mark(chosenFunction);
      return draw();
    });
  }

  function fillFunctions() {
    inside.fill(
      functions.map(({ name, state, added, removed }) => ({
        key: name,
        title: name,
        content: [
          element("span", { class: "tvmlab-name" }, element("bdi", {}, name)),
          element("span", { class: "tvmlab-quiet" }, STATES[state]),
          ...(added === undefined ? [] : counts(added, removed)),
        ],
      })),
    );
    inside.mark(chosenFunction);
  }

  function choose(name) {
    chosenFunction = name;
    return draw();
  }

  const question = (step, name) => ({ what: "text", step, function: name, boilerplate: boilerplate.box.checked });

  async function draw() {
    const mine = ++turn;
    const step = steps[position()];
    if (chosenFunction === null) {
      const within = steps[position() + 1]?.level > step.level ? " Look at the passes within." : "";
      heading.replaceChildren(element("span", { class: "tvmlab-title" }, element("bdi", {}, step.name)));
      trouble(`The program is the same before and after.${within}`);
      measureAll(mine);
      return;
    }
    await answered(mine, question(position(), chosenFunction), async (text) => {
      shown = { ...text, name: chosenFunction };
      redraw();
      status.textContent = `${step.name}, ${chosenFunction}: ${text.added} lines added, ${text.removed} removed`;
      await fetchNeighbours(mine);
      measureAll(mine);
    });
  }

  function redraw() {
    if (!shown) return;
    const { name, before, after, blocks, added, removed, renamed } = shown;
    const pairs = Object.entries(renamed).map(([a, b]) => `${a} → ${b}`);
    heading.replaceChildren(
      element("span", { class: "tvmlab-title" }, element("bdi", {}, steps[position()].name)),
      element("bdi", { class: "tvmlab-quiet" }, name),
      ...counts(added, removed),
      ...(pairs.length ? [element("details", {}, element("summary", {}, `${pairs.length} renamed`), pairs.join(", "))] : []),
    );
    const isUnified = root.classList.contains("tvmlab-unified");
    sides.setAttribute("aria-pressed", String(!isUnified));
    unified.setAttribute("aria-pressed", String(isUnified));
    clear();
    const names = facts.sides.map((side) => `${name}, ${side}`);
    const folded = !equal.box.checked;
    remove = showDifference(difference, { before, after, blocks, unified: isUnified, folded, names });
    difference.dataset.shown = `${position()}/${name}`;
  }

  function setUnified(on) {
    root.classList.toggle("tvmlab-unified", on);
    redraw();
  }

  function clear() {
    remove();
    remove = () => {};
    difference.replaceChildren();
  }

  function trouble(text) {
    clear();
    shown = null;
    difference.append(element("div", { class: "tvmlab-trouble", role: "status" }, text));
  }

  /** Take an answer, unless something else was asked for meanwhile. */
  async function answered(mine, asked, take) {
    try {
      const answer = await ask(asked);
      if (mine === turn && alive) await take(answer);
    } catch (error) {
      if (mine === turn && alive) trouble(error.message);
    }
  }

  /** The texts that the buttons lead to, so that they are there at once. */
  async function fetchNeighbours(mine) {
    const keys = visible();
    for (const key of [neighbour(keys, position(), 1), neighbour(keys, position(), -1)]) {
      if (key === null || steps[key].pending) continue;
      await answered(mine, { what: "functions", step: key }, (found) => {
        const name = found.some((each) => each.name === chosenFunction) ? chosenFunction : found[0]?.name;
        return name === undefined ? null : answered(mine, question(key, name), () => {});
      });
    }
  }

  /** While nothing else is asked for: how much each function changed, of this step first. */
  async function measureAll(mine) {
    for (const key of [position(), ...visible()]) {
      if (!totals.has(key) && !steps[key].pending) await measure(mine, key);
      if (mine !== turn || !alive) return;
      if (key === position()) {
        functions.forEach((each, at) => ([each.added, each.removed] = totals.get(key)?.each[at] ?? []));
        fillFunctions();
      }
      refill();
    }
  }

  /** Asked for in slices, so that Python stays free for others. */
  async function measure(mine, key) {
    const each = [];
    for (let from = 0; from !== null && mine === turn && alive; ) {
      const { counts: slice, next } = await ask({ what: "counts", step: key, from }).catch(() => ({ counts: [], next: null }));
      each.push(...slice);
      from = next;
      if (from === null) totals.set(key, { each, sum: [0, 1].map((at) => each.reduce((sum, pair) => sum + pair[at], 0)) });
    }
  }

  async function copied(side) {
    if (!shown) return;
    await copy(shown[side]);
    status.textContent = `copied ${side}`;
  }

  root.classList.toggle("tvmlab-unified", el.clientWidth > 0 && el.clientWidth < 720);
  model.on("change:position", arrive);
  arrive();
  return () => {
    alive = false;
    model.off("change:position", arrive);
    clear();
    stop();
  };
}

export default { render };
