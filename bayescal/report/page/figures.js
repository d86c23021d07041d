// The figures of a topic: each returns a chart, its legend, a sentence, and its numbers as a table.

const percent = () => `${format(100 * DATA.level)} %`;
const NEGATIVE = () => `class ${DATA.classes[0]}`;
const POSITIVE = () => `class ${DATA.classes[1]}`;
const rangeOf = (topic) => [topic.x[0], topic.x[topic.x.length - 1]];
const column = (name, values) => ({ name, values });

// From columns by name to one object a row.
function rowsOf(columns) {
  const names = Object.keys(columns);
  return (columns[names[0]] ?? []).map((_, i) =>
    Object.fromEntries(names.map((name) => [name, columns[name][i]])));
}

function densitiesFigure(topic, width) {
  const found = topic.densities, bars = topic.histogram;
  const heights = bars ? densityOfBars(bars) : [[], []];
  const tops = [...heights.flat()];
  for (const curves of [found?.predictive, found?.mle]) if (curves) tops.push(...cap(curves));
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
    if (found?.draws) {
      const draws = unpack(found.draws[k]);
      for (let i = 0; i < draws.rows; i++) {
        chart.line(topic.x, draws.at.subarray(i * draws.columns, (i + 1) * draws.columns), `draw ${kind}`);
      }
    }
    if (found?.mle) {
      chart.line(topic.x, found.mle[k], `mle ${kind}`);
      columns.push(column(`${name}, maximum likelihood`, found.mle[k]));
    }
    if (found?.predictive) {
      const mode = found.predictive[k].indexOf(Math.max(...found.predictive[k]));
      chart.line(topic.x, found.predictive[k], `posterior ${kind}`);
      chart.dot(topic.x[mode], found.predictive[k][mode], `mode ${kind}`, 4);
      legend.push([`line posterior ${kind}`, `density of ${name}`]);
      columns.push(column(`${name}, posterior predictive`, found.predictive[k]));
    }
  });
  if (found?.draws) legend.push(["line draw positive", "posterior draws"]);
  if (found?.mle) legend.push(["line mle positive", "maximum likelihood"]);
  const note = !found
    ? "This model has no class densities: histograms alone."
    : bars
      ? "Posterior predictive densities over histograms of the scores fitted; dots mark their modes."
      : "The scores fitted were not given with the calibrator: densities without histograms.";
  return { title: "Class densities", chart, legend, note, columns };
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
  shown.push(...(topic.bins?.y ?? []));
  const sorted = shown.filter((v) => v !== null).sort((a, b) => a - b);
  const y = [Math.max(sorted[0], -16) - 0.5, Math.min(sorted[sorted.length - 1], 16) + 0.5];
  const label = "Calibrated log-odds by score";
  const chart = new Chart({ width, x: rangeOf(topic), y, xLabel: DATA.axis, yLabel: "log-odds (natural)", label });
  const legend = curves(chart, topic, (value) => value);
  for (const bin of rowsOf(topic.bins ?? {})) {
    chart.whisker(bin.x, bin.lower, bin.upper, "empirical");
    chart.dot(bin.x, bin.y, "empirical");
  }
  if (topic.bins) legend.push(["dot empirical", `documents in bins, ${percent()} interval`]);
  const note = topic.bins
    ? "Dots: log((positives + ½)/(negatives + ½)) of the scores fitted, in bins."
    : "Log-odds that the document is positive.";
  return { title: "Log-odds", chart, legend, note, columns: curveColumns(topic, (v) => v, "log-odds") };
}

function probabilityFigure(topic, width) {
  const label = `Probability of ${POSITIVE()} by score`;
  const chart = new Chart({
    width, x: rangeOf(topic), y: [0, 1], xLabel: DATA.axis, yLabel: `P(${DATA.classes[1]} | score)`, label,
  });
  const legend = curves(chart, topic, expit);
  const note = topic.lower
    ? `At each score the probability lies in the band with posterior probability ${percent()}.`
    : "There is no posterior, and so no band.";
  return { title: "Probability", chart, legend, note, columns: curveColumns(topic, expit, "probability") };
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
  const chart = new Chart({
    width, x: [0, 1], y: [0, 1], xLabel: "predicted probability", yLabel: "share of positives", label,
  });
  chart.line([0, 1], [0, 1], "diagonal");
  for (const bin of rowsOf(test.point.bins)) chart.whisker(bin.predicted, bin.lower, bin.upper, "consistency");
  if (test.mle) {
    for (const bin of rowsOf(test.mle.bins)) chart.dot(bin.predicted, bin.observed, "mle", 3);
  }
  for (const bin of rowsOf(test.point.bins)) chart.dot(bin.predicted, bin.observed, "posterior");
  const legend = [
    ["dot posterior", "posterior"],
    ["line consistency", `where a right forecast falls, ${percent()}`],
  ];
  if (test.mle) legend.splice(1, 0, ["dot mle", "maximum likelihood"]);
  const { n, positives, expected, log_loss: loss, brier } = test.point;
  const beside = test.mle ? ` (maximum likelihood ${format(test.mle.log_loss, 4)} and ${format(test.mle.brier, 4)})` : "";
  const note =
    `${format(n)} held-out documents, ${format(positives)} positive where ${format(expected)} were expected; ` +
    `log-loss ${format(loss, 4)} bits and squared error ${format(brier, 4)} per document${beside}.`;
  const columns = Object.entries(test.point.bins).map(([name, values]) => column(name, values));
  return { title: `Reliability${whose}`, chart, legend, note, columns };
}

function costFigure(topic, costs, decision, width) {
  const points = costCurve(topic, costs);
  const values = (name) => points.map((point) => point[name]);
  // Calling all or nothing positive is the worst that anyone would do: what costs more is cut off.
  const ends = [points[0].upper, points[points.length - 1].upper];
  const top = Math.max(1.5 * Math.min(...ends), 1.2 * decision.cost.upper) || 1;
  const label = "Expected cost of a document by the score above which it is called positive";
  const chart = new Chart({
    width, x: rangeOf(topic), y: [0, top], xLabel: "call positive above this score", yLabel: "expected cost", label,
  });
  if (topic.lower) chart.band(values("x"), values("lower"), values("upper"), "posterior");
  chart.line(values("x"), values("mean"), "posterior");
  chart.vertical(decision.threshold, "threshold");
  const legend = [["line posterior", "expected cost"], ["line threshold", "best threshold"]];
  if (topic.lower) legend.splice(1, 0, ["band posterior", `${percent()} band`]);
  const names = ["x", "mean", "lower", "upper"];
  const shown = ["threshold", "expected cost", "lower", "upper"];
  const columns = names.map((name, k) => column(shown[k], values(name)));
  const note = "Cost per document of calling everything above a score positive.";
  return { title: "Expected cost by threshold", chart, legend, note, columns };
}
