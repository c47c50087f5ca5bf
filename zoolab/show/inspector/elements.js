// Words, and the elements that everything is made of. Text becomes text nodes, never markup.

// ---- words

export const KINDS = {
  d: ["define", "the tools are described"],
  q: ["request", "messages[] and the tools are sent"],
  t: ["tool_call", "the model's reply is read"],
  v: ["validate", "may the call run?"],
  e: ["execute", "Python runs the tool"],
  r: ["result", "what came of it goes back"],
};
export const MARKS = [
  [1, "error", "errors"],
  [8, "fault", "faults"],
  [2, "retry", "retries"],
  [4, "repair", "repairs"],
  [64, "permission", "permissions"],
  [128, "sub-agent", "sub-agents"],
  [16, "edited", "edited"],
  [32, "stale", "stale"],
];
export const ERROR = 1;
export const EDITED = 16;
export const STALE = 32;
export const ROLES = { s: "system", u: "user", a: "assistant", t: "tool", "?": "other" };
export const TABS = { diff: "Diff", full: "Full", raw: "Raw wire", python: "Python", note: "Note" };
export const VERBS = {
  look: ["Look", "Executes nothing: shows messages[] as they would be."],
  replay: ["Replay", "The recorded replies and results answer: no tool runs. A request or a call that was never recorded fails and shows the nearest one."],
  live: ["Re-run live", ""],
};
export const CHOICES = { once: "Allow once", session: "Allow for this session", always: "Always allow", deny: "Deny" };
export const STATES = { ok: "passed", bad: "failed", none: "not reached" };
export const TONES = { info: "Note", warn: "Warning", error: "Error", fault: "Injected fault" };
export const HELP = [
  ["← →", "a step back, a step on; at the end of a live walk: run the next step"],
  ["Shift ← →", "a turn back, a turn on"],
  ["Home End", "the first step, the last step"],
  ["e", "the next error"],
  ["d", "what changed in messages[]"],
  ["r", "what was on the wire"],
  ["f", "edit this step, fork from it; Esc leaves"],
  ["c", "compare with the parent, or stop comparing"],
  ["?", "this page"],
];

/** What a page says to keys that need a kernel. */
export const NO_KERNEL = {
  f: "This page runs no Python. To edit and fork, open the trace in a notebook: Trace.load(path).inspect(model=..., tools=...)",
  c: "This page runs no Python. To compare, open both traces in a notebook: inspect(trace, other)",
};

export const GONE = "The kernel behind this inspector is gone: it was restarted, perhaps. Run the cell again.";

/** Drawn as strokes on a square of 16. */
const ICONS = {
  define: "M5.5 2.5C3 2.5 4.5 7 2.5 8c2 1 .5 5.5 3 5.5M10.5 2.5c2.5 0 1 4.5 3 5.5-2 1-.5 5.5-3 5.5",
  request: "M14 2 7.2 8.8M14 2 9.7 13.8 7.2 8.8 2.2 6.3z",
  tool_call: "M2.5 3h11v7.5H8.2L5.2 13v-2.5H2.5zM5.5 6.8h5",
  validate: "M3 2.5h10v11H3zM5.3 8l2 2.2 3.5-4",
  execute: "M4.8 3v10l8-5z",
  result: "M13 3v5.5H3.5M6.8 5.2 3.5 8.5l3.3 3.3",
  error: "M8 2 14.5 13.5h-13zM8 6.3v3.4M8 11.5v.3",
  retry: "M13 8a5 5 0 1 1-1.5-3.6L13 6M13 2.5V6H9.5",
  repair: "M10.5 2.5a3.2 3.2 0 0 0-3.6 4.4L2.5 11.3l2.2 2.2 4.4-4.4a3.2 3.2 0 0 0 4.4-3.6l-2 2-2-.5-.5-2z",
  fault: "M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z",
  edited: "M3 13l.6-2.8L10.8 3 13 5.2 5.8 12.4z",
  stale: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11zM8 5v3.2l2 1.3",
  permission: "M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5",
  "sub-agent": "M5.5 5.5h8v8h-8zM2.5 10.5v-8h8",
  noted: "M3 2.5h10v8l-3 3H3zM5.5 6h5M5.5 8.5h3",
  ok: "M3 8.5 6.5 12 13 4.5",
  bad: "M4 4l8 8M12 4l-8 8",
  none: "M4.5 8h7",
  info: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.3v3.7M8 4.8v.3",
  look: "M1.5 8S4 3.8 8 3.8 14.5 8 14.5 8 12 12.2 8 12.2 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  replay: "M8 4v8L2.5 8zM13.5 4v8L8 8z",
  live: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM10 6c-.3-.8-1-1-2-1-2.6 0-2.6 2.8 0 3s2.6 3 0 3c-1 0-1.7-.3-2-1M8 4v8",
  first: "M3.5 3v10M13 3 6.5 8l6.5 5z",
  previous: "M11 3 4.5 8l6.5 5z",
  next: "M5 3l6.5 5L5 13z",
  last: "M12.5 3v10M3 3l6.5 5L3 13z",
  back: "M13 8H3.5M7.5 4l-4 4 4 4",
  fork: "M4 2.5v11M4 9c5 0 8-1 8-5M9.5 6 12 3.5 14.5 6",
  others: "M2.5 3h8v5.5h-4L4 11V8.5H2.5zM12.5 6h1v5.5H12V14l-2.5-2.5H7",
  compare: "M2.5 3h4.5v10H2.5zM9 3h4.5v10H9z",
};

