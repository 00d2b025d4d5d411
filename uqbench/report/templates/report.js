"use strict";
// Tables that sort and filter, and the title of the section that is shown.
(() => {
  function el(tag, more) {
    return Object.assign(document.createElement(tag), more);
  }

  // Numbers sort by their full value.
  const key = (row, k) => {
    const cell = row.cells[k], data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent.trim().toLowerCase();
  };

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      const button = el("button", { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending";
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const rows = [...table.tBodies[0].rows];
        const number = (row) => typeof key(row, k) === "number";
        rows.sort((a, b) => number(b) - number(a) || (up ? 1 : -1) * (key(a, k) > key(b, k) ? 1 : key(a, k) < key(b, k) ? -1 : 0));
        table.tBodies[0].append(...rows);
      });
    });
  }

  function filterable(table) {
    if (table.tBodies[0].rows.length < 6) return;
    const box = el("input", { type: "search", className: "filter", placeholder: "filter rows" });
    box.setAttribute("aria-label", "Filter the rows of the table " + table.caption.textContent);
    box.addEventListener("input", () => {
      const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const row of table.tBodies[0].rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
      }
    });
    table.parentNode.before(box);
  }

  document.querySelectorAll("table.board, table.filtered, table.method-lines, #claims-matrix").forEach(sortable);
  document.querySelectorAll("table.filtered").forEach(filterable);

  function title() {
    const shown = [...document.querySelectorAll("section.page")].find((page) => page.offsetParent !== null);
    const name = shown && shown.id !== "front" && shown.querySelector("h1");
    document.title = (name ? name.textContent + " · " : "") + "uqbench report";
  }

  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is the route: it stays
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", title);
  title();
})();
