"use strict";
// Boards, methods and claims from the data beside or inside the page. The address is the state.
(async () => {
  const main = document.getElementById("main"), inside = document.getElementById("data");
  if (inside && !globalThis.DecompressionStream) {
    main.textContent = "This page needs a browser of 2023 or later.";
    return;
  }
  const unpacked = (text) => new Response(new Blob([Uint8Array.from(atob(text), (char) => char.charCodeAt(0))]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  const data = inside ? await unpacked(inside.textContent) : globalThis.uqbench, index = data.index;
  const WORDS_TRUSTED = ["calibrated"];
  const MARKS = index.marks;
  const STATE = ["by", "tasks", "columns", "sort", "filter", "q", "open", "compare", "of"];
  let state = {}, route = ["boards", ""];

  // -- elements ------------------------------------------------------------------------------

  function el(tag, more, ...kids) {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(more || {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (["className", "checked", "selected", "hidden", "value", "tabIndex", "disabled"].includes(key)) made[key] = value;
      else made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...kids.flat(Infinity).filter((kid) => kid !== null && kid !== undefined && kid !== false));
    return made;
  }

  function drawing(svg) { // its text was escaped where it was drawn, and no script or link is in it
    const template = document.createElement("template");
    template.innerHTML = svg;
    return template.content.firstElementChild;
  }

  const scroll = (label, ...kids) => el("div", { className: "scroll", tabindex: "0", role: "group", "aria-label": label }, kids);

  function number(value) {
    if (value === null || value === undefined) return "–";
    const size = Math.abs(value);
    const text = size >= 1000 ? Math.round(value).toLocaleString("en") : size > 0 && size < 0.001 ? value.toPrecision(2) : value.toFixed(3);
    return text.replace("-", "−").replace(/^−0\.000$/, "0.000");
  }

  function estimate(of) {
    if (!of) return el("span", { className: "none" }, "–");
    const shown = el("data", { value: String(of[0]) }, number(of[0]));
    return of[1] === null ? [shown] : [shown, " ", el("span", { className: "ci" }, `[${number(of[1])}, ${number(of[2])}]`)];
  }

  function span(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    const [size, unit] = seconds < 90 ? [1, "s"] : seconds < 5400 ? [60, "min"] : [3600, "h"];
    const value = seconds / size;
    return `${value < 10 ? value.toPrecision(2) : Math.round(value)} ${unit}`;
  }

  const places = (of) => (of ? (of[1] === of[2] ? `${of[1]}` : `${of[1]}–${of[2]}`) : "–");
  const slug = (text) => text.replaceAll(" ", "-");
  const anchor = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  const unbroken = (text) => text.replaceAll(" %", "\u00a0%");
  const verdict = (word) => el("span", { className: `verdict v-${slug(word)}` }, el("span", { "aria-hidden": "true" }, index.signs[word] || "?"), ` ${word}`);

  // The papers that a text cites become links.
  function cited(text) {
    let parts = [text];
    for (const [name, address] of Object.entries(index.links)) {
      parts = parts.flatMap((part) => {
        if (typeof part !== "string" || !part.includes(name)) return [part];
        const [before, ...after] = part.split(name);
        return [before, el("a", { href: address, rel: "noreferrer" }, name), after.join(name)];
      });
    }
    return parts;
  }

  // -- addresses -----------------------------------------------------------------------------

  function address(kind, id = "", more = {}) {
    const rest = new URLSearchParams(Object.entries(more).filter(([, value]) => value));
    if (!inside) {
      const page = kind === "boards" ? "index" : kind === "board" ? id : kind === "method" ? `method-${id}` : kind;
      return `${page}.html${String(rest) ? `#${rest}` : ""}`;
    }
    return `#${new URLSearchParams({ [kind]: id, ...Object.fromEntries(rest) })}`;
  }

  function read() {
    const given = new URLSearchParams(location.hash.slice(1));
    const [kind, id] = document.body.dataset.page.split(":");
    route = [kind, id || ""];
    for (const one of ["boards", "board", "methods", "method", "claims"]) if (inside && given.has(one)) route = [one, given.get(one)];
    state = Object.fromEntries(STATE.map((key) => [key, given.get(key) || ""]));
  }

  const here = () => address(...route, state);

  function change(more) {
    Object.assign(state, more);
    history.replaceState(null, "", here().replace(/^[^#]*/, "") || (inside ? "#" : location.pathname.split("/").pop()));
    for (const link of document.querySelectorAll("a.here")) link.href = here();
  }

  const list = (key) => state[key].split(",").filter(Boolean);
  const toggled = (key, value, on) => change({ [key]: [...list(key).filter((one) => one !== value), ...(on ? [value] : [])].join(",") });

  // -- tables --------------------------------------------------------------------------------

  // Columns are {key, header, about, cell(row), sort(row), csv(row)}; rows are anything.
  function table(caption, columns, rows, more = {}) {
    const [by, down] = (state.sort || "").split(":"), sorting = columns.find((one) => one.key === by);
    const key = (row) => sorting.sort(row);
    const value = (row) => (key(row) === null || key(row) === undefined ? null : key(row));
    const order = !sorting ? rows : [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (down === "up" ? 1 : -1) * (x < y ? -1 : x > y ? 1 : 0);
    });
    const head = (one) => el("th", { scope: "col", className: one.text ? "" : "n", "aria-sort": one === sorting ? (down === "up" ? "ascending" : "descending") : null },
      el("button", { type: "button", title: one.about, "data-sort": one.key, onclick: () => {
        change({ sort: `${one.key}:${by === one.key && down !== "up" ? "up" : "down"}` });
        more.again();
        document.querySelector(`[data-sort="${one.key}"]`).focus();
      } }, one.header));
    const body = more.fold && !state.q ? more.fold(order) : order.map((row) => [row, null]);
    return scroll(`Table: ${caption}`, el("table", { className: "board", id: more.id },
      el("caption", { className: "sr" }, caption),
      el("thead", {}, el("tr", {}, columns.map(head))),
      el("tbody", {}, body.map(([row, button]) => el("tr", { "data-row": more.name ? more.name(row) : null },
        columns.map((one, k) => one.key === (more.first || columns[0].key)
          ? el("th", { scope: "row" }, one.cell(row), button && button())
          : el("td", { className: one.text ? "" : "n", "data-column": one.key, "data-header": one.header }, one.cell(row))))))));
  }

  function csv(columns, rows) {
    const quoted = (text) => (/[",\n]/.test(text) ? `"${String(text).replaceAll('"', '""')}"` : String(text ?? ""));
    const lines = [columns.flatMap((one) => one.names || [one.key]), ...rows.map((row) => columns.flatMap((one) => (one.csv ? one.csv(row) : one.sort(row))))];
    return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
  }

  const option = (value, text, now) => el("option", { value, selected: value === now }, text);
  const words = (text) => state.q.toLowerCase().split(/\s+/).filter(Boolean).every((word) => text.toLowerCase().includes(word));

  function searched(label, again) {
    return el("input", { type: "search", className: "filter", placeholder: label, "aria-label": label, value: state.q, oninput: (event) => { change({ q: event.target.value }); again(); } });
  }

  function figure(of) {
    return el("figure", { className: `figure f-${of.name}` },
      el("div", { onclick: (event) => event.currentTarget.classList.toggle("whole") }, scroll(`Picture: ${of.title}`, drawing(of.svg))),
      el("figcaption", {}, el("b", {}, of.title), " ", of.text),
      of.numbers && el("details", {}, el("summary", {}, "In words"), el("p", {}, of.numbers)));
  }

  // -- the list of boards, and claims ---------------------------------------------------------

  const dagger = (of) => of.earlier && [" ", el("abbr", { className: "earlier", title: `earlier protocol: ${of.earlier}` }, "‡")];

  function boards() {
    const listed = el("div", {}), on = {};
    for (const one of index.methods) for (const row of one.rows) on[row.board] = `${on[row.board] || ""} ${row.name} ${row.title}`;
    const columns = [
      { key: "board", header: "board", about: "A suite of tasks and methods, and how long its runs are. ‡: of an earlier protocol.", text: true, sort: (of) => of.title,
        cell: (of) => [el("a", { href: address("board", of.id) }, of.title), dagger(of), el("small", {}, of.summary)] },
      { key: "finding", header: "finding", about: "Who is first, what does not beat a baseline, and whose intervals cover the truth.", text: true, sort: (of) => of.finding, cell: (of) => el("span", { className: "said" }, unbroken(of.finding)) },
      { key: "runs", header: "runs", about: "Finished runs.", sort: (of) => of.runs[0], cell: (of) => of.runs[0].toLocaleString("en") },
    ];
    const again = () => listed.replaceChildren(table("boards and what they come to", columns, index.boards.filter((of) => words(of.title + of.summary + of.finding + (on[of.id] || ""))), { again, id: "boards" }));
    again();
    const matrix = index.boards.length > 1 && index.matrix.includes("<th scope=\"row\"");
    const earlier = index.boards.filter((of) => of.earlier).length, all = index.claims.at(-1);
    const ranks = (of) => index.methods.some((one) => one.rows.some((row) => row.board === of.id && row.place));
    const of = index.boards.find(ranks) || index.boards[0], picture = el("figure", { className: "figure f-trust" });
    if (!matrix) later(of.id, (board) => board.figures.length && picture.replaceChildren(...figure(board.figures[0]).childNodes));
    return [
      matrix ? el("h1", {}, "Which methods know what they do not know?") : el("div", { className: "top" },
        el("div", {}, el("h1", {}, "Which method is best, and can its intervals be trusted?"),
          el("p", { className: "finding" }, el("a", { href: address("board", of.id) }, of.title), ": ", unbroken(of.finding))),
        picture),
      el("p", {}, el("a", { href: address("methods", "", { sort: "cost:up" }) }, "What does a run cost?"), index.boards.some((one) => one.id === "minatar-night") && [" · ", el("a", { href: address("board", "minatar-night", { tasks: "only:asterix", compare: "ua-dqn,qr-dqn" }) }, "UA-DQN against QR-DQN on Asterix")]),
      matrix && drawing(index.matrix),
      el("h2", {}, "Boards"),
      el("p", { className: "lead" }, `${index.boards.length} board${index.boards.length > 1 ? "s" : ""}, ${index.methods.length} methods, ${all.claims.length} claims of papers.`, earlier > 0 && ` ‡: ${earlier} are of an earlier protocol: their suites have changed since.`),
      index.boards.length > 5 && searched("filter boards", again), listed,
    ];
  }

  function card(claim, svg) {
    return el("article", { className: "card", id: `claim-${claim.id}`, tabindex: "-1", "aria-label": `claim ${claim.id}` },
      el("p", {}, verdict(claim.verdict), " ", claim.board && [el("a", { href: address("board", claim.board) }, index.boards.find((one) => one.id === claim.board).title), ": "], claim.sentence,
        el("small", {}, claim.source && cited(claim.source), claim.readings && ` · reading: ${claim.readings}`),
        claim.reason && el("small", { className: "why" }, claim.reason)),
      svg && el("figure", { className: "figure" }, scroll(`Picture: ${claim.id}`, drawing(svg))));
  }

  function claims() {
    const papers = index.claims.slice(0, -1), all = index.claims.at(-1), used = index.verdicts.filter((word) => all.counts[word]);
    const shown = el("div", {}), again = () => shown.replaceChildren(
      table("claims by paper and verdict", [
        { key: "paper", header: "paper", about: "Whose claims they are.", text: true, sort: (of) => of.paper, cell: (of) => of.paper },
        ...used.map((word) => ({ key: word, header: word, about: `Claims that are: ${word}.`, sort: (of) => of.counts[word] || 0, cell: (of) => String(of.counts[word] || "") })),
        { key: "parts", header: "parts that hold", about: "Of all comparisons that the claims need.", sort: (of) => of.parts, cell: (of) => of.parts },
      ], papers, { again, id: "claims-matrix" }),
      ...papers.map((of) => {
        const own = of.claims.filter((claim) => words(of.paper + claim.sentence + claim.verdict));
        return own.length ? el("section", {}, el("h2", { id: anchor(of.paper) }, of.paper), el("div", { className: "cards" }, own.map((claim) => card(claim)))) : "";
      }));
    again();
    return [
      el("h1", {}, "What papers claim, and what the runs say"),
      el("p", { className: "lead" }, used.map((word) => `${all.counts[word]} ${all.counts[word] === 1 ? word : { holds: "hold", "does not hold": "do not hold" }[word] || word}`).join(", ") || "These boards have no claims", `. ${all.tested} were tested, each at 5 %: at most ${all.wrong.toFixed(1)} of the ${all.decided} verdicts are expected to be false.`),
      searched("filter claims", again), shown,
    ];
  }

  // -- methods --------------------------------------------------------------------------------

  const svgNS = "http://www.w3.org/2000/svg";
  function sv(tag, more, ...kids) {
    const made = document.createElementNS(svgNS, tag);
    for (const [key, value] of Object.entries(more)) made.setAttribute(key, value);
    made.append(...kids);
    return made;
  }

  // Rows of dots with intervals on one axis; a band behind each is where it should lie.
  function dots(rows, domain, label) {
    const [wide, row] = matchMedia("(max-width:30rem)").matches ? [160, 58] : [240, 22], scale = (ends) => (x) => Math.round(10 * (wide - 8) * Math.min(1, Math.max(0, (x - ends[0]) / (ends[1] - ends[0] || 1)))) / 10 + 4;
    const made = sv("svg", { viewBox: `0 0 ${wide} ${row * rows.length + 18}`, width: wide, height: row * rows.length + 18, role: "img", "aria-label": label, class: "dots" });
    rows.forEach((of, k) => {
      const y = row * k + row / 2, at = scale(domain || of.own);
      if (of.band) made.append(sv("rect", { x: at(of.band[0]), width: at(of.band[1]) - at(of.band[0]), y: y - 9, height: 18, class: "band" }));
      for (const [one, kind] of of.values) {
        if (!one) continue;
        const dy = of.values.length > 1 ? (kind === "a" ? -4 : 4) : 0;
        if (one[1] !== null) made.append(sv("line", { x1: at(one[1]), x2: at(one[2]), y1: y + dy, y2: y + dy, class: `d-${slug(kind)}` }));
        const mark = MARKS[kind] ? sv("text", { x: at(one[0]), y: y + dy + 4, "text-anchor": "middle", class: `d-${slug(kind)}` }, MARKS[kind]) : sv("circle", { cx: at(one[0]), cy: y + dy, r: 4, class: `d-${slug(kind)}` });
        mark.append(sv("title", {}, `${of.label}: ${number(one[0])}`));
        made.append(mark);
      }
    });
    const y = row * rows.length + 13;
    if (domain) made.append(sv("text", { x: 0, y }, number(domain[0])), sv("text", { x: wide, y, "text-anchor": "end" }, number(domain[1])));
    return made;
  }

  function methods() {
    const listed = el("div", {}), kinds = (of) => {
      const counts = {};
      for (const row of of.rows) if (row.calibration) counts[row.calibration] = (counts[row.calibration] || 0) + 1;
      return Object.entries(counts).sort((a, b) => b[1] - a[1]);
    };
    const cost = (one) => {
      const known = one.rows.map((row) => row.seconds).filter((x) => x !== null && x !== undefined).sort((a, b) => a - b);
      return known.length ? known[known.length >> 1] : null;
    };
    const of = (key) => (one) => new Set(one.rows.map((row) => row[key])).size;
    const columns = [
      { key: "method", header: "method", about: "Its settings are on its page.", text: true, sort: (one) => one.title.toLowerCase(), cell: (one) => [el("a", { href: address("method", one.of) }, one.title), el("small", {}, one.about)] },
      { key: "source", header: "paper", about: "Where it is from.", text: true, sort: (one) => one.source, cell: (one) => el("span", { className: "said" }, cited(one.source)) },
      { key: "settings", header: "settings", about: "With which it is on a board.", sort: of("name"), cell: (one) => String(of("name")(one)) },
      { key: "boards", header: "boards", about: "On which it is.", sort: of("board"), cell: (one) => String(of("board")(one)) },
      { key: "intervals", header: "stated intervals", about: "Words for its intervals, over boards and settings.", text: true, sort: (one) => one.rows.filter((row) => WORDS_TRUSTED.includes(row.calibration)).length, cell: (one) => el("span", { className: "said" }, kinds(one).map(([word, n]) => `${MARKS[word] || ""} ${word} ${n}`.trim()).join(", ")) },
      { key: "cost", header: "cost of a run", about: "Core time, on a GPU device time: the median over boards and settings.", sort: cost, cell: (one) => span(cost(one)) },
    ];
    const again = () => listed.replaceChildren(table("methods", columns, index.methods.filter((one) => words(`${one.title} ${one.of} ${one.about} ${one.source} ${one.rows.map((row) => `${row.name} ${row.title}`).join(" ")}`)), { again, id: "methods" }));
    again();
    return [el("h1", {}, "Methods"), el("p", { className: "lead" }, `${index.methods.length} methods in ${new Set(index.methods.flatMap((one) => one.rows.map((row) => row.name))).size} settings.`), searched("filter methods", again), listed];
  }

  function method(id) {
    const of = index.methods.find((one) => one.of === id);
    if (!of) return lost(`There is no method ${id} on these boards.`);
    const titles = Object.fromEntries(index.boards.map((one) => [one.id, one.title]));
    const covered = of.rows.filter((row) => row.covered), shown = el("div", {});
    const columns = [
      { key: "board", header: "board", about: "A suite, and how long its runs are.", text: true, sort: (row) => row.board, cell: (row) => el("a", { href: address("board", row.board) }, titles[row.board]) },
      { key: "setting", header: "setting", about: "Its name on the board.", text: true, sort: (row) => row.name, cell: (row) => [row.title, el("small", {}, el("code", {}, row.name))] },
      { key: "rank", header: "ranks", about: "The ranks that the runs cannot tell apart.", sort: (row) => row.place && -row.place[0], cell: (row) => places(row.place) },
      { key: "score", header: "score", about: "What the board ranks by.", sort: (row) => row.score && row.score[0], cell: (row) => estimate(row.score) },
      { key: "word", header: "intervals", about: "The share of the true values inside its stated intervals, and the word for it.", sort: (row) => row.covered && row.covered[0], cell: (row) => row.word || "–" },
      { key: "seconds", header: "cost of a run", about: "Core time, on a GPU device time.", sort: (row) => row.seconds, cell: (row) => span(row.seconds) },
      { key: "config", header: "configuration", about: "Of its first task.", text: true, sort: (row) => Object.keys(row.config).length, cell: (row) => Object.keys(row.config).length > 0 && el("details", {}, el("summary", {}, `${Object.keys(row.config).length} settings`), el("code", {}, Object.entries(row.config).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", "))) },
    ];
    const profile = el("div", { "aria-live": "polite" });
    const tasks = el("select", { "aria-label": "board and setting", onchange: byTask }, of.rows.map((row, k) => option(String(k), `${titles[row.board]}, ${row.title}`, "0")));
    // Its score on each task of a board; on one of capabilities, what its uncertainty is good for.
    function byTask() {
      const row = of.rows[tasks.value];
      later(row.board, (board) => {
        const name = board.score.split(":")[0], at = board.methods.findIndex((one) => one.name === row.name);
        const own = Object.entries(board.tasks).map(([task, all]) => [task, (all[name] || [])[at]]).filter(([, one]) => one);
        const ends = own.flatMap(([, one]) => one).filter((x) => x !== null);
        profile.replaceChildren(el("p", {}, `${board.score}. Mean over seeds.`), own.length ? el("div", { className: "pair" }, el("ol", { className: "rows" }, own.map(([task, one]) => el("li", {}, task, el("small", {}, ` ${number(one[0])}`)))),
          dots(own.map(([task, one]) => ({ label: task, values: [[one, row.calibration || "a"]] })), [Math.min(0, ...ends), Math.max(...ends)], `${of.title} by task`)) : "");
        later(`${row.board}.figures`, (more) => profile.append(...more.figures.filter((one) => one.name === "curves").map(figure)));
      });
    }
    byTask();
    const again = () => shown.replaceChildren(table(`${of.title} on all boards`, columns, of.rows, { again }));
    again();
    const said = index.claims.slice(0, -1).flatMap((paper) => paper.claims).filter((claim) => of.rows.some((row) => claim.board === row.board && new RegExp(`(^|[^\\w-])${row.name}($|[^\\w-])`).test(claim.sentence)));
    return [
      el("p", { className: "crumb" }, el("a", { href: address("methods") }, "Methods"), " ›"),
      el("h1", {}, of.title), el("p", { className: "finding" }, of.about, of.about && "."), el("p", {}, cited(of.source), of.code && [of.source && " · ", "code: ", el("code", {}, of.code)]),
      covered.length > 0 && [el("h2", {}, "Can its stated intervals be trusted?"),
        el("p", {}, "Share of the true values inside; the band is where calibrated intervals lie. A line is the 95 % interval over seeds."),
        el("div", { className: "pair" }, el("ol", { className: "rows" }, covered.map((row) => el("li", {}, el("a", { href: address("board", row.board) }, titles[row.board]), el("small", {}, row.calibration), ` ${row.title === of.title ? "" : row.title.replace(`${of.title}, `, "")}`))),
          dots(covered.map((row) => ({ label: `${titles[row.board]}, ${row.title}`, band: row.band.slice(1), values: [[row.covered, row.calibration]] })), [0, 1], `Coverage of ${of.title} by board`))],
      el("h2", {}, "On the boards"), shown,
      el("h2", {}, "Task by task, and while it learns"), el("p", { className: "controls" }, tasks), profile,
      said.length > 0 && [el("h2", {}, "Claims about it"), el("div", { className: "cards" }, said.map((claim) => card(claim)))],
      el("h2", {}, "Run it"), el("pre", { className: "scroll", tabindex: "0" }, el("code", {}, [...new Set(of.rows.map((row) => row.board))].slice(0, 3).map((id) => {
        const row = of.rows.find((one) => one.board === id), [suite, budget] = [index.boards.find((one) => one.id === id).suite, id];
        return `uqbench run --suite ${suite} --budget ${budget.slice(suite.length + 1)} --methods ${row.name}\n`;
      }))),
    ];
  }

  const lost = (why) => [el("h1", {}, "Not here"), el("p", {}, why), el("p", {}, el("a", { href: address("boards") }, "All boards"))];

  // -- a board --------------------------------------------------------------------------------

  const spoken = (name) => name.replace(/^by:/, "").replace(/_mean$|_iqm$/, "").replaceAll("_", " ");

  function board(id) {
    const of = data[id];
    if (!of) return lost(`There is no board ${id} here.`);
    const rows = of.methods.map((one, k) => ({ ...one, k }));
    const column = Object.fromEntries(of.columns.map((one) => [one.name, one]));
    const primary = of.score.split(":")[0], tasks = Object.keys(of.tasks).sort(new Intl.Collator("en", { numeric: true }).compare);
    const ranked = of.columns.filter((one) => of.ranks[`by:${one.name}`]);
    const values = (name) => (row) => of.values[name][row.k];
    const mean = (task, metric, row) => (of.tasks[task][metric] || [])[row.k]; // over seeds
    const share90 = of.coverage && of.coverage[0];
    const finding = el("p", { className: "finding", role: "status" }), picture = of.figures.length > 0 && figure(of.figures[0]);
    const area = el("div", {}), against = el("div", { "aria-live": "polite" }), note = el("p", { className: "legend", role: "status" });

    // What is chosen: a score, some tasks. Ranks are shown where Python computed them.
    function chosen() {
      const by = state.by && of.values[state.by] ? state.by : "", subset = state.tasks;
      const key = subset ? (by || subset === "of" ? "" : subset) : by && `by:${by}`;
      const ranks = subset && (by || subset === "of") ? null : of.ranks[key] || null;
      const one = !subset ? of.values[by || of.ranking] : !by && of.sets[subset];
      const metric = by ? by.replace(/_mean$|_iqm$/, "") : primary;
      const own = subset.startsWith("only:") ? [subset.slice(5)] : subset.startsWith("without:") ? tasks.filter((task) => task !== subset.slice(8)) : list("of").filter((task) => tasks.includes(task));
      return { by, ranks, subset, own: !by && !subset, one, metric, tasks: own, name: by ? spoken(by) : `${column[of.ranking].header} score` };
    }

    function columns(now) {
      const est = (key, header, about, get) => ({ key, header, about, names: [key, `${key}_low`, `${key}_high`], sort: (row) => get(row) && get(row)[0], cell: (row) => estimate(get(row)), csv: (row) => get(row) || ["", "", ""] });
      const made = [];
      if (now.ranks && rows.length > 1) made.push({ key: "rank", header: "ranks", about: "The ranks that the runs cannot tell apart, right together with 95 %. Marked: no other method is surely better.", names: ["rank", "rank_low", "rank_high"], text: true, sort: (row) => now.ranks[row.k] && -now.ranks[row.k][0],
        cell: (row) => el("span", { className: now.own && row.leads ? "place first" : "place" }, places(now.ranks[row.k])), csv: (row) => (now.ranks[row.k] || ["", "", ""]).slice(0, 3) });
      made.push({ key: "method", header: "method", about: "As its paper calls it; below, its name on the board.", text: true, sort: (row) => row.title.toLowerCase(), csv: (row) => [row.name],
        cell: (row) => [row.role === "method" ? el("a", { href: address("method", row.of), title: `${row.about}. ${row.source}` }, row.title) : row.title,
          [...row.notes, ...(row.beaten && !now.subset ? ["not above trivial"] : [])].map((word, k) => el("small", { className: "role" }, `${k ? ", " : " "}${word}`)), el("small", {}, el("code", {}, row.name))] });
      if (now.one) made.push(est("value", now.name, of.score, (row) => now.one[row.k]));
      else for (const task of now.tasks) made.push(est(task, task, `${now.metric} on ${task}, mean over seeds`, (row) => mean(task, now.metric, row)));
      if (rows.some((row) => row.calibration) && (!now.subset || now.subset.startsWith("only:"))) {
        const worded = now.subset ? (row) => wordOn(row, now.subset.slice(5)) : (row) => [row.calibration, row.word];
        const share = now.subset || wanted().includes(share90) || !column[share90] ? null : values(share90); // it has no column of its own
        made.push({ key: "intervals", header: "intervals", about: "Whether its intervals cover as many true values as they say.", names: share ? ["intervals", share90, `${share90}_low`, `${share90}_high`] : ["intervals"], text: true, sort: (row) => (share ? share(row) && share(row)[0] : worded(row)[0]), cell: (row) => { const [word, said] = worded(row); return word ? el("span", { className: `w-${slug(word)}`, title: word }, `${MARKS[word] || ""} ${said}`.trim()) : ""; }, csv: (row) => [worded(row)[0], ...(share ? share(row) || ["", "", ""] : [])] });
      }
      for (const name of now.subset ? [] : wanted()) if (column[name]) made.push(est(name, column[name].header, name, values(name)));
      if (!now.subset) made.push({ key: "runs", header: "runs", about: "Scored of planned.", sort: (row) => row.scored, cell: (row) => `${row.scored}/${row.planned}`, csv: (row) => [row.scored] });
      if (rows.some((row) => row.seconds !== undefined && row.seconds !== null)) made.push({ key: "seconds", header: "cost of a run", about: "Core time, on a GPU device time.", sort: (row) => row.seconds, cell: (row) => span(row.seconds), csv: (row) => [row.seconds ?? ""] });
      return made;
    }

    // The word for a row's intervals on one task, by the rule of all: the side of the band.
    function wordOn(row, task) {
      const share = mean(task, share90.replace(/_mean$/, ""), row);
      if (!share || !row.calibration) return ["", ""];
      const [, , least, most] = of.coverage, [value, low, high] = share;
      const word = low === null ? "open" : high < least ? "too narrow" : low > most ? "too wide" : low >= least && high <= most ? "calibrated" : "open";
      const percent = (end) => { // with decimals where rounded it would lie on an edge, or beyond it
        const texts = [0, 1, 2, 3, 4].map((digits) => (100 * end).toFixed(digits));
        return texts.find((text) => [least, most].every((edge) => Math.sign(text / 100 - edge) === Math.sign(end - edge))) ?? texts[4];
      };
      return [word, `${word} ${Math.round(100 * value)} %${low === null ? "" : ` [${percent(low)}, ${percent(high)}]`}`];
    }

    // The headline of a choice of tasks: its ranks say who may be best there.
    function headline(now) {
      if (!now.subset || !now.ranks) return now.subset ? `No ranks on ${now.subset.replace(":", " ") || "this choice"}.` : of.finding;
      const best = rows.filter((row) => row.role === "method" && now.ranks[row.k] && now.ranks[row.k][1] === 1).sort((a, b) => now.ranks[a.k][0] - now.ranks[b.k][0]);
      const on = now.subset.replace("only:", "").replace("without:", "all tasks but "), named = best.map((row) => `${row.title} (${number(now.one[row.k][0])})`);
      const floor = rows.filter((row) => row.role === "trivial" && now.one[row.k]).sort((a, b) => now.one[b.k][0] - now.one[a.k][0])[0];
      if (best.length && floor && now.one[floor.k][0] >= now.one[best[0].k][0]) return `On ${on}, no method's mean is above that of the trivial ${floor.title} (${number(now.one[floor.k][0])}); ${named[0]} comes closest.`;
      return best.length > 3 ? `On ${on}, ${best.length} methods may be best; ${named[0]} leads.` : `On ${on}, ${named.join(" or ")} is best.`;
    }

    function wanted() {
      const usual = [rows.some((row) => row.calibration) ? "" : share90, ...of.columns.filter((one) => one.usual).map((one) => one.name)]; // with words, `intervals` has it
      return state.columns ? list("columns") : usual.filter((name) => name && column[name]);
    }

    const FILTERS = {
      trusted: ["Its intervals cover as many true values as they say.", (row) => WORDS_TRUSTED.includes(row.calibration)],
      verified: ["Run by the keeper of the board.", (row) => ["", "verified"].includes(row.state)],
      tuned: ["Settings were searched for on this suite.", (row) => row.tuned && row.tuned !== "untuned" && row.tuned !== "default"],
      paper: ["From a paper, which its source cites by year.", (row) => /\b(18|19|20)\d\d\b/.test(row.source)],
    };

    function filtered() {
      return rows.filter((row) => list("filter").every((name) => FILTERS[name] && FILTERS[name][1](row)) && words(`${row.name} ${row.title} ${row.about} ${row.source} ${row.calibration}`));
    }

    // The best setting of a method stands for it; a button shows the others.
    function fold(order) {
      if (list("open").includes("all")) return order.map((row) => [row, null]);
      const groups = new Map();
      for (const row of order) groups.set(row.of, [...(groups.get(row.of) || []), row]);
      return [...groups].flatMap(([name, own]) => {
        const open = list("open").includes(name);
        const button = () => el("button", { type: "button", className: "fold", "aria-expanded": String(open), "data-fold": name, onclick: () => {
          toggled("open", name, !open);
          again();
          document.querySelector(`[data-fold="${name}"]`).focus();
        } }, open ? "fold" : `+ ${own.length - 1} setting${own.length > 2 ? "s" : ""}`);
        const several = own.length > 1 && own[0].role === "method";
        return (several && !open ? own.slice(0, 1) : own).map((row, k) => [row, several && k === 0 ? button : null]);
      });
    }

    function again() {
      const now = chosen(), shown = columns(now), kept = filtered();
      const order = (row) => (now.ranks && now.ranks[row.k] ? now.ranks[row.k][0] : now.one && now.one[row.k] ? 1000 : 2000);
      if (!state.sort && now.ranks && (state.by || state.tasks)) kept.sort((a, b) => order(a) - order(b));
      finding.textContent = unbroken(headline(now));
      if (picture) picture.hidden = Boolean(now.subset);
      area.replaceChildren(table(`Leaderboard of ${of.title}`, shown, kept, { again, fold, first: "method", name: (row) => row.name, id: "rows" }));
      const few = kept.length < rows.length ? ` ${kept.length} of ${rows.length} rows.` : "";
      note.textContent = now.ranks && now.ranks.some(Boolean)
        ? `Ranks by ${now.name}${state.tasks ? `, ${state.tasks.replace(":", " ")}` : ""}: sets that the runs cannot tell apart, right together with 95 %.${few}`
        : `No ranks for this choice: values and pairs only.${few} ${of.unranked || ""}`;
      saved = () => csv(shown, kept);
    }
    let saved = () => "";

    // Two methods on all tasks or on the chosen one, with the interval of their difference.
    function compare() {
      const [a, b] = list("compare").map((name) => rows.find((row) => row.name === name));
      if (!a || !b || a === b) return against.replaceChildren();
      const one = state.tasks.startsWith("only:") ? state.tasks.slice(5) : "";
      const pair = (one ? of.apart[one] || [] : of.pairs).find(([i, j]) => (i === a.k && j === b.k) || (i === b.k && j === a.k));
      const turned = (was, whole) => (!was || pair[0] === a.k ? was : [whole - was[0], was[2] === null ? null : whole - was[2], was[1] === null ? null : whole - was[1]]);
      const both = (one ? [one] : tasks).map((task) => [task, mean(task, primary, a), mean(task, primary, b)]).filter(([, x, y]) => x && y);
      const axis = (x, y) => { const ends = [...x, ...y, 0].filter((z) => z !== null); return [Math.min(...ends), Math.max(...ends)]; };
      const where = one ? `on ${one}` : `on ${of.title}`, apart = pair && turned(pair[2], 0);
      const said = !pair ? "" : apart[1] === null ? "the runs give no interval" : apart[1] > 0 ? `${a.title} is better` : apart[2] < 0 ? `${b.title} is better` : "the two do not differ significantly";
      against.replaceChildren(
        el("p", { className: "finding" }, pair ? [`${a.title} against ${b.title} ${where}: `, estimate(apart), ` in ${column[of.ranking].header}; ${said}.`] : `${a.title} and ${b.title} were not compared ${where}: one has no runs.`),
        ...(pair ? [el("p", {}, `P(a run of ${a.title} beats one of ${b.title}): `, estimate(turned(pair[3], 1)), ". Intervals of all pairs are right together with 95 %.")] : []),
        ...(both.length > 0 ? [el("div", { className: "pair" },
          el("ol", { className: "rows" }, both.map(([task, x, y]) => el("li", {}, task, el("small", {}, number(x[0]), " · ", number(y[0]))))),
          dots(both.map(([task, x, y]) => ({ label: task, own: axis(x, y), values: [[x, "a"], [y, "b"]] })), null, `${primary} of ${a.title} and ${b.title} by task`)),
        el("p", { className: "legend" }, el("span", { className: "k-a" }, "● "), a.title, " ", el("span", { className: "k-b" }, "● "), `${b.title}: ${primary} by task, mean over seeds with 95 % intervals; each task on a scale of its own, which includes zero.`)] : []));
    }

    const choice = (label, key, options, then) => el("label", {}, label, " ", el("select", { id: `c-${key}`, onchange: (event) => { change({ [key]: event.target.value, sort: "" }); then(); } }, options));
    const subsets = Object.keys(of.ranks).filter((key) => /^(only|without):/.test(key)).sort(new Intl.Collator("en", { numeric: true }).compare);
    const every = tasks.length > 1 ? (subsets.length ? subsets : tasks.map((task) => `only:${task}`)) : [];
    const picked = el("fieldset", { className: "picks", hidden: state.tasks !== "of" }, el("legend", {}, "Tasks"), tasks.map((task) => el("label", {}, el("input", { type: "checkbox", checked: list("of").includes(task), onchange: (event) => { toggled("of", task, event.target.checked); again(); } }), ` ${task}`)));
    const groups = [...new Set(of.columns.map((one) => one.group))];
    const controls = el("div", { className: "controls" },
      of.columns.length > 1 && choice("Rank by", "by", [option("", `${column[of.ranking].header} score (${primary})`, state.by), ...of.columns.filter((one) => ranked.includes(one)).map((one) => option(one.name, one.header, state.by)),
        ...of.columns.filter((one) => !ranked.includes(one) && one.group).map((one) => option(one.name, `${one.header} (no ranks)`, state.by))], again),
      every.length > 0 && choice("on", "tasks", [option("", "all tasks", state.tasks), ...every.map((key) => option(key, key.replace(":", " "), state.tasks)), option("of", "choose …", state.tasks)], () => { picked.hidden = state.tasks !== "of"; again(); compare(); }),
      Object.entries(FILTERS).map(([name, [about, keep]]) => el("label", { className: "chip", title: about }, el("input", { type: "checkbox", disabled: !rows.some(keep), checked: list("filter").includes(name), onchange: (event) => { toggled("filter", name, event.target.checked); again(); } }), ` ${name}`)),
      rows.length > 5 && searched("filter rows", again));
    const chooser = el("details", { className: "columns" }, el("summary", {}, "Columns and settings"),
      el("label", {}, el("input", { type: "checkbox", checked: list("open").includes("all"), onchange: (event) => { toggled("open", "all", event.target.checked); again(); } }), " every setting in a row of its own"),
      groups.map((group) => el("fieldset", { className: "picks" }, el("legend", {}, group || "score"), of.columns.filter((one) => one.group === group && one.name !== of.ranking).map((one) => el("label", {}, el("input", { type: "checkbox", checked: wanted().includes(one.name), onchange: (event) => {
        const now = wanted();
        change({ columns: (event.target.checked ? [...now, one.name] : now.filter((name) => name !== one.name)).join(",") || "none" });
        again();
      } }), ` ${one.header}`)))));
    const save = el("button", { type: "button", onclick: () => {
      const link = el("a", { href: URL.createObjectURL(new Blob([saved()], { type: "text/csv" })), download: `${of.id}.csv` });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } }, "CSV of these rows");
    const methodsOf = (now) => [option("", "choose …", now), ...rows.map((row) => option(row.name, row.title, now))];
    const two = (k) => el("select", { "aria-label": k ? "second method" : "first method", id: `two-${k}`, onchange: (event) => { const now = [list("compare")[0] || "", list("compare")[1] || ""]; now[k] = event.target.value; change({ compare: now.join(",") }); compare(); } }, methodsOf(state.compare.split(",")[k] || ""));
    again();
    compare();
    const pictures = el("div", { className: "figures" }, of.figures.slice(1).map(figure));
    const pictured = el("h2", {}, "Figures");
    if (!inside) later(`${of.id}.figures`, (more) => { pictures.replaceChildren(...more.figures.map(figure)); pictured.hidden = pictures.hidden = !more.figures.length; });
    return [
      el("div", { className: "top" },
        el("div", {}, el("p", { className: "crumb" }, el("a", { href: address("boards") }, "Boards"), " ›"),
          el("h1", {}, of.title, dagger(of)), el("p", { className: "lead" }, of.summary),
          of.earlier && el("p", { className: "note" }, el("strong", {}, "‡ Of an earlier protocol"), ` than the suite has now: ${of.earlier}. It is shown as it was written.`),
          finding,
          el("p", { className: "about" }, of.about && `${of.about} `, `Score: ${of.score}. ${of.runs[0].toLocaleString("en")} of ${of.runs[1].toLocaleString("en")} runs finished.`)),
        picture),
      el("h2", {}, "Leaderboard"), controls, picked, note, area, chooser,
      el("p", { className: "actions" }, save, " ", el("a", { className: "here", href: here() }, "link to this view")),
      of.commands.run && el("div", { className: "boxes" },
        el("section", {}, el("h3", {}, "Add yours"), el("p", {}, "One class in a file gets a row beside these; nothing is stored."), el("pre", { className: "scroll", tabindex: "0" }, el("code", {}, of.commands.try))),
        el("section", {}, el("h3", {}, "Check, run again"), el("p", {}, "The first recomputes every table from the stored scores; the second makes the runs."), el("pre", { className: "scroll", tabindex: "0" }, el("code", {}, `${of.commands.check}\n${of.commands.run}`)))),
      rows.length > 1 && [el("h2", {}, "Two methods"), el("p", { className: "controls" }, two(0), " against ", two(1)), against],
      (of.figures.length > 1 || !inside) && [pictured, pictures],
      of.claims.length > 0 && [el("h2", {}, "Claims"), el("p", { className: "legend" }, "Shaded: where the number must lie. ", el("span", { className: "v-holds" }, "● true"), " ", el("span", { className: "v-does-not-hold" }, "✚ false"), " ", el("span", { className: "v-open" }, "◆ open"), " ■ equal; intervals are right together with 95 %. ❙ published."),
        el("div", { className: "cards" }, of.claims.map((claim) => card(claim, claim.svg)))],
    ];
  }

  // A board, and its other figures, come in scripts of their own, once the page is there.
  function later(name, then) {
    if (inside) return then(data[name] || data[name.replace(/\.figures$/, "")]);
    if (data[name]) return then(data[name]);
    document.head.append(el("script", { src: `data/${name}.js`, onload: () => then(data[name]) }));
  }

  // -- one tooltip: of what has a title, by pointer or focus; arrow keys go through a picture's points

  const tip = el("div", { className: "tip", hidden: true, role: "status" });
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
    tip.style.left = `${Math.max(8, Math.min(box.left, room))}px`;
    tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
  }

  let keys = false; // what scrolls below a pointer that rests is not pointed at
  document.addEventListener("pointerdown", () => { keys = false; });
  document.addEventListener("pointermove", (event) => { keys = keys && !event.movementX && !event.movementY; });
  document.addEventListener("pointerover", (event) => { if (!keys) show(told(event.target)); });
  document.addEventListener("focusin", (event) => show(event.target.matches(":focus-visible") ? told(event.target) : null));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (event) => {
    keys = true;
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

  // -- the page -------------------------------------------------------------------------------

  const PAGES = { boards, board, methods, method, claims };

  function render(focus) {
    read();
    const [kind, id] = route;
    main.replaceChildren(...PAGES[kind](id).flat(Infinity).filter(Boolean));
    const title = main.querySelector("h1").textContent;
    document.title = kind === "boards" ? (inside ? "uqbench report" : "Boards · uqbench") : `${title} · uqbench`;
    for (const link of document.querySelectorAll("nav a[data-kind]")) link.toggleAttribute("aria-current", link.dataset.kind === kind);
    const place = !inside && document.getElementById(location.hash.slice(1));
    if (place) place.scrollIntoView();
    else if (focus) {
      window.scrollTo(0, 0);
      main.focus();
    }
  }

  document.getElementById("nav").append(
    el("a", { className: "brand", href: index.home || address("boards") }, "uqbench"),
    ...["boards", "methods", "claims"].map((kind) => el("a", { href: address(kind), "data-kind": kind }, kind[0].toUpperCase() + kind.slice(1))),
    ...(index.home ? [el("a", { href: `${index.home}start/` }, "Docs")] : []));
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault(); // the address is the state: it stays
    main.focus();
  });
  window.addEventListener("hashchange", () => render(true));
  render(false);
})();
