// Unit tests of a column of the inspector: its rail, its ledger, its tabs, its workbench, and the head of its step.

import assert from "node:assert/strict";
import { test } from "node:test";

import { overview, page, panel, resize, skeleton } from "./inspector_dom.mjs";
import inspector from "./inspector.js";

const shown = (state, kernel) => page(inspector.render, state, kernel);
const texts = (elements) => elements.map((element) => element.textContent);
const labels = (elements) => elements.map((element) => element.getAttribute("aria-label"));
const LIVE = { state: "paused", can: ["fork", "answer", "note"], verbs: { look: true, replay: false, live: true, live_costs: "2 requests at most" }, breakpoints: [] };

// ---- the rail

test("the rail has every step by turn, with its marks and what was noted", () => {
  const marks = [0, 0, 0, 0, 1 | 4 | 32, 0, 0, 128];
  const at = shown({ overview: overview({ marks, tool: [-1, -1, 0, 0, 0, 0, -1, -1], tools: ["add"] }), notes: { 1: "look here" } });
  assert.deepEqual(labels(at.all(".zl-cell")), [
    "1: define, set-up", "2: request, turn 1, noted", "3: tool_call add, turn 1", "4: validate add, turn 1", "5: execute add, turn 1, error, repair, stale", "6: result add, turn 1",
    "7: request, turn 2", "8: tool_call, turn 2, sub-agent",
  ]);
  assert.deepEqual(texts(at.all(".zl-turn")), ["set-up", "turn 1", "turn 2"]);
  assert.deepEqual(at.all(".zl-turn").map(({ style }) => [style.left, style.width]), [["8px", "36px"], ["54px", "164px"], ["228px", "68px"]]);
  assert.deepEqual(at.all(".zl-cell").map(({ style }) => style.left), ["8px", "54px", "86px", "118px", "150px", "182px", "228px", "260px"]);
  assert.equal(at.one(".zl-rail-inner").style.width, "296px");
  assert.deepEqual(at.all(".zl-cell.zl-stale").map((cell) => cell.dataset.seq), ["4"]);
  assert.deepEqual(at.all("[data-seq=4] .zl-cell-marks span").map((mark) => mark.className), ["zl-is-error", "zl-is-repair"]);
  assert.equal(at.one(".zl-rail").getAttribute("aria-label"), "this trace: 8 steps");
});

test("the step that is shown is chosen on the rail, the one that comes is marked, and a click leads to a step", () => {
  const at = shown({ step: 2 });
  const chosen = () => [at.all(".zl-cell[aria-selected=true]").map((cell) => cell.dataset.seq), at.all(".zl-coming").map((cell) => cell.dataset.seq)];
  assert.deepEqual(chosen(), [["2"], ["3"]]);
  at.press("[data-seq=5] .zl-tile");
  assert.deepEqual([at.step, ...chosen()], [5, ["5"], ["6"]]);
  assert.equal(at.one(".zl-rail").getAttribute("aria-activedescendant"), at.one(".zl-cell[aria-selected=true]").id);
  at.press(".zl-rail");
  assert.equal(at.step, 5);
});

test("of a long trace the rail draws what is in sight, and what is scrolled to", () => {
  const n = 3000;
  const at = shown({ overview: overview({ n, turn: Array.from({ length: n }, (_, seq) => Math.floor(seq / 10)) }), step: 1500 });
  resize(".zl-rail", 640);
  const drawn = () => at.all(".zl-cell").map((cell) => Number(cell.dataset.seq));
  assert.ok(drawn().length < 80);
  assert.ok(drawn().includes(1500));
  const { scrollLeft } = at.one(".zl-rail");
  const left = parseInt(at.one(".zl-cell[aria-selected=true]").style.left);
  assert.ok(left >= scrollLeft && left + 32 <= scrollLeft + 640, "the step is in sight");
  // The place of step 2000: 32 for each step before it, 14 for each of 200 turns, 8 at the edge.
  const place = 8 + 2000 * 32 + 200 * 14;
  at.one(".zl-rail").scrollTo({ left: place, top: 0 });
  at.one(".zl-rail").dispatch("scroll");
  assert.ok(drawn().length < 80);
  assert.ok(drawn()[0] <= 2000 && drawn().at(-1) >= 2000 + 14);
  assert.equal(at.one("[data-seq=2000]").style.left, `${place}px`);
  assert.equal(at.one(".zl-rail").getAttribute("aria-activedescendant"), null, "what is chosen is not drawn");
});

