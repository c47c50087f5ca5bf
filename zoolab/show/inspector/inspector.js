/**
 * The inspector's view: a trace of a tool-calling conversation, to step through.
 *
 * Python computes everything as plain data (`overview`, panels made of blocks) and this module draws it, in a
 * notebook as an anywidget and in a stand-alone page through an object with the same get, set, on and send.
 * All that it is given is hostile: text becomes text nodes, never markup, and never an address or a style.
 *
 * @typedef {{get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void,
 *            on: (event: string, heard: Function) => void, off?: (event: string, heard: Function) => void,
 *            send: (message: object) => void}} Model
 * @typedef {"main" | "other"} Side
 * @typedef {{kind: string, turn: number[], status: string, marks: number[], tool: number[],
 *            tools: string[], length: number[], branch: number[], ledger: object[], n: number}} Overview
 * @typedef {{seq: number, kind: string, headline: string, marks: string[], ran: string, next: ?string,
 *            blocks: object[], edit: object[], tabs: object, failed?: string}} Panel
 */

// ---- words

const KINDS = {
  d: ["define", "the tools are described"],
  q: ["request", "messages[] and the tools are sent"],
  t: ["tool_call", "the model's reply is read"],
  v: ["validate", "may the call run?"],
  e: ["execute", "Python runs the tool"],
  r: ["result", "what came of it goes back"],
};
const MARKS = [
  [1, "error", "errors"],
  [8, "fault", "faults"],
  [2, "retry", "retries"],
  [4, "repair", "repairs"],
  [64, "permission", "permissions"],
  [128, "sub-agent", "sub-agents"],
  [16, "edited", "edited"],
  [32, "stale", "stale"],
];
const ERROR = 1;
const EDITED = 16;
const STALE = 32;
const ROLES = { s: "system", u: "user", a: "assistant", t: "tool", "?": "other" };
const TABS = { diff: "Diff", full: "Full", raw: "Raw wire", python: "Python", note: "Note" };
const VERBS = {
  look: ["Look", "Executes nothing: shows messages[] as they would be."],
  replay: ["Replay", "The recorded replies and results answer: no tool runs. A request or a call that was never recorded fails and shows the nearest one."],
  live: ["Re-run live", ""],
};
const CHOICES = { once: "Allow once", session: "Allow for this session", always: "Always allow", deny: "Deny" };
const STATES = { ok: "passed", bad: "failed", none: "not reached" };
const TONES = { info: "Note", warn: "Warning", error: "Error", fault: "Injected fault" };
const HELP = [
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
const NO_KERNEL = {
  f: "This page runs no Python. To edit and fork, open the trace in a notebook: Trace.load(path).inspect(model=..., tools=...)",
  c: "This page runs no Python. To compare, open both traces in a notebook: inspect(trace, other)",
};

const GONE = "The kernel behind this inspector is gone: it was restarted, perhaps. Run the cell again.";

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
  compare: "M2.5 3h4.5v10H2.5zM9 3h4.5v10H9z",
};

// ---- making elements

