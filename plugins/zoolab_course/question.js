/** Radio buttons of one question. The browser itself moves between buttons of one name with the arrow keys. */

function render({ model, el }) {
  const name = `zoolab-${Math.random().toString(36).slice(2)}`;
  const group = document.createElement("fieldset");
  const legend = document.createElement("legend");
  const lead = document.createElement("b");
  lead.textContent = "Predict first: ";
  legend.append(lead, model.get("question"));
  legend.style.cssText = "padding: 0; max-width: 100%;";
  group.className = "zoolab-radio";
  group.style.cssText = "border: 0; margin: 0; padding: 0; min-width: 0;";
  // To a notebook, arrow keys lead to the next cell.
  group.addEventListener("keydown", (event) => event.key.startsWith("Arrow") && event.stopPropagation());
  const buttons = model.get("labels").map((text, number) => {
    const button = document.createElement("input");
    Object.assign(button, { type: "radio", name, value: String(number) });
    button.addEventListener("change", () => {
      model.set("chosen", number);
      model.save_changes();
    });
    const label = document.createElement("label");
    label.style.cssText = "display: block; width: fit-content; padding: 2px 0; cursor: pointer;";
    label.append(button, ` ${text}`);
    return { button, label };
  });
  const show = () => buttons.forEach(({ button }, number) => (button.checked = number === model.get("chosen")));
  group.append(legend, ...buttons.map(({ label }) => label));
  model.on("change:chosen", show);
  show();
  el.append(group);
  return () => model.off("change:chosen", show);
}

export default { render };
