// What costs, base rate and thresholds make of a topic: rates of errors, precision, recall, expected
// cost, with bands.
//
// A document is called positive where P(+|s) > cFp/(cFp + cFn), that is log-odds > log(cFp/cFn).
// With share f_j of the documents at score x_j, those fitted spread out a little (`smooth`) so that
// curves have no step at each of them, and P_k(x_j) of posterior draw k,
//   FPR_k  = sum f_j a_j (1 - P_k) / sum f_j (1 - P_k)       a_j: called positive, 0 to 1
//   miss_k = sum f_j (1 - a_j) P_k / sum f_j P_k
//   recall_k = 1 - miss_k
//   taken_k = pi recall_k + (1 - pi) FPR_k                   share called positive
//   precision_k = pi recall_k / taken_k
//   cost_k = (1 - pi) cFp FPR_k + pi cFn miss_k              per document
// and pi is the base rate asked for, or sum f_j P_k where it is the one fitted.

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
    topic.x.reduce((sum, x, j) => (x > from && x < to ? sum + topic.smooth[j] : sum), 0);
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

// Numbers of each draw for documents called positive: of the negatives called so (wrong) and of the
// positives not (missed), of so many of each.
class RatesByDraw {
  constructor({ falsePositive, falseNegative, prior }) {
    Object.assign(this, { falsePositive, falseNegative, prior });
    for (const name of ["falsePositives", "misses", "recall", "taken", "precision", "cost"]) this[name] = [];
  }

  add(wrong, missed, negatives, positives) {
    const pi = this.prior === null ? positives / (positives + negatives) : this.prior;
    const fpr = wrong / Math.max(negatives, 1e-300), miss = missed / Math.max(positives, 1e-300);
    const right = pi * (1 - miss), taken = right + (1 - pi) * fpr;
    this.falsePositives.push(fpr);
    this.misses.push(miss);
    this.recall.push(1 - miss);
    this.taken.push(taken);
    this.precision.push(taken > 0 ? right / taken : NaN);
    this.cost.push((1 - pi) * this.falsePositive * fpr + pi * this.falseNegative * miss);
  }
}

// The outcomes of documents called positive by shares `called` at the nodes.
function outcomesOf(topic, called, costs) {
  const { rows, columns, probability } = drawsOf(topic);
  const out = new RatesByDraw(costs);
  for (let k = 0; k < rows; k++) {
    let negatives = 0, positives = 0, wrong = 0, missed = 0;
    for (let j = 0; j < columns; j++) {
      const p = topic.smooth[j] * probability[k * columns + j];
      const q = topic.smooth[j] - p;
      positives += p;
      negatives += q;
      wrong += called[j] * q;
      missed += (1 - called[j]) * p;
    }
    out.add(wrong, missed, negatives, positives);
  }
  return out;
}

// What calling everything from a score on positive comes to.
function outcomesAt(topic, score, costs) {
  return outcomesOf(topic, calledPositive(topic.x, score), costs);
}

// The highest score from which on a share of the positives is found: by the mean over draws, and by
// each draw.
function thresholdForRecall(topic, wanted, costs) {
  const cuts = [];
  const { rows, columns, probability } = drawsOf(topic);
  for (let k = 0; k < rows; k++) {
    const weights = topic.smooth.map((share, j) => share * probability[k * columns + j]);
    cuts.push(cutFromAbove(topic.x, weights, wanted));
  }
  const { lower, upper } = summary(cuts);
  let [low, high] = [topic.x[0], topic.x[topic.x.length - 1]];
  for (let step = 0; step < 30; step++) {
    const middle = (low + high) / 2;
    if (mean(outcomesAt(topic, middle, costs).recall) >= wanted) low = middle;
    else high = middle;
  }
  return { threshold: low, lower, upper };
}

// The score above which a share of the weight lies; a node's weight lies evenly on the half stretches
// on its two sides, as `calledPositive` has it.
function cutFromAbove(x, weights, wanted) {
  const last = x.length - 1;
  let left = wanted * weights.reduce((sum, weight) => sum + weight, 0);
  for (let j = last; j >= 0; j--) {
    const middle = (step) => (x[j] + x[j + step]) / 2;
    const stretches = [];
    if (j < last) stretches.push([x[j], middle(1)]);
    if (j > 0) stretches.push([middle(-1), x[j]]);
    for (const [from, to] of stretches) {
      const weight = weights[j] / stretches.length;
      if (weight >= left) return to - (weight > 0 ? left / weight : 0) * (to - from);
      left -= weight;
    }
  }
  return x[0];
}

// The best decisions of a topic: regions called positive, and what they cost.
function decide(topic, costs) {
  drawsOf(topic);
  const threshold = Math.log(costs.falsePositive / costs.falseNegative);
  const curve = pointAt(topic, costs.prior);
  const regions = regionsAbove(topic.x, curve, threshold);
  const errors = outcomesOf(topic, calledPositive(curve, threshold), costs);
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
  const thresholds = [];
  for (let k = 0; k < rows; k++) {
    const curve = at.subarray(k * columns, (k + 1) * columns);
    thresholds.push(mainThreshold(topic, regionsAbove(topic.x, curve, threshold - shift[k])));
  }
  return summary(thresholds);
}

// The outcomes of calling everything above a score positive, between neighbouring nodes.
function outcomesByThreshold(topic, costs) {
  const { rows, columns, probability } = drawsOf(topic);
  const by = Array.from({ length: columns - 1 }, () => new RatesByDraw(costs));
  for (let k = 0; k < rows; k++) {
    const p = topic.smooth.map((share, j) => share * probability[k * columns + j]);
    const q = topic.smooth.map((share, j) => share - p[j]);
    const positives = p.reduce((a, b) => a + b, 0), negatives = q.reduce((a, b) => a + b, 0);
    let wrong = negatives, missed = 0;
    for (let j = 0; j + 1 < columns; j++) {
      wrong -= q[j];
      missed += p[j];
      by[j].add(wrong, missed, negatives, positives);
    }
  }
  return by.map((outcomes, j) => ({
    x: (topic.x[j] + topic.x[j + 1]) / 2,
    cost: summary(outcomes.cost),
    precision: summary(outcomes.precision),
    recall: summary(outcomes.recall),
  }));
}

// The stretch of thresholds around the best one whose cost stays below a limit, with its band.
function stretchBelow(points, limit) {
  const best = points.reduce((a, point, j) => (point.cost.mean < points[a].cost.mean ? j : a), 0);
  let from = best, to = best;
  while (from > 0 && points[from - 1].cost.upper <= limit) from--;
  while (to + 1 < points.length && points[to + 1].cost.upper <= limit) to++;
  return points.slice(from, to + 1);
}
