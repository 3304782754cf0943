// "Copy" buttons: shown only where the clipboard can be used.
for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  button.addEventListener("click", async () => {
    const lines = document.querySelectorAll(`${button.dataset.copy} code`);
    const source = document.querySelector(button.dataset.copy);
    const text = lines.length ? [...lines].map((line) => line.textContent).join("") : source.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed";
    }
    setTimeout(() => (button.textContent = "Copy"), 1500);
  });
}
