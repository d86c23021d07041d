// How the page looks: light or dark, how wide figures are, and what printing makes of them.

const PRINTED = 380; // two figures side by side on a page, whose letters stay legible
const widthOf = (container) =>
  printing ? PRINTED : Math.min(Math.max(container.clientWidth, 280), 620);

let printing = false;

function listenToTheme() {
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.addEventListener("click", () => {
      const { themeChoice } = button.dataset;
      if (themeChoice === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = themeChoice;
      document.querySelectorAll("[data-theme-choice]").forEach((each) =>
        each.setAttribute("aria-pressed", String(each === button)));
    });
  }
}

// Call `redraw` whenever figures need another width.
function followAppearance(redraw) {
  listenToTheme();
  byId("print").addEventListener("click", () => window.print());
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraw();
  });
  for (const event of ["beforeprint", "afterprint"]) {
    window.addEventListener(event, () => {
      printing = event === "beforeprint";
      // Folded words are printed.
      for (const words of document.querySelectorAll("details.words")) words.open = printing;
      redraw();
    });
  }
}
