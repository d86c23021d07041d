"""Read the marks of a figure in a browser, and compare them with expected ones."""

import csv
import io
import re

import numpy as np

from tests.report_data import as_number

READ = """async () => {
  const drawn = [...document.querySelectorAll("figure")].filter((each) => each.checkVisibility());
  for (const each of drawn) each.querySelector("details").open = true;
  await new Promise((done) => setTimeout(done, 50));
  const all = (within, where) => [...within.querySelectorAll(where)];
  // A cell or a head: its text, and whether it holds a number.
  const cells = (within, where) =>
    all(within, where).map((each) => [each.textContent, each.className]);
  const attributes = (each) =>
    Object.fromEntries([...each.attributes].map(({ name, value }) => [name, value]));
  return drawn.map((figure) => {
    const chart = figure.querySelector("svg.chart"), axis = chart.querySelector("g.axis");
    return {
      title: figure.querySelector("h3").textContent,
      root: attributes(chart),
      button: figure.querySelector("button").ariaLabel,
      note: figure.querySelector(".note").textContent,
      clip: [`url(#${chart.querySelector("clipPath").id})`,
        chart.lastElementChild.getAttribute("clip-path")],
      frame: attributes(chart.querySelector("clipPath rect")),
      axis: [...axis.children].map((each) => [each.tagName, attributes(each), each.textContent]),
      marks: [...chart.lastElementChild.children].map((each) => [each.tagName, attributes(each)]),
      legend: all(figure, "ul.legend li").map((each) =>
        [each.textContent, each.querySelector("svg").firstElementChild.getAttribute("class")]),
      caption: figure.querySelector("caption").textContent,
      heads: cells(figure, "thead th"),
      rows: all(figure, "tbody tr").map((row) => cells(row, "td")),
    };
  });
}"""
# What buttons would save: name and text of each one's file.
SAVE = """async (buttons) => {
  const [makeUrl, click] = [URL.createObjectURL, HTMLAnchorElement.prototype.click];
  const saved = [];
  URL.createObjectURL = (blob) => { saved.push({ blob }); return "#"; };
  HTMLAnchorElement.prototype.click = function () { saved.at(-1).name = this.download; };
  for (const each of buttons) each.click();
  URL.createObjectURL = makeUrl;
  HTMLAnchorElement.prototype.click = click;
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  return Promise.all(saved.map(async ({ name, blob }) =>
    [name, decoder.decode(await blob.arrayBuffer())]));
}"""
HEIGHT, MARGINS = 260.0, (64.0, 14.0, 12.0, 44.0)  # left, right, top, bottom


def saved(page, buttons):
    """Return the name, the columns and the lines of the file that each button saves."""
    found = []
    for name, text in page.locator(buttons).evaluate_all(SAVE):
        assert text.startswith("\N{ZERO WIDTH NO-BREAK SPACE}")  # of UTF-8, for spreadsheets
        assert text.count("\n") == text.count("\r\n")
        head, *lines = csv.reader(io.StringIO(text[1:]))
        found.append((name, head, lines))
    return found


def file_name(*parts):
    """Return the name of a file of numbers, made of letters and digits."""
    return re.sub(r"[\W_]+", "-", "-".join(filter(None, parts))).strip("-")[:80] + ".csv"


def read(page):
    """Return the marks of all visible figures, and the files of their numbers."""
    found = page.evaluate(READ)
    files = saved(page, "figure:visible button")
    return [{**each, "file": file} for each, file in zip(found, files, strict=True)]


