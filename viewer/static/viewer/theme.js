// Light, dark or as the system says. Loaded before the page is drawn, so that nothing flashes.
(() => {
  const KEY = "ggufhub-theme";
  const CHOICES = ["auto", "light", "dark"];

  function stored() {
    try {
      const value = localStorage.getItem(KEY);
      return CHOICES.includes(value) ? value : "auto";
    } catch {
      return "auto"; // storage may be switched off; the system's choice then holds
    }
  }

  function show(choice) {
    const root = document.documentElement;
    if (choice === "auto") delete root.dataset.theme;
    else root.dataset.theme = choice;
  }

  function label(button, choice) {
    button.textContent = choice[0].toUpperCase() + choice.slice(1);
    button.setAttribute("aria-label", `Theme: ${choice}. Change`);
  }

  let choice = stored();
  show(choice);
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.querySelector("[data-theme-button]");
    if (!button) return;
    label(button, choice);
    button.hidden = false;
    button.addEventListener("click", () => {
      choice = CHOICES[(CHOICES.indexOf(choice) + 1) % CHOICES.length];
      show(choice);
      label(button, choice);
      try {
        localStorage.setItem(KEY, choice);
      } catch {
        // the choice then lasts as long as the page
      }
    });
  });
})();
