// A figure on the page: its title, its chart, a legend, a sentence, and its numbers as a table.

const percent = () => `${format(100 * DATA.level)} %`;
const column = (name, values) => ({ name, values });

function figureElement({ title, chart, legend, note, columns }, file) {
  const items = legend.map(([kind, text]) => element("li", {}, swatch(kind), text));
  const header = columns.map(({ name }) => name);
  const rows = () => columns[0].values.map((_, i) => columns.map(({ values }) => values[i]));
  const details = element("details", {}, element("summary", {}, "Numbers"));
  details.addEventListener("toggle", () => {
    if (details.open && details.childElementCount === 1) details.append(plainTable(header, rows(), title));
  });
  return element("figure", {},
    element("figcaption", {}, element("h3", {}, title), csvButton(file, header, rows)),
    chart.root, element("ul", { class: "legend" }, ...items), element("p", { class: "note" }, note), details);
}

// Draw figures into a container, if the page has it; each maker takes the width of a column, which
// letters are drawn to fit.
function putFigures(container, makers, ...file) {
  if (!container) return;
  // Empty figures first, to measure their width.
  container.replaceChildren(...makers.map(() => element("figure")));
  const width = widthOf(container.firstElementChild);
  const figures = makers.map((make) => make(width));
  container.replaceChildren(...figures.map((each) => figureElement(each, fileName(...file, each.title))));
}

function swatch(kind) {
  const shape = kind.startsWith("dot")
    ? svgElement("circle", { cx: 12, cy: 6, r: 3.5, class: kind })
    : kind.startsWith("line")
      ? svgElement("line", { x1: 1, x2: 23, y1: 6, y2: 6, class: kind })
      : svgElement("rect", { x: 1, y: 1, width: 22, height: 10, class: kind });
  return svgElement("svg", { viewBox: "0 0 24 12", width: 24, height: 12, "aria-hidden": "true", class: "swatch" }, shape);
}