/** An element. Data may be a child or the value of a harmless attribute, and nothing else. */
function h(tag, attributes, ...children) {
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

function icon(name) {
  const drawing = document.createElementNS(SVG, "svg");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", Object.hasOwn(ICONS, name) ? ICONS[name] : ICONS.none);
  drawing.append(path);
  for (const [key, value] of [["viewBox", "0 0 16 16"], ["class", "zl-icon"], ["aria-hidden", "true"]])
    drawing.setAttribute(key, value);
  return drawing;
}

function button(text, picture, click, attributes = {}) {
  const known = { type: "button", class: "zl-button", click, ...attributes };
  return h("button", known, picture && icon(picture), text && h("span", null, text));
}

/** For buttons that come and go with what can be done: a disabled one would lose the focus. */
function enable(element, can) {
  element.setAttribute("aria-disabled", String(!can));
}

/** Say which option of a list is the active one, if it is drawn. */
function pointTo(list, id) {
  if (id) list.setAttribute("aria-activedescendant", id);
  else list.removeAttribute("aria-activedescendant");
}

function chip(word) {
  return h("span", { class: `zl-chip zl-is-${Object.hasOwn(ICONS, word) ? word : "none"}` }, icon(word), word);
}

function plural(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}

function bytes(size) {
  return size < 1000 ? `${size} B` : `${(size / 1000).toFixed(size < 10_000 ? 1 : 0)} kB`;
}

function clamp(value, least, most) {
  return Math.max(least, Math.min(most, value));
}

/** Remembers what was drawn last; says whether anything of it is another by now. */
function memory() {
  let last = null;
  return (...now) => {
    const same = last !== null && now.every((value, i) => value === last[i]);
    last = now;
    return !same;
  };
}

/** What is in sight of an element that scrolls, kept, because to ask for it costs a layout each time. */
class Sight {
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
function lit(given) {
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

function cutNotice(cut) {
  return cut > 0 && h("p", { class: "zl-cut" }, `${plural(cut, "more character")}, left out here`);
}

function caption(label) {
  return label && h("h4", { class: "zl-caption" }, label);
}

function pre(text, label) {
  const filled = text === "" ? [h("span", { class: "zl-quiet" }, "empty")] : lit(text);
  return h("pre", { class: "zl-pre", "aria-label": label }, filled);
}

/** A unified diff, line by line. */
function patchLines(text) {
  const kinds = { "+": "zl-ins", "-": "zl-del" };
  const lines = text.split("\n").map((line) => h("span", { class: kinds[line[0]] ?? "" }, `${line}\n`));
  return h("pre", { class: "zl-pre" }, lines);
}

// ---- blocks: one function a block of a panel

const BLOCKS = {
  facts: ({ rows }) =>
    h("dl", { class: "zl-facts" }, rows.map(([label, text]) => h("div", null, h("dt", null, label), h("dd", null, text)))),

  code: ({ label, text, cut }) => h("section", null, caption(label), pre(text, label), cutNotice(cut)),

  messages: ({ rows, before }) => {
    const fresh = rows.findIndex((row) => row.new);
    const old = fresh < 0 ? [] : rows.slice(0, fresh);
    const left = before > 0 && h("p", { class: "zl-cut" }, `${plural(before, "earlier message")}, left out here`);
    if (old.length < 2) return h("section", null, left, rows.map(message));
    const folded = h("details", { class: "zl-fold" }, h("summary", null, plural(old.length, "earlier message")), left, old.map(message));
    return h("section", null, folded, rows.slice(fresh).map(message));
  },

  checks: ({ label, rows }) => h("section", null, caption(label), h("ul", { class: "zl-checks" }, rows.map(check))),

  diff: ({ label, pieces }) => {
    const side = (word, kept) => {
      const shown = pieces.filter(([op]) => op === "" || op === kept);
      return h("div", { class: "zl-version" }, h("small", null, word), h("pre", { class: "zl-pre" }, shown.map(([op, text]) => (op ? h(kept, null, text) : text))));
    };
    return h("section", null, caption(label), side("before", "del"), side("after", "ins"));
  },

  stream: ({ label, pieces }) => scrubber(label, pieces),

  fields: ({ label, rows }) => {
    const names = ["Python", "default", "", "JSON Schema", "description"];
    const head = names.map((name) => (name ? h("th", { scope: "col" }, name) : h("td", null)));
    const table = h("table", null, h("thead", null, h("tr", null, head)), h("tbody", null, rows.map(field)));
    return h("section", null, h("h4", { class: "zl-caption zl-code" }, label), rows.length ? h("div", { class: "zl-wide" }, table) : "no parameters");
  },

  tools: ({ rows }) => h("section", null, caption("tools"), h("ul", { class: "zl-tools" }, rows.map(offeredTool))),

  flow: ({ label, rows }) => h("section", null, caption(label), h("ol", { class: "zl-flow" }, rows.map(flowEnd))),

  note: ({ tone, text }) =>
    h("p", { class: `zl-note zl-tone-${tone in TONES ? tone : "info"}` }, icon(tone === "warn" ? "error" : tone), h("span", null, h("b", null, `${TONES[tone] ?? "Note"}: `), text)),

  permission: (asked) => {
    const names = ["tool", "risk", "resource", "arguments", "choice", "reason"];
    const rows = names.filter((name) => asked[name]).map((name) => [name, asked[name]]);
    return h("section", { class: "zl-card" }, h("h4", { class: "zl-caption" }, icon("permission"), "permission"), BLOCKS.facts({ rows }));
  },

  nested: ({ label, title, steps, outcome, rows, cut }, panel, app) =>
    h(
      "section",
      { class: "zl-card" },
      h("h4", { class: "zl-caption" }, icon("sub-agent"), label),
      h("p", null, title),
      h("p", { class: "zl-quiet" }, `${plural(steps, "step")}, ${outcome}`),
      app.can("open") && button("Open its trace", "next", () => app.ask({ type: "open", seq: panel.seq })),
      !app.kernel && h("p", null, "To step through it: ", h("code", null, `trace.steps[${panel.seq}].record.trace.inspect()`), " in a notebook."),
      !app.kernel && h("details", { class: "zl-fold" }, h("summary", null, "its steps"), h("ol", { class: "zl-steps" }, rows.map((row) => h("li", null, row))), cut > 0 && h("p", { class: "zl-cut" }, `${plural(cut, "more step")}, left out here`)),
    ),
};

/** A block of a kind that a later version knows is shown as what it is. */
function block(data, panel, app) {
  const draw = Object.hasOwn(BLOCKS, data.b) ? BLOCKS[data.b] : BLOCKS.code;
  return draw(draw === BLOCKS.code && data.b !== "code" ? { label: String(data.b), text: JSON.stringify(data) } : data, panel, app);
}

function message({ i, role, text, id, new: fresh, calls = [], others, cut }) {
  return h(
    "article",
    { class: `zl-message${fresh ? " zl-fresh" : ""}` },
    h("header", null, h("span", { class: "zl-index" }, i), h("b", null, role), id && h("code", null, id), fresh && h("span", { class: "zl-new" }, "new")),
    text && h("div", { class: "zl-said" }, lit(text)),
    calls.map((call) => h("div", { class: "zl-said" }, "→ ", h("b", null, call.name), "(", lit(call.arguments), ") ", call.id && h("code", null, call.id))),
    others && h("div", { class: "zl-said" }, lit(others)),
    cutNotice(cut),
  );
}

function check({ state, text, pointer, expected, received }) {
  const word = STATES[state] ?? STATES.none;
  const facts = [["at", pointer], ["expected", expected], ["received", received]].filter(([, value]) => value);
  return h(
    "li",
    { class: `zl-check zl-${state in STATES ? state : "none"}` },
    icon(state),
    h("span", null, text, " ", h("small", null, word), state === "bad" && facts.length > 0 && BLOCKS.facts({ rows: facts })),
  );
}

function field({ name, annotation, default: preset, schema, description, required }) {
  return h(
    "tr",
    null,
    h("th", { scope: "row" }, h("code", null, annotation ? `${name}: ${annotation}` : name)),
    h("td", null, required ? h("small", null, "required") : h("code", null, preset)),
    h("td", { class: "zl-link", "aria-hidden": "true" }, "⟷"),
    h("td", null, h("code", null, schema)),
    h("td", null, description || h("span", { class: "zl-quiet" }, "none")),
  );
}

function offeredTool({ name, state, why }) {
  return h("li", { class: `zl-tool zl-tool-${state === "chosen" || state === "offered" ? state : "missing"}` }, h("b", null, name), h("small", null, state), why && h("span", null, why));
}

function flowEnd({ what, id, message: index, text }) {
  return h("li", null, h("b", null, what), h("code", null, id || "no id"), h("span", null, `messages[${index}]`), h("p", null, text));
}

/** Streamed pieces, as they came: a slider over them. */
function scrubber(label, pieces) {
  const shown = h("pre", { class: "zl-pre" });
  const place = h("output", { class: "zl-quiet" });
  const show = (count) => {
    shown.replaceChildren(pieces.slice(0, count - 1).join(""), h("mark", null, pieces[count - 1] ?? ""));
    place.textContent = `piece ${count} of ${pieces.length}`;
    slider.setAttribute("aria-valuetext", place.textContent);
  };
  const slider = h("input", { type: "range", min: Math.min(1, pieces.length), max: pieces.length, "aria-label": label, "data-own-keys": true, input: () => show(Number(slider.value)) });
  slider.value = String(pieces.length);
  show(pieces.length);
  return h("section", null, caption(label), h("div", { class: "zl-scrub" }, slider, place), shown);
}

// ---- panels, fetched as they are shown

class Panels {
  static kept = 80;
  static patience = 5000;
  static ahead = 8;

  constructor(app) {
    this.app = app;
    this.cache = new Map();
    this.asked = new Map();
    this.last = new Map();
  }

  /** @returns {Panel | undefined} */
  get(side, seq) {
    const key = `${side} ${seq}`;
    const panel = this.cache.get(key);
    if (panel) this.cache.delete(key), this.cache.set(key, panel);
    return panel;
  }

  /** Ask for a step and those that will be shown next, one question at a time. */
  want(side, seq, n) {
    const from = this.last.get(side) ?? seq;
    const on = Math.sign(seq - from) || 1;
    const near = seq === from ? [seq, seq + 1, seq - 1] : Array.from({ length: Panels.ahead }, (_, i) => seq + i * on);
    const missing = (at) => at >= 0 && at < n && !this.cache.has(`${side} ${at}`);
    if (Date.now() < (this.asked.get(side) ?? 0) || !near.slice(0, Panels.ahead / 2).some(missing)) return;
    this.last.set(side, seq);
    this.asked.set(side, Date.now() + Panels.patience);
    this.app.send({ type: "get", which: side, steps: near.filter(missing) });
  }

  keep(side, seq, panel) {
    this.cache.set(`${side} ${seq}`, panel);
    while (this.cache.size > Panels.kept) this.cache.delete(this.cache.keys().next().value);
  }

  take({ which, panels }) {
    this.asked.delete(which);
    for (const [seq, panel] of Object.entries(panels)) this.keep(which, seq, panel);
  }

  forget(from) {
    this.asked.clear();
    for (const key of [...this.cache.keys()]) if (Number(key.split(" ")[1]) >= from) this.cache.delete(key);
  }
}

// ---- what an overview says of a step

const COLUMNS = ["turn", "marks", "tool", "length", "branch"];
const unpackedOf = new WeakMap();

/** The overview with its columns of numbers as lists; they are sent as runs, "0,1*5". */
function unpacked(overview) {
  if (!overview?.n) return overview;
  if (!unpackedOf.has(overview)) {
    const lists = COLUMNS.map((name) => [name, overview[name].split(",").flatMap(run)]);
    unpackedOf.set(overview, { ...overview, ...Object.fromEntries(lists) });
  }
  return unpackedOf.get(overview);
}

function run(text) {
  const [value, times = 1] = text.split("*").map(Number);
  return Array(times).fill(value);
}

function kindOf(overview, seq) {
  return (KINDS[overview.kind[seq]] ?? ["unknown", ""])[0];
}

function marksOf(overview, seq) {
  return MARKS.filter(([bit]) => overview.marks[seq] & bit).map(([, word]) => word);
}

function toolOf(overview, seq) {
  return overview.tools[overview.tool[seq]] ?? "";
}

function turnName(turn) {
  return turn > 0 ? `turn ${turn}` : "set-up";
}

function placeOf(overview, seq) {
  return `step ${seq + 1} of ${overview.n}, ${turnName(overview.turn[seq])}`;
}

function nameOf(overview, seq) {
  return [kindOf(overview, seq), toolOf(overview, seq)].filter(Boolean).join(" ");
}

/** The step to which a turn on, or back, leads. */
function turnFrom(overview, seq, direction) {
  const { turn, n } = overview;
  const starts = (at) => at === 0 || turn[at] !== turn[at - 1];
  let at = seq + direction;
  while (at > 0 && at < n && !starts(at)) at += direction;
  return clamp(at, 0, n - 1);
}

function nextMarked(overview, seq, bit) {
  const { marks, n } = overview;
  for (let i = 1; i <= n; i++) if (marks[(seq + i) % n] & bit) return (seq + i) % n;
  return -1;
}

// ---- the rail: every step, by turn; only those in sight are drawn

class Rail {
  static cell = 32;
  static gap = 14;
  static chunk = 16;

  constructor(column) {
    this.column = column;
    this.inner = h("div", { class: "zl-rail-inner", role: "presentation" });
    this.el = h("div", { class: "zl-rail", role: "listbox", tabindex: "0", "aria-orientation": "horizontal", click: (event) => this.clicked(event) }, this.inner);
    this.changed = memory();
    this.cells = new Map();
    this.sight = new Sight(this.el, () => this.seen());
  }

  draw(overview, seq) {
    if (this.changed(overview, this.column.notes)) this.lay(overview);
    this.show(seq);
    this.fill();
    this.select(seq);
  }

  seen() {
    this.show(this.selected);
    this.fill();
  }

  lay(overview) {
    this.overview = overview;
    this.range = this.shown = null;
    this.x = new Float64Array(overview.n + 1);
    let x = 8;
    for (let i = 0; i < overview.n; i++) {
      if (i > 0 && overview.turn[i] !== overview.turn[i - 1]) x += Rail.gap;
      this.x[i] = x;
      x += Rail.cell;
    }
    this.x[overview.n] = x;
    this.inner.style.width = `${x + 4}px`;
    this.el.setAttribute("aria-label", `${this.column.label}: ${plural(overview.n, "step")}`);
  }

  at(x) {
    let low = 0;
    let high = Math.max(0, this.overview.n - 1);
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.x[middle] <= x) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** Draw the cells in sight, and some beside them. */
  fill() {
    if (!this.overview?.n) return this.inner.replaceChildren();
    const { left, width } = this.sight;
    const from = Math.max(0, Math.floor(this.at(left) / Rail.chunk - 1) * Rail.chunk);
    const to = Math.min(this.overview.n, Math.ceil(this.at(left + width) / Rail.chunk + 1) * Rail.chunk);
    if (this.range === `${from} ${to}`) return;
    this.range = `${from} ${to}`;
    this.cells = new Map();
    const parts = [];
    for (let seq = from; seq < to; seq++) parts.push(this.turnLabel(seq, seq === from), this.cell(seq));
    this.inner.replaceChildren(...parts.filter(Boolean));
    this.select(this.selected);
  }

  turnLabel(seq, always) {
    const { turn, n } = this.overview;
    if (!always && turn[seq] === turn[seq - 1]) return null;
    let end = seq;
    while (end < n && turn[end] === turn[seq]) end++;
    const label = h("span", { class: "zl-turn", "aria-hidden": "true" }, turnName(turn[seq]));
    label.style.left = `${this.x[seq]}px`;
    label.style.width = `${this.x[end - 1] + Rail.cell - this.x[seq] + 4}px`;
    return label;
  }

  cell(seq) {
    const { overview } = this;
    const marks = marksOf(overview, seq).concat(this.column.notes[seq] ? ["noted"] : []);
    const label = [`${seq + 1}: ${nameOf(overview, seq)}`, turnName(overview.turn[seq]), ...marks].join(", ");
    const stale = overview.marks[seq] & STALE ? " zl-stale" : "";
    const cell = h(
      "div",
      { id: this.id(seq), role: "option", class: `zl-cell zl-kind-${kindOf(overview, seq)}${stale}`, "aria-label": label, "aria-posinset": seq + 1, "aria-setsize": overview.n, title: label, "data-seq": seq },
      h("span", { class: "zl-tile" }, icon(kindOf(overview, seq))),
      h("span", { class: "zl-cell-marks" }, marks.slice(0, 2).map((word) => h("span", { class: `zl-is-${word}` }, icon(word)))),
    );
    cell.style.left = `${this.x[seq]}px`;
    this.cells.set(seq, cell);
    return cell;
  }

  id(seq) {
    return `${this.column.app.id}-${this.column.side}-step-${seq}`;
  }

  select(seq) {
    this.selected = seq;
    for (const [at, cell] of this.cells) {
      cell.setAttribute("aria-selected", String(at === seq));
      cell.classList.toggle("zl-coming", at === seq + 1);
    }
    pointTo(this.el, this.cells.has(seq) && this.id(seq));
  }

  show(seq) {
    if (!this.overview?.n || !this.sight.width || seq === this.shown) return;
    this.shown = seq;
    const { left, width } = this.sight;
    const margin = Math.min(2 * Rail.cell, width / 4);
    const x = this.x[seq];
    if (x < left + margin || x + Rail.cell > left + width - margin) this.sight.scroll({ left: x - width / 2 });
  }

  clicked(event) {
    const cell = event.target.closest?.("[data-seq]");
    if (cell) this.column.go(Number(cell.dataset.seq));
  }
}

// ---- the ledger: every message of messages[]; those that the step has are bright

class Ledger {
  static row = 30;

  constructor(column) {
    this.column = column;
    this.inner = h("div", { class: "zl-ledger-inner", role: "presentation" });
    this.title = h("h3", { class: "zl-caption" });
    this.list = h("div", { class: "zl-ledger-list", role: "listbox", tabindex: "0", "aria-label": "messages[]; Enter leads to the step that a message came with", keydown: (event) => this.key(event), click: (event) => this.clicked(event) }, this.inner);
    this.el = h("section", { class: "zl-ledger", role: "group", "aria-label": "Ledger of messages[]" }, this.title, this.list);
    this.changed = memory();
    this.sight = new Sight(this.list, () => this.fill());
  }

  draw(overview, seq) {
    if (!overview.n || !this.changed(overview, seq)) return;
    const entries = overview.ledger[overview.branch[seq]] ?? { role: "", id: [], size: [] };
    const before = seq > 0 && overview.branch[seq - 1] === overview.branch[seq] ? overview.length[seq - 1] : 0;
    Object.assign(this, { overview, entries, known: overview.length[seq], fresh: before, rows: Math.max(entries.role.length, overview.length[seq]) });
    this.cursor = Math.max(0, this.known - 1);
    this.title.textContent = `messages[]: ${this.known}`;
    this.inner.style.height = `${this.rows * Ledger.row}px`;
    this.reveal(this.cursor);
    this.fill();
  }

  reveal(index) {
    const { top, height } = this.sight;
    const at = index * Ledger.row;
    if (at < top || at + Ledger.row > top + height) this.sight.scroll({ top: Math.max(0, Math.min(at - height / 2, this.rows * Ledger.row - height)) });
  }

  fill() {
    if (!this.entries) return;
    const from = Math.max(0, Math.floor(this.sight.top / Ledger.row) - 4);
    const to = Math.min(this.rows, from + Math.ceil(this.sight.height / Ledger.row) + 9);
    const rows = [];
    for (let i = from; i < to; i++) rows.push(this.row(i));
    this.inner.replaceChildren(...rows);
    pointTo(this.list, this.cursor >= from && this.cursor < to && this.id(this.cursor));
  }

  row(i) {
    const role = ROLES[this.entries.role[i] ?? "?"];
    const state = i >= this.known ? "later" : i >= this.fresh ? "new" : "";
    const id = this.entries.id[i] || "";
    const size = this.entries.size[i];
    const label = [`messages[${i}]`, role, id, size != null && bytes(size), state].filter(Boolean).join(", ");
    const row = h(
      "div",
      { id: this.id(i), role: "option", class: `zl-row zl-role-${role}${state ? ` zl-${state}-row` : ""}`, "aria-label": label, "aria-posinset": i + 1, "aria-setsize": this.rows, "aria-selected": String(i === this.cursor), title: label, "data-i": i },
      h("span", { class: "zl-index" }, i),
      h("b", null, role),
      h("code", null, id),
      h("span", { class: "zl-size" }, state || (size == null ? "" : bytes(size))),
    );
    row.style.top = `${i * Ledger.row}px`;
    return row;
  }

  id(i) {
    return `${this.column.app.id}-${this.column.side}-message-${i}`;
  }

  key(event) {
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.key];
    if (event.key === "Enter" || event.key === " ") this.open(this.cursor);
    else if (move) this.cursor = clamp(this.cursor + move, 0, this.rows - 1);
    else return;
    event.preventDefault();
    this.reveal(this.cursor);
    this.fill();
  }

  clicked(event) {
    const row = event.target.closest?.("[data-i]");
    if (row) this.open(Number(row.dataset.i));
  }

  /** Go to the step that a message came with. */
  open(index) {
    const { length, branch } = this.overview;
    const here = branch[this.column.seq];
    const seq = length.findIndex((held, at) => branch[at] === here && held > index);
    if (seq >= 0) this.column.go(seq);
  }
}

// ---- below the panel

const TAB_BODIES = {
  diff: ({ words, rows, patch, patch_cut: cut }) => [
    h("p", { class: "zl-words" }, words),
    h("div", { class: "zl-diff", role: "list" }, rows.map(diffRow)),
    patch.length + cut > 0 &&
      h("details", { class: "zl-fold" }, h("summary", null, "as a JSON Patch (RFC 6902)"), pre(JSON.stringify(patch, null, 1), "JSON Patch"), cut > 0 && h("p", { class: "zl-cut" }, `${plural(cut, "more operation")}, left out here`)),
  ],
  full: (blocks, panel, app) => (blocks.some((b) => b.rows?.length) ? blocks.map((data) => block(data, panel, app)) : [h("p", { class: "zl-quiet" }, "messages[] is empty")]),
  raw: (blocks, panel, app) => blocks.map((data) => block(data, panel, app)),
  python: (code) => [button("Copy", null, (event) => copy(event.currentTarget, code), { class: "zl-button zl-copy" }), pre(code, "Python code of this step")],
};

function diffRow({ op, i, role, text, id }) {
  const [word, kind] = { "+": ["added", "zl-ins"], "-": ["removed", "zl-del"] }[op] ?? ["kept", ""];
  return h(
    "div",
    { role: "listitem", class: `zl-diff-row ${kind}` },
    h("span", { class: "zl-op" }, h("span", { "aria-hidden": "true" }, op), h("span", { class: "zl-unseen" }, word)),
    h("span", { class: "zl-index" }, i),
    h("b", null, role),
    h("span", { class: "zl-said" }, id && h("code", null, id), id && " ", text),
  );
}

async function copy(pressed, text) {
  const said = pressed.querySelector("span");
  try {
    await navigator.clipboard.writeText(text);
    said.textContent = "Copied";
  } catch {
    said.textContent = "Select it and copy by hand";
  }
}

class Tabs {
  constructor(column) {
    this.column = column;
    this.changed = memory();
    const pick = (name) => column.app.set({ tab: name });
    const id = (name) => `${column.app.id}-${column.side}-tab-${name}`;
    this.tabs = Object.entries(TABS).map(([name, title]) =>
      h("button", { type: "button", role: "tab", id: id(name), class: "zl-tab", "data-tab": name, "aria-controls": id("body"), click: () => pick(name) }, title),
    );
    this.body = h("div", { class: "zl-tab-body", role: "tabpanel", id: id("body"), tabindex: "0" });
    this.sight = new Sight(this.body);
    this.el = h("section", { class: "zl-tabs" }, h("div", { role: "tablist", class: "zl-tablist", "aria-label": "More about this step", keydown: (event) => this.key(event) }, this.tabs), this.body);
  }

  get selected() {
    const name = this.column.app.model.get("tab");
    return Object.hasOwn(TABS, name) ? name : "diff";
  }

  draw(panel) {
    const name = this.selected;
    const note = name === "note" ? (this.column.notes[this.column.seq] ?? "") : null;
    if (!panel || !this.changed(panel, name, note)) return;
    for (const tab of this.tabs) {
      const on = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
      if (on) this.body.setAttribute("aria-labelledby", tab.id);
    }
    this.body.replaceChildren(...this.content(panel, name, note).filter(Boolean));
    this.sight.scroll({ top: 0 });
  }

  content(panel, name, note) {
    if (panel.failed) return [];
    return name === "note" ? this.noteBody(panel, note) : TAB_BODIES[name](panel.tabs[name], panel, this.column.app);
  }

  noteBody(panel, note) {
    const { app, side } = this.column;
    if (side === "other" || !app.can("note")) return [note ? h("p", { class: "zl-said" }, note) : h("p", { class: "zl-quiet" }, "no note")];
    const area = h("textarea", { class: "zl-text", rows: 4, maxlength: 10000, "aria-label": `Note on step ${panel.seq + 1}`, placeholder: "What did you see here? It is saved with the trace." });
    area.value = note;
    return [area, button("Save the note", "noted", () => app.ask({ type: "note", seq: panel.seq, text: area.value }, { quick: true }))];
  }

  key(event) {
    const names = Object.keys(TABS);
    const at = names.indexOf(this.selected);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined || event.shiftKey) return;
    event.preventDefault();
    this.column.app.set({ tab: names[(to + names.length) % names.length] });
    this.tabs[(to + names.length) % names.length].focus();
  }
}

// ---- editing a step, and the ways to go on from it

class Workbench {
  constructor(column) {
    this.column = column;
    this.app = column.app;
    this.open = false;
    this.changedFields = memory();
    this.changedWays = memory();
    this.areas = [];
    /** What was typed, by run and step: kept until it was taken. */
    this.drafts = new Map();
    this.title = h("h4", { class: "zl-caption" });
    this.fields = h("div", { class: "zl-fields" });
    this.ways = h("div", { class: "zl-ways" });
    this.el = h("section", { class: "zl-workbench", role: "group", "aria-label": "Edit and fork", hidden: true }, this.title, this.fields, this.ways);
  }

  toggle(open = !this.open) {
    this.open = open;
    if (!open) return this.app.drawSoon();
    // At once: a frame later, the next key would be meant for the inspector and go to the field, or the other way.
    this.app.draw();
    (this.areas[0]?.area ?? this.ways.querySelector("button"))?.focus();
  }

  leave() {
    this.toggle(false);
    this.column.step.fork.focus();
  }

  get key() {
    return `${this.column.overview.run_id} ${this.column.seq}`;
  }

  draw(panel) {
    const editable = panel?.edit && (this.app.can("fork") || this.app.can("answer"));
    this.el.hidden = !this.open || !editable;
    if (this.el.hidden) return;
    if (this.changedFields(panel)) this.drawFields(panel);
    if (this.changedWays(panel, this.app.live)) this.drawWays(panel);
  }

  drawFields(panel) {
    const drafts = this.drafts.get(this.key) ?? {};
    this.title.textContent = `Edit step ${panel.seq + 1}: ${panel.kind}`;
    this.areas = panel.edit.map((edit, i) => this.area(`${this.app.id}-edit-${i}`, edit, drafts[edit.field] ?? edit.text));
    this.fields.replaceChildren(...this.areas.map(({ el }) => el));
    if (!this.areas.length) this.fields.append(h("p", { class: "zl-quiet" }, "Nothing of this step can be edited; it can be forked as it is."));
  }

  area(id, edit, text) {
    const area = h("textarea", { id, class: "zl-text zl-code", spellcheck: "false", rows: clamp(text.split("\n").length, 1, 9), "data-field": edit.field, "aria-describedby": `${id}-said`, input: () => this.typed(edit, area) });
    const said = h("span", { id: `${id}-said`, class: "zl-said-wrong", role: "status" });
    area.value = text;
    const form = edit.form === "json" ? "JSON" : "text";
    const el = h("div", { class: "zl-field" }, h("label", { for: id }, edit.label, h("small", null, form)), area, said);
    return { edit, area, said, el };
  }

  typed(edit, area) {
    const drafts = this.drafts.get(this.key) ?? {};
    this.drafts.set(this.key, { ...drafts, [edit.field]: area.value });
    this.check(this.areas.find((known) => known.area === area));
  }

  /** Whether a field may be sent; says under it what is wrong. */
  check({ edit, area, said }) {
    const wrong = edit.form === "json" && area.value !== edit.text ? wrongJSON(area.value) : "";
    area.setAttribute("aria-invalid", String(wrong !== ""));
    said.textContent = wrong;
    return wrong === "";
  }

  send(message) {
    const wrong = this.areas.filter((known) => !this.check(known));
    if (wrong.length) return wrong[0].area.focus();
    const edits = this.areas.filter(({ edit, area }) => area.value !== edit.text).map(({ edit, area }) => ({ field: edit.field, text: area.value }));
    const { key } = this;
    this.app.ask({ ...message, seq: this.column.seq, edits }, { done: () => this.taken(key) });
  }

  taken(key) {
    this.drafts.delete(key);
    this.toggle(false);
  }

  reset() {
    this.drafts.delete(this.key);
    for (const { edit, area } of this.areas) area.value = edit.text;
    this.areas.forEach((known) => this.check(known));
  }

  drawWays(panel) {
    const last = panel.seq === this.column.overview.n - 1;
    const groups = [last && this.app.can("answer") && this.goOn(), this.app.can("fork") && this.forks()];
    this.ways.replaceChildren(...groups.filter(Boolean), button("Undo my edits", null, () => this.reset(), { class: "zl-button zl-plain" }));
  }

  goOn() {
    const say = (text, then, picture) => button(text, picture, () => this.send({ type: "answer", then }), { "data-then": String(then) });
    return h("fieldset", { class: "zl-way" }, h("legend", null, "Go on with this, in the same walk"), say("One step", "step", "next"), say("To the end", "run", "last"), say("Later", null));
  }

  forks() {
    const verbs = this.app.live?.verbs ?? {};
    const cards = Object.entries(VERBS).map(([verb, [title, words]]) => {
      const says = verb === "live" ? (verbs.live_costs ?? "") : verbs[verb] ? words : "Nothing was recorded.";
      const press = button(title, verb, () => verbs[verb] && this.send({ type: "fork", verb }), { class: "zl-button zl-verb", "data-verb": verb });
      enable(press, Boolean(verbs[verb]));
      return h("div", { class: `zl-fork zl-fork-${verb}` }, press, h("p", null, says));
    });
    return h("fieldset", { class: "zl-way zl-forks" }, h("legend", null, "Fork: a child of this trace, which itself stays as it is"), cards);
  }
}

/** What is wrong with a text as JSON, in a line; empty where nothing is. */
function wrongJSON(text) {
  try {
    JSON.parse(text);
    return "";
  } catch (error) {
    return `Not JSON yet: ${error.message}. Nothing was sent.`;
  }
}

// ---- a step: what just ran, what runs next, and its blocks

class StepPanel {
  constructor(column) {
    this.column = column;
    this.changed = memory();
    this.head = h("header", { class: "zl-head", "aria-live": "polite", "aria-atomic": "true" });
    this.fork = button("Edit or fork", "fork", () => column.bench.toggle(), { "aria-expanded": "false", class: "zl-button zl-edit" });
    this.next = h("p", { class: "zl-next" });
    this.blocks = h("div", { class: "zl-blocks" });
    this.el = h("section", { class: "zl-step", tabindex: "0", role: "group", "aria-label": `Step of ${column.label}` }, h("div", { class: "zl-top" }, this.head, this.fork), this.next, this.blocks);
    this.sight = new Sight(this.el);
  }

  draw(overview, seq, panel) {
    const { app, bench, gap } = this.column;
    this.fork.hidden = !bench || gap || !(app.can("fork") || app.can("answer"));
    this.fork.setAttribute("aria-expanded", String(Boolean(bench?.open)));
    this.el.setAttribute("aria-busy", String(!panel && !gap));
    if (!this.changed(overview, seq, panel, gap, app.can("open"))) return;
    this.el.className = `zl-step zl-kind-${kindOf(overview, seq)}${overview.marks[seq] & STALE ? " zl-stale" : ""}`;
    if (gap) return this.nothing();
    this.drawHead(overview, seq, panel);
    if (panel) this.drawBlocks(panel);
  }

  nothing() {
    this.head.replaceChildren(h("p", { class: "zl-quiet" }, "No such step in this trace."));
    this.next.replaceChildren();
    this.blocks.replaceChildren();
  }

  drawHead(overview, seq, panel) {
    const kind = kindOf(overview, seq);
    const marks = panel?.marks ?? marksOf(overview, seq);
    this.head.replaceChildren(
      h("span", { class: "zl-tile" }, icon(kind)),
      h("div", null, h("p", { class: "zl-kicker" }, overview.status[seq] === "p" ? "waits for permission: " : "just ran ", h("b", null, kind), h("span", { class: "zl-unseen" }, `, ${placeOf(overview, seq)}`)), h("h3", null, panel?.headline ?? nameOf(overview, seq))),
      h("div", { class: "zl-chips" }, marks.map(chip)),
    );
  }

  drawBlocks(panel) {
    this.el.dataset.seq = panel.seq;
    this.sight.scroll({ top: 0 });
    const failed = panel.failed && [BLOCKS.note({ tone: "error", text: panel.failed })];
    this.blocks.replaceChildren(...(failed || panel.blocks.map((data) => block(data, panel, this.column.app))));
    if (failed) return this.next.replaceChildren();
    this.next.replaceChildren(h("b", null, panel.next ? "runs next " : "the end "), panel.next ?? "nothing runs after this");
  }
}

// ---- a column: one trace; a comparison has two

class Column {
  /** @param {Side} side */
  constructor(app, side) {
    Object.assign(this, { app, side, gap: false });
    this.bench = side === "main" ? new Workbench(this) : null;
    this.rail = new Rail(this);
    this.ledger = side === "main" ? new Ledger(this) : null;
    this.step = new StepPanel(this);
    this.tabs = new Tabs(this);
    this.name = h("h3", { class: "zl-column-name" });
    this.marked = h("div", { class: "zl-marked" });
    this.changed = memory();
    this.el = h("div", { class: "zl-column", "data-side": side }, this.name, this.rail.el, this.steer(), this.body());
  }

  steer() {
    const { app } = this;
    const press = (picture, label, way) => button("", picture, () => app.move(this, way), { "aria-label": label, title: label, class: "zl-button zl-square" });
    this.place = h("output", { class: "zl-place" });
    this.slider = h("input", { type: "range", min: 0, class: "zl-slider", "aria-label": `Step of ${this.label}`, input: () => this.go(Number(this.slider.value)) });
    return h("div", { class: "zl-steer" }, press("first", "First step", "first"), press("previous", "Previous step", -1), this.slider, press("next", "Next step", 1), press("last", "Last step", "last"), this.place, this.marked);
  }

  body() {
    const parts = [this.ledger?.el, this.step.el].filter(Boolean);
    return [h("div", { class: "zl-stage" }, h("div", { class: "zl-body" }, parts), this.tabs.el), this.bench?.el].filter(Boolean);
  }

  get label() {
    return this.side === "main" ? "this trace" : "the other trace";
  }

  /** @returns {Overview} */
  get overview() {
    return unpacked(this.app.model.get(this.side === "main" ? "overview" : "other"));
  }

  get notes() {
    return this.side === "main" ? (this.app.model.get("notes") ?? NO_NOTES) : NO_NOTES;
  }

  get seq() {
    const at = this.app.model.get(this.side === "main" ? "step" : "other_step");
    return clamp(at, 0, Math.max(0, this.overview.n - 1));
  }

  go(seq) {
    this.app.goTo(this, seq);
  }

  draw() {
    const { overview, seq } = this;
    this.el.hidden = !overview?.n;
    if (this.el.hidden) return;
    const panel = this.app.panels.get(this.side, seq) ?? (this.app.gone ? { ...NO_PANEL, seq, failed: GONE } : undefined);
    this.drawFrame(overview, seq);
    this.rail.draw(overview, seq);
    this.ledger?.draw(overview, seq);
    this.step.draw(overview, seq, panel);
    this.bench?.draw(panel);
    this.tabs.draw(panel);
    this.app.panels.want(this.side, seq, overview.n);
  }

  drawFrame(overview, seq) {
    const comparing = this.app.comparing;
    this.name.hidden = !comparing;
    this.name.textContent = this.side === "main" ? "This trace" : `${this.app.isParent(overview) ? "Its parent" : "The other trace"}, ${overview.run_id}`;
    this.slider.max = String(overview.n - 1);
    this.slider.value = String(seq);
    this.slider.setAttribute("aria-valuetext", `${placeOf(overview, seq)}: ${nameOf(overview, seq)}`);
    this.place.textContent = placeOf(overview, seq);
    if (this.changed(overview)) this.marked.replaceChildren(...this.markButtons(overview));
  }

  markButtons(overview) {
    return MARKS.map(([bit, one, many]) => {
      const count = overview.marks.reduce((sum, marks) => sum + (marks & bit ? 1 : 0), 0);
      const go = () => this.go(nextMarked(this.overview, this.seq, bit));
      return count > 0 && button(`${count} ${count === 1 ? one : many}`, one, go, { class: `zl-chip zl-is-${one}`, title: `go to the next: ${one}` });
    }).filter(Boolean);
  }
}

const NO_NOTES = Object.freeze({});

// ---- driving a walk

class LiveBar {
  constructor(app) {
    this.app = app;
    this.changed = memory();
    const ask = (type) => () => app.live && this.ready && app.ask({ type });
    this.step = button("Step", "next", ask("step"), { class: "zl-button zl-primary", "data-drive": "step" });
    this.run = button("Run to end", "last", ask("run"), { "data-drive": "run" });
    this.target = h("select", { class: "zl-select", "aria-label": "Run until" });
    this.until = button("Run until", null, () => this.runUntil(), { "data-drive": "until" });
    this.driving = h("div", { class: "zl-driving" }, this.step, this.run, h("span", { class: "zl-until" }, this.until, this.target));
    this.asking = h("div", { class: "zl-asking", role: "group", "aria-label": "A permission waits", tabindex: "-1" }, this.decisions());
    this.state = h("p", { class: "zl-state", role: "status" });
    this.arriving = h("div", { class: "zl-arriving" });
    this.el = h("div", { class: "zl-live", role: "group", "aria-label": "Drive the walk" }, this.driving, this.asking, this.state, this.arriving);
  }

  decisions() {
    this.asked = h("b", { class: "zl-asked" });
    const decide = (choice) => () => this.ready && this.app.ask({ type: "decide", choice });
    const buttons = Object.entries(CHOICES).map(([choice, text]) => button(text, choice === "deny" ? "bad" : "ok", decide(choice), { "data-choice": choice, class: `zl-button${choice === "deny" ? " zl-deny" : ""}` }));
    return [h("span", { class: "zl-is-permission" }, icon("permission")), this.asked, ...buttons];
  }

  get ready() {
    return !this.app.busy && this.app.live?.state === "paused";
  }

  runUntil() {
    const wanted = this.app.live?.breakpoints?.[this.target.selectedIndex];
    if (wanted && this.ready) this.app.ask({ type: "until", ...wanted });
  }

  draw() {
    const { live, busy } = this.app;
    if (!this.changed(live, busy)) return;
    const waits = this.app.can("decide");
    const going = live && (live.state !== "done" || live.error);
    this.el.hidden = !going;
    if (!going) return;
    const held = this.el.contains(document.activeElement);
    this.driving.hidden = waits || live.state === "done";
    this.asking.hidden = !waits;
    for (const element of this.el.querySelectorAll("button")) enable(element, this.ready);
    this.drawTargets(live);
    this.drawState(live, busy);
    this.arriving.replaceChildren(...(live.arriving ?? []).map((data) => block(data, NO_PANEL, this.app)));
    if (held && !document.activeElement?.offsetParent) (waits ? this.asking : this.step).focus();
  }

  drawTargets(live) {
    const words = (live.breakpoints ?? []).map(({ kind, tool }) => (kind ? `a ${kind} step` : tool ? `the tool ${tool}` : "an error"));
    if (words.join("\n") === this.targets) return;
    this.targets = words.join("\n");
    this.target.replaceChildren(...words.map((word) => h("option", null, word)));
  }

  drawState(live, busy) {
    const { overview } = this.app.columns.main;
    this.asked.textContent = `May ${toolOf(overview, overview.n - 1) || "this tool"} run?`;
    const next = live.next ? `paused; next comes ${live.next}` : "paused";
    const state = busy || live.state === "running" ? "running…" : live.state === "done" ? "the walk is over" : next;
    this.state.textContent = [live.waits && !busy ? "waits for you" : state, live.held && "your edit goes on with the next step", live.error].filter(Boolean).join("; ");
  }
}

// ---- the head of the page

class Header {
  constructor(app) {
    this.app = app;
    this.changed = memory();
    this.back = button("Back", "back", () => app.ask({ type: "back" }), { "data-do": "back" });
    this.title = h("h2", { class: "zl-title" });
    this.facts = h("p", { class: "zl-totals" });
    this.trouble = h("p", { class: "zl-note zl-tone-error" });
    this.compare = button("Compare", "compare", () => app.toggleCompare(), { "aria-pressed": "false", "data-do": "compare" });
    this.help = button("?", null, () => app.help.open(), { class: "zl-button zl-square", "aria-label": "Help: the keys", "data-do": "help" });
    const name = h("div", { class: "zl-name" }, this.title, this.facts);
    this.el = h("header", { class: "zl-header" }, this.back, name, this.compare, this.help, this.trouble);
  }

  draw() {
    const { app } = this;
    const { overview } = app.columns.main;
    if (!this.changed(overview, app.live, app.comparing)) return;
    this.back.hidden = !app.can("back");
    this.compare.hidden = !app.can("compare") && !app.comparing;
    this.compare.setAttribute("aria-pressed", String(app.comparing));
    this.title.textContent = overview.title || "A trace";
    this.facts.replaceChildren(...totals(overview).map((text) => h("span", null, text)));
    this.trouble.hidden = !overview.error;
    if (overview.error) this.trouble.replaceChildren(icon("error"), h("span", null, h("b", null, `${overview.outcome}: `), overview.error));
  }
}

/** Which step was forked, and whether it was edited. */
function forkedAt(overview) {
  const at = overview.parent.forked_at;
  if (at == null || at >= overview.n) return "";
  return `: step ${at + 1}, ${nameOf(overview, at)}, ${overview.marks[at] & EDITED ? "was edited" : "as it was"}`;
}

function totals(overview) {
  const { outcome, error, totals: all, parent, n } = overview;
  const tokens = all.tokens_in == null ? [] : [`${plural(all.tokens_in, "token")} in, ${(all.tokens_out ?? 0).toLocaleString("en")} out`];
  const forked = parent ? [`a fork of ${parent.run_id}${forkedAt(overview)}`] : [];
  return [outcome === "answer" ? "answered" : outcome, plural(n, "step"), plural(all.turns, "turn"), plural(all.calls, "call"), (all.errors > 0 || !error) && plural(all.errors, "error"), ...tokens, all.time, ...forked].filter(Boolean);
}

// ---- comparing

class CompareBar {
  constructor(app) {
    this.app = app;
    this.changed = memory();
    this.words = h("p", { class: "zl-words" });
    this.linked = button("Sliders linked", null, () => this.toggle(), { "aria-pressed": "true", "data-do": "link" });
    this.jump = button("First divergence", "next", () => this.diverge(), { "data-do": "diverge" });
    this.el = h("div", { class: "zl-comparing", role: "group", "aria-label": "Comparison", hidden: true }, this.words, this.jump, this.linked);
  }

  toggle() {
    this.app.linked = !this.app.linked;
    this.linked.setAttribute("aria-pressed", String(this.app.linked));
    if (this.app.linked) this.app.columns.main.go(this.app.columns.main.seq);
  }

  diverge() {
    const [a, b] = this.app.model.get("other").diverges;
    this.app.place({ main: a, other: b });
  }

  draw() {
    const other = this.app.comparing ? this.app.model.get("other") : null;
    if (!this.changed(other)) return;
    this.el.hidden = !other;
    if (!other) return;
    const parts = other.diverges ? "" : "The two do not differ. ";
    this.words.textContent = `${parts}Compared with its parent: ${other.words ?? ""}`;
    this.jump.hidden = !other.diverges;
  }
}

// ---- what went wrong, and help

class Failure {
  constructor(app) {
    this.app = app;
    this.el = h("div", { class: "zl-failure", role: "alert", hidden: true });
  }

  show({ message, difference }) {
    const close = button("Close", "bad", () => this.hide(), { class: "zl-button zl-plain" });
    const nearest = difference && h("details", { open: true }, h("summary", null, "the difference to the nearest one that is recorded"), patchLines(difference));
    this.el.replaceChildren(h("p", null, icon("error"), h("span", null, h("b", null, "That did not work: "), message)), close, nearest || "");
    this.el.hidden = false;
    this.el.scrollIntoView({ block: "nearest" });
  }

  hide() {
    const held = this.el.contains(document.activeElement);
    this.el.hidden = true;
    if (held) this.app.root.focus();
  }
}

class Help {
  constructor(app) {
    const id = `${app.id}-help`;
    const keys = HELP.filter(([key]) => app.kernel || !(key in NO_KERNEL)).map(([key, words]) => h("div", null, h("dt", null, key.split(" ").map((k) => h("kbd", null, k))), h("dd", null, words)));
    const steps = Object.values(KINDS).map(([kind, words]) => h("div", { class: `zl-kind-${kind}` }, h("dt", null, h("span", { class: "zl-tile" }, icon(kind)), kind), h("dd", null, words)));
    this.el = h(
      "dialog",
      { class: "zl-help", "aria-labelledby": id, keydown: (event) => this.key(event) },
      h("h2", { id }, "The inspector"),
      h("h3", null, "Six steps of a turn"),
      h("dl", null, steps),
      h("h3", null, "Keys, while the focus is here and not in a text"),
      h("dl", null, keys),
      button("Close", null, () => this.el.close(), { class: "zl-button zl-primary" }),
    );
  }

  open() {
    if (!this.el.open) this.el.showModal();
  }

  /** There is one place to go: Tab would leave the page for the browser's own buttons. */
  key(event) {
    if (event.key === "Tab") event.preventDefault();
  }
}

// ---- the whole

class App {
  /** @param {Model} model */
  constructor(model, el) {
    this.model = model;
    this.id = `zl-${Math.random().toString(36).slice(2, 8)}`;
    this.panels = new Panels(this);
    this.linked = true;
    this.busy = false;
    this.gone = false;
    this.moving = false;
    this.settling = false;
    this.columns = { main: new Column(this, "main"), other: new Column(this, "other") };
    this.header = new Header(this);
    this.liveBar = new LiveBar(this);
    this.compareBar = new CompareBar(this);
    this.failure = new Failure(this);
    this.help = new Help(this);
    this.status = h("p", { class: "zl-status", role: "status" });
    this.empty = h("p", { class: "zl-quiet", hidden: true }, "This trace has no steps yet.");
    this.root = this.frame();
    el.append(this.root);
    this.listen();
    this.draw();
  }

  frame() {
    const columns = h("div", { class: "zl-columns" }, this.columns.main.el, this.columns.other.el);
    const parts = [this.header, this.liveBar, this.failure, this.compareBar].map((part) => part.el);
    return h("section", { class: "zl", tabindex: "-1", role: "group", "aria-label": "Inspector of a trace", keydown: (event) => this.key(event) }, parts, this.status, this.empty, columns, this.help.el);
  }

  get live() {
    return this.model.get("live");
  }

  get kernel() {
    return this.live !== null;
  }

  get comparing() {
    return Boolean(this.model.get("other") && this.model.get("pairs")?.length);
  }

  isParent(overview) {
    return this.model.get("overview").parent?.run_id === overview.run_id;
  }

  can(what) {
    return Boolean(this.live?.can?.includes(what));
  }

  listen() {
    const changes = ["overview", "live", "other", "pairs", "notes", "tab", "step", "other_step"].map((name) => [`change:${name}`, () => this.heard(name)]);
    this.ears = [...changes, ["msg:custom", (message) => this.told(message)]];
    for (const [event, heard] of this.ears) this.model.on(event, heard);
  }

  heard(name) {
    if (!this.moving && (name === "step" || name === "other_step" || name === "pairs")) this.columns.main.gap = this.columns.other.gap = false;
    this.drawSoon();
  }

  told(message) {
    if (message.type === "panels") this.panels.take(message);
    else if (message.type === "forget") this.forget(message.from);
    else if (message.type === "failed") this.failed(message);
    this.drawSoon();
  }

  forget(from) {
    this.panels.forget(from);
    this.busy = false;
    this.failure.hide();
    this.done?.();
    this.done = null;
  }

  failed(message) {
    if (message.seq != null) return this.panels.keep(message.which, message.seq, { ...NO_PANEL, seq: message.seq, failed: message.message });
    this.busy = false;
    this.done = null;
    this.failure.show(message);
  }

  /** Ask Python for something; `quick` where no answer but a change comes, `done` once it was taken. */
  ask(message, { quick = false, done = null } = {}) {
    if (this.busy) return this.say("Something is running still.");
    this.busy = !quick;
    this.done = done;
    if (quick) this.say("The note is saved.");
    if (this.unsaved) this.save();
    this.send(message);
    this.drawSoon();
  }

  /** A kernel that was restarted knows nothing of this inspector, and sending to it is an error. */
  send(message) {
    try {
      this.model.send(message);
    } catch {
      this.lost();
    }
  }

  lost() {
    this.gone = true;
    this.busy = false;
    this.drawSoon();
  }

  say(text) {
    this.status.textContent = text;
  }

  set(values) {
    this.moving = true;
    this.say("");
    for (const [name, value] of Object.entries(values)) this.model.set(name, value);
    this.moving = false;
    this.unsaved ??= setTimeout(() => this.save(), 150);
    this.drawSoon();
  }

  /** The kernel is told where the reader is once they rest: it has panels to fetch meanwhile. */
  save() {
    clearTimeout(this.unsaved);
    this.unsaved = null;
    try {
      this.model.save_changes();
    } catch {
      this.lost();
    }
  }

  drawSoon() {
    this.due ??= requestAnimationFrame(() => this.draw());
  }

  draw() {
    this.due = null;
    const held = this.root.contains(this.focused);
    const opened = this.comparing && !this.root.classList.contains("zl-two");
    if (this.gone) this.say(GONE);
    this.root.classList.toggle("zl-two", this.comparing);
    this.root.setAttribute("aria-busy", String(this.busy));
    this.empty.hidden = this.columns.main.overview.n > 0;
    for (const part of [this.header, this.liveBar, this.compareBar, this.columns.main]) part.draw();
    if (this.comparing) this.columns.other.draw();
    else this.columns.other.el.hidden = true;
    // What had the focus may be gone, such as the button that forked.
    if (held && !(this.root.contains(this.focused) && (this.focused === this.root || this.focused.offsetParent))) {
      this.columns.main.step.el.focus({ preventScroll: true });
      this.settling = true;
    }
    this.settle(held && opened);
  }

  /** Stay in sight until all panels have come; where not all of it fits, the step matters, not the header. */
  settle(begin) {
    this.settling ||= begin;
    if (!this.settling) return;
    for (const el of [this.root, this.columns.main.el]) el.scrollIntoView({ block: "nearest", behavior: "instant" });
    this.settling = this.busy || Boolean(this.root.querySelector(".zl-column:not([hidden]) .zl-step[aria-busy=true]"));
  }

  get focused() {
    return this.root.getRootNode().activeElement;
  }

  // -- moving

  /** Show a step of each trace; -1 where one has none. */
  place({ main, other }) {
    this.columns.main.gap = main < 0;
    this.columns.other.gap = other < 0;
    this.set({ ...(main >= 0 && { step: main }), ...(other >= 0 && { other_step: other }) });
  }

  goTo(column, seq) {
    if (seq < 0) return;
    if (this.comparing && this.linked) return this.goToRow(this.rowOf(column.side, seq));
    column.gap = false;
    this.set({ [column.side === "main" ? "step" : "other_step"]: clamp(seq, 0, column.overview.n - 1) });
  }

  goToRow(row) {
    const pairs = this.model.get("pairs");
    const [main, other] = pairs[clamp(row, 0, pairs.length - 1)];
    this.place({ main, other });
  }

  rowOf(side, seq) {
    return Math.max(0, this.model.get("pairs").findIndex((pair) => pair[side === "main" ? 0 : 1] === seq));
  }

  /** Move a column, and the other one with it: by -1 or 1, to "first" or "last". */
  move(column, way) {
    const linked = this.comparing && this.linked;
    const shown = linked && column.gap ? this.columns[column.side === "main" ? "other" : "main"] : column;
    const at = linked ? this.rowOf(shown.side, shown.seq) : column.seq;
    const last = linked ? this.model.get("pairs").length - 1 : column.overview.n - 1;
    const to = way === "first" ? 0 : way === "last" ? last : clamp(at + way, 0, last);
    if (linked) this.goToRow(to);
    else this.goTo(column, to);
  }

  toggleCompare() {
    if (this.comparing) this.ask({ type: "compare", with: "none" });
    else if (this.can("compare")) this.ask({ type: "compare", with: "parent" });
    else this.say(this.kernel ? "There is nothing to compare with: fork first." : NO_KERNEL.c);
  }

  // -- keys

  /** The keys stay here: JupyterLab would take them for its own. */
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    event.stopPropagation();
    if (event.key === "Escape" && this.columns.main.bench.el.contains(event.target)) return this.columns.main.bench.leave();
    if (event.defaultPrevented || this.help.el.open || event.target.closest("textarea, select, [data-own-keys]")) return;
    const column = this.comparing && this.columns.other.el.contains(event.target) ? this.columns.other : this.columns.main;
    const act = column.overview.n && KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act(this, column, event.shiftKey);
  }

  close() {
    clearTimeout(this.unsaved);
    for (const [event, heard] of this.ears) this.model.off?.(event, heard);
    for (const column of Object.values(this.columns)) for (const part of [column.rail, column.ledger, column.step, column.tabs]) part?.sight.resized.disconnect();
    this.root.remove();
  }
}

