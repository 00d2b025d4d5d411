"use strict";
// Pages of single runs, from the compressed rows of scores.csv. Everything is set as text, never as HTML.
(() => {
  const view = document.getElementById("run-view");
  const start = [...view.childNodes];
  let boards = null;

  async function load() {
    if (boards) return boards;
    const packed = atob(document.getElementById("runs-data").textContent.trim());
    const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    boards = JSON.parse(await new Response(stream).text());
    return boards;
  }

  function el(tag, text, more) {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    return Object.assign(node, more || {});
  }
  const link = (text, parts) => el("a", text, { href: "#run=" + parts.map(encodeURIComponent).join("/") });
  const shown = (x) => (x === null ? "–" : Math.abs(x) < 1000 ? String(Math.round(x * 1e4) / 1e4).replace("-", "−") : Math.round(x).toLocaleString("en"));

  function number(value) {
    return value === null ? el("span", "–") : el("data", shown(value), { value: String(value) });
  }

  function table(head, rows, numeric) {
    const box = el("div", null, { className: "scroll", tabIndex: 0 });
    const made = el("table");
    const top = made.createTHead().insertRow();
    head.forEach((name, k) => top.append(el("th", name, { scope: "col", className: k >= numeric ? "n" : "" })));
    const body = made.createTBody();
    for (const cells of rows) {
      const row = body.insertRow();
      cells.forEach((cell, k) => {
        const data = row.insertCell();
        if (k >= numeric) data.className = "n";
        data.append(cell);
      });
    }
    box.append(made);
    return box;
  }

  function list(pairs) {
    const made = el("dl");
    for (const [name, value] of pairs) {
      if (value === "" || value === null || value === undefined) continue;
      const of = el("dd");
      of.append(value);
      made.append(el("dt", name), of);
    }
    return made;
  }

  function crumb(links) {
    const made = el("p", null, { className: "crumb" });
    links.forEach((one) => made.append(one, " › "));
    return made;
  }

  const home = (b) => el("a", b.suite + " · " + b.name, { href: "#board-" + b.suite + "-" + b.name });

  function cells(b, task, method) {
    const keys = b.rows.filter((r) => (!task || r[0] === task) && (!method || r[1] === method));
    const title = [b.suite + " · " + b.name, task, method].filter(Boolean).join(", ");
    const most = 2000;
    const rows = keys.slice(0, most).map((r) => [
      r[0], r[1],
      link(String(r[2]), [b.suite, b.name, r[0], r[1], String(r[2])]),
      r[3], number(r[8]), ...b.metrics.map((_, k) => number(r[9 + k])),
    ]);
    const more = keys.length > most ? [el("p", "The first " + most + "; scores.csv has all.")] : [];
    return [crumb([home(b)]), el("h1", "Runs of " + title), el("p", keys.length + " runs; a seed leads to its run."),
      table(["task", "method", "seed", "status", "score", ...b.metrics], rows, 4), ...more];
  }

  function command(b, task, method, seed) {
    return "uqbench run --suite " + b.suite + " --budget " + b.budget + " --tasks " + task +
      " --methods " + method + " --seed " + seed;
  }

  function run(b, r) {
    const [task, method, seed] = [r[0], r[1], String(r[2])];
    const of = b.configs[task + "/" + method] || {};
    const content = r[7];
    const made = b.made.find((one) => one.content === content);
    const reproduce = el("pre", null, { className: "scroll", tabIndex: 0 });
    reproduce.append(el("code", command(b, task, method, seed)));
    const parts = [crumb([home(b), link(task, [b.suite, b.name, task]), link(method, [b.suite, b.name, task, method])]),
      el("h1", method + " on " + task + ", seed " + seed)];
    if (b.earlier) parts.push(el("p", "‡ Of an earlier protocol than the suite has now: " + b.earlier + ". The command makes a run of today’s.", { className: "note" }));
    if (!b.standard) parts.push(el("p", "Of a selection of the budget, or with settings set by hand: add those of the command that made it.", { className: "note" }));
    parts.push(el("h2", "Result"), list([["status", r[3]], ["score", number(r[8])], ...b.metrics.map((name, k) => [name, number(r[9 + k])])]));
    parts.push(el("h2", "Reproduce"), reproduce);
    parts.push(el("h2", "Made with"), list([
      ["folder", [b.suite, b.budget, task, method, seed + "-" + r[5]].join("/")],
      ["device", made ? made.device + " (" + made.platform + ")" : r[4]],
      ["between", made ? made.first + " and " + made.last : ""],
      ["revision", made ? made.revision : ""],
      ["contents", content],
      ["versions", made ? Object.entries(made.versions).map((x) => x.join(" ")).join(", ") : "not kept when this board was made"],
      ["sha256 of " + b.digest_of, r[6] + "…"],
      ["agent", of.agent || of.estimator ? (of.agent || of.estimator) + ", version " + of.version : ""],
    ]));
    const config = Object.entries(of.config || {}).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]);
    if (config.length) parts.push(el("h2", "Config"), list(config));
    return parts;
  }

  // Sorting and filtering of the tables that are on the page: numbers by their full value.
  const key = (row, k) => {
    const cell = row.cells[k], data = cell.querySelector("data");
    return data ? Number(data.value) : cell.textContent.trim().toLowerCase();
  };

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      const button = el("button", null, { type: "button" });
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
    const box = el("input", null, { type: "search", className: "filter", placeholder: "filter rows" });
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

  async function route() {
    const hash = location.hash;
    const single = hash === "#run" || hash.startsWith("#run=");
    document.body.classList.toggle("route-run", single);
    if (!single) { title(); return; }
    const [suite, name, task, method, seed] = hash.slice(5).split("/").map(decodeURIComponent);
    if (!suite) { view.replaceChildren(...start); return; }
    const b = (await load()).find((one) => one.suite === suite && one.name === name);
    const r = b && seed !== undefined && b.rows.find((x) => x[0] === task && x[1] === method && String(x[2]) === seed);
    if (!b || (seed !== undefined && !r)) view.replaceChildren(el("h1", "There is no such run."));
    else view.replaceChildren(...(r ? run(b, r) : cells(b, task, method)));
    title();
    window.scrollTo(0, 0);
    document.getElementById("run").focus({ preventScroll: true });
  }

  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is the route: it stays
    document.getElementById("main").focus();
  });
  window.addEventListener("hashchange", route);
  route();
})();
