// What the inspector needs of a browser, for its unit tests under Node: elements, events, the focus, and a kernel that answers.
// Nothing is laid out: a test says how large an element is. Markup, addresses and styles in text are refused, whoever sets them.

const SVG = "http://www.w3.org/2000/svg";
const REFUSED = /^(on.*|href|src|srcdoc|style|action|formaction)$/i;
const waiting = [];
const watched = [];

class Text {
  constructor(text) {
    this.textContent = String(text);
  }
}

/** A selector of the kinds that the inspector and its tests use: `tag#id.class[name=value]:not([name]) inner, other`. */
function fits(element, selector) {
  return selector.split(",").some((one) => fitsPath(element, one.trim().split(/\s+(?![^[]*\])/)));
}

function fitsPath(element, path) {
  if (!fitsOne(element, path.at(-1))) return false;
  if (path.length === 1) return true;
  for (let above = element.parent; above; above = above.parent) if (fitsPath(above, path.slice(0, -1))) return true;
  return false;
}

function fitsOne(element, selector) {
  const parts = selector.match(/:not\([^)]*\)|\[[^\]]*\]|[.#]?[\w-]+/g);
  if (parts.join("") !== selector) throw new Error(`not a selector of this stand-in: ${selector}`);
  return parts.every((part) => {
    if (part.startsWith(":not(")) return !fitsOne(element, part.slice(5, -1));
    if (part.startsWith(".")) return element.classList.contains(part.slice(1));
    if (part.startsWith("#")) return element.id === part.slice(1);
    if (!part.startsWith("[")) return element.tag === part;
    const [name, value] = part.slice(1, -1).split("=");
    return value === undefined ? element.hasAttribute(name) : element.getAttribute(name) === value.replaceAll('"', "");
  });
}

class Element {
  scrollLeft = 0;
  scrollTop = 0;
  clientWidth = 0;
  clientHeight = 0;
  style = {};
  selectedIndex = 0;
  shown = 0;

  constructor(tag) {
    this.tag = tag;
    this.childNodes = [];
    this.attributes = new Map();
    this.heard = [];
    this.dataset = new Proxy({}, {
      get: (_, name) => this.attributes.get(`data-${name}`),
      set: (_, name, value) => (this.setAttribute(`data-${name}`, value), true),
    });
    this.classList = {
      contains: (name) => this.className.split(" ").includes(name),
      toggle: (name, on) => {
        const others = this.className.split(" ").filter((one) => one && one !== name);
        this.className = (on ? [...others, name] : others).join(" ");
      },
    };
  }

  // -- attributes, and the properties that stand for one

  setAttribute(name, value) {
    if (REFUSED.test(name)) throw new Error(`the attribute ${name} is not for data`);
    this.attributes.set(name, String(value));
  }

  getAttribute(name) {
    return this.attributes.get(name) ?? null;
  }

  hasAttribute(name) {
    return this.attributes.has(name);
  }

  removeAttribute(name) {
    this.attributes.delete(name);
  }

  get className() {
    return this.getAttribute("class") ?? "";
  }

  set className(value) {
    this.setAttribute("class", value);
  }

  get id() {
    return this.getAttribute("id") ?? "";
  }

  get hidden() {
    return this.hasAttribute("hidden");
  }

  set hidden(hidden) {
    if (hidden) this.setAttribute("hidden", "");
    else this.removeAttribute("hidden");
  }

  get value() {
    return this.typed ?? this.getAttribute("value") ?? "";
  }

  set value(value) {
    this.typed = String(value);
  }

  get checked() {
    return this.ticked ?? this.hasAttribute("checked");
  }

  set checked(checked) {
    this.ticked = checked;
  }

  set innerHTML(_) {
    throw new Error("text became markup");
  }

  set outerHTML(_) {
    throw new Error("text became markup");
  }

  insertAdjacentHTML() {
    throw new Error("text became markup");
  }

  // -- the tree

  get children() {
    return this.childNodes.filter((child) => child instanceof Element);
  }

