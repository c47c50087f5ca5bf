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

import {
  CHOICES, EDITED, ERROR, GONE, HELP, KINDS, NO_KERNEL, button, clamp, enable, h, icon, memory,
  patchLines, plural,
} from "./elements.js";
import { block } from "./blocks.js";
import { NO_PANEL, Panels, nameOf, nextMarked, toolOf, turnFrom } from "./overview.js";
import { Column } from "./column.js";

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
    for (const element of this.asking.querySelectorAll("[data-choice]")) element.hidden = !live.choices?.includes(element.dataset.choice);
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
    const { bench, others } = this.columns.main;
    const opened = [bench, others].find((part) => part.el.contains(event.target));
    if (event.key === "Escape" && opened) return opened.leave();
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
