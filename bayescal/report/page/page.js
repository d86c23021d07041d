// The page: which topic is shown, its figures and tables, and what the controls change.

const DATA = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const nameOf = (topic) => topic.name || "";
const PRINTED = 380; // two figures side by side on a page, whose letters stay legible
const widthOf = (container) =>
  printing ? PRINTED : Math.min(Math.max(container.clientWidth, 280), 620);
const several = DATA.topics.length > 1;

let current = 0;
let printing = false;
let topicTable = null;
const controls = new Controls(schedule);

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

function swatch(kind) {
  const shape = kind.startsWith("dot")
    ? svgElement("circle", { cx: 12, cy: 6, r: 3.5, class: kind })
    : kind.startsWith("line")
      ? svgElement("line", { x1: 1, x2: 23, y1: 6, y2: 6, class: kind })
      : svgElement("rect", { x: 1, y: 1, width: 22, height: 10, class: kind });
  return svgElement("svg", { viewBox: "0 0 24 12", width: 24, height: 12, "aria-hidden": "true", class: "swatch" }, shape);
}

function drawFigures(container, topic) {
  // Empty figures first: their width is that of a column, which letters are drawn to fit.
  container.replaceChildren(...Array.from({ length: 4 }, () => element("figure")));
  const width = widthOf(container.firstElementChild);
  const figures = [densitiesFigure, logOddsFigure, probabilityFigure].map((make) => make(topic, width));
  if (topic.test) figures.push(reliabilityFigure(topic.test, width, ""));
  const made = figures.map((each) => figureElement(each, fileName(nameOf(topic), each.title)));
  if (!topic.test) made.push(element("p", { class: "absent" }, "No held-out scores were given for this topic."));
  container.replaceChildren(...made);
}

function drawTables(container, topic) {
  const parts = [["parameters", "Maximum likelihood beside the posterior", topic.parameters]];
  if (topic.parts) parts.push(["parts", "Parts of the combination", topic.parts]);
  const made = parts.map(([key, title, { columns, rows }]) =>
    element("div", { class: "block" },
      element("div", { class: "heading" }, element("h3", {}, title),
        csvButton(fileName(nameOf(topic), key), columns, () => rows)),
      plainTable(columns.map((name) => TITLES[name] ?? name), rows, title)));
  container.replaceChildren(...made);
}

function describe(topic) {
  const found = Object.entries(topic.diagnostics).map(([key, value]) => `${WORDS[key]} ${format(value)}`);
  const verdict = topic.problems.length
    ? element("ul", { class: "problems" }, ...topic.problems.map((text) => element("li", {}, text)))
    : element("p", { class: "good" }, "No problem found with scores and posterior draws.");
  const tested = topic.test ? [element("p", { class: topic.test.point.calibrated ? "good" : "warning" }, `${topic.test.point.verdict} ${topic.test.point.advice}`)] : [];
  return [verdict, ...tested, element("p", { class: "note" }, found.join("; ") || "There are no posterior draws to check.")];
}

const TITLES = {
  mle: "MLE", rhat: "R-hat", ess_bulk: "bulk ESS", map: "mode", apart: "MLE, apart",
  pooled: "pooled mean", population: "population median", elpd: "leave-one-out log score",
  se: "s.e. of its difference to the best",
};

const WORDS = {
  rhat: "largest R-hat", ess_bulk: "smallest effective sample size", divergences: "divergences",
  draws: "draws", independent_draws: "independent draws", efficiency: "efficiency of the proposals", pareto_k: "largest Pareto k",
};

function drawTopic() {
  const topic = DATA.topics[current];
  if (several) {
    byId("topic-name").textContent = nameOf(topic);
    byId("choose").value = String(current);
    for (const row of topicTable.rows) {
      row.classList.toggle("current", Number(row.dataset.topic) === current);
    }
  }
  byId("topic-facts").textContent =
    `${format(topic.positives)} positives and ${format(topic.negatives)} negatives fitted.`;
  byId("topic-verdict").replaceChildren(...describe(topic));
  drawFigures(byId("figures"), topic);
  drawTables(byId("topic-tables"), topic);
  decideAll();
}

function regionText(regions) {
  if (!regions.length) return "no score shown here";
  return regions.map(([from, to]) => {
    if (from === -Infinity && to === Infinity) return "every score";
    if (to === Infinity) return `above ${format(from, 4)}`;
    return from === -Infinity ? `below ${format(to, 4)}` : `between ${format(from, 4)} and ${format(to, 4)}`;
  }).join(", and ");
}

