"""Read the marks of a figure in a browser, and compare them with expected ones."""

import re

import numpy as np

from tests.report_data import as_number

READ = """async () => {
  const drawn = [...document.querySelectorAll("figure")].filter((each) => each.checkVisibility());
  for (const each of drawn) each.querySelector("details").open = true;
  await new Promise((done) => setTimeout(done, 50));
  const texts = (within, where) =>
    [...within.querySelectorAll(where)].map((each) => each.textContent);
  const attributes = (each) =>
    Object.fromEntries([...each.attributes].map(({ name, value }) => [name, value]));
  return drawn.map((figure) => {
    const chart = figure.querySelector("svg.chart"), axis = chart.querySelector("g.axis");
    return {
      title: figure.querySelector("h3").textContent,
      label: chart.getAttribute("aria-label"),
      note: figure.querySelector(".note").textContent,
      frame: attributes(chart.querySelector("clipPath rect")),
      axis: [...axis.children].map((each) => [each.tagName, attributes(each), each.textContent]),
      marks: [...chart.lastElementChild.children].map((each) => [each.tagName, attributes(each)]),
      legend: [...figure.querySelectorAll("ul.legend li")].map((each) =>
        [each.querySelector("svg").firstElementChild.getAttribute("class"), each.textContent]),
      heads: texts(figure, "thead th"),
      rows: [...figure.querySelectorAll("tbody tr")].map((row) => texts(row, "td")),
    };
  });
}"""


class Drawn:
    """A figure that a browser has drawn, with the scales that the marks of its axes imply."""

    def __init__(self, found, names=()):
        self.found, self.named = found, bool(names)
        places = {name: k + 1 for k, name in enumerate(names)}
        texts = [(at, text) for tag, at, text in found["axis"] if tag == "text"]
        self.labels = [text for at, text in texts if at.get("class") == "label"]
        ticks = {"middle": [], "end": []}
        for at, text in texts:
            if at.get("class") != "label":
                place = float(at["x"]) if at["text-anchor"] == "middle" else float(at["y"]) - 4.0
                value = places[text] if text in places else as_number(text)
                ticks[at["text-anchor"]].append((value, place))
        self.ticks = np.array(ticks["middle"]), np.array(ticks["end"])
        self.x, self.y = (np.poly1d(np.polyfit(*each.T, 1)) for each in self.ticks)
        left, top, width, height = (float(found["frame"][k]) for k in ("x", "y", "width", "height"))
        self.ends = [left, left + width], [top + height, top]

    def check(self, expected):
        """Compare marks, to a twentieth of a point, and the table, to four digits."""
        assert self.found["title"] == expected.title
        assert self.labels == list(expected.labels)
        self._check_axes(expected.ranges)
        marks = self._without_ends(list(self.found["marks"]), expected)
        assert [_name(mark) for mark in marks] == [each[0] for each in expected.marks]
        self._check_height(expected)
        for drawn, (name, *data) in zip(marks, expected.marks, strict=True):
            placed = self._placed(name, *data)
            np.testing.assert_allclose(_places(drawn), placed, atol=0.05, err_msg=name)
        assert self.found["legend"] == [list(each) for each in expected.legend]
        assert self.found["heads"] == list(expected.columns)
        for k, values in enumerate(expected.columns.values()):
            cells = [row[k] for row in self.found["rows"]]
            assert len(cells) == len(values)
            for cell, value in zip(cells, values, strict=True):
                _check_cell(cell, value)

    def _without_ends(self, marks, expected):
        """Check marks that are placed by the frame, and return the others."""
        (left, right), (bottom, top) = self.ends
        if expected.diagonal:
            tag, at = marks.pop(0)
            assert (tag, at["class"]) == ("path", "line diagonal")
            x, y = _places((tag, at)).reshape(2, 2)
            both = (x - self.x[0]) / self.x[1]
            np.testing.assert_allclose(y, self.y(both), atol=0.05)
            # It goes from one side of the frame to another.
            inner = [max(left, self.x((bottom - self.y[0]) / self.y[1])),
                     min(right, self.x((top - self.y[0]) / self.y[1]))]  # fmt: skip
            np.testing.assert_allclose(x, inner, atol=0.05)
        if expected.vertical is not None:
            (one,) = (mark for mark in marks if mark[0] == "line" and "threshold" in _name(mark))
            marks.remove(one)
            place = [self.x(expected.vertical), bottom, top]
            np.testing.assert_allclose(_places(one), place, atol=0.05)
        ticks = [mark for mark in marks if mark[0] == "line" and _name(mark) == "line empirical"]
        if expected.fringe:
            given = [(self.x(x), side) for side, xs in expected.fringe.items() for x in xs]
            for mark, (x, side) in zip(ticks, given, strict=True):
                marks.remove(mark)
                place, *ends = _places(mark)
                assert abs(place - x) < 0.02
                edge = {"top": top, "bottom": bottom}[side]
                near, far = sorted(abs(np.array(ends) - edge))
                assert near < 0.02
                assert 2.0 < far < 0.1 * (bottom - top)
        return marks

    def _check_height(self, expected):
        """Check that an axis of no given range has room for its marks, and little more above."""
        if expected.ranges[1] is None:
            # Maximum likelihood and single draws may be cut off.
            kept = [each for each in expected.marks if not re.search("mle|draw", each[0])]
            heights = [each[3:] if each[0].startswith("bar") else each[2:] for each in kept]
            drawn = np.concatenate([np.ravel(np.array(each, float)) for each in heights])
            low, high = (np.array(self.ends[1]) - self.y[0]) / self.y[1]
            assert low + 0.7 * (high - low) < np.nanmax(drawn) < high + 1e-6
            assert not expected.whole or low < np.nanmin(drawn) < low + 0.3 * (high - low)

    def _check_axes(self, ranges):
        for scale, ticks, ends, wanted in zip(
            (self.x, self.y), self.ticks, self.ends, ranges, strict=True
        ):
            np.testing.assert_allclose(scale(ticks[:, 0]), ticks[:, 1], atol=0.02)
            if wanted is not None:
                np.testing.assert_allclose(scale(wanted), ends, atol=0.05)
            low, high = sorted(ends)
            assert ((low - 0.02 <= ticks[:, 1]) & (ticks[:, 1] <= high + 0.02)).all()
            if not self.named:
                # Round numbers at even steps, all of those that the axis has room for.
                steps = np.diff(ticks[:, 0])
                np.testing.assert_allclose(steps, steps[0])
                assert f"{steps[0]:.0e}"[0] in "125"
                gaps = [ticks[:, 1].min() - low, high - ticks[:, 1].max()]
                assert max(gaps) < 0.999 * abs(np.diff(ticks[:2, 1])[0])
        # A line of the grid at each mark of y, and a tick at each of x.
        lines = [each for tag, each, _ in self.found["axis"] if tag == "line"]
        for kind, key, ticks in (("grid", "y1", self.ticks[1]), ("tick", "x1", self.ticks[0])):
            places = [float(each[key]) for each in lines if each["class"] == kind]
            np.testing.assert_allclose(places, ticks[:, 1], atol=1e-9)
            other = {"y1": "y2", "x1": "x2"}[key]
            assert all(each[key] == each[other] for each in lines if each["class"] == kind)

    def _placed(self, name, x, *ys):
        if name.startswith("bar"):
            left, right, base, top = self.x(x), self.x(ys[0]), self.y(0.0), self.y(ys[1])
            return np.array([left, max(right - left - 0.5, 0.5), top, base - top])
        x = np.atleast_1d(np.asarray(x, float))
        ys = [np.atleast_1d(np.asarray(y, float)) for y in ys]
        if name.startswith("band"):
            x, ys = np.concatenate([x, x[::-1]]), [np.concatenate([ys[0], ys[1][::-1]])]
        elif name.startswith("line") and len(ys) == 1:
            x, ys = x[np.isfinite(ys[0])], [ys[0][np.isfinite(ys[0])]]
        return np.concatenate([self.x(x), *(self.y(self._kept(y)) for y in ys)])

    def _kept(self, y):
        """Marks far outside stand one height of the figure outside, where they are clipped."""
        low, high = (self.ends[1] - self.y[0]) / self.y[1]
        return np.clip(y, 2.0 * low - high, 2.0 * high - low)


