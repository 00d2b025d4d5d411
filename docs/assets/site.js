"use strict";
document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
addEventListener("load", () => { // what scrolls can be reached by the keyboard
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap, .uq-output")) one.tabIndex = 0;
});
// The chooser: the answers to all choices are on the page, one is shown.
(() => {
  const form = document.getElementById("uq-chooser");
  if (!form) return;
  const answers = JSON.parse(document.getElementById("uq-answers").textContent);
  const el = (tag, text, more) => Object.assign(document.createElement(tag), { textContent: text }, more);
  const linked = (tag, text, href) => {
    const node = el(tag, "");
    node.append(el("a", text, { href }));
    return node;
  };
  const choose = () => {
    const { world, need, budget } = Object.fromEntries(new FormData(form));
    const [said, best] = answers[[world, need, budget].join("/")];
    document.getElementById("uq-headline").textContent = said;
    document.getElementById("uq-cards").replaceChildren(...best.map((of) => {
      const card = el("article", "", { className: "uq-card uq-w-" + of.word.replaceAll(" ", "-") });
      card.append(linked("h3", of.title, "boards/method-" + of.of + ".html"), el("p", of.said), linked("p", of.name, "boards/" + of.board + ".html"));
      return card;
    }));
    return { world, need, budget };
  };
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", () => history.replaceState(null, "", "?" + new URLSearchParams(choose())));
  for (const [name, value] of new URLSearchParams(location.search)) {
    const input = [...form.elements].find((one) => one.name === name && one.value === value);
    if (input) input.checked = true;
  }
  choose();
})();
