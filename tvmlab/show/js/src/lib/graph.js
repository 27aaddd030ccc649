// A scene as SVG: tiles that move to their places, arrows that can be clicked, boxes; with zoom by buttons, keys and wheel.

import { button, element } from "./base.js";
import "./graph.css";

const NAMESPACE = "http://www.w3.org/2000/svg";
const HALF = 11; // of a tile's height
const STRIP = 17;

/** An SVG element; attributes that are null or false are left out, `on` holds listeners. */
export function shape(name, { on = {}, ...attributes } = {}, ...children) {
  const made = document.createElementNS(NAMESPACE, name);
  set(made, attributes);
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  made.append(...children.flat());
  return made;
}

function set(made, attributes) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) made.removeAttribute(key);
    else made.setAttribute(key, value);
  }
}

let made = 0;

/** A picture in `box`; `show` takes a scene, `mark` what stands out. */
export function picture(label, { kinds, titleOf, chooseNode = () => {}, chooseArrow = () => {} }) {
  const id = `tvmlab-graph-${made++}`;
  const heads = ["between", "inside", "merged", "refused", "end", "way"].map((name) =>
    shape(
      "marker",
      { id: `${id}-${name}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: "userSpaceOnUse", orient: "auto" },
      shape("path", { class: `tvmlab-head-${name}`, d: "M0 0L8 4L0 8z" }),
    ),
  );
  const layers = Object.fromEntries(["frames", "boxes", "arrows", "tiles", "hits"].map((name) => [name, shape("g")]));
  const svg = shape(
    "svg",
    { class: "tvmlab-graph", role: "img", "aria-label": label, tabindex: 0 },
    shape("defs", {}, heads),
    layers.frames,
    layers.boxes,
    layers.arrows,
    layers.hits,
    layers.tiles,
  );
  const controls = element(
    "div",
    { class: "tvmlab-zoom", role: "group", "aria-label": `Zoom: ${label}` },
    button("+", () => zoom(1.25), "Larger"),
    button("−", () => zoom(0.8), "Smaller"),
    button("Fit", fit, "The whole graph"),
  );
  const box = element("div", { class: "tvmlab-picture" }, svg, controls);

  const tiles = new Map();
  let scene = null;
  let arrows = [];
  let view = { x: 0, y: 0, scale: 1 };
  let fitted = false;

  function show(next) {
    const first = scene === null;
    scene = next;
    const wanted = new Set(scene.tiles.map((tile) => tile.node));
    for (const [node, tile] of tiles) {
      if (!wanted.has(node)) {
        tile.remove();
        tiles.delete(node);
      }
    }
    for (const tile of scene.tiles) {
      const old = tiles.get(tile.node);
      const now = drawTile(tile, old);
      if (!old) layers.tiles.append(now);
      tiles.set(tile.node, now);
    }
    layers.frames.replaceChildren(
      ...scene.frames.flatMap((frame) => [
        shape("rect", { class: "tvmlab-frame", rx: 6, x: frame.x, y: frame.y, width: frame.width, height: frame.height }),
        shape("text", { class: "tvmlab-strong", x: frame.x + frame.width - 15, y: frame.y + 15 }, frame.text),
      ]),
    );
    arrows = scene.arrows.map((arrow) => ({ ...arrow, line: shape("path", { d: arrow.path }) }));
    layers.arrows.replaceChildren(...arrows.map(({ line }) => line));
    layers.hits.replaceChildren(
      ...arrows
        .filter(({ start, end }) => start >= 0 && end >= 0)
        .map(({ start, end, path }) =>
          shape(
            "path",
            { class: "tvmlab-hit", d: path, "data-edge": `${start}-${end}`, on: { click: () => chooseArrow(start, end) } },
            shape("title", {}, `${titleOf(start).split("\n")[0]} → ${titleOf(end).split("\n")[0]}: why?`),
          ),
        ),
    );
    if (first || fitted) fit();
    else look();
  }

  function drawTile({ node, x, y, width, text, kind, computes }, old) {
    const [letter, colour, ink] = kinds[kind];
    const tile =
      old ??
      shape("g", {
        class: "tvmlab-tile",
        "data-node": node,
        on: { click: () => chooseNode(node) },
      });
    tile.style.transform = `translate(${x - width / 2}px, ${y - HALF}px)`;
    tile.replaceChildren(
      shape("title", {}, titleOf(node)),
      shape("rect", { class: "tvmlab-ring", rx: 7, x: -4, y: -4, width: width + 8, height: 2 * HALF + 8 }),
      shape("rect", { class: "tvmlab-body", rx: 4, width, height: 2 * HALF, "stroke-dasharray": computes ? null : "3 2" }),
      shape("path", { fill: colour, d: `M4 0h${STRIP - 4}v${2 * HALF}h-${STRIP - 4}q-4 0 -4 -4v-14q0 -4 4 -4z` }),
      shape("text", { class: "tvmlab-strong", "text-anchor": "middle", x: STRIP / 2, y: HALF + 4, style: `fill:${ink}` }, letter),
      shape("text", { class: "tvmlab-text", x: STRIP + 6, y: HALF + 4 }, text),
    );
    return tile;
  }

  /** Boxes: [{ x, y, width, height, colour, number, text, folded, key }]. */
  function boxes(given) {
    layers.boxes.replaceChildren(
      ...given.flatMap(({ x, y, width, height, colour, number, text = [], folded }) => [
        shape("rect", { class: folded ? "tvmlab-fold" : "tvmlab-group", rx: 6, x, y, width, height, ...(folded ? {} : { fill: colour, stroke: colour }) }),
        ...(number == null ? [] : [shape("text", { class: "tvmlab-strong", x: x + 4, y: y + 13 }, String(number))]),
        ...text.map((line, at) =>
          shape("text", { class: at ? "tvmlab-small" : "tvmlab-text", x: x + 10, y: y + height / 2 + 4 + 13 * (at - (text.length - 1) / 2) }, line),
        ),
      ]),
    );
  }

  /** What stands out: `roles` from a node to its role, `style` from an arrow to its style, `matches` of a search or null. */
  function mark({ roles, style, matches }) {
    for (const [node, tile] of tiles) {
      set(tile, { "data-role": roles.get(node) ?? null, "data-dim": matches && !matches.has(node) ? "" : null });
    }
    for (const { line, ...arrow } of arrows) {
      const name = style(arrow);
      set(line, { class: `tvmlab-arrow tvmlab-${name}`, "marker-end": `url(#${id}-${name})` });
    }
  }

  // Looking around

  const extent = () => ({ width: svg.clientWidth || 600, height: svg.clientHeight || 400 });

  function look() {
    const { width, height } = extent();
    svg.setAttribute("viewBox", `${view.x} ${view.y} ${width / view.scale} ${height / view.scale}`);
  }

  function fit() {
    if (!scene) return;
    const { width, height } = extent();
    const scale = Math.min(1.3, (width - 24) / scene.width, (height - 24) / scene.height);
    const readable = Math.max(scale, Math.min(0.6, (width - 24) / scene.width));
    view = { scale: readable, x: (scene.width - width / readable) / 2, y: 0 };
    view.y = readable > scale ? -12 / readable : (scene.height - height / readable) / 2;
    fitted = true;
    look();
  }

  function zoom(by, at = null) {
    const { width, height } = extent();
    const scale = Math.min(4, Math.max(0.05, view.scale * by));
    const [px, py] = at ?? [width / 2, height / 2];
    view = { scale, x: view.x + px / view.scale - px / scale, y: view.y + py / view.scale - py / scale };
    fitted = false;
    look();
  }

  function pan(dx, dy) {
    view = { ...view, x: view.x - dx / view.scale, y: view.y - dy / view.scale };
    fitted = false;
    look();
  }

  /** Bring a node into sight. */
  function reveal(node, always = false) {
    const tile = scene?.tiles.find((each) => each.node === node);
    if (!tile) return;
    const { width, height } = extent();
    const [x, y] = [(tile.x - view.x) * view.scale, (tile.y - view.y) * view.scale];
    if (always || x < 40 || y < 24 || x > width - 40 || y > height - 24) {
      view = { ...view, x: tile.x - width / 2 / view.scale, y: tile.y - height / 2 / view.scale };
      fitted = false;
      look();
    }
  }

  svg.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && !event.metaKey) return; // the page scrolls
      event.preventDefault();
      zoom(event.deltaY < 0 ? 1.15 : 0.87, [event.offsetX, event.offsetY]);
    },
    { passive: false },
  );
  svg.addEventListener("pointerdown", (event) => {
    if (event.button !== 0 || event.target.closest(".tvmlab-tile, .tvmlab-hit")) return;
    svg.setPointerCapture(event.pointerId);
    const move = ({ movementX, movementY }) => pan(movementX, movementY);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", () => svg.removeEventListener("pointermove", move), { once: true });
  });
  svg.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] };
    if (moves[event.key]) pan(...moves[event.key]);
    else if (event.key === "+" || event.key === "=") zoom(1.25);
    else if (event.key === "-") zoom(0.8);
    else if (event.key === "0") fit();
    else return;
    event.preventDefault();
  });
  const resized = new ResizeObserver(() => (fitted ? fit() : look()));
  resized.observe(svg);

  return { box, show, boxes, ends: () => scene?.boxes ?? [], mark, fit, reveal, stop: () => resized.disconnect() };
}