class Drawn:
    """A figure that a browser has drawn, with the scales that the marks of its axes imply."""

    def __init__(self, found, names=()):
        self.found, self.named = found, list(names)
        places = {name: k + 1 for k, name in enumerate(names)}
        texts = [(at, text) for tag, at, text in found["axis"] if tag == "text"]
        self.labels = [text for at, text in texts if at.get("class") == "label"]
        self.texts = [text for _, text in texts]
        ticks = {"middle": [], "end": []}
        for at, text in texts:
            if at.get("class") != "label":
                place = float(at["x"]) if at["text-anchor"] == "middle" else float(at["y"]) - 4.0
                # Long names are cut, and end with an ellipsis.
                cut = text.removesuffix("…") if text.endswith("…") else None
                named = [places[name] for name in names if text == name or
                         (cut and str(name).startswith(cut))]  # fmt: skip
                value = named[0] if named else as_number(text)
                ticks[at["text-anchor"]].append((value, place))
        self.ticks = np.array(ticks["middle"]), np.array(ticks["end"])
        self.x, self.y = (np.poly1d(np.polyfit(*each.T, 1)) for each in self.ticks)
        left, top, width, height = (float(found["frame"][k]) for k in ("x", "y", "width", "height"))
        self.ends = [left, left + width], [top + height, top]
        self.width = float(found["root"]["viewBox"].split()[2])

    def check(self, expected):
        """Compare marks, to a twentieth of a point, and the table, to four digits."""
        assert self.found["title"] == self.found["caption"] == expected.title
        assert self.labels == list(expected.labels)
        assert self.found["root"]["aria-label"].startswith(expected.spoken)
        assert all(phrase in self.found["note"] for phrase in expected.note)
        assert len(set(self.found["clip"])) == 1
        self._check_layout()
        self._check_axes(expected.ranges)
        marks = self._without_ends(list(self.found["marks"]), expected)
        assert [_name(mark) for mark in marks] == [each[0] for each in expected.marks]
        for drawn, (name, *data) in zip(marks, expected.marks, strict=True):
            placed = self._placed(name, *data)
            np.testing.assert_allclose(_places(drawn), placed, atol=0.05, err_msg=name)
        vertical = {expected.vertical[1]: "line threshold"} if expected.vertical else {}
        assert dict(self.found["legend"]) == expected.legend | vertical
        self._check_numbers(expected)

    def _check_numbers(self, expected):
        """Compare the table, to four digits, and the file, to all, with expected numbers."""
        name, head, lines = self.found["file"]
        assert name == file_name(*expected.file)
        assert self.found["button"] == f"Download {name} as CSV"
        assert head == [words for words, _ in self.found["heads"]]
        assert sorted(head) == sorted(expected.columns)
        for k, words in enumerate(head):
            values = expected.columns[words]
            named = any(isinstance(value, str) for value in values)
            assert self.found["heads"][k][1] == ("text" if named else "number")
            for row, line, value in zip(self.found["rows"], lines, values, strict=True):
                _check_cell(*row[k], line[k], value)

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
            place = [self.x(expected.vertical[0]), bottom, top]
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

    def _check_axes(self, ranges):
        for scale, ticks, ends, wanted in zip(
            (self.x, self.y), self.ticks, self.ends, ranges, strict=True
        ):
            np.testing.assert_allclose(scale(ticks[:, 0]), ticks[:, 1], atol=0.02)
            np.testing.assert_allclose(scale(wanted), ends, atol=0.05)
            low, high = sorted(ends)
            assert ((low - 0.02 <= ticks[:, 1]) & (ticks[:, 1] <= high + 0.02)).all()
        for scale, ticks, ends, count in zip(
            (self.x, self.y), self.ticks, self.ends, self._counts(), strict=True
        ):
            if count == 0:  # a mark for each name, the last of which is written out
                np.testing.assert_array_equal(ticks[:, 0], 1 + np.arange(len(self.named)))
                assert self.named[-1] in self.texts
                continue
            low, high = (np.array(ends) - scale[0]) / scale[1]
            step = _round_step((high - low) / count)
            # All multiples of the step within the axis.
            wanted = step * np.arange(np.ceil(low / step - 1e-3), high / step + 1e-3)
            np.testing.assert_allclose(ticks[:, 0], wanted, atol=1e-6 * step)

    def _counts(self):
        """Return about how many marks each axis has room for; 0 where its marks have names."""
        return 0 if self.named else max(3, round(self.width / 90)), 5

    def _check_layout(self):
        (left, right), (bottom, top) = self.ends
        sides = [left, self.width - right, top, HEIGHT - bottom]
        np.testing.assert_allclose(sides, MARGINS)
        root = {"viewBox": f"0 0 {self.width:g} {HEIGHT:g}", "role": "img", "class": "chart"}
        assert root.items() <= self.found["root"].items()
        lines = [at["class"] for tag, at, _ in self.found["axis"] if tag == "line"]
        marks = [len(ticks) for ticks in self.ticks]
        assert lines == ["grid"] * marks[1] + ["tick"] * marks[0] + ["base"]

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
    """A figure as a page's numbers have it: marks in data units, and the columns of its table.

    `file` names the file of its numbers, `spoken` begins what it is called by who reads it aloud,
    and `note` has phrases of the sentence below it. Marks with `words` stand in the legend.
    """

    def __init__(self, title, labels, ranges=None, x=None, *, file=(), spoken="", columns=None):
        self.title, self.labels, self.ranges = title, labels, ranges
        self.file, self.spoken, self.note = file or (title,), spoken or title, ()
        self.marks, self.legend = [], {}
        self.columns = columns or ({} if x is None else {labels[0]: x})
        # Marks at the ends of an axis: a diagonal, a vertical line, ticks for single documents.
        self.diagonal, self.vertical, self.fringe = False, None, {}

    def _add(self, kind, words, marks):
        self.marks += [(kind, *each) for each in marks]
        if words:
            self.legend[words] = " ".join(kind.split()[:-1]) if kind.startswith("dot") else kind

    def line(self, kind, x, y, words="", column=None):
        self._add(f"line {kind}", words, [(x, np.asarray(y, float))])
        self.columns |= {column: y} if column else {}

    def band(self, kind, x, upper, lower, words, column=None):
        self._add(f"band {kind}", words, [(x, upper, lower)])
        if column is not None:
            named = {"lower": lower, "upper": upper}
            self.columns |= {f"{column}, {end}" if column else end: named[end] for end in named}

    def dots(self, kind, x, y, words="", radius=3.5):
        self._add(f"dot {kind} {radius}", words, zip(x, y, strict=True))

    def whiskers(self, kind, x, lower, upper, words=""):
        self._add(f"line {kind}", words, zip(x, lower, upper, strict=True))

    def bins(self, kind, x, y, lower, upper, words="", dotted=None):
        """Draw each dot on its whisker, or a whisker alone."""
        dotted = [True] * len(x) if dotted is None else dotted
        for *each, dot in zip(x, y, lower, upper, dotted, strict=True):
            one = [[number] for number in each]
            self.whiskers(kind, one[0], *one[2:])
            if dot:
                self.dots(kind, *one[:2], words)

    def bars(self, kind, left, right, heights, words):
        bars = zip(left, right, heights, strict=True)
        self._add(f"bar {kind}", words, [each for each in bars if each[2] > 0])


def _name(mark):
    """Return the class of a mark, and the radius of a dot."""
    tag, at = mark
    return f"{at['class']} {at['r']}" if tag == "circle" else at["class"]


def _round_step(rough):
    """Return the step of 1, 2 or 5 times a power of ten that is nearest on the log scale."""
    steps = np.outer([1.0, 2.0, 5.0], 10.0 ** np.arange(-12, 13)).ravel()
    return steps[np.argmin(np.abs(np.log(steps / rough)))]


def _places(mark):
    tag, at = mark
    if tag == "path":
        return np.array(re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", at["d"]), float).T.ravel()
    keys = {"circle": "cx cy", "line": "x1 y1 y2", "rect": "x width y height"}
    return np.array([float(at[key]) for key in keys[tag].split()])


def _check_cell(cell, kind, saved, value):
    if isinstance(value, str):
        assert cell == saved == value
        assert kind == ("words" if len(value) > 24 else "")
        return
    assert kind == "number"
    if value is None or np.isnan(value):
        assert cell == "\N{EN DASH}"
        assert saved == ""
    else:
        np.testing.assert_allclose(as_number(cell), value, rtol=6e-4, atol=1e-300)
        np.testing.assert_allclose(float(saved), value, rtol=1e-6, atol=1e-12)
