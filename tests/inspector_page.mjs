// Unit tests of the whole page: driving a walk, comparing, the keys, what is said, and a kernel that is gone.

import assert from "node:assert/strict";
import { test } from "node:test";

import { frames, overview, page, panel, watching } from "./inspector_dom.mjs";
import { CHOICES, icon } from "./elements.js";
import inspector from "./inspector.js";

const shown = (state, kernel) => page(inspector.render, state, kernel);
const texts = (elements) => elements.map((element) => element.textContent);
const PAUSED = { state: "paused", next: "request", can: ["step", "run", "until", "answer"], verbs: {}, breakpoints: [{ kind: "execute" }, { tool: "add" }, { error: true }] };
const ASKS = { ...PAUSED, waits: true, can: ["decide", "answer"], choices: ["once", "session", "always", "deny"] };

// ---- driving a walk

test("each button that drives sends its own word, once, until Python has answered", () => {
  for (const [words, message] of [["Step", { type: "step" }], ["Run to end", { type: "run" }], ["Run until", { type: "until", kind: "execute" }]]) {
    const at = shown({ live: PAUSED });
    at.button(words).click();
    at.button(words).click();
    assert.deepEqual(at.sent, [message]);
    assert.deepEqual([at.root.getAttribute("aria-busy"), at.text(".zl-state"), at.button(words).getAttribute("aria-disabled")], ["true", "running…", "true"]);
    at.tell({ type: "forget", from: 99 });
    assert.deepEqual([at.root.getAttribute("aria-busy"), at.button(words).getAttribute("aria-disabled")], ["false", "false"]);
    at.button(words).click();
    assert.equal(at.sent.length, 2);
  }
});

test("a walk runs until what was chosen", () => {
  const at = shown({ live: PAUSED });
  assert.deepEqual(texts(at.all("option")), ["a execute step", "the tool add", "an error"]);
  for (const [i, wanted] of PAUSED.breakpoints.entries()) {
    at.one("select").selectedIndex = i;
    at.button("Run until").click();
    assert.deepEqual(at.sent[i], { type: "until", ...wanted });
    at.tell({ type: "forget", from: 99 });
  }
  const [drawn] = at.all("option");
  at.change({ live: { ...PAUSED, next: "result" } });
  assert.equal(at.all("option")[0], drawn, "the choice of the reader stays");
  at.change({ live: { ...PAUSED, breakpoints: [{ tool: "sub" }] } });
  assert.deepEqual(texts(at.all("option")), ["the tool sub"]);
  at.one("select").selectedIndex = 5;
  at.button("Run until").click();
  assert.equal(at.sent.length, 3);
});

test("each answer to a permission sends its own choice", () => {
  const choices = { "Allow once": "once", "Allow for this session": "session", "Always allow": "always", Deny: "deny" };
  const seen = shown({ live: ASKS, overview: overview({ tools: ["add", "wipe"], tool: [-1, -1, 0, 0, 0, 0, -1, 1] }) });
  assert.deepEqual(texts(seen.all(".zl-asking button")), Object.keys(choices));
  assert.deepEqual([seen.text(".zl-asked"), seen.text(".zl-state"), seen.seen(".zl-driving")], ["May wipe run?", "waits for you", false]);
  assert.deepEqual(texts(seen.all(".zl-deny")), ["Deny"]);
  const pictures = seen.all(".zl-asking button path").map((path) => path.getAttribute("d"));
  assert.deepEqual(pictures, ["ok", "ok", "ok", "bad"].map((name) => icon(name).querySelector("path").getAttribute("d")));
  for (const [words, choice] of Object.entries(choices)) {
    const at = shown({ live: ASKS });
    at.button(words).click();
    at.button(words).click();
    assert.deepEqual(at.sent, [{ type: "decide", choice }]);
  }
  assert.equal(shown({ live: ASKS }).text(".zl-asked"), "May this tool run?");
});

test("what cannot be chosen has no button", () => {
  const at = shown({ live: { ...ASKS, choices: ["once", "deny"] } });
  assert.deepEqual(Object.keys(CHOICES).map((choice) => at.seen(`[data-choice=${choice}]`)), [true, false, false, true]);
  at.change({ live: ASKS });
  assert.deepEqual(Object.keys(CHOICES).map((choice) => at.seen(`[data-choice=${choice}]`)), [true, true, true, true]);
});

