// Drawing: scales, axes, lines and bands as SVG, whose colours are classes of the style sheet.

const SVG = "http://www.w3.org/2000/svg";
const MARGIN = { top: 12, right: 14, bottom: 44, left: 64 };

function svgElement(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

const byId = (id) => document.getElementById(id);

const round = (value) => Math.round(value * 100) / 100;

// Round numbers from low to high, about as many as asked for.
function ticks(low, high, count) {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const off = (step) => Math.abs(Math.log(step / rough));
  const step = [1, 2, 5, 10].map((each) => each * power).reduce((a, b) => (off(b) < off(a) ? b : a));
  const out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) {
    out.push(Number((k * step).toPrecision(10)));
  }
  return out;
}

// Where an axis of shares ends: at 0 and 1, or nearer if they fill it badly.
function axisOfShares(...parts) {
  const values = parts.flatMap((part) => part ?? []);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low > 0.6 || high === low) return [-0.03, 1.03];
  const margin = 0.06 * (high - low);
  return [low - margin, high + margin];
}

// A chart with axes; x and y are given as [low, high], the marks of x, if not at round numbers, as
// [value, text], and its scale, if not linear, as a function.
class Chart {
  constructor({ width, height = 260, x, y, xTicks, xScale = (value) => value, xLabel, yLabel, label }) {
    Object.assign(this, { width, height, xRange: x, yRange: y, xTicks, xScale });
    this.id = `clip-${Chart.count++}`;
    this.right = width - MARGIN.right;
    this.bottom = height - MARGIN.bottom;
    this.root = svgElement("svg", {
      viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label, class: "chart",
    });
    const clip = svgElement("clipPath", { id: this.id }, svgElement("rect", {
      x: MARGIN.left, y: MARGIN.top,
      width: this.right - MARGIN.left, height: this.bottom - MARGIN.top,
    }));
    this.plot = svgElement("g", { "clip-path": `url(#${this.id})` });
    this.root.append(svgElement("defs", {}, clip));
    this.#axes(xLabel, yLabel);
    this.root.append(this.plot);
  }

  static count = 0;

  x(value) {
    const [low, high, at] = [...this.xRange, value].map(this.xScale);
    return MARGIN.left + ((at - low) / (high - low)) * (this.right - MARGIN.left);
  }

  y(value) {
    const [low, high] = this.yRange;
    const far = high - low;
    const inside = Math.min(Math.max(value, low - far), high + far);
    return this.bottom - ((inside - low) / far) * (this.bottom - MARGIN.top);
  }

  #axes(xLabel, yLabel) {
    const grid = svgElement("g", { class: "axis" });
    for (const value of ticks(...this.yRange, 5)) {
      const y = round(this.y(value));
      grid.append(
        svgElement("line", { x1: MARGIN.left, x2: this.right, y1: y, y2: y, class: "grid" }),
        svgElement("text", { x: MARGIN.left - 8, y: y + 4, "text-anchor": "end" }, tickText(value)),
      );
    }
    const marks = this.xTicks ?? ticks(...this.xRange, Math.max(3, Math.round(this.width / 90)))
      .map((value) => [value, tickText(value)]);
    for (const [value, text] of marks) {
      const x = round(this.x(value));
      grid.append(
        svgElement("line", { x1: x, x2: x, y1: this.bottom, y2: this.bottom + 5, class: "tick" }),
        svgElement("text", { x, y: this.bottom + 18, "text-anchor": "middle" }, text),
      );
    }
    const middle = (MARGIN.left + this.right) / 2;
    const up = (MARGIN.top + this.bottom) / 2;
    grid.append(
      svgElement("line", { x1: MARGIN.left, x2: this.right, y1: this.bottom, y2: this.bottom, class: "base" }),
      svgElement("text", { x: middle, y: this.height - 8, "text-anchor": "middle", class: "label" }, xLabel),
      svgElement("text", { x: -up, y: 14, transform: "rotate(-90)", "text-anchor": "middle", class: "label" }, yLabel),
    );
    this.root.append(grid);
  }

  line(xs, ys, kind) {
    let path = "", pen = "M";
    for (let j = 0; j < xs.length; j++) {
      if (ys[j] === null || Number.isNaN(ys[j])) { pen = "M"; continue; }
      path += `${pen}${round(this.x(xs[j]))} ${round(this.y(ys[j]))}`;
      pen = "L";
    }
    if (path) this.plot.append(svgElement("path", { d: path, class: `line ${kind}` }));
  }

  band(xs, lower, upper, kind) {
    const there = xs.map((x, j) => `${round(this.x(x))} ${round(this.y(upper[j]))}`);
    const back = xs.map((x, j) => `${round(this.x(x))} ${round(this.y(lower[j]))}`).reverse();
    this.plot.append(svgElement("path", { d: `M${there.concat(back).join("L")}Z`, class: `band ${kind}` }));
  }

  bar(from, to, height, kind) {
    const [left, right, top] = [this.x(from), this.x(to), this.y(height)];
    this.plot.append(svgElement("rect", {
      x: round(left), y: round(top), class: `bar ${kind}`,
      width: round(Math.max(right - left - 0.5, 0.5)), height: round(Math.max(this.y(0) - top, 0)),
    }));
  }

  dot(x, y, kind, radius = 3.5) {
    this.plot.append(svgElement("circle", { cx: round(this.x(x)), cy: round(this.y(y)), r: radius, class: `dot ${kind}` }));
  }

  whisker(x, lower, upper, kind) {
    const at = round(this.x(x));
    this.plot.append(svgElement("line", { x1: at, x2: at, y1: round(this.y(lower)), y2: round(this.y(upper)), class: `line ${kind}` }));
  }

  // Where y equals x, as far as both axes show it: `y` bounds what lies beyond them, which would bend it.
  diagonal() {
    const low = Math.max(this.xRange[0], this.yRange[0]), high = Math.min(this.xRange[1], this.yRange[1]);
    if (low < high) this.line([low, high], [low, high], "diagonal");
  }

  vertical(x, kind) {
    if (Number.isFinite(x)) this.whisker(x, this.yRange[0], this.yRange[1], kind);
  }
}

function tickText(value) {
  const text = Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3)
    ? value.toExponential(0) : String(value);
  return text.replace("e+", "e").replaceAll("-", "−");
}