test("the rail stays where it is while the step is in sight", () => {
  const n = 300;
  const at = shown({ overview: overview({ n, turn: Array(n).fill(1) }), step: 0 });
  resize(".zl-rail", 640);
  const left = () => at.one(".zl-rail").scrollLeft;
  at.change({ step: 10 });
  assert.equal(left(), 0);
  at.change({ step: 18 });
  assert.equal(left(), 8 + 18 * 32 - 320);
  at.change({ step: 12 });
  assert.equal(left(), 8 + 18 * 32 - 320);
});

// ---- the ledger

const LEDGER = { length: [0, 1, 2, 2, 2, 3, 3, 4] };

test("the ledger says which messages the step has, which are new, and which come later", () => {
  const at = shown({ overview: overview(LEDGER), step: 5 });
  resize(".zl-ledger-list", 200, 300);
  const rows = at.all(".zl-row");
  assert.equal(at.text(".zl-ledger h3"), "messages[]: 3");
  assert.deepEqual(labels(rows), ["messages[0], user, 20 B", "messages[1], assistant, 1.5 kB", "messages[2], tool, c1, 30 B, new", "messages[3], assistant, 40 B, later"]);
  assert.deepEqual(texts(rows), ["0user20 B", "1assistant1.5 kB", "2toolc1new", "3assistantlater"]);
  assert.deepEqual(rows.map((row) => row.getAttribute("aria-selected")), ["false", "false", "true", "false"]);
  assert.deepEqual(rows.map((row) => [row.getAttribute("aria-posinset"), row.getAttribute("aria-setsize")]), ["1", "2", "3", "4"].map((place) => [place, "4"]));
});

test("after an edit of messages[] the ledger is that of the branch, all of it new", () => {
  const ledger = [{ role: "ua", id: ["", ""], size: [1, 2] }, { role: "su", id: ["", ""], size: [3, 4] }];
  const at = shown({ overview: overview({ n: 4, length: [1, 2, 2, 2], branch: [0, 0, 1, 1], ledger }), step: 2 });
  resize(".zl-ledger-list", 200, 300);
  assert.deepEqual(labels(at.all(".zl-row")), ["messages[0], system, 3 B, new", "messages[1], user, 4 B, new"]);
  at.press("[data-i=0]");
  assert.equal(at.step, 2, "a message of another branch came with another step");
});

test("a message leads to the step that it came with, by Enter, by a space and by a click", () => {
  const at = shown({ overview: overview(LEDGER), step: 7 });
  resize(".zl-ledger-list", 200, 300);
  const list = at.one(".zl-ledger-list");
  const cursor = () => at.one(".zl-row[aria-selected=true]").dataset.i;
  assert.equal(cursor(), "3");
  assert.ok(at.key("ArrowUp", {}, list).defaultPrevented);
  assert.deepEqual([cursor(), at.step], ["2", 7]);
  at.key("Enter", {}, list);
  assert.equal(at.step, 5);
  for (const [key, row] of [["PageUp", "0"], ["ArrowUp", "0"], ["ArrowDown", "1"], ["PageDown", "3"], ["ArrowDown", "3"], ["PageUp", "0"]]) {
    at.key(key, {}, list);
    assert.deepEqual([key, cursor()], [key, row]);
  }
  at.key(" ", {}, list);
  assert.equal(at.step, 1);
  at.press("[data-i=3] b");
  assert.equal(at.step, 7);
  at.key("x", {}, list);
  assert.equal(at.step, 7);
  const early = shown({ overview: overview({ ...LEDGER, length: [1, 1, 2, 2, 2, 3, 3, 4] }), step: 7 });
  resize(".zl-ledger-list", 200, 300);
  early.press("[data-i=0]");
  assert.equal(early.step, 0, "it was there from the first step on");
});

