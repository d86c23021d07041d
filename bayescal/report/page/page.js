// The page: which topic is shown, its figures and tables, and what the controls change.

const nameOf = (topic) => topic.name || "";
const several = DATA.topics.length > 1;

const chooser = several ? new Chooser("topic", ["topics", "numbers"], choose) : null;
let current = chooser ? chooser.current : 0;
const controls = new Controls(schedule);

function drawFigures(container, topic) {
  const makers = [logOddsFigure, densitiesFigure].map((make) => (width) => make(topic, width));
  // Of one topic alone the summary has the first.
  if (several) makers.unshift((width) => probabilityFigure(topic, width));
  if (topic.test) makers.push((width) => reliabilityFigure(topic.test, width, ""));
  putFigures(container, makers, nameOf(topic));
  if (!topic.test) container.append(element("p", { class: "absent" }, `No held-out scores were given${several ? " for this topic" : ""}.`));
}

// The curve on the first screen.
function drawFirst(topic) {
  const container = byId("first");
  const figure = probabilityFigure(topic, widthOf(container));
  if (several) figure.title += `: ${nameOf(topic)}`;
  container.replaceChildren(figureElement(figure, fileName(nameOf(topic), "curve")));
}

const inWords = (kind, name) => DATA.words[kind][name];

// A parameter or a part: what it is, then what formulas call it.
function named(kind, name) {
  const words = inWords(kind, name);
  return words ? `${words} (${name})` : name;
}

function drawTables(container, topic) {
  const parts = [["parameters", "What was fitted, in numbers", topic.parameters]];
  if (topic.parts) parts.push(["parts", "What the probability is made of", topic.parts]);
  if (topic.byPart) parts.push(["byPart", "What each part says", topic.byPart]);
  const notes = {
    parameters: "Where the scores of each class peak and how far they reach, in units of the score."
      + (topic.lower ? ` Intervals are of ${percent()}.` : ""),
    parts: "Several models are averaged; each weighs as much as it helps to predict labels left out of its fit.",
    byPart: "The probability at some scores, by each part alone. Where parts differ, the labels do not decide yet."
      + (topic.byPart?.rows.some(([name]) => name === "learned")
        ? " The parts \u201clearned\u201d and \u201cmonotone\u201d are alike but for what is known from other data sets: how far they differ is how much that counts."
        : ""),
  };
  const made = parts.map(([key, title, { columns, rows }]) => {
    // Columns that say nothing, such as R-hat of draws without chains, are in the CSV file only.
    const kept = columns.flatMap((_, k) => (rows.some((row) => row[k] !== null) ? [k] : []));
    const shown = rows.map((row) => kept.map((k) => cellText(columns[k], row[k])));
    const heads = kept.map((k) => inWords("columns", columns[k]) ?? columns[k].replaceAll("-", "−"));
    return element("div", { class: "block" },
      element("div", { class: "heading" }, element("h3", {}, title),
        csvButton(fileName(nameOf(topic), key), columns, () => rows)),
      element("p", { class: "note" }, notes[key]), plainTable(heads, shown, title));
  });
  container.replaceChildren(...made);
}

function cellText(column, value) {
  const vocabulary = { parameter: "parameters", part: "parts", guard: "guards" };
  return column in vocabulary ? named(vocabulary[column], value) : value;
}

function describe(topic) {
  const numbers = Object.entries(topic.diagnostics).map(([key, value]) => `${inWords("diagnostics", key) ?? key}: ${format(value)}`);
  const draws = element("p", { class: "note" }, numbers.length ? `The computation: ${numbers.join("; ")}.` : "There are no posterior draws to check.");
  // Of one topic the summary says the rest.
  if (!several) return [draws];
  const verdict = topic.problems.length
    ? element("ul", { class: "problems" }, ...topic.problems.map((text) => element("li", {}, text)))
    : element("p", { class: "good" }, "No problem was found with the scores or with the computation.");
  const point = topic.test?.point;
  const state = { right: "good", off: "warning" }[point?.outcome] ?? "unknown";
  const tested = point ? [element("p", { class: state }, `${point.verdict} ${point.advice}`)] : [];
  return [verdict, ...tested, draws];
}

function drawTopic() {
  const topic = DATA.topics[current];
  if (several) {
    byId("topic-name").textContent = nameOf(topic);
    byId("decisions-name").textContent = nameOf(topic);
    chooser.mark();
  }
  byId("topic-facts").textContent =
    `Fitted to ${format(topic.positives)} positives and ${format(topic.negatives)} negatives.`;
  byId("topic-verdict").replaceChildren(...describe(topic));
  drawFirst(topic);
  drawFigures(byId("figures"), topic);
  drawTables(byId("topic-tables"), topic);
  decideAll();
}