function decideTopic(topic, costs) {
  const found = decide(topic, costs);
  const band = (of, digits) => (topic.lower ? formatInterval(of.lower, of.upper, digits) : "no band");
  const show = (id, text) => { byId(id).textContent = text; };
  show("threshold-probability", format(found.probability, 4));
  show("regions", regionText(found.regions));
  show("spoken", `; expected cost ${format(found.cost.mean)}, ${band(found.cost, 3)}`);
  show("threshold", format(found.threshold, 4));
  show("threshold-band", topic.lower ? formatInterval(found.thresholds.lower, found.thresholds.upper, 4) : "no band");
  for (const [id, of] of [["cost", found.cost], ["fpr", found.falsePositives], ["miss", found.misses]]) {
    show(id, format(of.mean, 4));
    show(`${id}-band`, band(of, 4));
  }
  const container = byId("cost-figure");
  const figure = costFigure(topic, costs, found, widthOf(container));
  container.replaceChildren(figureElement(figure, fileName(nameOf(topic), "expected cost")));
}

function decideAll() {
  const costs = controls.costs;
  const { rows, columns, probability } = drawsOf(DATA.topics[current]);
  const share = DATA.topics[current].share;
  let fitted = 0;
  for (let i = 0; i < probability.length; i++) fitted += share[i % columns] * probability[i];
  controls.showFitted(fitted / rows);
  decideTopic(DATA.topics[current], costs);
  if (!several) return;
  for (const row of topicTable.rows) {
    const found = decide(DATA.topics[row.dataset.topic], costs);
    fill(row.querySelector("[data-live=threshold]"), found.threshold);
    fill(row.querySelector("[data-live=cost]"), found.cost.mean);
  }
  topicTable.again();
}

function fill(cell, value) {
  cell.dataset.value = value;
  cell.textContent = format(value, 4);
}

let waiting = false;
function schedule() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; decideAll(); });
}

function choose(index) {
  current = Math.min(Math.max(index, 0), DATA.topics.length - 1);
  drawTopic();
}

function listen() {
  for (const button of document.querySelectorAll("[data-theme-choice]")) {
    button.addEventListener("click", () => {
      const { themeChoice } = button.dataset;
      if (themeChoice === "auto") delete document.documentElement.dataset.theme;
      else document.documentElement.dataset.theme = themeChoice;
      document.querySelectorAll("[data-theme-choice]").forEach((each) =>
        each.setAttribute("aria-pressed", String(each === button)));
    });
  }
  byId("print").addEventListener("click", () => window.print());
  if (!several) return;
  topicTable = new TopicTable(byId("topics"), byId("search"), byId("search-status"));
  byId("topics-csv").addEventListener("click", () => topicTable.csv());
  byId("choose").addEventListener("change", (event) => choose(Number(event.target.value)));
  byId("previous").addEventListener("click", () => choose(current - 1));
  byId("next").addEventListener("click", () => choose(current + 1));
  byId("lay-out").addEventListener("click", layOut);
  for (const button of document.querySelectorAll("[data-show]")) {
    button.addEventListener("click", () => {
      choose(Number(button.dataset.show));
      byId("topic").scrollIntoView();
      byId("topic-heading").focus({ preventScroll: true });
    });
  }
}

// Every topic's figures one below the other, for printing.
function layOut() {
  const made = DATA.topics.map((topic) => {
    const figures = element("div", { class: "figures" });
    return { topic, figures, article: element("article", {}, element("h3", {}, nameOf(topic)), figures) };
  });
  byId("all-topics").replaceChildren(...made.map(({ article }) => article));
  for (const { topic, figures } of made) drawFigures(figures, topic);
}

function drawAll() {
  drawOverall();
  drawTopic();
  if (byId("all-topics")?.childElementCount) layOut();
}

function drawOverall() {
  const container = byId("overall");
  if (!container || !DATA.test) return;
  const figure = reliabilityFigure(DATA.test, widthOf(container), ", all topics");
  container.replaceChildren(figureElement(figure, "reliability.csv"));
}

listen();
drawAll();
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  drawAll();
});
for (const event of ["beforeprint", "afterprint"]) {
  window.addEventListener(event, () => {
    printing = event === "beforeprint";
    drawAll();
  });
}
