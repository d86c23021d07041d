// The page of several classes: reliability of the likeliest class and of each class, and the risk.

function reliabilityOf(figure, width) {
  const { bins, name } = figure;
  const label = `Reliability of P(${name}) on held-out documents`;
  const chart = new Chart({
    width, label, xLabel: "predicted probability", yLabel: "share of documents",
    x: axisOfShares(bins.predicted), y: axisOfShares(bins.observed, bins.lower, bins.upper),
  });
  chart.diagonal();
  bins.predicted.forEach((x, j) => chart.whisker(x, bins.lower[j], bins.upper[j], "consistency"));
  bins.predicted.forEach((x, j) => chart.dot(x, bins.observed[j], "posterior"));
  const legend = [["dot posterior", "documents in bins"], ["line consistency", `expected range if calibrated, ${percent()}`]];
  const note = `${format(figure.positives)} of ${format(figure.n)} documents where ${format(figure.expected)} were expected.`;
  const columns = Object.entries(bins).map(([key, values]) => column(key, values));
  return { title: `Reliability: ${name}`, chart, legend, note, columns };
}

function riskFigure(risk, width) {
  const top = Math.max(...risk.upper, ...risk.observed, 0.02);
  const label = "Share of wrong answers by the share of documents answered";
  const chart = new Chart({
    width, x: [0, 1], y: [0, Math.min(1, 1.05 * top)], label,
    xLabel: "share of documents answered, surest first", yLabel: "share of wrong answers",
  });
  chart.band(risk.coverage, risk.lower, risk.upper, "posterior");
  chart.line(risk.coverage, risk.risk, "posterior");
  chart.line(risk.coverage, risk.observed, "empirical");
  const legend = [["line posterior", "expected"], ["band posterior", `${percent()} band`], ["line empirical", "held-out documents"]];
  const note = "What leaving the least sure documents unanswered gains.";
  const columns = Object.entries(risk).map(([key, values]) => column(key, values));
  return { title: "Risk against coverage", chart, legend, note, columns };
}

function draw() {
  const [likeliest, ...others] = DATA.figures;
  if (!likeliest) return;
  const reliabilityMaker = (each) => (width) => reliabilityOf(each, width);
  putFigures(byId("first"), [reliabilityMaker(likeliest)], "classes");
  const makers = [(width) => riskFigure(DATA.risk, width), ...others.map(reliabilityMaker)];
  putFigures(byId("figures"), makers, "classes");
}

draw();
followAppearance(draw);
