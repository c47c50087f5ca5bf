// What a kernel is to the widget, these lines are to a page: they follow inspector.js, in the same module.
{
  const page = JSON.parse(document.getElementById("zoolab-data").textContent);
  const state = page.state;
  const listeners = new Map();
  const emit = (event, ...values) => [...(listeners.get(event) ?? [])].forEach((listener) => listener(...values));
  const reply = (content) => setTimeout(() => emit("msg:custom", content, []), 0);
  const failed = (message, more) => reply({ type: "failed", message, difference: "", ...more });

  // The address names the moment on show: "page.html#step-5".
  function stepOfAddress() {
    const [, number] = /^#step-([0-9]{1,9})$/.exec(location.hash) ?? [];
    return number >= 1 && number <= state.overview.n ? number - 1 : null;
  }

  function nameStep() {
    try {
      history.replaceState(null, "", `#step-${state.step + 1}`);
    } catch {
      // A frame may forbid it, and a browser so many changes in a row.
    }
  }

  const model = {
    get: (key) => state[key],
    set(key, value) {
      for (const [name, given] of typeof key === "string" ? [[key, value]] : Object.entries(key)) {
        if (state[name] === given) continue;
        state[name] = given;
        emit(`change:${name}`, model, given);
        emit("change", model);
      }
    },
    save_changes() {},
    on(events, listener) {
      for (const event of events.split(/\s+/)) listeners.set(event, [...(listeners.get(event) ?? []), listener]);
    },
    off(events, listener) {
      for (const event of events ? events.split(/\s+/) : [...listeners.keys()]) {
        listeners.set(event, (listeners.get(event) ?? []).filter((own) => listener && own !== listener));
      }
    },
    send(message) {
      if (message.type === "note") {
        model.set("notes", { ...state.notes, [message.seq]: message.text });
      } else if (message.type !== "get") {
        failed("a page has no kernel: open the trace in a notebook to do this");
      } else {
        get(message);
      }
    },
  };

  function get({ which, steps }) {
    const panels = {};
    for (const seq of steps) {
      if (page.panels[seq]) panels[seq] = page.panels[seq];
      else failed(`step ${seq + 1} is not in this page, which had room for ${page.held} of ${state.overview.n}`, { which, seq });
    }
    reply({ type: "panels", which, panels });
  }

  state.step = stepOfAddress() ?? state.step;
  window.addEventListener("hashchange", () => model.set("step", stepOfAddress() ?? state.step));
  model.on("change:step", nameStep);
  render({ model, el: document.getElementById("zoolab-inspector") });
}
