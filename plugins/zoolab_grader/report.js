"use strict";
// Sorts and filters the tables of the class's page. Without it, they stand as they are.
const number = (text) => {
  const found = /-?[\d,]*\.?\d+/.exec(text);
  return found ? Number(found[0].replaceAll(",", "")) : NaN;
};

function compare(one, other) {
  const [a, b] = [number(one), number(other)];
  const texts = one.localeCompare(other, undefined, { numeric: true });
  if (Number.isNaN(a) || Number.isNaN(b)) return texts;
  return a - b || texts;
}

function sortable(table) {
  const body = table.tBodies[0];
  for (const [column, head] of [...table.tHead.rows[0].cells].entries()) {
    if (!head.textContent) continue;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      // A name is compared as text, whatever number is in it.
      const key = (row) => row.cells[column].textContent;
      const order = column === 0 ? (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true })
        : (a, b) => compare(key(a), key(b));
      const rows = [...body.rows].sort(order);
      body.append(...(up ? rows : rows.reverse()));
    });
  }
}

function filterable(table, place) {
  const label = document.createElement("label");
  const text = document.createElement("input");
  text.type = "search";
  label.append("Name contains ", text);
  const labelToo = document.createElement("label");
  const which = document.createElement("select");
  const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
  const choices = [["", "all"]];
  heads.forEach((head, column) => { if (column > 3) choices.push([String(column), `who failed case ${head}`]); });
  for (const [value, shown] of choices) which.add(new Option(shown, value));
  labelToo.append("Show ", which);
  const count = document.createElement("span");
  count.setAttribute("role", "status");
  const apply = () => {
    let shown = 0;
    for (const row of table.tBodies[0].rows) {
      const named = row.cells[0].textContent.toLowerCase().includes(text.value.toLowerCase());
      const failed = !which.value || row.cells[Number(which.value)].querySelector(".failed") !== null;
      row.hidden = !(named && failed);
      shown += row.hidden ? 0 : 1;
    }
    count.textContent = `${shown} shown`;
  };
  text.addEventListener("input", apply);
  which.addEventListener("change", apply);
  const controls = document.createElement("p");
  controls.className = "controls";
  controls.append(label, labelToo, count);
  place.before(controls);
}

for (const table of document.querySelectorAll("table")) sortable(table);
const book = document.querySelector(".wide");
if (book) filterable(book.querySelector("table"), book);