function regionText(regions) {
  if (!regions.length) return "no score shown here";
  return regions.map(([from, to]) => {
    if (from === -Infinity && to === Infinity) return "every score";
    if (to === Infinity) return `above ${format(from)}`;
    return from === -Infinity ? `below ${format(to)}` : `between ${format(from)} and ${format(to)}`;
  }).join(", and ");
}

const show = (id, text) => { byId(id).textContent = text; };

// An estimate and its interval, in the two cells of a table.
function showBoth(topic, id, middle, { lower, upper }, text = format) {
  show(id, text(middle));
  // What all draws agree on, such as how many documents a threshold takes, is no interval.
  const ends = text(lower) === text(upper) ? "" : `${text(lower)} to ${text(upper)}`;
  show(`${id}-band`, topic.lower ? ends : "no band");
}

function decideTopic(topic, costs, byThreshold) {
  const decision = decide(topic, costs);
  show("threshold-probability", formatShare(decision.probability));
  show("regions", regionText(decision.regions));
  showBoth(topic, "threshold", decision.threshold, decision.thresholds);
  showBoth(topic, "cost", decision.cost.mean, decision.cost);
  for (const [id, of] of [["fpr", decision.falsePositives], ["miss", decision.misses]]) {
    showBoth(topic, id, of.mean, of, formatShare);
  }
  show("spoken", `; expected cost ${byId("cost").textContent}, ${byId("cost-band").textContent}`);
  putFigure("cost-figure", (width) => costFigure(topic, byThreshold, decision, width), "expected cost");
}

function selectTopic(topic, costs, byThreshold) {
  const threshold = controls.threshold.value;
  const wanted = thresholdForRecall(topic, controls.recall.value / 100, costs);
  showBoth(topic, "wanted-threshold", wanted.threshold, wanted);
  for (const [start, score] of [["own", threshold], ["wanted", wanted.threshold]]) {
    const outcomes = outcomesAt(topic, score, costs);
    for (const name of ["precision", "recall", "taken"]) {
      const share = summary(outcomes[name]);
      if (byId(`${start}-${name}`)) showBoth(topic, `${start}-${name}`, share.mean, share, formatShare);
    }
  }
  putFigure("selection-figure", (width) => selectionFigure(topic, byThreshold, threshold, width), "precision and recall");
}

function putFigure(id, make, name) {
  const container = byId(id);
  container.replaceChildren(figureElement(make(widthOf(container)), fileName(nameOf(DATA.topics[current]), name)));
}

function decideAll() {
  const costs = controls.costs;
  const { rows, columns, probability } = drawsOf(DATA.topics[current]);
  const share = DATA.topics[current].share;
  let fitted = 0;
  for (let i = 0; i < probability.length; i++) fitted += share[i % columns] * probability[i];
  controls.showFitted(fitted / rows);
  const byThreshold = outcomesByThreshold(DATA.topics[current], costs);
  decideTopic(DATA.topics[current], costs, byThreshold);
  selectTopic(DATA.topics[current], costs, byThreshold);
  if (several) decideRows(costs);
}

let decided = "";
function decideRows(costs) {
  // A threshold or a recall of one's own moves nothing in the tables of topics.
  if (decided === JSON.stringify(costs)) return;
  decided = JSON.stringify(costs);
  const [, numbers] = chooser.tables;
  for (const row of numbers.rows) {
    const decision = decide(DATA.topics[row.dataset.topic], costs);
    fill(row.querySelector("[data-live=threshold]"), decision.threshold);
    fill(row.querySelector("[data-live=cost]"), decision.cost.mean);
  }
  numbers.again();
}

function fill(cell, value) {
  cell.dataset.value = value;
  cell.textContent = format(value);
}

let waiting = false;
function schedule() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => { waiting = false; decideAll(); });
}

function choose(index) {
  current = index;
  controls.startAt(DATA.topics[current]);
  drawTopic();
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
  drawEvidence();
  if (byId("all-topics")?.childElementCount) layOut();
}

function drawOverall() {
  const container = byId("overall");
  if (!container || !DATA.test) return;
  const figure = reliabilityFigure(DATA.test, widthOf(container), ", all topics");
  container.replaceChildren(figureElement(figure, "reliability.csv"));
}

if (several) byId("lay-out").addEventListener("click", layOut);
controls.startAt(DATA.topics[current]);
drawAll();
followAppearance(drawAll);