test("what is driven is driven while it is paused only", () => {
  const at = shown({ live: { ...PAUSED, state: "running" } });
  assert.equal(at.text(".zl-state"), "running…");
  for (const words of ["Step", "Run to end", "Run until"]) {
    assert.equal(at.button(words).getAttribute("aria-disabled"), "true");
    at.button(words).click();
  }
  assert.deepEqual([at.sent, at.seen(".zl-asking")], [[], false]);
});

test("the bar says where the walk is, and goes when it is over, unless it ended in an error", () => {
  const state = (more) => {
    const at = shown({ live: { ...PAUSED, ...more } });
    return [at.seen(".zl-live"), at.seen(".zl-driving"), at.text(".zl-state")];
  };
  assert.deepEqual(state({}), [true, true, "paused; next comes request"]);
  assert.deepEqual(state({ next: null, held: true }), [true, true, "paused; your edit goes on with the next step"]);
  assert.deepEqual(state({ state: "done", error: "no answer" }), [true, false, "the walk is over; no answer"]);
  assert.deepEqual(state({ state: "done" }), [false, false, ""]);
  assert.ok(!shown({ live: null }).seen(".zl-live"));
});

test("what arrives of a reply is drawn as it comes", () => {
  const at = shown({ live: PAUSED });
  at.change({ live: { ...PAUSED, state: "running", arriving: [{ b: "code", label: "reply", text: "It is", cut: 0 }] } });
  assert.equal(at.text(".zl-arriving"), "replyIt is");
  at.change({ live: PAUSED });
  assert.equal(at.text(".zl-arriving"), "");
});

test("a permission that comes while a walk is driven has the focus of the button that went", () => {
  const at = shown({ live: PAUSED });
  at.button("Step").focus();
  at.change({ live: ASKS });
  assert.equal(document.activeElement, at.one(".zl-asking"));
  at.change({ live: PAUSED });
  assert.equal(document.activeElement, at.button("Step"));
});

// ---- the head of the page

test("the head sums the trace up", () => {
  const totals = { turns: 2, calls: 1, errors: 1, tokens_in: 1234, tokens_out: null, time: "2.0 s" };
  const facts = (more) => texts(shown({ overview: overview({ totals, ...more }) }).all(".zl-totals span"));
  assert.deepEqual(facts({}), ["answered", "8 steps", "2 turns", "1 call", "1 error", "1,234 tokens in, 0 out", "2.0 s"]);
  assert.deepEqual(facts({ outcome: "budget", error: "spent", totals: { ...totals, errors: 0, tokens_in: null, time: "" } }), ["budget", "8 steps", "2 turns", "1 call"]);
  assert.ok(facts({ error: "spent" }).includes("1 error"));
  assert.ok(facts({ totals: { ...totals, errors: 0 } }).includes("0 errors"));
  const marks = [0, 0, 0, 0, 16, 0, 0, 0];
  const fork = (forked_at) => facts({ marks, parent: { run_id: "run-0", forked_at } }).at(-1);
  assert.equal(fork(4), "a fork of run-0: step 5, execute, was edited");
  assert.equal(fork(1), "a fork of run-0: step 2, request, as it was");
  assert.deepEqual([fork(null), fork(8)], ["a fork of run-0", "a fork of run-0"]);
});

test("the head has the title, the trouble, and the buttons that can do something", () => {
  const at = shown({ overview: overview({ outcome: "model_error", error: "it is down", title: "" }), live: { ...PAUSED, can: ["back", "compare"] } });
  assert.deepEqual([at.text(".zl-title"), at.text(".zl-header .zl-note")], ["A trace", "model_error: it is down"]);
  at.button("Back").click();
  at.tell({ type: "forget", from: 0 });
  at.button("Compare").click();
  assert.deepEqual(at.sent, [{ type: "back" }, { type: "compare", with: "parent" }]);
  const bare = shown();
  assert.deepEqual([bare.text(".zl-title"), bare.seen(".zl-header .zl-note"), bare.button("Back"), bare.button("Compare")], ["Add", false, undefined, undefined]);
});

