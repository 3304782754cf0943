// A slider beside the number of a context: steps of equal ratio, whole cells. The number is what
// the form sends; without this script it is simply typed.
const CELLS = 256;
const slider = document.querySelector("[data-context]");

if (slider) {
  const number = document.querySelector("input[name=context]");
  const follow = () => (slider.value = String(Math.log2(Math.max(Number(number.value) || CELLS, CELLS))));
  slider.addEventListener("input", () => {
    number.value = String(Math.max(Math.round(2 ** slider.value / CELLS) * CELLS, CELLS));
  });
  number.addEventListener("input", follow);
  follow();
  slider.hidden = false;
}
