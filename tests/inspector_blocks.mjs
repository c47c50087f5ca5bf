// Unit tests of the blocks of a panel: what each draws, what its buttons send, and that text stays text.

import assert from "node:assert/strict";
import { test } from "node:test";

import { skeleton } from "./inspector_dom.mjs";
import { BLOCKS, block } from "./blocks.js";
import { icon } from "./elements.js";

const NO_APP = { can: () => false, kernel: true };
const texts = (element, selector) => element.querySelectorAll(selector).map((each) => each.textContent);
const drawn = (data, app = NO_APP, panel = { seq: 3 }) => block(data, panel, app);
const picture = (element) => element.querySelector("path").getAttribute("d");

test("a note has the colour, the picture and the word of its tone", () => {
  const tones = { info: ["Note", "info"], warn: ["Warning", "error"], error: ["Error", "error"], fault: ["Injected fault", "fault"] };
  for (const [tone, [word, shown]] of Object.entries(tones)) {
    const note = drawn({ b: "note", tone, text: "so it is" });
    assert.equal(note.className, `zl-note zl-tone-${tone}`);
    assert.equal(note.textContent, `${word}: so it is`);
    assert.equal(picture(note), picture(icon(shown)));
  }
  const unknown = drawn({ b: "note", tone: "x zl-tone-error", text: "?" });
  assert.deepEqual([unknown.className, unknown.textContent], ["zl-note zl-tone-info", "Note: ?"]);
});

test("a check says whether it passed; what was expected stands only where it failed", () => {
  const facts = { pointer: "/a", expected: "integer", received: "" };
  const rows = [{ state: "ok", text: "known", ...facts }, { state: "bad", text: "types", ...facts }, { state: "none", text: "range" }, { state: "odd", text: "later" }, { state: "bad", text: "bare" }];
  const items = drawn({ b: "checks", label: "gates", rows }).querySelectorAll("li");
  assert.deepEqual(items.map((item) => item.className), ["ok", "bad", "none", "none", "bad"].map((state) => `zl-check zl-${state}`));
  assert.deepEqual(items.map((item) => item.querySelector("small").textContent), ["passed", "failed", "not reached", "not reached", "failed"]);
  assert.deepEqual(items.map((item) => texts(item, "dt")), [[], ["at", "expected"], [], [], []]);
  assert.deepEqual(texts(items[1], "dd"), ["/a", "integer"]);
  assert.equal(items[4].querySelector("dl"), null);
});

test("messages that were there before are folded if there are two or more, and those that are new stand open", () => {
  const rows = [0, 1, 2, 3].map((i) => ({ i, role: "user", text: `said ${i}`, id: "", new: i > 1, cut: 0 }));
  const folded = drawn({ b: "messages", rows, before: 5 });
  const old = folded.querySelector("details");
  assert.equal(old.querySelector("summary").textContent, "2 earlier messages");
  assert.deepEqual(texts(old, ".zl-said"), ["said 0", "said 1"]);
  assert.deepEqual(texts(old, ".zl-cut"), ["5 earlier messages, left out here"]);
  assert.deepEqual(texts(folded, ".zl-said"), ["said 0", "said 1", "said 2", "said 3"]);
  assert.deepEqual(folded.querySelectorAll(".zl-fresh").map((each) => each.querySelector(".zl-index").textContent), ["2", "3"]);
  assert.equal(texts(folded, ".zl-new").length, 2);
  const open = drawn({ b: "messages", rows: rows.slice(1), before: 0 });
  assert.deepEqual([open.querySelector("details"), open.querySelector(".zl-cut"), texts(open, ".zl-said").length], [null, null, 3]);
  const none = drawn({ b: "messages", rows: rows.slice(0, 2), before: 1 });
  assert.deepEqual([none.querySelector("details"), texts(none, ".zl-cut")], [null, ["1 earlier message, left out here"]]);
});

test("a message has its calls with their arguments and ids, and says what was cut", () => {
  const calls = [{ name: "add", arguments: '{"a": 1}', id: "c1" }, { name: "now", arguments: "", id: "" }];
  const message = drawn({ b: "messages", rows: [{ i: 0, role: "assistant", text: "", id: "m", calls, others: "more", cut: 1200 }], before: 0 });
  assert.deepEqual(texts(message, ".zl-said"), ['→ add({"a": 1}) c1', "→ now() ", "more"]);
  assert.deepEqual(texts(message, "code"), ["m", "c1"]);
  assert.deepEqual(texts(message, ".zl-key"), ['"a"']);
  assert.deepEqual(texts(message, ".zl-number"), ["1"]);
  assert.deepEqual(texts(message, ".zl-cut"), ["1,200 more characters, left out here"]);
});

