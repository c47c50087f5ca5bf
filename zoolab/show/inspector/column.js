// A column of the page: one trace with its rail, its ledger, its panel, its tabs and its workbench.

import {
  GONE, MARKS, ROLES, STALE, Sight, TABS, VERBS, button, bytes, chip, clamp, enable, h, icon,
  memory, plural, pointTo, pre,
} from "./elements.js";
import { BLOCKS, block } from "./blocks.js";
import { Others } from "./others.js";
import {
  NO_NOTES, NO_PANEL, kindOf, marksOf, nameOf, nextMarked, placeOf, turnName, unpacked,
} from "./overview.js";

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
    this.el = h("section", { class: "zl-step", tabindex: "0", role: "group", "aria-label": `Step of ${column.label}` }, h("div", { class: "zl-top" }, this.head, column.others?.press, this.fork), this.next, this.blocks);
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

export class Column {
  /** @param {Side} side */
  constructor(app, side) {
    Object.assign(this, { app, side, gap: false });
    this.bench = side === "main" ? new Workbench(this) : null;
    this.others = side === "main" ? new Others(this) : null;
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
    return [h("div", { class: "zl-stage" }, h("div", { class: "zl-body" }, parts), this.tabs.el), this.others?.el, this.bench?.el].filter(Boolean);
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
    this.others?.draw(overview, seq);
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
