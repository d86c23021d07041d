// The figures of a topic: each returns a chart, its legend, a sentence, and its numbers as a table.

const NEGATIVE = () => `negatives (class ${DATA.classes[0]})`;
const POSITIVE = () => `positives (class ${DATA.classes[1]})`;
const rangeOf = (topic) => [topic.x[0], topic.x[topic.x.length - 1]];

// From columns by name to one object a row.
function rowsOf(columns) {
  const names = Object.keys(columns);
  return (columns[names[0]] ?? []).map((_, i) =>
    Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

function densitiesFigure(topic, width) {
  const densities = topic.densities, bars = topic.histogram;
  const heights = bars ? densityOfBars(bars) : [[], []];
  const tops = [...heights.flat()];
  for (const curves of [densities?.predictive, densities?.mle]) if (curves) tops.push(...cap(curves));
  const top = Math.max(...tops) * 1.08 || 1;
  const label = "Density of the scores of each class";
  const chart = new Chart({ width, x: rangeOf(topic), y: [0, top], xLabel: DATA.axis, yLabel: "density", label });
  const legend = [];
  const columns = [column(DATA.axis, topic.x)];
  ["negative", "positive"].forEach((kind, k) => {
    const name = [NEGATIVE(), POSITIVE()][k];
    if (bars) {
      const step = (bars.high - bars.low) / heights[k].length;
      heights[k].forEach((height, i) => {
        if (height > 0) chart.bar(bars.low + i * step, bars.low + (i + 1) * step, height, kind);
      });
      legend.push([`bar ${kind}`, `scores of ${name}`]);
    }
    if (densities?.draws) {
      const draws = unpack(densities.draws[k]);
      for (let i = 0; i < draws.rows; i++) {
        chart.line(topic.x, draws.at.subarray(i * draws.columns, (i + 1) * draws.columns), `draw ${kind}`);
      }
    }
    if (densities?.mle) {
      chart.line(topic.x, densities.mle[k], "mle");
      columns.push(column(`${name}, maximum likelihood`, densities.mle[k]));
    }
    if (densities?.predictive) {
      const mode = densities.predictive[k].indexOf(Math.max(...densities.predictive[k]));
      chart.line(topic.x, densities.predictive[k], `posterior ${kind}`);
      chart.dot(topic.x[mode], densities.predictive[k][mode], `mode ${kind}`, 4);
      legend.push([`line posterior ${kind}`, `density of ${name}`]);
      columns.push(column(`${name}, posterior predictive`, densities.predictive[k]));
    }
  });
  if (densities?.draws) legend.push(["line draw positive", "posterior draws of either"]);
  if (densities?.mle) legend.push(["line mle", "maximum likelihood of either"]);
  const peaks = densities?.predictive ? " Dots mark the peaks." : "";
  const note = !densities
    ? "This model has no class densities: histograms alone."
    : bars
      ? `Lines: how the fit says that scores are spread; bars: the scores fitted.${peaks}`
      : `How the fit says that scores are spread. The scores fitted were not given with the calibrator, so that there are no bars.${peaks}`;
  return { title: "How the scores of each class are spread (densities)", chart, legend, note, columns };
}

function densityOfBars({ low, high, counts }) {
  return counts.map((each) => {
    const total = each.reduce((sum, n) => sum + n, 0);
    const step = (high - low) / each.length;
    return each.map((n) => (total ? n / total / step : 0));
  });
}

// Heights to make room for: a spike of maximum likelihood far above the rest is cut off.
function cap(curves) {
  const tops = curves.map((curve) => Math.max(...curve));
  return [Math.min(Math.max(...tops), 4 * Math.min(...tops))];
}

function logOddsFigure(topic, width) {
  const shown = [...topic.point, ...(topic.lower ?? []), ...(topic.upper ?? [])];
  shown.push(...(topic.bins?.log_odds ?? []));
  const sorted = shown.filter((v) => v !== null).sort((a, b) => a - b);
  const y = [Math.max(sorted[0], -16) - 0.5, Math.min(sorted[sorted.length - 1], 16) + 0.5];
  const label = "Calibrated log-odds by score";
  const chart = new Chart({ width, x: rangeOf(topic), y, xLabel: DATA.axis, yLabel: "log-odds (natural)", label });
  const legend = curves(chart, topic, (value) => value);
  for (const bin of rowsOf(topic.bins ?? {})) {
    chart.whisker(bin.score, bin.lower ?? y[0], bin.upper ?? y[1], "empirical");
    if (bin.lower !== null && bin.upper !== null) chart.dot(bin.score, bin.log_odds, "empirical");
  }
  if (topic.bins) legend.push(["dot empirical", `documents in bins, ${percent()} interval`]);
  const note = topic.bins
    ? "The probability on a scale that shows small and large probabilities: 0 is one half. Dots: the documents fitted, in bins of the score, as far from the curve as their log-odds are from those that it gives them on average. Lines without a dot: bins of one class, whose log-odds have no limit on one side."
    : "The probability on a scale that shows small and large probabilities: 0 is one half.";
  return { title: "Log-odds by score", chart, legend, note, columns: curveColumns(topic, (v) => v, "log-odds") };
}

function probabilityFigure(topic, width) {
  const label = `Probability of class ${DATA.classes[1]} by score`;
  const chart = new Chart({
    width, x: rangeOf(topic), y: [0, 1], xLabel: DATA.axis, yLabel: `P(${DATA.classes[1]} | score)`, label,
  });
  const legend = curves(chart, topic, expit);
  const note = topic.lower
    ? `At each score the probability lies in the band with probability ${percent()}, given the model and the documents fitted.`
    : "There is no posterior, and so no band.";
  return { title: "Probability by score", chart, legend, note, columns: curveColumns(topic, expit, "probability") };
}

function curves(chart, topic, read) {
  const legend = [];
  const values = (name) => topic[name].map((v) => (v === null ? null : read(v)));
  if (topic.lower) {
    chart.band(topic.x, values("lower"), values("upper"), "posterior");
    legend.push(["band posterior", `${percent()} band`]);
  }
  if (topic.mle) {
    chart.line(topic.x, values("mle"), "mle");
    legend.push(["line mle", "maximum likelihood"]);
  }
  chart.line(topic.x, values("point"), "posterior");
  legend.push(["line posterior", topic.lower ? "posterior" : "estimate"]);
  return legend;
}

function curveColumns(topic, read, name) {
  const values = (key) => topic[key].map((v) => (v === null ? null : read(v)));
  const out = [column(DATA.axis, topic.x), column(name, values("point"))];
  if (topic.lower) out.push(column("lower", values("lower")), column("upper", values("upper")));
  if (topic.mle) out.push(column("maximum likelihood", values("mle")));
  return out;
}

function reliabilityFigure(test, width, whose) {
  const label = `Reliability of probabilities on held-out scores${whose}`;
  const { bins } = test.point, other = test.mle?.bins;
  const chart = new Chart({
    width,
    x: axisOfShares(bins.predicted, other?.predicted),
    y: axisOfShares(bins.observed, bins.lower, bins.upper, other?.observed),
    xLabel: "predicted probability", yLabel: "share of positives", label,
  });
  chart.diagonal();
  for (const bin of rowsOf(test.point.bins)) chart.whisker(bin.predicted, bin.lower, bin.upper, "consistency");
  if (test.mle) {
    for (const bin of rowsOf(test.mle.bins)) chart.dot(bin.predicted, bin.observed, "mle", 3);
  }
  for (const bin of rowsOf(test.point.bins)) chart.dot(bin.predicted, bin.observed, "posterior");
  const legend = [
    ["dot posterior", "posterior"],
    ["line consistency", `expected range if calibrated, ${percent()}`],
  ];
  if (test.mle) legend.splice(1, 0, ["dot mle", "maximum likelihood"]);
  const { n, positives, expected, log_loss: loss, brier } = test.point;
  const beside = test.mle ? ` (maximum likelihood ${format(test.mle.log_loss)} and ${format(test.mle.brier)})` : "";
  const note =
    "Right probabilities lie on the diagonal, up to chance. " +
    `${format(n)} held-out documents, ${format(positives)} positive where ${format(expected)} were expected; ` +
    `log-loss ${format(loss)} bits and squared error ${format(brier)} per document${beside}.`;
  const columns = Object.entries(test.point.bins).map(([name, values]) => column(name, values));
  return { title: `Held-out documents: predicted and found (reliability)${whose}`, chart, legend, note, columns };
}

// Room for the cost of deciding well, and half as much again as calling all or nothing positive costs:
// dearer thresholds are of no use to anyone and would flatten the rest.
function costLimit(points, decision) {
  const ends = [points[0].cost.upper, points[points.length - 1].cost.upper];
  const least = Math.min(...points.map((point) => point.cost.upper));
  return Math.max(1.5 * Math.min(...ends), 1.2 * decision.cost.upper, 1.2 * least) || 1;
}

// An estimate with its band, over thresholds.
function drawByThreshold(chart, topic, xs, values, kind) {
  if (topic.lower) {
    const [lower, upper] = ["lower", "upper"].map((name) => withoutCorners(xs, values(name)));
    chart.band(lower.xs, lower.ys, upper.ys, kind);
  }
  const middle = withoutCorners(xs, values("mean"));
  chart.line(middle.xs, middle.ys, kind);
}

function costFigure(topic, byThreshold, decision, width) {
  const limit = costLimit(byThreshold, decision);
  const points = stretchBelow(byThreshold, limit);
  const xs = points.map((point) => point.x);
  const values = (name) => points.map((point) => point.cost[name]);
  const label = "Expected cost of a document by the score from which on it is called positive";
  // Of one threshold alone there is no stretch to draw.
  const x = xs.length > 1 ? [xs[0], xs[xs.length - 1]] : rangeOf(topic);
  const chart = new Chart({ width, x, y: [0, limit], xLabel: "call positive from this score on", yLabel: "expected cost", label });
  drawByThreshold(chart, topic, xs, values, "posterior");
  chart.vertical(decision.threshold, "threshold");
  const legend = [["line posterior", "expected cost"], ["line threshold", "threshold of least cost"]];
  if (topic.lower) legend.splice(1, 0, ["band posterior", `${percent()} band`]);
  const names = ["mean", "lower", "upper"];
  const columns = [column("threshold", xs), ...names.map((name) => column(name === "mean" ? "expected cost" : name, values(name)))];
  const note = "Cost per document of calling everything from a score on positive, where it is not far above what deciding well costs.";
  return { title: "Expected cost by threshold", chart, legend, note, columns };
}

function selectionFigure(topic, byThreshold, threshold, width) {
  const xs = byThreshold.map((point) => point.x);
  const label = "Precision and recall by the score from which on documents are called positive";
  const chart = new Chart({
    width, x: rangeOf(topic), y: [0, 1], xLabel: "call positive from this score on", yLabel: "share", label,
  });
  const legend = [];
  const columns = [column("threshold", xs)];
  for (const name of ["precision", "recall"]) {
    const values = (of) => byThreshold.map((point) => point[name][of]);
    drawByThreshold(chart, topic, xs, values, name);
    legend.push([`line ${name}`, name]);
    columns.push(column(name, values("mean")));
    if (topic.lower) columns.push(column(`${name}, lower`, values("lower")), column(`${name}, upper`, values("upper")));
  }
  chart.vertical(threshold, "threshold");
  legend.push(["line threshold", "threshold of your own"]);
  if (topic.lower) legend.splice(2, 0, ["band precision", `${percent()} band of precision`], ["band recall", `${percent()} band of recall`]);
  const note = "Precision: share of positives among the documents called positive. Recall: share of all positives among them.";
  return { title: "Precision and recall by threshold", chart, legend, note, columns };
}