test("a trace without steps says so", () => {
  const empty = { n: 0, kind: "", turn: [], status: "", marks: [], tool: [], length: [], branch: [], ledger: [] };
  const at = shown({ overview: overview(empty), live: PAUSED });
  assert.ok(!at.seen(".zl-column"));
  assert.ok(at.all(".zl-quiet").some((each) => each.offsetParent && each.textContent === "This trace has no steps yet."));
  at.key("ArrowRight");
  assert.deepEqual(at.sent, []);
  at.change({ overview: overview({ n: 1 }) });
  assert.ok(at.seen(".zl-column"));
});

// ---- comparing

/** The other trace has no step 2, and one more after step 4. */
const PAIRS = [[0, 0], [1, 1], [2, -1], [3, 2], [4, 3], [-1, 4], [5, 5], [6, 6]];
const compared = (state = {}) =>
  shown({ overview: overview({ n: 7, parent: { run_id: "run-0", forked_at: 2 } }), other: { ...overview({ n: 7, run_id: "run-0" }), words: "one call less", diverges: [2, -1] }, pairs: PAIRS, ...state });

test("two traces stand beside each other, and say which is which and how they differ", () => {
  const at = compared();
  assert.ok(at.root.classList.contains("zl-two") && at.seen(".zl-column[data-side=other]") && at.seen(".zl-comparing"));
  assert.deepEqual(texts(at.all(".zl-column-name")), ["This trace", "Its parent, run-0"]);
  assert.equal(at.text(".zl-comparing .zl-words"), "Compared with its parent: one call less");
  assert.equal(at.button("Compare").getAttribute("aria-pressed"), "true");
  at.button("Compare").click();
  assert.deepEqual(at.sent, [{ type: "compare", with: "none" }]);
  at.change({ other: null, pairs: null });
  assert.ok(!at.seen(".zl-column[data-side=other]") && !at.seen(".zl-comparing") && !at.root.classList.contains("zl-two"));
  const same = compared({ other: { ...overview({ n: 7, run_id: "run-2" }), words: "the same", diverges: null } });
  assert.equal(same.text(".zl-comparing .zl-words"), "The two do not differ. Compared with its parent: the same");
  assert.equal(same.button("First divergence"), undefined);
  assert.equal(same.text(".zl-column[data-side=other] .zl-column-name"), "The other trace, run-2");
});

test("a step on moves both traces by one pair, and a trace without a step there says so", () => {
  const at = compared();
  const visit = (key) => {
    at.key(key);
    const gaps = ["main", "other"].map((side) => at.text(`.zl-column[data-side=${side}] .zl-head`) === "No such step in this trace.");
    return [gaps[0] ? null : at.step, gaps[1] ? null : at.otherStep];
  };
  const on = Array.from({ length: 8 }, () => visit("ArrowRight"));
  assert.deepEqual(on, [[1, 1], [2, null], [3, 2], [4, 3], [null, 4], [5, 5], [6, 6], [6, 6]]);
  const back = Array.from({ length: 8 }, () => visit("ArrowLeft"));
  assert.deepEqual(back, [[5, 5], [null, 4], [4, 3], [3, 2], [2, null], [1, 1], [0, 0], [0, 0]]);
  assert.deepEqual([visit("End"), visit("Home")], [[6, 6], [0, 0]]);
});

test("a step of one trace leads to its pair, whichever side it is on", () => {
  const at = compared();
  at.press(".zl-column[data-side=main] [data-seq=3]");
  assert.deepEqual([at.step, at.otherStep], [3, 2]);
  at.press(".zl-column[data-side=other] [data-seq=5]");
  assert.deepEqual([at.step, at.otherStep], [5, 5]);
  at.press(".zl-column[data-side=other] [data-seq=4]");
  assert.deepEqual([at.otherStep, at.text(".zl-column[data-side=main] .zl-head")], [4, "No such step in this trace."]);
});

test("a step that no pair has leads to the first pair", () => {
  const at = compared({ pairs: [[0, 0], [1, 1]] });
  at.press(".zl-column[data-side=main] [data-seq=1]");
  at.press(".zl-column[data-side=main] [data-seq=6]");
  assert.deepEqual([at.step, at.otherStep], [0, 0]);
});

