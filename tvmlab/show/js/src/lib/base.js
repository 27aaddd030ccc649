// What every explorer is made of.  Text reaches the page through text nodes and attributes alone, never as HTML.

import "./base.css";

/** An element.  Attributes that are null or false are left out, `on` holds listeners, children are elements or text. */
export function element(name, { on = {}, ...attributes } = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  for (const [event, listener] of Object.entries(on)) made.addEventListener(event, listener);
  made.append(...children.flat());
  return made;
}

/** The frame of an explorer in `el`: a named region in the theme's colours that keeps its keys to itself. */
export function frame(el, label) {
  const root = element("section", { class: "tvmlab", "aria-label": label, on: { focusin: keepKeys } });
  el.append(root);
  return { root, stop: follow(root) };
}

/** Arrows and letters would work on the notebook's cells; its shortcuts look for this mark on what has the focus. */
function keepKeys({ target }) {
  target.setAttribute("data-lm-suppress-shortcuts", "true");
}

let questions = 0;

/** A function that asks Python: `await ask(question)`.  Answers are kept, since records never change. */
export function asker(model, keep = 200) {
  const waiting = new Map();
  const kept = new Map();
  model.on("msg:custom", ({ id, answer, error }) => {
    const promise = waiting.get(id);
    if (!promise) return;
    waiting.delete(id);
    if (error === undefined) promise.resolve(answer);
    else promise.reject(new Error(error));
  });
  return (question) => {
    const key = JSON.stringify(question);
    if (!kept.has(key)) {
      const id = `${Date.now()}-${questions++}`;
      const answered = new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
      answered.catch(() => kept.delete(key));
      kept.set(key, answered);
      if (kept.size > keep) kept.delete(kept.keys().next().value);
      model.send({ id, question });
    }
    return kept.get(key);
  };
}

/** Whether text on this element should be light: what is behind it is dark. */
export function isDark(node) {
  for (let at = node; at; at = at.parentElement) {
    const [red, green, blue, alpha = 1] = (getComputedStyle(at).backgroundColor.match(/[\d.]+/g) ?? []).map(Number);
    if (alpha > 0.5 && blue !== undefined) return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
  }
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

function follow(root) {
  const paint = () => root.classList.toggle("tvmlab-dark", root.parentElement !== null && isDark(root.parentElement));
  const observer = new MutationObserver(() => requestAnimationFrame(paint));
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: ["class", "style", "data-jp-theme-name", "data-theme"] });
  }
  const system = matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", paint);
  const late = new ResizeObserver(paint); // it is put into the page only after it is rendered
  late.observe(root);
  return () => {
    observer.disconnect();
    late.disconnect();
    system.removeEventListener("change", paint);
  };
}

/** A list to choose from, with arrow keys, Home and End; `fill` takes [{ key, label, content, title, level, dim }]. */
export function listbox(label, choose) {
  const id = `tvmlab-${Date.now().toString(36)}-${questions++}`;
  const list = element("div", { class: "tvmlab-list", role: "listbox", tabindex: 0, "aria-label": label, id });
  let items = [];
  let chosen = null;

  function mark(key) {
    chosen = key;
    const at = list.children[items.findIndex((item) => item.key === key)];
    for (const each of list.children) each.setAttribute("aria-selected", String(each === at));
    if (at) {
      list.setAttribute("aria-activedescendant", at.id);
      const { offsetTop: top, offsetHeight: height } = at;
      if (top < list.scrollTop) list.scrollTop = top;
      if (top + height > list.scrollTop + list.clientHeight) list.scrollTop = top + height - list.clientHeight;
    } else {
      list.removeAttribute("aria-activedescendant");
    }
  }

  function pick(item) {
    if (item) {
      mark(item.key);
      choose(item.key);
    }
  }

  list.addEventListener("click", (event) => {
    pick(items[[...list.children].indexOf(event.target.closest("[role=option]"))]);
  });
  list.addEventListener("keydown", (event) => {
    const at = items.findIndex((item) => item.key === chosen);
    const to = { ArrowDown: at + 1, ArrowUp: at < 0 ? 0 : at - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    pick(items[to]);
  });

  return {
    list,
    mark,
    keys: () => items.map((item) => item.key),
    fill(given) {
      items = given;
      list.replaceChildren(
        ...items.map((item, number) =>
          element(
            "div",
            {
              role: "option",
              class: item.dim ? "tvmlab-dim" : null,
              id: `${id}-${number}`,
              "aria-selected": "false",
              style: item.level ? `padding-left:${0.5 + item.level}em` : null,
              title: item.title,
            },
            item.content ?? item.label,
          ),
        ),
      );
      mark(items.some((item) => item.key === chosen) ? chosen : null);
    },
  };
}

/** A button with a text or a sign; the sign needs a name. */
export function button(text, press, name = null) {
  return element("button", { type: "button", "aria-label": name, title: name, on: { click: press } }, text);
}

/** A line that screen readers speak when it changes. */
export function spoken() {
  return element("div", { class: "tvmlab-spoken", role: "status", "aria-live": "polite" });
}

/** Number of lines that came and went. */
export function counts(added, removed) {
  return [
    element("span", { class: "tvmlab-plus" }, `+${added.toLocaleString("en")}`),
    element("span", { class: "tvmlab-minus" }, `−${removed.toLocaleString("en")}`),
  ];
}

/** Seconds in the unit that fits. */
export function duration(seconds) {
  const [value, unit] = seconds >= 1 ? [seconds, "s"] : seconds >= 1e-3 ? [seconds * 1e3, "ms"] : [seconds * 1e6, "µs"];
  return `${value.toFixed(Math.max(0, 3 - String(Math.trunc(value)).length))} ${unit}`;
}

/** Copy text; where the browser refuses, from a selection. */
export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
