// How the page looks: light or dark, how wide figures are, and what printing makes of them.

const PRINTED = 380; // two figures side by side on a page, whose letters stay legible
const widthOf = (container) =>
  printing ? PRINTED : Math.min(Math.max(container.clientWidth, 280), 620);

let printing = false;

for (const button of document.querySelectorAll("[data-theme-choice]")) {
  button.addEventListener("click", () => {
    const { themeChoice } = button.dataset;
    if (themeChoice === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themeChoice;
    document.querySelectorAll("[data-theme-choice]").forEach((each) =>
      each.setAttribute("aria-pressed", String(each === button)));
  });
}
document.getElementById("print").addEventListener("click", () => window.print());
const PRINT_EVENTS = ["beforeprint", "afterprint"];
for (const event of PRINT_EVENTS) {
  window.addEventListener(event, () => {
    printing = event === "beforeprint";
    // Folded words are printed.
    for (const words of document.querySelectorAll("details.words")) words.open = printing;
  });
}

// A table that is wider than its place says that it scrolls.
const sideways = new ResizeObserver((entries) => requestAnimationFrame(() => {
  for (const { target } of entries) {
    target.classList.toggle("sideways", target.scrollWidth > target.clientWidth + 1);
  }
}));
for (const each of document.querySelectorAll(".scroll")) sideways.observe(each);

// Call `redraw` whenever figures need another width.
function followAppearance(redraw) {
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraw();
  });
  for (const event of PRINT_EVENTS) window.addEventListener(event, () => redraw());
}