test("sliders that are not linked move alone, and go to the same pair once they are linked again", () => {
  const at = compared();
  at.button("Sliders linked").click();
  assert.equal(at.button("Sliders linked").getAttribute("aria-pressed"), "false");
  at.press(".zl-column[data-side=main] [data-seq=4]");
  at.press(".zl-column[data-side=other] [data-seq=6]");
  assert.deepEqual([at.step, at.otherStep], [4, 6]);
  at.key("ArrowLeft", {}, at.one(".zl-column[data-side=other] .zl-step"));
  at.key("ArrowRight", {}, at.one(".zl-column[data-side=main] .zl-step"));
  assert.deepEqual([at.step, at.otherStep], [5, 5]);
  at.key("Home", {}, at.one(".zl-column[data-side=other] .zl-step"));
  assert.deepEqual([at.step, at.otherStep], [5, 0]);
  at.button("Sliders linked").click();
  assert.deepEqual([at.step, at.otherStep], [5, 5]);
});

test("a gap is left by a move of that trace alone", () => {
  const at = compared({ step: 6, other_step: 6 });
  at.button("First divergence").click();
  at.button("Sliders linked").click();
  at.press(".zl-column[data-side=other] [data-seq=3]");
  assert.equal(at.text(".zl-column[data-side=other] .zl-head h3"), "headline 3");
});

test("the first divergence is shown, with the gap where one has no step", () => {
  const at = compared({ step: 6, other_step: 6 });
  at.button("First divergence").click();
  assert.equal(at.step, 2);
  assert.equal(at.text(".zl-column[data-side=other] .zl-head"), "No such step in this trace.");
  assert.equal(at.text(".zl-column[data-side=other] .zl-blocks"), "");
  at.change({ notes: { 0: "look" }, tab: "raw" });
  assert.equal(at.text(".zl-column[data-side=other] .zl-head"), "No such step in this trace.", "a note does not fill the gap");
  at.change({ step: 4 });
  assert.notEqual(at.text(".zl-column[data-side=other] .zl-head"), "No such step in this trace.", "what Python shows is no gap");
});

test("a comparison is asked for where there is something to compare with", () => {
  const at = shown({ live: { ...PAUSED, can: [] } });
  at.key("c");
  assert.deepEqual([at.sent, at.text(".zl-status")], [[], "There is nothing to compare with: fork first."]);
  const alone = shown();
  alone.key("c");
  assert.match(alone.text(".zl-status"), /^This page runs no Python\. To compare/);
});

// ---- the keys

test("the arrows, Home and End move; with Shift by turns", () => {
  const at = shown();
  const visit = (key, more) => (at.key(key, more), at.step);
  assert.deepEqual([visit("ArrowRight"), visit("ArrowRight"), visit("ArrowLeft"), visit("End"), visit("ArrowRight"), visit("ArrowLeft"), visit("Home"), visit("ArrowLeft")], [1, 2, 1, 7, 7, 6, 0, 0]);
  const shift = { shiftKey: true };
  assert.deepEqual([visit("ArrowRight", shift), visit("ArrowRight", shift), visit("ArrowRight", shift), visit("ArrowLeft", shift), visit("ArrowLeft", shift)], [1, 6, 7, 6, 1]);
});

test("on at the end of a walk runs its next step, and waits where a permission is asked for", () => {
  const at = shown({ step: 6, live: PAUSED });
  at.key("ArrowRight");
  assert.deepEqual([at.step, at.sent], [7, []]);
  at.key("ArrowRight", { shiftKey: true });
  assert.deepEqual(at.sent, []);
  at.key("ArrowRight");
  assert.deepEqual(at.sent, [{ type: "step" }]);
  at.key("ArrowRight");
  assert.equal(at.sent.length, 1, "it runs still");
  const asks = shown({ step: 7, live: ASKS });
  asks.key("ArrowRight");
  assert.deepEqual([asks.sent, asks.text(".zl-status")], [[], "The walk waits for permission: allow or deny the call."]);
});

