"use strict";
// Worlds with what methods state in every state at some moments of training, beside the truth.
(() => {
  const root = document.getElementById("ignorance"), worlds = globalThis.uqBeliefs, NORMAL_90 = 1.645;
  const built = (made, { text, ...more }, kids) => {
    for (const [key, value] of Object.entries(more)) made.setAttribute(key, value);
    made.append(...(text ? [text] : []), ...kids);
    return made;
  };
  const el = (tag, more, ...kids) => built(document.createElement(tag), more, kids);
  const sv = (tag, more, ...kids) => built(document.createElementNS("http://www.w3.org/2000/svg", tag), more, kids);
  const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;
  const rms = (values) => Math.sqrt(mean(values.map((x) => x * x)));
  const pick = el("select", { "aria-label": "world" }, ...worlds.map((of, k) => el("option", { value: k, text: of.title })));
  const play = el("button", { type: "button", text: "Play" });
  const slider = el("input", { type: "range", min: 0, step: 1, "aria-label": "moment of training" });
  const told = el("output", { "aria-live": "off" }), rows = el("div", { class: "ig-rows" });
  root.replaceChildren(el("p", { class: "ig-bar" }, pick, play, slider, told), rows);
  let world, timer = 0, drawn = [];

  function choose() {
    world = worlds[pick.value];
    const most = Math.max(...world.methods.flatMap((of) => of.seen.flatMap(([sd]) => sd)));
    const [high, wide] = [0, 1].map((axis) => 1 + Math.max(...world.places.map((at) => at[axis])));
    const last = world.steps.length - 1;
    drawn = world.methods.map((of) => {
      const cells = world.places.map(([y, x]) => sv("rect", { x: x + 0.08, y: y + 0.08, width: 0.84, height: 0.84, rx: 0.08 }, sv("title", {})));
      const lines = [of.seen.map(([sd]) => rms(sd)), of.seen.map(([, above]) => rms(above))], top = Math.max(...lines.flat());
      const path = (values) => values.map((value, k) => `${k ? "L" : "M"}${(120 * k) / last} ${(39 - 38 * Math.sqrt(value / top)).toFixed(1)}`).join("");
      const cursor = sv("line", { y1: 0, y2: 40, class: "ig-cursor" }), said = el("p", {});
      const curve = sv("svg", { viewBox: "0 0 120 40", class: "ig-curve", role: "img", "aria-label": `${of.name}: predicted width, and error, over training` },
        sv("path", { d: path(lines[0]), class: "ig-stated" }), sv("path", { d: path(lines[1]), class: "ig-off" }), cursor);
      const map = sv("svg", { viewBox: `0 0 ${wide} ${high}`, class: "ig-map", role: "img", "aria-label": `${of.name}: all states` }, ...cells);
      const row = el("section", {}, el("h3", {}, el("a", { href: `../boards/method-${of.of}.html`, text: of.name })), map, curve, said);
      return { of, cells, cursor, said, row, lines, most, last };
    });
    rows.replaceChildren(...drawn.map((one) => one.row));
    slider.max = last;
    show();
  }

  function show() {
    const k = Number(slider.value);
    told.textContent = `${world.steps[k].toLocaleString("en")} of ${world.steps.at(-1).toLocaleString("en")} steps`;
    slider.setAttribute("aria-valuetext", told.textContent);
    for (const { of, cells, cursor, said, lines, most, last } of drawn) {
      const [sds, above, actions] = of.seen[k];
      let inside = 0;
      cells.forEach((cell, j) => {
        const out = Math.abs(above[j]) > NORMAL_90 * sds[j];
        inside += !out;
        cell.style.fillOpacity = Math.sqrt(sds[j] / most);
        cell.classList.toggle("out", out);
        cell.firstChild.textContent = `${world.actions[actions[j]]}: predicted ± ${sds[j]}, mean off by ${above[j]}${out ? ", true value outside" : ""}`;
      });
      cursor.setAttribute("x1", (120 * k) / last);
      cursor.setAttribute("x2", (120 * k) / last);
      said.textContent = `${inside} of ${cells.length} true values inside; predicted ± ${lines[0][k].toFixed(2)}, off by ${lines[1][k].toFixed(2)}`;
    }
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  }
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (slider.value === slider.max) slider.value = 0;
    play.textContent = "Pause";
    show();
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      show();
      if (slider.value === slider.max) stop();
    }, 300);
  });
  slider.addEventListener("input", () => {
    stop();
    show();
  });
  pick.addEventListener("change", () => {
    stop();
    slider.value = 0;
    choose();
  });
  pick.value = 1;
  slider.value = 0;
  choose();
})();