  get textContent() {
    return this.childNodes.map((child) => child.textContent).join("");
  }

  set textContent(text) {
    this.replaceChildren(text);
  }

  append(...children) {
    for (const given of children) {
      const child = given instanceof Element ? given : new Text(given);
      if (child instanceof Element) child.remove(), (child.parent = this);
      this.childNodes.push(child);
    }
  }

  replaceChildren(...children) {
    for (const child of this.children) child.parent = null;
    this.childNodes = [];
    this.append(...children);
  }

  remove() {
    if (this.parent) this.parent.childNodes = this.parent.childNodes.filter((child) => child !== this);
    this.parent = null;
  }

  contains(element) {
    for (let at = element; at; at = at.parent) if (at === this) return true;
    return false;
  }

  closest(selector) {
    let at = this;
    while (at && !fits(at, selector)) at = at.parent;
    return at ?? null;
  }

  querySelectorAll(selector) {
    return this.children.flatMap((child) => [...(fits(child, selector) ? [child] : []), ...child.querySelectorAll(selector)]);
  }

  querySelector(selector) {
    return this.querySelectorAll(selector)[0] ?? null;
  }

  getRootNode() {
    return document;
  }

  get offsetParent() {
    return document.body.contains(this) && !this.closest("[hidden]") ? this.parent : null;
  }

  // -- what a reader does

  addEventListener(name, heard) {
    this.heard.push([name, heard]);
  }

  dispatch(type, more = {}) {
    let stopped = false;
    const event = { type, target: this, defaultPrevented: false, ...more };
    event.preventDefault = () => (event.defaultPrevented = true);
    event.stopPropagation = () => (stopped = true);
    for (let at = this; at && !stopped; at = at.parent) {
      event.currentTarget = at;
      for (const [name, heard] of at.heard) if (name === type) heard(event);
    }
    frames();
    return event;
  }

  click() {
    return this.dispatch("click");
  }

  focus() {
    if (this.offsetParent) focused = this;
  }

  blur() {
    focused = null;
  }

  scrollTo({ left, top }) {
    Object.assign(this, { scrollLeft: Math.max(0, left), scrollTop: Math.max(0, top) });
  }

  scrollIntoView() {
    this.shown++;
  }

  showModal() {
    this.open = true;
  }

  close() {
    this.open = false;
  }
}

let focused = null;
const body = new Element("body");

globalThis.document = {
  body,
  createElement: (tag) => new Element(tag),
  createElementNS: (space, tag) => {
    if (space !== SVG) throw new Error(`another namespace: ${space}`);
    return new Element(tag);
  },
  get activeElement() {
    return focused && body.contains(focused) ? focused : body;
  },
};
globalThis.requestAnimationFrame = (draw) => waiting.push(draw);
globalThis.ResizeObserver = class {
  constructor(seen) {
    this.seen = seen;
  }

  observe(element) {
    watched.push({ element, seen: this.seen, by: this });
  }

  disconnect() {
    watched.splice(0, watched.length, ...watched.filter(({ by }) => by !== this));
  }
};

/** Draw what waits for a frame. */
export function frames() {
  while (waiting.length) waiting.shift()();
}

/** How many elements are watched for their size. */
export const watching = () => watched.length;

/** Say how large what has this selector is. */
export function resize(selector, clientWidth, clientHeight = 0) {
  for (const { element, seen } of watched)
    if (fits(element, selector)) {
      Object.assign(element, { clientWidth, clientHeight });
      seen();
    }
  frames();
}

/** The tags of an element and of all below it. */
export function skeleton(element) {
  return [element.tag, element.children.map(skeleton)];
}

// -- what the inspector is given

const packed = (numbers) => numbers.join(",");