test("of a change, before has what went and after what came", () => {
  const pieces = [["", "a"], ["del", "b"], ["ins", "c"], ["", "d"]];
  const [before, after] = drawn({ b: "diff", label: "repair", pieces }).querySelectorAll(".zl-version");
  assert.deepEqual([texts(before, "small"), texts(before, "pre"), texts(before, "del"), texts(before, "ins")], [["before"], ["abd"], ["b"], []]);
  assert.deepEqual([texts(after, "small"), texts(after, "pre"), texts(after, "del"), texts(after, "ins")], [["after"], ["acd"], [], ["c"]]);
});

test("a stream is shown whole at first, and the slider leads to each piece", () => {
  const stream = drawn({ b: "stream", label: "deltas", pieces: ["one ", "two ", "three"] });
  const slider = stream.querySelector("input");
  const seen = () => [stream.querySelector("pre").textContent, stream.querySelector("mark").textContent, stream.querySelector("output").textContent, slider.getAttribute("aria-valuetext")];
  assert.deepEqual(["min", "max", "data-own-keys"].map((name) => slider.getAttribute(name)), ["1", "3", ""]);
  assert.deepEqual([slider.value, ...seen()], ["3", "one two three", "three", "piece 3 of 3", "piece 3 of 3"]);
  slider.value = 1;
  slider.dispatch("input");
  assert.deepEqual(seen(), ["one ", "one ", "piece 1 of 3", "piece 1 of 3"]);
  slider.value = 2;
  slider.dispatch("input");
  assert.deepEqual(seen(), ["one two ", "two ", "piece 2 of 3", "piece 2 of 3"]);
  const empty = drawn({ b: "stream", label: "deltas", pieces: [] });
  assert.deepEqual([empty.querySelector("pre").textContent, empty.querySelector("output").textContent, empty.querySelector("input").getAttribute("min")], ["", "piece 0 of 0", "0"]);
});

test("each parameter has its Python beside its JSON Schema, and a required one has no default", () => {
  const rows = [
    { name: "a", annotation: "int", default: "", schema: '{"type": "integer"}', description: "One.", required: true },
    { name: "b", annotation: "", default: "2", schema: "{}", description: "", required: false },
  ];
  const table = drawn({ b: "fields", label: "add", rows });
  assert.deepEqual(texts(table, "thead th"), ["Python", "default", "JSON Schema", "description"]);
  assert.deepEqual(texts(table, "tbody th"), ["a: int", "b"]);
  const cells = table.querySelectorAll("tbody tr").map((row) => texts(row, "td"));
  assert.deepEqual(cells, [["required", "⟷", '{"type": "integer"}', "One."], ["2", "⟷", "{}", "none"]]);
  assert.equal(drawn({ b: "fields", label: "now", rows: [] }).textContent, "nowno parameters");
});

test("a table, facts, tools and a flow have their rows in order", () => {
  const table = drawn({ b: "table", label: "t", heads: ["x", "y"], rows: [["a", 1], ["b", 2]] });
  assert.deepEqual([texts(table, "thead th"), texts(table, "tbody th"), texts(table, "td")], [["x", "y"], ["a", "b"], ["1", "2"]]);
  const facts = drawn({ b: "facts", rows: [["model", "m"], ["tokens", "7"]] });
  assert.deepEqual([texts(facts, "dt"), texts(facts, "dd")], [["model", "tokens"], ["m", "7"]]);
  const tools = drawn({ b: "tools", rows: [{ name: "a", state: "chosen", why: "" }, { name: "b", state: "offered" }, { name: "c", state: "left out", why: "too many" }] });
  assert.deepEqual(tools.querySelectorAll("li").map((each) => each.className), ["chosen", "offered", "missing"].map((state) => `zl-tool zl-tool-${state}`));
  assert.deepEqual(texts(tools, "li"), ["achosen", "boffered", "cleft outtoo many"]);
  const flow = drawn({ b: "flow", label: "ids", rows: [{ what: "call", id: "c1", message: 1, text: "add" }, { what: "result", id: "", message: 2, text: "3" }] });
  assert.deepEqual(texts(flow, "li"), ["callc1messages[1]add", "resultno idmessages[2]3"]);
});

test("a permission shows what is known of it", () => {
  const card = drawn({ b: "permission", tool: "wipe", risk: "high", resource: "", arguments: "{}", choice: "deny", reason: null, other: "x" });
  assert.deepEqual([texts(card, "dt"), texts(card, "dd")], [["tool", "risk", "arguments", "choice"], ["wipe", "high", "{}", "deny"]]);
});