const NO_PANEL = Object.freeze({ kind: "", headline: "this step cannot be shown", marks: [], next: null, blocks: [], edit: [], tabs: {} });

const turnOrStep = (direction) => (app, column, shift) => {
  const atEnd = direction > 0 && column.seq === column.overview.n - 1;
  if (shift) column.go(turnFrom(column.overview, column.seq, direction));
  else if (atEnd && app.can("step") && app.liveBar.ready) app.ask({ type: "step" });
  else if (atEnd && app.can("decide")) app.say("The walk waits for permission: allow or deny the call.");
  else app.move(column, direction);
};
const showTab = (tab) => (app, column) => {
  app.set({ tab });
  column.tabs.el.scrollIntoView({ block: "nearest", behavior: "instant" });
};

const KEYS = {
  ArrowLeft: turnOrStep(-1),
  ArrowRight: turnOrStep(1),
  Home: (app, column) => app.move(column, "first"),
  End: (app, column) => app.move(column, "last"),
  e: (app, column) => {
    const seq = nextMarked(column.overview, column.seq, ERROR);
    if (seq < 0) app.say("no error in this trace");
    else column.go(seq);
  },
  d: showTab("diff"),
  r: showTab("raw"),
  f: (app) => (app.can("fork") || app.can("answer") ? app.columns.main.bench.toggle() : app.say(app.kernel ? "Nothing can be forked here." : NO_KERNEL.f)),
  c: (app) => app.toggleCompare(),
  "?": (app) => app.help.open(),
};

/** @param {{model: Model, el: HTMLElement}} view */
function render({ model, el }) {
  const app = new App(model, el);
  if (model.get("live") === null) app.root.focus();
  return () => app.close();
}

export default { render };
