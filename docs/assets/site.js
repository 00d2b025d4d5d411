"use strict";
(() => {
  // The chooser: cards are on the page, those that fit the choice are shown.
  const form = document.getElementById("uq-chooser");
  if (form) {
    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    const [tally, seconds] = [read("uq-tally"), read("uq-seconds")];
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
    form.addEventListener("change", () => history.replaceState(null, "", "?" + new URLSearchParams(choose())));
    for (const [name, value] of new URLSearchParams(location.search)) {
      const input = [...form.elements].find((one) => one.name === name && one.value === value);
      if (input) input.checked = true;
    }
    choose();
  }
})();