test("of a long ledger the rows in sight are drawn, and the newest is in sight", () => {
  const n = 1000;
  const ledger = [{ role: "u".repeat(n), id: Array(n).fill(""), size: Array(n).fill(1) }];
  const at = shown({ overview: overview({ n, length: Array.from({ length: n }, (_, seq) => seq + 1), ledger }), step: 0 });
  resize(".zl-ledger-list", 200, 300);
  at.change({ step: 500 });
  const list = at.one(".zl-ledger-list");
  assert.equal(list.scrollTop, 500 * 30 - 150);
  const rows = at.all(".zl-row").map((row) => Number(row.dataset.i));
  assert.ok(rows.length < 30 && rows.includes(500));
  assert.equal(list.getAttribute("aria-activedescendant"), at.one(".zl-row[aria-selected=true]").id);
  assert.equal(at.one("[data-i=500]").style.top, "15000px");
  assert.equal(at.one(".zl-ledger-inner").style.height, "30000px");
  at.change({ step: 999 });
  assert.equal(list.scrollTop, 30_000 - 300, "not beyond the end");
  at.change({ step: 0 });
  assert.equal(list.scrollTop, 0);
  assert.equal(list.getAttribute("aria-activedescendant"), at.one("[data-i=0]").id);
});

// ---- the tabs

const rowsOf = [{ op: " ", i: 0, role: "user", text: "hi", id: "" }, { op: "-", i: 1, role: "tool", text: "old", id: "c1" }, { op: "+", i: 1, role: "tool", text: "new", id: "c1" }];

test("the difference says in words what was kept, removed and added", () => {
  const at = shown({ step: 2 }, { panels: { 2: panel(2, { tabs: { diff: { words: "messages[] 1 -> 2", rows: rowsOf, patch: [{ op: "add" }], patch_cut: 2 } } }) } });
  assert.equal(at.text(".zl-tab-body .zl-words"), "messages[] 1 -> 2");
  assert.deepEqual(texts(at.all(".zl-diff-row")), [" kept0userhi", "-removed1toolc1 old", "+added1toolc1 new"]);
  assert.deepEqual(at.all(".zl-diff-row").map((row) => row.className.trim()), ["zl-diff-row", "zl-diff-row zl-del", "zl-diff-row zl-ins"]);
  assert.deepEqual(texts(at.all(".zl-op [aria-hidden=true]")), [" ", "-", "+"], "the sign is for the eye alone");
  assert.deepEqual(JSON.parse(at.text(".zl-fold pre")), [{ op: "add" }]);
  assert.equal(at.text(".zl-fold .zl-cut"), "2 more operations, left out here");
  at.change({ step: 3 });
  assert.equal(at.root.querySelector(".zl-tab-body .zl-fold"), null);
});

test("a tab is chosen by a click and by the keys, round and round", () => {
  const at = shown();
  const chosen = () => at.all(".zl-column[data-side=main] [role=tab]").filter((tab) => tab.getAttribute("aria-selected") === "true").map((tab) => [tab.textContent, tab.tabIndex]);
  assert.deepEqual(chosen(), [["Diff", 0]]);
  assert.deepEqual(at.all(".zl-column[data-side=main] [role=tab]").map((tab) => tab.tabIndex), [0, -1, -1, -1, -1]);
  at.press("[data-tab=raw]");
  assert.deepEqual([at.tab, chosen()], ["raw", [["Raw wire", 0]]]);
  assert.equal(at.one("[role=tabpanel]").getAttribute("aria-labelledby"), at.one("[data-tab=raw]").id);
  for (const [key, tab] of [["ArrowRight", "python"], ["ArrowRight", "note"], ["ArrowRight", "diff"], ["ArrowLeft", "note"], ["ArrowLeft", "python"], ["Home", "diff"], ["End", "note"]]) {
    at.key(key, {}, at.one("[role=tablist]"));
    assert.deepEqual([key, at.tab, document.activeElement.dataset.tab], [key, tab, tab]);
  }
  at.key("Home", { shiftKey: true }, at.one("[role=tablist]"));
  assert.deepEqual([at.tab, at.step], ["note", 0]);
  at.change({ tab: "constructor" });
  assert.deepEqual(chosen(), [["Diff", 0]]);
});

test("each tab shows its own part of the panel", () => {
  const messages = { b: "messages", before: 0, rows: [{ i: 0, role: "user", text: "whole", id: "", new: false, cut: 0 }] };
  const panels = { 0: panel(0, { tabs: { full: [messages], raw: [{ b: "code", label: "wire", text: "bytes", cut: 0 }], python: "x = 1", note: "" } }) };
  const at = shown({ notes: { 0: "mine" } }, { panels });
  const body = (tab) => (at.change({ tab }), at.text(".zl-tab-body"));
  assert.deepEqual(["full", "raw", "python", "note"].map(body), ["0userwhole", "wirebytes", "Copyx = 1", "mine"]);
  at.change({ step: 1 });
  assert.deepEqual(["full", "note"].map(body), ["messages[] is empty", "no note"]);
});