// ---- making elements

/** An element. Data may be a child or the value of a harmless attribute, and nothing else. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== false && value != null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child != null && child !== false));
  return element;
}

/** A name, not an address; so written that a page can be searched for addresses. */
const SVG = ["http:", "", "www.w3.org", "2000", "svg"].join("/");

export function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", Object.hasOwn(ICONS, name) ? ICONS[name] : ICONS.none);
  drawing.append(path);
  for (const [key, value] of [["viewBox", "0 0 16 16"], ["class", "zl-icon"], ["aria-hidden", "true"]])
    drawing.setAttribute(key, value);
  return drawing;
}

export function button(text, picture, click, attributes = {}) {
  const known = { type: "button", class: "zl-button", click, ...attributes };
  return h("button", known, picture && icon(picture), text && h("span", null, text));
}

/** For buttons that come and go with what can be done: a disabled one would lose the focus. */
export function enable(element, can) {
  element.setAttribute("aria-disabled", String(!can));
}

/** Say which option of a list is the active one, if it is drawn. */
export function pointTo(list, id) {
  if (id) list.setAttribute("aria-activedescendant", id);
  else list.removeAttribute("aria-activedescendant");
}

export function chip(word) {
  return h("span", { class: `zl-chip zl-is-${Object.hasOwn(ICONS, word) ? word : "none"}` }, icon(word), word);
}

export function plural(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

export function bytes(size) {
  return size < 1000 ? `${size} B` : `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} kB`;
}

export function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

/** Remembers what was drawn last; says whether anything of it is another by now. */
export function memory() {
  let last = null;
  return (...now) => {
    const same = last !== null && now.every((value, i) => value === last[i]);
    last = now;
    return !same;
  };
}

/** What is in sight of an element that scrolls, kept, because to ask for it costs a layout each time. */
export class Sight {
  constructor(element, changed = () => {}) {
    Object.assign(this, { element, left: 0, top: 0, width: 0, height: 0 });
    element.addEventListener("scroll", () => this.see(changed), { passive: true });
    this.resized = new ResizeObserver(() => this.see(changed));
    this.resized.observe(element);
  }

  see(changed) {
    const { scrollLeft: left, scrollTop: top, clientWidth: width, clientHeight: height } = this.element;
    Object.assign(this, { left, top, width, height });
    changed();
  }

  scroll({ left = this.left, top = this.top }) {
    if (left === this.left && top === this.top) return;
    this.element.scrollTo({ left, top, behavior: "instant" });
    Object.assign(this, { left: Math.max(0, left), top: Math.max(0, top) });
  }
}

// ---- texts

const MAX_LIT = 6000;
const JSON_TOKEN = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\b\d[\d.eE+-]*|\b(?:true|false|null)\b/g;

/** JSON with its keys, strings and numbers told apart; a long text stays plain. */
export function lit(given) {
  const text = String(given);
  if (text.length > MAX_LIT || !/^\s*[[{]/.test(text)) return [text];
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(JSON_TOKEN)) {
    const [token, string, colon] = found;
    parts.push(text.slice(from, found.index));
    parts.push(h("span", { class: colon ? "zl-key" : string ? "zl-string" : "zl-number" }, string ?? token), colon);
    from = found.index + token.length;
  }
  return [...parts, text.slice(from)];
}

export function cutNotice(cut) {
  return cut > 0 && h("p", { class: "zl-cut" }, `${plural(cut, "more character")}, left out here`);
}

export function caption(label) {
  return label && h("h4", { class: "zl-caption" }, label);
}

export function pre(text, label) {
  const filled = text === "" ? [h("span", { class: "zl-quiet" }, "empty")] : lit(text);
  return h("pre", { class: "zl-pre", "aria-label": label }, filled);
}

/** A unified diff, line by line. */
export function patchLines(text) {
  const kinds = { "+": "zl-ins", "-": "zl-del" };
  const lines = text.split("\n").map((line) => h("span", { class: kinds[line[0]] ?? "" }, `${line}\n`));
  return h("pre", { class: "zl-pre" }, lines);
}