class Expected:
    """A figure as a page's numbers have it: marks in data units, and the columns of its table."""

    def __init__(self, title, labels, ranges=(None, None)):
        self.title, self.labels, self.ranges = title, labels, ranges
        self.marks, self.legend, self.columns = [], [], {}
        # Marks at the ends of an axis: a diagonal, a vertical line, ticks for single documents.
        self.diagonal, self.vertical, self.fringe = False, None, {}
        self.whole = False  # whether the axis of y ends close below the lowest mark

    def line(self, kind, x, y):
        self.marks.append((f"line {kind}", x, np.asarray(y, float)))

    def band(self, kind, x, upper, lower):
        self.marks.append((f"band {kind}", x, upper, lower))

    def dots(self, kind, x, y):
        self.marks += [(f"dot {kind}", *each) for each in zip(x, y, strict=True)]

    def whiskers(self, kind, x, lower, upper):
        self.marks += [(f"line {kind}", *each) for each in zip(x, lower, upper, strict=True)]

    def bars(self, kind, left, right, heights):
        self.marks += [
            (f"bar {kind}", *each) for each in zip(left, right, heights, strict=True) if each[2] > 0
        ]


def _name(mark):
    return mark[1]["class"]


def _places(mark):
    tag, at = mark
    if tag == "path":
        return np.array(re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", at["d"]), float).T.ravel()
    keys = {
        "circle": ("cx", "cy"),
        "line": ("x1", "y1", "y2"),
        "rect": ("x", "width", "y", "height"),
    }
    return np.array([float(at[key]) for key in keys[tag]])


def _check_cell(cell, value):
    if isinstance(value, str):
        assert cell == value
    elif value is None or np.isnan(value):
        assert cell == "\N{EN DASH}"
    else:
        np.testing.assert_allclose(as_number(cell), value, rtol=6e-4, atol=1e-300)
