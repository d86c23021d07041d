// The page of an audit: calibration curve, net benefit, explanations and sites.

const bandLegend = (kind, text) => [`band ${kind}`, `${percent()} band${text}`];

function curveFigure(width) {
  const { curve } = DATA;
  const top = Math.max(...curve.upper, ...curve.probability);
  const range = [0, Math.min(1, Math.ceil(top * 10) / 10)];
  const label = "Calibration curve: true probability by given probability, with its band";
  const chart = new Chart({ width, x: range, y: range, xLabel: "given probability", yLabel: "true probability", label });
  chart.diagonal();
  chart.band(curve.probability, curve.outerLower, curve.outerUpper, "outer");
  chart.band(curve.probability, curve.lower, curve.upper, "posterior");
  chart.line(curve.probability, curve.mean, "posterior");
  for (const p of DATA.positives) chart.whisker(p, 0.97 * range[1], range[1], "empirical");
  for (const p of DATA.negatives) chart.whisker(p, 0, 0.03 * range[1], "empirical");
  const legend = [["line posterior", "true probability"], bandLegend("posterior", ""),
    bandLegend("outer", " of the whole curve"), ["line diagonal", "right probabilities"],
    ["line empirical", "positives (top) and negatives (bottom)"]];
  const columns = [column("given", curve.probability), column("true", curve.mean),
    column("lower", curve.lower), column("upper", curve.upper)];
  const note = "Where the band leaves the diagonal, the given probabilities are wrong.";
  return { title: "Calibration curve", chart, legend, note, columns };
}

function benefitFigure(width) {
  const { benefit } = DATA;
  const most = Math.max(...benefit.asIs, ...benefit.again) * 1.1 || 0.1;
  const label = "Net benefit by threshold of three strategies";
  const chart = new Chart({ width, x: [0, 1], y: [-0.25 * most, most], xLabel: "threshold",
    yLabel: "net benefit", label });
  chart.band(benefit.threshold, benefit.lower, benefit.upper, "posterior");
  chart.line(benefit.threshold, benefit.asIs, "posterior");
  chart.line(benefit.threshold, benefit.counted, "empirical");
  chart.line(benefit.threshold, benefit.again, "recall");
  chart.line(benefit.threshold, benefit.all, "mle");
  chart.line([0, 1], [0, 0], "diagonal");
  chart.vertical(DATA.threshold ?? NaN, "threshold");
  const legend = [["line posterior", "given probabilities"], bandLegend("posterior", " of these"),
    ["line empirical", "given, counted"],
    ["line recall", "recalibrated"], ["line mle", "treat all"], ["line diagonal", "treat nobody"]];
  if (DATA.threshold !== null) legend.push(["line threshold", "the threshold asked for"]);
  const columns = [column("threshold", benefit.threshold), column("given", benefit.asIs),
    column("counted", benefit.counted), column("recalibrated", benefit.again), column("all", benefit.all)];
  const note = `True positives per ${DATA.noun}, less false positives at the price that the threshold implies: counted, or smoothed by the calibration curve.`;
  return { title: "Net benefit", chart, legend, note, columns };
}

function explanationFigure(width) {
  const { name, probability } = DATA.explanations;
  const chart = new Chart({ width, x: [0.5, name.length + 0.5], y: [0, 1],
    xTicks: name.map((each, k) => [k + 1, each]), xLabel: "explanation", yLabel: "probability",
    label: "Probabilities of the four explanations" });
  probability.forEach((each, k) => chart.bar(k + 0.65, k + 1.35, each, "positive"));
  const columns = [column("explanation", name), column("probability", probability)];
  const note = "How probable each explanation is, given the outcomes.";
  return { title: "Explanations", chart, legend: [["bar positive", "probability"]], note, columns };
}

function siteFigure(which, width) {
  const { name, mean, lower, upper } = DATA.sites[which];
  const right = which === "slope" ? 1 : 0;
  const ends = [Math.min(right, ...lower), Math.max(right, ...upper)];
  const margin = 0.06 * (ends[1] - ends[0]);
  const rows = ticks(1, name.length, Math.min(name.length, 10)).filter(Number.isInteger);
  const few = name.length <= 8;
  const room = Math.floor((width - MARGIN.left - MARGIN.right) / (name.length + 1) / 8);  // letters
  const shortened = (text) => (text.length > room ? `${text.slice(0, room - 1)}…` : text);
  const chart = new Chart({ width, x: [0, name.length + 1], y: [ends[0] - margin, ends[1] + margin],
    xTicks: few ? name.map((each, k) => [k + 1, shortened(each)])
      : rows.map((row) => [row, row === name.length ? name[row - 1] : tickText(row)]),
    xLabel: few ? "site" : "row of the table of sites", yLabel: which, label: `${which} by site` });
  chart.line([0, name.length + 1], [right, right], "diagonal");
  name.forEach((_, k) => {
    chart.whisker(k + 1, lower[k], upper[k], "posterior");
    chart.dot(k + 1, mean[k], "posterior");
  });
  const legend = [["line posterior", `${percent()} interval`], ["line diagonal", "right probabilities"]];
  const columns = [column("site", name), column(which, mean), column("lower", lower), column("upper", upper)];
  return { title: `${which[0].toUpperCase()}${which.slice(1)} by site`, chart, legend,
    note: "The interval of a new site is where its value lies before it has labels.", columns };
}

function draw() {
  putFigures(byId("first"), [curveFigure], "audit");
  putFigures(byId("figures"), [benefitFigure, explanationFigure], "audit");
  putFigures(byId("forest"), ["shift", "slope"].map((which) => (width) => siteFigure(which, width)), "audit");
}

draw();
followAppearance(draw);
