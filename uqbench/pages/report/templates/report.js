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

  document.querySelectorAll("table.board, table.filtered, #claims-matrix").forEach(sortable);
  document.querySelectorAll("table.filtered").forEach(filterable);

  // One tooltip: of what has a title, by pointer or focus, and of the points of a picture, which the
  // arrow keys go through while it has the focus.
  const tip = el("div", { className: "tip", hidden: true });
  tip.setAttribute("role", "status");
  document.body.append(tip);

  function told(node) {
    const of = node.closest("[title], [data-said], svg :has(> title)");
    if (of && !of.dataset.said) {
      const inner = of.querySelector(":scope > title");
      of.dataset.said = inner ? inner.textContent : of.title;
      inner ? inner.remove() : of.removeAttribute("title");
    }
    return of;
  }

  function show(of) {
    document.querySelectorAll(".told").forEach((old) => old.classList.remove("told"));
    tip.hidden = !of;
    if (!of) return;
    of.classList.add("told");
    tip.textContent = of.dataset.said;
    const box = of.getBoundingClientRect(), room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    const below = box.bottom + tip.offsetHeight + 10 < window.innerHeight;
    tip.style.left = Math.max(8, Math.min(box.left, room)) + "px";
    tip.style.top = (below ? box.bottom + 6 : box.top - tip.offsetHeight - 6) + "px";
  }

  document.querySelectorAll("span[title], abbr[title]").forEach((of) => { of.tabIndex = 0; });
  let keys = false; // what scrolls below a pointer that rests is not pointed at
  document.addEventListener("keydown", () => { keys = true; });
  document.addEventListener("pointerdown", () => { keys = false; });
  document.addEventListener("pointermove", (event) => { keys = keys && !event.movementX && !event.movementY; });
  document.addEventListener("pointerover", (event) => { if (!keys) show(told(event.target)); });
  document.addEventListener("focusin", (event) => show(event.target.matches(":focus-visible") ? told(event.target) : null));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show(null);
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], picture = document.activeElement;
    if (!step || !picture.matches("figure .scroll")) return;
    const points = [...picture.querySelectorAll("svg :has(> title), svg [data-said]")];
    if (!points.length) return;
    event.preventDefault();
    const at = points.findIndex((point) => point.classList.contains("told"));
    const next = points[(at + step + points.length + (at < 0 && step < 0 ? 1 : 0)) % points.length];
    next.scrollIntoView({ block: "nearest", inline: "nearest" });
    show(told(next));
  });

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