test("Python is copied as it stands; where that is forbidden the button says so", async () => {
  const copied = [];
  const give = (writeText) => Object.defineProperty(globalThis, "navigator", { value: { clipboard: { writeText } }, configurable: true });
  const at = shown({ tab: "python" }, { panels: { 0: panel(0, { tabs: { python: "x = 1" } }) } });
  for (const [writeText, said] of [[async (text) => copied.push(text), "Copied"], [() => Promise.reject(new Error("no")), "Select it and copy by hand"]]) {
    give(writeText);
    at.press(".zl-copy");
    await new Promise(setImmediate);
    assert.equal(at.text(".zl-copy"), said);
  }
  assert.deepEqual(copied, ["x = 1"]);
});

test("a note is sent with its step, and only where notes can be made", () => {
  const at = shown({ tab: "note", step: 3, live: LIVE, notes: { 3: "before" } });
  assert.equal(at.one(".zl-tab-body textarea").value, "before");
  assert.equal(at.one(".zl-tab-body textarea").getAttribute("aria-label"), "Note on step 4");
  at.type(".zl-tab-body textarea", "after");
  at.button("Save the note").click();
  assert.deepEqual(at.sent, [{ type: "note", seq: 3, text: "after" }]);
  assert.equal(at.text(".zl-status"), "The note is saved.");
  assert.equal(at.root.getAttribute("aria-busy"), "false", "no answer is waited for");
  assert.equal(shown({ tab: "note", live: { ...LIVE, can: [] } }).root.querySelector("textarea"), null);
});

// ---- the workbench

const EDIT = [{ field: "args", label: "arguments", form: "json", text: '{"a": 1}' }, { field: "said", label: "content", form: "text", text: "{not JSON" }, { field: "raw", label: "raw", form: "json", text: "{broken" }];
const editing = (step = 7, live = LIVE) => {
  const at = shown({ step, live }, { panels: Object.fromEntries([2, 7].map((seq) => [seq, panel(seq, { edit: EDIT })])) });
  at.button("Edit or fork").click();
  return at;
};
const field = (name) => `textarea[data-field=${name}]`;

test("a step is edited in fields, one for each thing that may be edited; the focus is in the first", () => {
  const at = editing();
  assert.ok(at.seen(".zl-workbench"));
  assert.equal(at.text(".zl-workbench h4"), "Edit step 8: request");
  assert.deepEqual(texts(at.all(".zl-fields label")), ["argumentsJSON", "contenttext", "rawJSON"]);
  assert.deepEqual(at.all(".zl-fields textarea").map((area) => area.value), EDIT.map(({ text }) => text));
  assert.equal(document.activeElement, at.one(field("args")));
  assert.equal(at.button("Edit or fork").getAttribute("aria-expanded"), "true");
  at.key("Escape", {}, at.one(field("args")));
  assert.ok(!at.seen(".zl-workbench"));
  assert.equal(document.activeElement, at.button("Edit or fork"));
});

test("wrong JSON is said under its field while it is typed, and is not sent", () => {
  const at = editing();
  at.type(field("args"), '{"a": ');
  const said = at.one(`#${at.one(field("args")).id}-said`);
  assert.match(said.textContent, /^Not JSON yet: .+\. Nothing was sent\.$/);
  assert.equal(at.one(field("args")).getAttribute("aria-invalid"), "true");
  at.button("Undo my edits").focus();
  for (const press of ["[data-then=step]", "[data-then=run]", "[data-then=null]", "[data-verb=look]", "[data-verb=live]"]) {
    at.press(press);
    assert.deepEqual([at.sent, document.activeElement], [[], at.one(field("args"))]);
  }
  at.type(field("args"), '{"a": 2}');
  assert.deepEqual([said.textContent, at.one(field("args")).getAttribute("aria-invalid")], ["", "false"]);
  at.press("[data-verb=look]");
  assert.equal(at.sent.length, 1);
});

test("only what was changed is sent; what was wrong before and text that is not JSON may stay", () => {
  const at = editing();
  at.press("[data-then=step]");
  assert.deepEqual(at.sent, [{ type: "answer", then: "step", seq: 7, edits: [] }]);
  at.tell({ type: "forget", from: 99 });
  at.button("Edit or fork").click();
  at.type(field("said"), "[still not");
  at.press("[data-then=run]");
  assert.deepEqual(at.sent[1], { type: "answer", then: "run", seq: 7, edits: [{ field: "said", text: "[still not" }] });
});

