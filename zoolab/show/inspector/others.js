// *Ask others*: which models, how often, and how many requests that is. Only the last button sends any.

import { button, enable, h, memory, plural } from "./elements.js";
import { kindOf } from "./overview.js";

/** Requests of one click; the kernel refuses more. */
const MOST_REQUESTS = 200;

/** What the button would send, and its words; no message while there is nothing to send. */
export function orderOf(chosen, times) {
  const repeats = Number(times);
  const requests = chosen.length * repeats;
  if (!chosen.length) return { words: "Choose a model" };
  if (!Number.isInteger(repeats) || repeats < 1) return { words: "Say how often" };
  if (requests > MOST_REQUESTS) return { words: `At most ${plural(MOST_REQUESTS, "request")}, not ${requests.toLocaleString("en")}` };
  return { words: `Send ${plural(requests, "request")}`, message: { type: "ask", models: [...chosen], repeats } };
}

const HOW = "Give the models to ask: inspect(trace, models={\"name\": model})";
const SAYS = "The request of this step goes out as it was. Calls are read and checked, nothing is run, and the trace stays as it is. It may take time and money; a recording is asked once. To stop it, interrupt the kernel.";

export class Others {
  constructor(column) {
    this.column = column;
    this.app = column.app;
    this.open = false;
    this.changed = memory();
    this.boxes = [];
    this.press = button("Ask others", "others", () => this.toggle(), { "aria-expanded": "false", class: "zl-button zl-edit", "data-do": "others" });
    this.choice = h("div", { class: "zl-ways" });
    this.repeats = h("input", { type: "number", class: "zl-text zl-number-of", min: 1, max: MOST_REQUESTS, value: 5, input: () => this.count() });
    this.send = button("Send", "live", () => this.ask(), { class: "zl-button zl-primary", "data-do": "ask" });
    this.el = h("section", { class: "zl-others", role: "group", "aria-label": "Ask other models", "data-own-keys": true, tabindex: "-1", hidden: true }, this.choice);
  }

  toggle(open = !this.open) {
    this.open = open;
    if (!open) return this.app.drawSoon();
    this.app.draw();
    (this.boxes[0] ?? this.el).focus();
  }

  leave() {
    this.toggle(false);
    this.press.focus();
  }

  draw(overview, seq) {
    const here = kindOf(overview, seq) === "request" && !this.column.gap && this.app.can("ask");
    this.press.hidden = !here;
    this.press.setAttribute("aria-expanded", String(this.open));
    this.el.hidden = !this.open || !here;
    if (this.el.hidden) return;
    const names = this.app.live?.verbs?.others ?? [];
    if (this.changed(names.join("\n"))) this.lay(names);
    this.count();
  }

  lay(names) {
    this.boxes = names.map((_, i) => h("input", { type: "checkbox", checked: true, "data-model": i, change: () => this.count() }));
    const models = names.map((name, i) => h("label", null, this.boxes[i], name));
    const chosen = h("fieldset", { class: "zl-way" }, h("legend", null, "Ask others: what would each do?"), models);
    const often = h("label", null, "How often each: ", this.repeats);
    this.choice.replaceChildren(...(names.length ? [chosen, often, h("p", null, SAYS), this.send] : [h("p", null, HOW)]));
  }

  get order() {
    return orderOf(this.boxes.flatMap((box, i) => (box.checked ? [i] : [])), this.repeats.value);
  }

  count() {
    const { words, message } = this.order;
    this.send.querySelector("span").textContent = words;
    enable(this.send, Boolean(message));
  }

  ask() {
    const { words, message } = this.order;
    if (!message) return this.app.say(words);
    this.app.ask({ ...message, seq: this.column.seq }, { done: () => this.toggle(false) });
  }
}