test("code says what was cut, and an empty one that it is empty", () => {
  const code = drawn({ b: "code", label: "body", text: "abc", cut: 1 });
  assert.deepEqual([texts(code, "h4"), texts(code, "pre"), texts(code, ".zl-cut")], [["body"], ["abc"], ["1 more character, left out here"]]);
  assert.equal(code.querySelector("pre").getAttribute("aria-label"), "body");
  const empty = drawn({ b: "code", label: "", text: "", cut: 0 });
  assert.deepEqual([empty.querySelector("h4"), texts(empty, "pre"), empty.querySelector(".zl-cut")], [null, ["empty"], null]);
});

const NESTED = { b: "nested", label: "agent", title: "Find it", steps: 12, outcome: "answer", rows: ["define", "request"], cut: 10 };

test("the trace of a sub-agent is opened from the step that holds it", () => {
  const asked = [];
  const app = { can: (what) => what === "open", kernel: true, ask: (message) => asked.push(message) };
  const nested = drawn(NESTED, app, { seq: 6 });
  assert.deepEqual(texts(nested, "button"), ["Open its trace"]);
  assert.deepEqual(texts(nested, ".zl-quiet"), ["12 steps, answer"]);
  nested.querySelector("button").click();
  assert.deepEqual(asked, [{ type: "open", seq: 6 }]);
  assert.deepEqual([nested.querySelector("code"), nested.querySelector("details")], [null, null]);
});

test("a page without a kernel says how to open the trace of a sub-agent, and lists its steps", () => {
  const nested = drawn(NESTED, { can: () => false, kernel: false }, { seq: 6 });
  assert.equal(nested.querySelector("button"), null);
  assert.deepEqual(texts(nested, "code"), ["trace.steps[6].record.trace.inspect()"]);
  assert.deepEqual(texts(nested, "li"), ["define", "request"]);
  assert.deepEqual(texts(nested, ".zl-cut"), ["10 more steps, left out here"]);
});

test("a block of a later version is shown as the data that it is", () => {
  for (const b of ["hologram", "constructor", "__proto__"]) {
    const data = JSON.parse(`{"b": "${b}", "depth": 3}`);
    const shown = drawn(data);
    assert.deepEqual([texts(shown, "h4"), texts(shown, "pre")], [[b], [JSON.stringify(data)]]);
  }
});

/** One of each block; every text in it is what is given. */
function everyBlock(t) {
  const facts = { pointer: t, expected: t, received: t };
  return [
    { b: "facts", rows: [[t, t]] },
    { b: "code", label: t, text: t, cut: 1 },
    { b: "messages", before: 1, rows: [true, false].map((fresh) => ({ i: 0, role: t, text: t, id: t, new: fresh, calls: [{ name: t, arguments: t, id: t }], others: t, cut: 0 })) },
    { b: "checks", label: t, rows: [{ state: t, text: t, ...facts }, { state: "bad", text: t, ...facts }] },
    { b: "diff", label: t, pieces: [["", t], ["del", t], ["ins", t]] },
    { b: "stream", label: t, pieces: [t, t] },
    { b: "fields", label: t, rows: [{ name: t, annotation: t, default: t, schema: t, description: t, required: false }] },
    { b: "table", label: t, heads: [t], rows: [[t, t]] },
    { b: "tools", rows: [{ name: t, state: t, why: t }] },
    { b: "flow", label: t, rows: [{ what: t, id: t, message: t, text: t }] },
    { b: "note", tone: t, text: t },
    { b: "permission", tool: t, risk: t, resource: t, arguments: t, choice: t, reason: t },
    { b: "nested", label: t, title: t, steps: 1, outcome: t, rows: [t], cut: 1 },
    { b: t, text: t },
  ];
}

test("text is drawn as text in every block: markup in it makes no element and no name of a class", () => {
  const hostile = '</pre><img src=x onerror="alert(1)"><script>alert(2)</script> zl-button';
  const app = { can: () => false, kernel: false };
  const kinds = new Set(everyBlock("x").map(({ b }) => b));
  assert.deepEqual(Object.keys(BLOCKS).filter((kind) => !kinds.has(kind)), []);
  const classes = (element) => element.querySelectorAll("[class]").map((each) => each.className).concat(element.className);
  everyBlock(hostile).forEach((data, i) => {
    const shown = drawn(data, app);
    const plain = drawn(everyBlock("plain")[i], app);
    assert.deepEqual(skeleton(shown), skeleton(plain), data.b);
    assert.deepEqual(classes(shown), classes(plain), data.b);
    assert.ok(shown.textContent.includes(data.b === hostile ? "onerror" : hostile), data.b);
  });
});