test("each way to go on sends its own word", () => {
  for (const [words, then] of [["One step", "step"], ["To the end", "run"], ["Later", null]]) {
    const at = editing();
    at.button(words).click();
    assert.deepEqual(at.sent, [{ type: "answer", then, seq: 7, edits: [] }]);
  }
  const forks = { Look: ["look"], Replay: [], "Re-run live": ["live"] };
  for (const [words, verbs] of Object.entries(forks)) {
    const at = editing();
    at.button(words).click();
    assert.deepEqual(at.sent, verbs.map((verb) => ({ type: "fork", verb, seq: 7, edits: [] })));
  }
});

test("a fork that is not possible says why; one that runs again says what it costs", () => {
  const at = editing();
  assert.deepEqual(at.all(".zl-verb").map((press) => [press.dataset.verb, press.getAttribute("aria-disabled")]), [["look", "false"], ["replay", "true"], ["live", "false"]]);
  assert.deepEqual(texts(at.all(".zl-fork p")), ["Executes nothing: shows messages[] as they would be.", "Nothing was recorded.", "2 requests at most"]);
});

test("the same walk goes on from its last step only, and as far as it may", () => {
  assert.deepEqual([editing(7).all("[data-then]").length, editing(2).all("[data-then]").length], [3, 0]);
  assert.equal(editing(2).all("[data-verb]").length, 3);
  const answers = editing(7, { ...LIVE, can: ["answer"] });
  assert.deepEqual([answers.all("[data-then]").length, answers.all("[data-verb]").length], [3, 0]);
  const forks = editing(7, { ...LIVE, can: ["fork"] });
  assert.deepEqual([forks.all("[data-then]").length, forks.all("[data-verb]").length], [0, 3]);
  const nothing = shown({ step: 7, live: { ...LIVE, can: ["note"] } });
  assert.ok(!nothing.button("Edit or fork"));
});

test("what was typed stays with its step until it was taken", () => {
  const at = editing();
  at.type(field("args"), "[1]");
  at.change({ step: 2 });
  assert.equal(at.one(field("args")).value, '{"a": 1}');
  at.change({ step: 7 });
  assert.equal(at.one(field("args")).value, "[1]");
  at.press("[data-verb=look]");
  at.tell({ type: "failed", message: "refused", difference: "" });
  assert.deepEqual([at.seen(".zl-workbench"), at.one(field("args")).value], [true, "[1]"]);
  at.press("[data-verb=look]");
  at.tell({ type: "forget", from: 0 });
  assert.ok(!at.seen(".zl-workbench"));
  at.change({ step: 2 });
  at.change({ step: 7 });
  at.button("Edit or fork").click();
  assert.equal(at.one(field("args")).value, '{"a": 1}');
});

test("edits are undone, all of them", () => {
  const at = editing();
  at.type(field("args"), "{");
  at.type(field("said"), "x");
  at.button("Undo my edits").click();
  assert.deepEqual(at.all(".zl-fields textarea").map((area) => [area.value, area.getAttribute("aria-invalid")]), EDIT.map(({ text }) => [text, "false"]));
  at.change({ step: 2 });
  at.change({ step: 7 });
  assert.equal(at.one(field("args")).value, '{"a": 1}');
});

test("a step without fields can be forked as it is", () => {
  const at = shown({ live: LIVE });
  at.button("Edit or fork").click();
  assert.match(at.text(".zl-fields"), /^Nothing of this step can be edited/);
  assert.equal(document.activeElement, at.one("[data-verb=look]"));
});

// ---- the step

test("the head of a step says what just ran, where it is, and what is remarkable", () => {
  const at = shown({ step: 4, overview: overview({ marks: [0, 0, 0, 0, 1, 0, 0, 0], status: "rrrrrrrp" }) }, { panels: { 4: panel(4, { headline: "add(1, 2) -> 3", marks: ["error", "fault"], next: null }) } });
  assert.equal(at.text(".zl-head .zl-kicker"), "just ran execute, step 5 of 8, turn 1");
  assert.deepEqual([at.text(".zl-head h3"), texts(at.all(".zl-head .zl-chip"))], ["add(1, 2) -> 3", ["error", "fault"]]);
  assert.equal(at.text(".zl-next"), "the end nothing runs after this");
  assert.match(at.one(".zl-step").className, /zl-kind-execute/);
  at.change({ step: 7 });
  assert.equal(at.text(".zl-head .zl-kicker"), "waits for permission: tool_call, step 8 of 8, turn 2");
  assert.equal(at.text(".zl-next"), "runs next what comes");
});

