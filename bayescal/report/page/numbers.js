// Numbers: how they are shown, and how the page's data are read.

const DATA = JSON.parse(document.getElementById("data").textContent);

const expit = (z) => 1 / (1 + Math.exp(-z));
const logit = (p) => Math.log(p / (1 - p));

function format(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1e6 || size < 1e-4
      ? value.toExponential(digits - 1)
      : Number.isInteger(value) || size >= 10 ** digits
        ? Math.round(value).toLocaleString("en")
        : value.toPrecision(digits);
  return text.replace("e+", "e").replaceAll("-", "−");
}

// A share in per cent, with more digits close to 0 and to 1.
function formatShare(value) {
  if (value === null || Number.isNaN(value)) return "–";
  const end = 100 * Math.min(Math.abs(value), Math.abs(1 - value));
  const digits = end >= 9.5 || end === 0 ? 0 : end >= 0.95 ? 1 : 2;
  return `${(100 * value).toFixed(digits)} %`.replaceAll("-", "−");
}

// The quantile of sorted numbers as numpy's default gives it, but infinite where numpy has nan.
function quantile(sorted, level) {
  const at = level * (sorted.length - 1);
  const below = Math.floor(at), share = at - below;
  const low = sorted[below];
  if (share === 0 || low === -Infinity) return low;
  const high = sorted[below + 1];
  return low === high ? low : low + share * (high - low);
}

function mean(values) {
  let sum = 0;
  for (const value of values) sum += value;
  return sum / values.length;
}

// What `packed` in rendering.py made: a byte a number between low and high, of each column or of all.
function unpack({ columns, low, high, bytes }) {
  const text = atob(bytes);
  const out = new Float64Array(text.length);
  for (let i = 0; i < out.length; i++) {
    const j = low.length === 1 ? 0 : i % columns;
    out[i] = low[j] + ((high[j] - low[j]) * text.charCodeAt(i)) / 255;
  }
  return { rows: text.length / columns, columns, at: out };
}

// Draws of log-odds and of the prior behind them, unpacked once a topic.
function drawsOf(topic) {
  if (!topic.read) {
    const draws = unpack(topic.draws);
    const prior = unpack(topic.prior).at;
    topic.read = { ...draws, prior, probability: draws.at.map(expit) };
  }
  return topic.read;
}

// Points between points, on a curve without corners that rises and falls where these do: cubic pieces
// with slopes of F. N. Fritsch and R. E. Carlson, Monotone piecewise cubic interpolation, SIAM Journal
// on Numerical Analysis 1980, in the form of F. N. Fritsch and J. Butland 1984.
function withoutCorners(xs, ys, pieces = 6) {
  const last = xs.length - 1;
  if (last < 2) return { xs, ys };
  const steps = xs.slice(1).map((x, j) => x - xs[j]);
  const slopes = steps.map((step, j) => (ys[j + 1] - ys[j]) / step);
  const tangents = xs.map((_, j) => {
    if (j === 0 || j === last) return slopes[j === 0 ? 0 : last - 1];
    const [before, after] = [slopes[j - 1], slopes[j]];
    if (before * after <= 0) return 0;
    const [a, b] = [2 * steps[j] + steps[j - 1], steps[j] + 2 * steps[j - 1]];
    return (a + b) / (a / before + b / after);
  });
  const out = { xs: [xs[0]], ys: [ys[0]] };
  steps.forEach((step, j) => {
    for (let k = 1; k <= pieces; k++) {
      const t = k / pieces, u = 1 - t;
      out.xs.push(xs[j] + t * step);
      out.ys.push(u * u * (1 + 2 * t) * ys[j] + t * t * (1 + 2 * u) * ys[j + 1]
        + step * t * u * (u * tangents[j] - t * tangents[j + 1]));
    }
  });
  return out;
}
