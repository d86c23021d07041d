// What costs and prior make of a topic: threshold, rates of errors, expected cost, with bands.
//
// A document is called positive where P(+|s) > cFp/(cFp + cFn), that is log-odds > log(cFp/cFn).
// With share f_j of the documents at score x_j and P_k(x_j) of posterior draw k,
//   FPR_k  = sum f_j a_j (1 - P_k) / sum f_j (1 - P_k)       a_j: called positive, 0 to 1
//   miss_k = sum f_j (1 - a_j) P_k / sum f_j P_k
//   cost_k = (1 - pi) cFp FPR_k + pi cFn miss_k              per document
// and pi is the prior asked for, or sum f_j P_k where it is the one fitted.

// Log-odds of the point estimate at the nodes; `prior` null for the one fitted.
function pointAt(topic, prior) {
  if (prior === null) return topic.point;
  const z = logit(prior);
  const grid = DATA.priors;
  const step = grid[1] - grid[0];
  const below = Math.min(Math.max(Math.floor((z - grid[0]) / step), 0), grid.length - 2);
  const share = (z - grid[below]) / step;
  const { columns, at } = (topic.read.shifted ??= unpack(topic.shifted));
  return topic.x.map((_, j) => {
    const [low, high] = [at[below * columns + j], at[(below + 1) * columns + j]];
    return z + low + share * (high - low);
  });
}

// What each draw's log-odds gain from another prior.
const shiftsOf = (topic, prior) =>
  topic.read.prior.map((own) => (prior === null ? 0 : logit(prior) - own));

// The share of a stretch, on which log-odds go straight from a to b, that lies above a threshold.
function shareAbove(a, b, threshold) {
  if (a > threshold && b > threshold) return 1;
  if (a <= threshold && b <= threshold) return 0;
  const above = Math.max(a, b) - threshold;
  return above / Math.abs(b - a);
}

// The share called positive of the documents at each node: of the half stretches on either side.
function calledPositive(curve, threshold) {
  const last = curve.length - 1;
  return curve.map((own, j) => {
    const sides = [];
    if (j > 0) sides.push(shareAbove((curve[j - 1] + own) / 2, own, threshold));
    if (j < last) sides.push(shareAbove(own, (own + curve[j + 1]) / 2, threshold));
    return mean(sides);
  });
}

// Where a curve is above the threshold, as [from, to] in scores; infinite at the ends.
function regionsAbove(x, curve, threshold) {
  const regions = [];
  let from = curve[0] > threshold ? -Infinity : null;
  for (let j = 1; j < x.length; j++) {
    const before = curve[j - 1], now = curve[j];
    if (before > threshold === now > threshold) continue;
    const at = x[j - 1] + ((threshold - before) / (now - before)) * (x[j] - x[j - 1]);
    if (from === null) from = at;
    else {
      regions.push([from, at]);
      from = null;
    }
  }
  if (from !== null) regions.push([from, Infinity]);
  return regions;
}

// The lower end of the region that holds the most documents; where there is none, beyond all.
function mainThreshold(topic, regions) {
  const held = ([from, to]) =>
    topic.x.reduce((sum, x, j) => (x > from && x < to ? sum + topic.share[j] : sum), 0);
  let best = Infinity, most = -1;
  for (const region of regions) {
    const share = held(region);
    if (share > most) [best, most] = [region[0], share];
  }
  return best;
}

function summary(values) {
  const sorted = Float64Array.from(values).sort();
  const tail = (1 - DATA.level) / 2;
  return { mean: mean(sorted), lower: quantile(sorted, tail), upper: quantile(sorted, 1 - tail) };
}

// Rates of errors and cost of each draw for documents called positive by shares `called`.
function errorsOf(topic, called, { falsePositive, falseNegative, prior }) {
  const { rows, columns, probability } = drawsOf(topic);
  const out = { falsePositives: [], misses: [], cost: [] };
  for (let k = 0; k < rows; k++) {
    let negatives = 0, positives = 0, wrong = 0, missed = 0;
    for (let j = 0; j < columns; j++) {
      const p = topic.share[j] * probability[k * columns + j];
      const q = topic.share[j] - p;
      positives += p;
      negatives += q;
      wrong += called[j] * q;
      missed += (1 - called[j]) * p;
    }
    const pi = prior === null ? positives / (positives + negatives) : prior;
    const rates = [wrong / Math.max(negatives, 1e-300), missed / Math.max(positives, 1e-300)];
    out.falsePositives.push(rates[0]);
    out.misses.push(rates[1]);
    out.cost.push((1 - pi) * falsePositive * rates[0] + pi * falseNegative * rates[1]);
  }
  return out;
}

// The best decisions of a topic: regions called positive, and what they cost.
function decide(topic, costs) {
  drawsOf(topic);
  const threshold = Math.log(costs.falsePositive / costs.falseNegative);
  const curve = pointAt(topic, costs.prior);
  const regions = regionsAbove(topic.x, curve, threshold);
  const errors = errorsOf(topic, calledPositive(curve, threshold), costs);
  return {
    probability: expit(threshold),
    regions,
    threshold: mainThreshold(topic, regions),
    thresholds: thresholdsOfDraws(topic, threshold, costs.prior),
    cost: summary(errors.cost),
    falsePositives: summary(errors.falsePositives),
    misses: summary(errors.misses),
  };
}

function thresholdsOfDraws(topic, threshold, prior) {
  const { rows, columns, at } = drawsOf(topic);
  const shift = shiftsOf(topic, prior);
  const found = [];
  for (let k = 0; k < rows; k++) {
    const curve = at.subarray(k * columns, (k + 1) * columns);
    found.push(mainThreshold(topic, regionsAbove(topic.x, curve, threshold - shift[k])));
  }
  return summary(found);
}

// What calling everything above a score positive costs, between neighbouring nodes and at the ends.
function costCurve(topic, costs) {
  const n = topic.x.length;
  const out = [];
  for (let i = 0; i <= n; i++) {
    const called = topic.x.map((_, j) => (j >= i ? 1 : 0));
    const x = i === 0 ? topic.x[0] : i === n ? topic.x[n - 1] : (topic.x[i - 1] + topic.x[i]) / 2;
    out.push({ x, ...summary(errorsOf(topic, called, costs).cost) });
  }
  return out;
}