test("the blocks of a step are drawn in order, and a panel that failed says why instead", () => {
  const blocks = [{ b: "note", tone: "warn", text: "one" }, { b: "code", label: "two", text: "2", cut: 0 }];
  const at = shown({}, { panels: { 0: panel(0, { blocks }) } });
  assert.equal(at.text(".zl-blocks"), "Warning: onetwo2");
  at.tell({ type: "failed", which: "main", seq: 0, message: "too large" });
  assert.deepEqual([at.text(".zl-blocks"), at.text(".zl-next"), at.text(".zl-tab-body")], ["Error: too large", "", ""]);
  assert.match(at.one(".zl-blocks p").className, /zl-tone-error/);
  assert.ok(!at.seen(".zl-failure"), "it stands where the step is");
});

test("a step is busy until its panel has come", () => {
  const at = shown({}, { panels: { 0: panel(0) } });
  assert.equal(at.one(".zl-step").getAttribute("aria-busy"), "false");
  at.model.send = () => {}; // the kernel takes its time
  at.change({ step: 6 });
  assert.equal(at.one(".zl-step").getAttribute("aria-busy"), "true");
  assert.equal(at.text(".zl-head h3"), "request", "its name is known already");
});

// ---- moving, in the column

test("the slider and its buttons lead to steps, and say where they are", () => {
  const at = shown({ step: 3 });
  const slider = at.one(".zl-slider");
  assert.deepEqual([slider.value, slider.getAttribute("max") ?? slider.max, at.text(".zl-place")], ["3", "7", "step 4 of 8, turn 1"]);
  assert.equal(slider.getAttribute("aria-valuetext"), "step 4 of 8, turn 1: validate");
  for (const [label, step] of [["Next step", 4], ["Next step", 5], ["Previous step", 4], ["Last step", 7], ["Next step", 7], ["Previous step", 6], ["First step", 0], ["Previous step", 0]]) {
    at.press(`button[aria-label="${label}"]`);
    assert.deepEqual([label, at.step], [label, step]);
  }
  at.type(".zl-slider", "5");
  assert.equal(at.step, 5);
});

test("what is remarkable is counted, and each count leads to the next of its kind", () => {
  const at = shown({ overview: overview({ marks: [0, 1, 0, 9, 0, 1, 16, 0] }), step: 1 });
  assert.deepEqual(texts(at.all(".zl-marked button")), ["3 errors", "1 fault", "1 edited"]);
  const visit = (words) => (at.button(words).click(), at.step);
  assert.deepEqual([visit("3 errors"), visit("3 errors"), visit("3 errors"), visit("1 fault"), visit("1 edited")], [3, 5, 1, 3, 6]);
});

test("a step beyond the end is the last one", () => {
  assert.equal(shown({ step: 99 }).text(".zl-place"), "step 8 of 8, turn 2");
  assert.equal(shown({ step: -5 }).text(".zl-place"), "step 1 of 8, set-up");
});

test("text is drawn as text everywhere in a column", () => {
  const drawn = (t) => {
    const edit = [{ field: t, label: t, form: "text", text: t }];
    const tabs = { diff: { words: t, rows: [{ op: "+", i: 0, role: t, text: t, id: t }], patch: [], patch_cut: 0 }, python: t, note: t };
    const given = { overview: overview({ run_id: t, title: t, outcome: t, error: t, tools: [t], tool: Array(8).fill(0), parent: { run_id: t, forked_at: 1 }, ledger: [{ role: "uata", id: [t, t, t, t], size: [1, 1, 1, 1] }] }), notes: { 0: t }, live: { ...LIVE, next: t, error: t, verbs: { ...LIVE.verbs, live_costs: t }, breakpoints: [{ tool: t }, { kind: t }] } };
    const at = shown(given, { panels: { 0: panel(0, { headline: t, kind: t, next: t, marks: [t], edit, tabs }) } });
    resize(".zl-ledger-list", 200, 300);
    at.button("Edit or fork").click();
    at.tell({ type: "failed", message: t, difference: `+${t}` });
    return at.root;
  };
  const hostile = "<img src=x onerror=alert(1)></textarea><script>alert(2)</script>";
  assert.deepEqual(skeleton(drawn(hostile)), skeleton(drawn("plain")));
  assert.ok(drawn(hostile).textContent.includes(hostile));
});