test("e leads to the next error, d and r open a tab, f edits, ? helps", () => {
  const at = shown({ overview: overview({ marks: [0, 0, 1, 0, 0, 1, 0, 0] }), live: { ...PAUSED, can: ["fork"] } }, { panels: { 2: panel(2) } });
  assert.deepEqual([(at.key("e"), at.step), (at.key("e"), at.step), (at.key("e"), at.step)], [2, 5, 2]);
  assert.deepEqual([(at.key("r"), at.tab), (at.key("d"), at.tab)], ["raw", "diff"]);
  assert.ok(at.one(".zl-tabs").shown > 0);
  at.key("f");
  assert.ok(at.seen(".zl-workbench"));
  at.key("f");
  assert.ok(!at.seen(".zl-workbench"));
  at.key("?");
  assert.equal(at.one("dialog").open, true);
  at.key("End");
  assert.equal(at.step, 2, "the help has the keys while it is open");
  const first = shown({ overview: overview({ marks: [1, 0, 0, 0, 0, 0, 0, 0] }), step: 3 });
  first.key("e");
  assert.deepEqual([first.step, first.text(".zl-status")], [0, ""]);
  const calm = shown();
  calm.key("e");
  assert.deepEqual([calm.step, calm.text(".zl-status")], [0, "no error in this trace"]);
});

test("f says why nothing can be edited", () => {
  const at = shown({ live: { ...PAUSED, can: [] } });
  at.key("f");
  assert.equal(at.text(".zl-status"), "Nothing can be forked here.");
  const alone = shown();
  alone.key("f");
  assert.match(alone.text(".zl-status"), /^This page runs no Python\. To edit and fork/);
});

test("the keys of the inspector go no further; those of the browser and of a text are left alone", () => {
  const at = shown({ tab: "note", live: { ...PAUSED, can: ["note"] } });
  const heard = [];
  document.body.addEventListener("keydown", (event) => heard.push(event.key));
  const key = (name, more, from) => at.key(name, more, from).defaultPrevented;
  assert.deepEqual([key("End"), key("x"), heard], [true, false, []]);
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) assert.equal(key("Home", more), false);
  assert.deepEqual([at.step, heard], [7, ["Home", "Home", "Home"]]);
  for (const typed of ["textarea", "select"]) assert.equal(key("Home", {}, at.one(typed)), false);
  assert.equal(key("Home", {}, at.one(".zl-others")), false);
  assert.equal(at.step, 7);
});

test("the help lists the keys that do something here, and Tab stays in it", () => {
  const keys = (state) => texts(shown(state).all("dialog kbd"));
  assert.ok(keys({ live: PAUSED }).includes("f") && keys({ live: PAUSED }).includes("c"));
  assert.deepEqual(keys({ live: null }), ["←", "→", "Shift", "←", "→", "Home", "End", "e", "d", "r", "?"]);
  const at = shown();
  assert.deepEqual(texts(at.all("dialog dt")).slice(0, 6), ["define", "request", "tool_call", "validate", "execute", "result"]);
  at.press("[data-do=help]");
  assert.equal(at.one("dialog").open, true);
  assert.ok(at.key("Tab", {}, at.one("dialog")).defaultPrevented);
  at.all("dialog button")[0].click();
  assert.equal(at.one("dialog").open, false);
});

// ---- what is said and asked

test("nothing is asked for while something runs", () => {
  const at = shown({ live: { ...PAUSED, can: ["step", "back"] } });
  at.button("Step").click();
  at.key("ArrowRight", {}, at.one("[data-do=back]"));
  at.model.set("live", { ...PAUSED, can: ["step", "back", "compare"] });
  at.key("c");
  assert.deepEqual([at.sent, at.text(".zl-status")], [[{ type: "step" }], "Something is running still."]);
});

test("Python knows where the reader is before it is asked for something", () => {
  const at = shown({ live: PAUSED });
  at.key("ArrowRight");
  assert.equal(at.kernel.saves, 0);
  at.button("Step").click();
  assert.equal(at.kernel.saves, 1);
});

test("where the reader is, is saved once they rest", async () => {
  const at = shown();
  for (let i = 0; i < 5; i++) at.key("ArrowRight");
  while (!at.kernel.saves) await new Promise((ready) => setTimeout(ready, 10));
  assert.deepEqual([at.kernel.saves, at.step], [1, 5]);
});

