// The blocks of a panel: one function a block, and the parts that several have.

import {
  STATES, TONES, button, caption, cutNotice, h, icon, lit, plural, pre,
} from "./elements.js";

// ---- blocks: one function a block of a panel

export const BLOCKS = {
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

  table: ({ label, heads, rows }) => {
    const head = h("thead", null, h("tr", null, heads.map((name) => h("th", { scope: "col" }, name))));
    const body = rows.map(([first, ...others]) => h("tr", null, h("th", { scope: "row" }, first), others.map((text) => h("td", null, text))));
    return h("section", null, caption(label), h("div", { class: "zl-wide" }, h("table", null, head, h("tbody", null, body))));
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
export function block(data, panel, app) {
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
