// Unit tests of the inspector's modules, for `node --test`; tests/test_inspector_units.py runs them beside copies of the modules.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { bytes, clamp, memory, plural } from "./elements.js";
import { orderOf } from "./others.js";
import { Panels, kindOf, marksOf, nameOf, nextMarked, placeOf, run, toolOf, turnFrom, turnName, unpacked } from "./overview.js";

const { sent, plain } = JSON.parse(readFileSync(new URL("overviews.json", import.meta.url), "utf8"));
const KINDS = { d: "define", q: "request", t: "tool_call", v: "validate", e: "execute", r: "result" };

/** An app that keeps what it would send to a kernel. */
function listening() {
  const asked = [];
  return { asked, send: (message) => asked.push(message) };
}

test("what Python packs is unpacked as it was", () => {
  assert.ok(sent.length > 3);
  sent.forEach((overview, i) => overview.n && assert.deepEqual(unpacked(overview), plain[i]));
});

test("an overview is unpacked once, and an empty one is left alone", () => {
  assert.equal(unpacked(sent[0]), unpacked(sent[0]));
  assert.deepEqual(unpacked({ n: 0 }), { n: 0 });
});

test("a run is a value, or a value so many times", () => {
  assert.deepEqual(run("7"), [7]);
  assert.deepEqual(run("0*3"), [0, 0, 0]);
  assert.deepEqual(run("-1*2"), [-1, -1]);
});

test("each step has its kind, its place and its name", () => {
  for (const overview of plain)
    for (let seq = 0; seq < overview.n; seq++) {
      assert.equal(kindOf(overview, seq), KINDS[overview.kind[seq]]);
      assert.ok(nameOf(overview, seq).startsWith(kindOf(overview, seq)));
      assert.ok(placeOf(overview, seq).startsWith(`step ${seq + 1} of ${overview.n}, `));
      assert.equal(toolOf(overview, seq), overview.tools[overview.tool[seq]] ?? "");
    }
  assert.equal(kindOf({ kind: "?" }, 0), "unknown");
  assert.deepEqual([turnName(0), turnName(2)], ["set-up", "turn 2"]);
});

test("marks are named in the order of their weight", () => {
  assert.deepEqual(marksOf({ marks: [1 | 4 | 32, 0] }, 0), ["error", "repair", "stale"]);
  assert.deepEqual(marksOf({ marks: [0] }, 0), []);
});

test("a turn on or back leads to the first step of a turn, and stops at the ends", () => {
  const overview = { n: 7, turn: [0, 1, 1, 1, 2, 2, 2] };
  const on = Array.from({ length: 7 }, (_, seq) => turnFrom(overview, seq, 1));
  const back = Array.from({ length: 7 }, (_, seq) => turnFrom(overview, seq, -1));
  assert.deepEqual(on, [1, 4, 4, 4, 6, 6, 6]);
  assert.deepEqual(back, [0, 0, 1, 1, 1, 4, 4]);
});

test("the next step with a mark is searched past the end, and comes back to where it began", () => {
  const overview = { n: 4, marks: [1, 0, 1, 0] };
  assert.deepEqual([0, 1, 2, 3].map((seq) => nextMarked(overview, seq, 1)), [2, 2, 0, 0]);
  assert.equal(nextMarked({ n: 3, marks: [0, 2, 0] }, 1, 2), 1);
  assert.equal(nextMarked(overview, 0, 16), -1);
});

test("panels are asked for ahead of the reader, and one question at a time", () => {
  const app = listening();
  const panels = new Panels(app);
  panels.want("main", 5, 100);
  panels.want("main", 6, 100);
  assert.deepEqual(app.asked, [{ type: "get", which: "main", steps: [5, 6, 4] }]);
  panels.take({ which: "main", panels: { 4: {}, 5: {}, 6: {} } });
  panels.want("main", 7, 100);
  assert.deepEqual(app.asked[1].steps, [7, 8, 9, 10, 11, 12, 13, 14]);
  panels.want("other", 0, 2);
  assert.deepEqual(app.asked[2], { type: "get", which: "other", steps: [0, 1] });
});

test("no panel outside the trace is asked for", () => {
  const app = listening();
  new Panels(app).want("main", 2, 3);
  assert.deepEqual(app.asked[0].steps, [2, 1]);
});

test("the panels that were looked at longest ago go first", () => {
  const panels = new Panels(listening());
  for (let seq = 0; seq < Panels.kept; seq++) panels.keep("main", seq, { seq });
  panels.get("main", 0);
  panels.keep("main", 999, { seq: 999 });
  assert.deepEqual(panels.get("main", 0), { seq: 0 });
  assert.equal(panels.get("main", 1), undefined);
});

test("what is forgotten is every panel from a step on, of both sides", () => {
  const panels = new Panels(listening());
  for (const side of ["main", "other"]) for (const seq of [3, 4, 10]) panels.keep(side, seq, { seq });
  panels.forget(4);
  assert.deepEqual(["main 3", "other 3"], [...panels.cache.keys()]);
});

test("numbers and sizes are read as a person says them", () => {
  assert.deepEqual([plural(1, "step"), plural(1200, "step"), plural(0, "reply", "replies")], ["1 step", "1,200 steps", "0 replies"]);
  assert.deepEqual([bytes(999), bytes(1000), bytes(12_345)], ["999 B", "1.0 kB", "12 kB"]);
  assert.deepEqual([clamp(-1, 0, 3), clamp(9, 0, 3), clamp(2, 0, 3)], [0, 3, 2]);
});

test("a memory says whether anything is another", () => {
  const changed = memory();
  assert.deepEqual([changed(1, "a"), changed(1, "a"), changed(1, "b"), changed(1, "b")], [true, false, true, false]);
});

test("others are asked only so many requests as the button says", () => {
  assert.deepEqual(orderOf([0, 2], "5"), { words: "Send 10 requests", message: { type: "ask", models: [0, 2], repeats: 5 } });
  assert.deepEqual(orderOf([1], 1), { words: "Send 1 request", message: { type: "ask", models: [1], repeats: 1 } });
  assert.equal(orderOf([0, 1], "100").words, "Send 200 requests");
  for (const [chosen, times] of [[[], 5], [[0], ""], [[0], "0"], [[0], "-2"], [[0], "1.5"], [[0], "x"], [[0, 1], "101"]]) {
    const { words, message } = orderOf(chosen, times);
    assert.ok(words.length > 0 && !words.startsWith("Send"));
    assert.equal(message, undefined);
  }
});