test("what went wrong is said, with the difference, until it is closed or something worked", () => {
  const at = shown({ live: PAUSED });
  at.button("Step").click();
  at.tell({ type: "failed", message: "no recorded reply", difference: "-a\n+b\n c" });
  assert.equal(at.root.getAttribute("aria-busy"), "false");
  assert.equal(at.text(".zl-failure p"), "That did not work: no recorded reply");
  assert.deepEqual(at.all(".zl-failure pre span").map((line) => [line.className, line.textContent]), [["zl-del", "-a\n"], ["zl-ins", "+b\n"], ["", " c\n"]]);
  const close = at.button("Close");
  close.focus();
  close.click();
  assert.ok(!at.seen(".zl-failure"));
  assert.equal(document.activeElement, at.root);
  at.tell({ type: "failed", message: "again", difference: "" });
  assert.deepEqual([at.seen(".zl-failure"), at.root.querySelector(".zl-failure details")], [true, null]);
  at.tell({ type: "forget", from: 3 });
  assert.ok(!at.seen(".zl-failure"));
});

test("panels that are out of date are asked for again, and others are not", () => {
  const at = shown({ step: 1, live: PAUSED });
  const asked = () => at.kernel.asked.splice(0).flatMap(({ steps }) => steps);
  assert.deepEqual(asked(), [1, 2, 0]);
  at.tell({ type: "forget", from: 2 });
  assert.deepEqual(asked(), [2]);
  at.tell({ type: "forget", from: 0 });
  assert.deepEqual(asked(), [1, 2, 0]);
});

test("a kernel that is gone is said to be gone, by the step, too", () => {
  const GONE = "The kernel behind this inspector is gone: it was restarted, perhaps. Run the cell again.";
  const at = shown({ live: PAUSED });
  at.kernel.dead = true;
  at.button("Step").click();
  assert.deepEqual([at.text(".zl-status"), at.root.getAttribute("aria-busy")], [GONE, "false"]);
  assert.equal(at.text(".zl-head h3"), "headline 0", "what was fetched stays");
  at.change({ step: 7 });
  assert.deepEqual([at.text(".zl-blocks"), at.text(".zl-status")], [`Error: ${GONE}`, GONE]);
  const lost = shown({ live: PAUSED });
  lost.model.save_changes = () => {
    throw new Error("no kernel");
  };
  lost.key("ArrowRight");
  lost.button("Run to end").click();
  assert.equal(lost.text(".zl-status"), GONE);
});

test("what was said goes with the next move", () => {
  const at = shown({ live: { ...PAUSED, can: [] } });
  at.key("f");
  assert.notEqual(at.text(".zl-status"), "");
  at.key("ArrowRight");
  assert.equal(at.text(".zl-status"), "");
});

test("the step has the focus when the button that had it is gone", () => {
  const at = shown({ live: { ...PAUSED, can: ["back"] } });
  at.button("Back").focus();
  at.change({ live: { ...PAUSED, can: [] } });
  assert.equal(document.activeElement, at.one(".zl-column[data-side=main] .zl-step"));
  document.activeElement.blur();
  at.change({ live: { ...PAUSED, can: ["back"] } });
  assert.equal(document.activeElement, document.body, "and takes it from nobody else");
});

test("a comparison that opens under the focus is brought into sight, and a page that is drawn is not", () => {
  const at = shown({ live: PAUSED });
  assert.equal(at.root.shown, 0);
  at.button("Step").focus();
  at.change({ other: { ...overview({ run_id: "run-2" }), words: "", diverges: null }, pairs: [[0, 0], [1, 1]] });
  assert.ok(at.root.shown > 0);
  const { shown: before } = at.root;
  at.change({ notes: { 0: "x" } });
  at.change({ notes: { 0: "y" } });
  assert.ok(at.root.shown <= before + 1, "it stays in sight no longer than until its panels have come");
});

test("a page by itself takes the focus, and a widget in a notebook does not", () => {
  assert.equal(shown({ live: null }).root, document.activeElement);
  document.activeElement.blur();
  assert.notEqual(shown({ live: PAUSED }).root, document.activeElement);
});

test("a view that is closed hears and watches nothing more", () => {
  const at = shown();
  assert.ok(at.kernel.ears.length > 0 && watching() > 0);
  at.key("ArrowRight");
  at.close();
  assert.deepEqual([at.kernel.ears.length, watching(), document.body.children], [0, 0, []]);
  frames();
});
