// The page of rankings: which query is shown, and its two figures by rank.

const { queries } = DATA;
const enough = () => `recall of ${format(100 * DATA.recall)} % or more`;

function rankChart(query, width, yLabel, label) {
  const x = [0, Math.max(query.documents, 2)];
  return new Chart({ width, x, y: [0, 1], xLabel: "rank", yLabel, label });
}

function relevanceFigure(query, width) {
  const label = "P(relevant) by rank, with its band and the stop";
  const chart = rankChart(query, width, "P(relevant)", label);
  chart.band(query.rank, query.lower, query.upper, "posterior");
  chart.line(query.rank, query.probability, "posterior");
  chart.vertical(query.stop, "threshold");
  const legend = [["line posterior", "P(relevant)"], ["band posterior", `${percent()} band`], ["line threshold", "stop"]];
  if (query.judged) {
    for (const rank of query.judged.relevant) chart.whisker(rank, 0.96, 1, "empirical");
    legend.push(["line empirical", "judged relevant (ticks at the top)"]);
  }
  const columns = [column("rank", query.rank), column("P(relevant)", query.probability),
    column("lower", query.lower), column("upper", query.upper)];
  const note = "The document at each rank: how probable it is that it is relevant.";
  return { title: "P(relevant) by rank", chart, legend, note, columns };
}

function recallFigure(query, width) {
  const label = "Recall by rank, and the probability that it is enough";
  const chart = rankChart(query, width, "share, probability", label);
  chart.band(query.rank, query.recall_lower, query.recall_upper, "recall");
  chart.line(query.rank, query.recall, "recall");
  chart.line(query.rank, query.reached, "posterior");
  chart.line([0, query.documents], [DATA.probability, DATA.probability], "diagonal");
  chart.vertical(query.stop, "threshold");
  const legend = [["line recall", "recall, expected"], ["band recall", `${percent()} band of recall`],
    ["line posterior", `probability of a ${enough()}`], ["line diagonal", "the probability asked for"],
    ["line threshold", "stop"]];
  const columns = [column("rank", query.rank), column("recall", query.recall),
    column("lower", query.recall_lower), column("upper", query.recall_upper),
    column(`probability of a ${enough()}`, query.reached)];
  if (query.judged) {
    chart.line(query.rank, query.judged.recall, "empirical");
    legend.push(["line empirical", "recall, judged"]);
    columns.push(column("recall, judged", query.judged.recall));
  }
  const note = `The stop is the first rank at which the probability of a ${enough()} is ${format(DATA.probability)}.`;
  return { title: "Recall by rank, and when to stop", chart, legend, note, columns };
}

function facts(query) {
  const all = query.stop === query.documents ? "all" : format(query.stop);
  return query.stop
    ? `Read ${all} of ${format(query.documents)} documents.`
    : `Read none of ${format(query.documents)} documents: probably nothing is relevant.`;
}

function draw() {
  const query = queries[chooser.current];
  byId("query-name").textContent = query.name;
  chooser.mark();
  byId("query-facts").textContent = facts(query);
  const makers = [relevanceFigure, recallFigure].map((make) => (width) => make(query, width));
  putFigures(byId("figures"), makers, query.name);
}

const chooser = new Chooser("query", ["queries"], draw);
draw();
followAppearance(draw);
