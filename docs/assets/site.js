"use strict";
// The chooser, the boards that are opened, and tables that sort and filter. Texts come from the build.
(() => {
  const el = (tag, text, more) => {
    const node = document.createElement(tag);
    if (text !== undefined && text !== null) node.textContent = text;
    return Object.assign(node, more || {});
  };
  const minus = (text) => text.replace(/(^|[[ ,–])-(?=\d)/g, "$1−");

  // Sorting: numbers by data-key, all else by text; rows without a number come last.
  const key = (row, k) => {
    const cell = row.cells[k];
    if (cell.dataset.key !== undefined) return cell.dataset.key === "" ? null : Number(cell.dataset.key);
    const text = cell.textContent.trim();
    return text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text.toLowerCase();
  };

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((head, k) => {
      const button = el("button", null, { type: "button" });
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const number = head.classList.contains("n");
        const before = head.getAttribute("aria-sort");
        const down = before ? before === "ascending" : number && head.dataset.best !== "low";
        for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        const empty = (x) => x === null || x === "" || x === "–";
        rows.sort((one, other) => {
          const [a, b] = [key(one, k), key(other, k)];
          if (empty(a) || empty(b)) return empty(a) - empty(b);
          return (down ? -1 : 1) * (a > b ? 1 : a < b ? -1 : 0);
        });
        table.tBodies[0].append(...rows);
      });
    });
  }

  function filterable(box, what, items) {
    const input = el("input", null, { type: "search", className: "uq-filter", placeholder: "filter " + what });
    input.setAttribute("aria-label", "Filter " + what + " by words");
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      for (const item of items()) {
        const text = item.textContent.toLowerCase();
        item.hidden = !words.every((word) => text.includes(word));
      }
      for (const section of box.querySelectorAll("section")) {
        const own = [...section.querySelectorAll("li")];
        if (own.length) section.hidden = own.every((item) => item.hidden);
      }
    });
    box.before(input);
  }

  // A board: its JSON is fetched when it is opened.
  const place = document.getElementById("uq-board");
  const view = document.getElementById("uq-board-view");
  const select = document.getElementById("uq-board-select");
  let asked = "";

  function cell(row, [text, value], name, k) {
    const first = name === "method";
    const node = el(first ? "th" : "td", null, first ? { scope: "row" } : {});
    const numeric = !first && name !== "intervals";
    if (numeric) {
      node.className = "n";
      node.dataset.key = value === null ? "" : String(value);
    }
    if (first) {
      const [method, ...remark] = text.split(" ");
      if (row.baseline) node.append(method);
      else node.append(el("a", method, { href: place.dataset.methods + "#" + method }));
      if (remark.length) node.append(el("small", " " + remark.join(" ")));
      return node;
    }
    if (name === "intervals" && text) {
      node.append(el("span", text, { className: "uq-word uq-w-" + text.replace(/ \(.*/, "").replaceAll(" ", "-") }));
      return node;
    }
    const [number, around] = text.split(" [");
    node.append(minus(number));
    if (around) node.append(el("small", minus("[" + around)));
    return node;
  }

  function table(board) {
    const made = el("table", null, { className: "uq-table" });
    made.append(el("caption", "Leaderboard of " + board.title));
    const head = made.createTHead().insertRow();
    board.headers.forEach((name, k) => {
      const numeric = name !== "method" && name !== "intervals";
      const one = el("th", name, { scope: "col", className: numeric ? "n" : "" });
      if (name === "rank") one.dataset.best = "low";
      head.append(one);
    });
    const body = made.createTBody();
    for (const row of board.rows) {
      const line = body.insertRow();
      line.dataset.method = row.method;
      if (row.baseline) line.className = "uq-baseline";
      row.cells.forEach((one, k) => line.append(cell(row, one, board.headers[k], k)));
    }
    sortable(made);
    return made;
  }

  function claims(board) {
    const box = el("details");
    box.append(el("summary", board.claims.length + " claims of papers"));
    const list = el("ul", null, { className: "uq-claims" });
    for (const [verdict, sentence, source, reason] of board.claims) {
      const item = el("li");
      item.append(el("span", verdict, { className: "uq-verdict uq-v-" + verdict.replace(/ /g, "-") }));
      const said = el("span", sentence);
      said.append(el("small", [source, reason].filter(Boolean).join(" · ")));
      item.append(said);
      list.append(item);
    }
    box.append(list);
    return box;
  }

  function draw(board) {
    const scroll = el("div", null, { className: "uq-scroll", tabIndex: 0 });
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", "Table: " + board.title);
    const made = table(board);
    scroll.append(made);
    const picture = el("img", null, { src: place.dataset.from + board.picture, alt: board.words, className: "uq-picture" });
    const parts = [el("h3", board.title), el("p", board.summary, { className: "uq-lead" }), el("p", board.finding, { className: "uq-strong" })];
    if (board.earlier) {
      const note = el("details", null, { className: "uq-note" });
      note.append(el("summary", "‡ Of an earlier protocol than the suite has now"), el("p", board.earlier + "."));
      parts.push(note);
    }
    const about = el("p", "Score: " + board.score + ". Ranked by " + board.ranked_by + ". Budget: " + board.budget, { className: "uq-lead" });
    const frame = el("div", null, { className: "uq-scroll", tabIndex: 0 });
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "Picture of " + board.title);
    frame.append(picture);
    parts.push(frame, about, scroll);
    if (board.claims.length) parts.push(claims(board));
    view.replaceChildren(...parts);
    if (board.rows.length > 5) filterable(scroll, "methods", () => [...made.tBodies[0].rows]);
  }

  async function open(id) {
    asked = id;
    select.value = id;
    try {
      const answer = await fetch(place.dataset.from + id + ".json");
      if (!answer.ok) throw new Error("status " + answer.status);
      const board = await answer.json();
      if (asked === id) draw(board);
    } catch (error) {
      view.replaceChildren(el("p", "The board " + id + " could not be loaded: " + error.message, { className: "uq-note" }));
    }
  }

  async function route() {
    if (!location.hash.startsWith("#board=")) return;
    await open(decodeURIComponent(location.hash.slice(7)));
    place.scrollIntoView();
    place.focus({ preventScroll: true });
  }

  if (place) {
    select.addEventListener("change", () => {
      if (select.value) history.replaceState(null, "", "#board=" + select.value);
      if (select.value) open(select.value);
    });
    window.addEventListener("hashchange", route);
    if (location.hash.startsWith("#board=")) route();
    else if (place.dataset.first) open(place.dataset.first);
  }

  // The chooser: cards are on the page, those that fit the choice are shown.
  const form = document.getElementById("uq-chooser");
  if (form) {
    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    const [tally, seconds] = [read("uq-tally"), read("uq-seconds")];
    const openFirst = () => {
      const first = document.querySelector(".uq-card:not([hidden])");
      if (first) open(first.dataset.board);
    };
    const choose = () => {
      const { world, need, budget } = Object.fromEntries(new FormData(form));
      const most = seconds[budget] === null ? Infinity : seconds[budget];
      for (const card of document.querySelectorAll(".uq-card")) {
        const own = card.dataset;
        card.hidden = own.world !== world || own.need !== need || Number(own.seconds) > most;
      }
      const [said, trusted] = tally[[world, need, budget].join("/")];
      document.getElementById("uq-headline").textContent = said;
      document.getElementById("uq-trusted").textContent = trusted;
      return { world, need, budget };
    };
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("change", () => {
      history.replaceState(null, "", "?" + new URLSearchParams(choose()));
      openFirst();
    });
    for (const [name, value] of new URLSearchParams(location.search)) {
      const input = [...form.elements].find((one) => one.name === name && one.value === value);
      if (input) input.checked = true;
    }
    choose();
    if (location.search && !location.hash) openFirst();
  }

  for (const made of document.querySelectorAll("table[data-sortable]")) {
    sortable(made);
    filterable(made.parentNode, made.dataset.filter, () => [...made.tBodies[0].rows]);
  }
  for (const list of document.querySelectorAll(".uq-list")) {
    const items = list.dataset.filter === "claims" ? "li" : "section";
    filterable(list, list.dataset.filter, () => [...list.querySelectorAll(items)]);
  }
})();