/** An overview as it is sent: two turns of a call and an answer, if nothing else is said. */
export function overview(more = {}) {
  const n = more.n ?? 8;
  const each = (value) => packed(Array(n).fill(value));
  const lists = Object.fromEntries(Object.entries(more).map(([name, value]) => [name, ["turn", "marks", "tool", "length", "branch"].includes(name) ? packed(value) : value]));
  return {
    run_id: "run-1", title: "Add", outcome: "answer", error: null, n,
    kind: "dqtverqt".padEnd(n, "q").slice(0, n), turn: packed([0, 1, 1, 1, 1, 1, 2, 2].concat(Array(n).fill(2)).slice(0, n)),
    status: "r".repeat(n), marks: each(0), tool: each(-1), tools: [], length: packed([0, 1, 2, 2, 2, 3, 3, 4].concat(Array(n).fill(4)).slice(0, n)),
    branch: each(0), ledger: [{ role: "uata", id: ["", "", "c1", ""], size: [20, 1500, 30, 40] }], parent: null,
    totals: { turns: 2, calls: 1, errors: 0, tokens_in: null, tokens_out: null, time: "" }, ...lists,
  };
}

export function panel(seq, more = {}) {
  const tabs = { diff: { words: "", rows: [], patch: [], patch_cut: 0 }, full: [], raw: [], python: "", note: "", ...more.tabs };
  return { seq, kind: "request", turn: 1, slot: -1, headline: `headline ${seq}`, marks: [], ran: "", next: "what comes", blocks: [], edit: [], ...more, tabs };
}

/** A page that shows a trace, and all that it sends. Its kernel has a panel for every step, except where `dead`. */
export function page(render, state = {}, { panels = {}, other = {} } = {}) {
  const held = { overview: overview(), step: 0, tab: "diff", notes: {}, other_step: 0, live: null, other: null, pairs: null, ...state };
  const ears = [];
  const sent = [];
  const emit = (event, ...values) => ears.filter(([name]) => name === event).forEach(([, heard]) => heard(...values));
  const kernel = { asked: [], saves: 0, dead: false, ears };
  const model = {
    get: (name) => held[name],
    set(name, value) {
      if (held[name] === value) return;
      held[name] = value;
      emit(`change:${name}`);
    },
    save_changes: () => kernel.saves++,
    on: (event, heard) => ears.push([event, heard]),
    off: (event, heard) => ears.splice(ears.findIndex((ear) => ear[0] === event && ear[1] === heard), 1),
    send(message) {
      if (kernel.dead) throw new Error("no kernel");
      if (message.type !== "get") return sent.push(message);
      kernel.asked.push(message);
      const of = { main: panels, other }[message.which];
      emit("msg:custom", { type: "panels", which: message.which, panels: Object.fromEntries(message.steps.map((seq) => [seq, structuredClone(of[seq] ?? panel(seq))])) });
    },
  };
  body.replaceChildren();
  watched.length = 0;
  const close = render({ model, el: body });
  frames();
  const root = body.children[0];
  const one = (selector) => {
    const found = root.querySelector(selector);
    if (!found) throw new Error(`nothing is ${selector}`);
    return found;
  };
  return {
    root, sent, model, kernel, close, one,
    all: (selector) => root.querySelectorAll(selector),
    text: (selector) => one(selector).textContent,
    /** Whether it is to be seen: neither it nor anything around it is hidden. */
    seen: (selector) => root.querySelectorAll(selector).some((element) => element.offsetParent),
    press: (selector) => one(selector).click(),
    button: (words) => root.querySelectorAll("button").find((each) => each.textContent === words && each.offsetParent),
    key: (key, more = {}, from = root) => from.dispatch("keydown", { key, ...more }),
    type: (selector, text) => {
      one(selector).value = text;
      one(selector).dispatch("input");
    },
    /** The kernel changes something, or says something. */
    change: (values) => {
      for (const [name, value] of Object.entries(values)) model.set(name, value);
      frames();
    },
    tell: (message) => {
      emit("msg:custom", message);
      frames();
    },
    get step() {
      return held.step;
    },
    get otherStep() {
      return held.other_step;
    },
    get tab() {
      return held.tab;
    },
  };
}
