// What is known of a trace: its overview, and the panels that are fetched as they are shown.

import { KINDS, MARKS, clamp } from "./elements.js";

// ---- panels, fetched as they are shown

export class Panels {
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

export const NO_PANEL = Object.freeze({ kind: "", headline: "this step cannot be shown", marks: [], next: null, blocks: [], edit: [], tabs: {} });
export const NO_NOTES = Object.freeze({});
const COLUMNS = ["turn", "marks", "tool", "length", "branch"];
const unpackedOf = new WeakMap();

/** The overview with its columns of numbers as lists; they are sent as runs, "0,1*5". */
export function unpacked(overview) {
  if (!overview?.n) return overview;
  if (!unpackedOf.has(overview)) {
    const lists = COLUMNS.map((name) => [name, overview[name].split(",").flatMap(run)]);
    unpackedOf.set(overview, { ...overview, ...Object.fromEntries(lists) });
  }
  return unpackedOf.get(overview);
}

export function run(text) {
  const [value, times = 1] = text.split("*").map(Number);
  return Array(times).fill(value);
}

export function kindOf(overview, seq) {
  return (KINDS[overview.kind[seq]] ?? ["unknown", ""])[0];
}

export function marksOf(overview, seq) {
  return MARKS.filter(([bit]) => overview.marks[seq] & bit).map(([, word]) => word);
}

export function toolOf(overview, seq) {
  return overview.tools[overview.tool[seq]] ?? "";
}

export function turnName(turn) {
  return turn > 0 ? `turn ${turn}` : "set-up";
}

export function placeOf(overview, seq) {
  return `step ${seq + 1} of ${overview.n}, ${turnName(overview.turn[seq])}`;
}

export function nameOf(overview, seq) {
  return [kindOf(overview, seq), toolOf(overview, seq)].filter(Boolean).join(" ");
}

/** The step to which a turn on, or back, leads. */
export function turnFrom(overview, seq, direction) {
  const { turn, n } = overview;
  const starts = (at) => at === 0 || turn[at] !== turn[at - 1];
  let at = seq + direction;
  while (at > 0 && at < n && !starts(at)) at += direction;
  return clamp(at, 0, n - 1);
}

export function nextMarked(overview, seq, bit) {
  const { marks, n } = overview;
  for (let i = 1; i <= n; i++) if (marks[(seq + i) % n] & bit) return (seq + i) % n;
  return -1;
}
