"""Pages: self-contained HTML files, each with its own script and style."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from bayescal.fitting.parts.part import Block
from bayescal.fitting.results.tree import versions
from bayescal.support.files import printable, whole_file
from bayescal.support.intervals import Interval, readable
from bayescal.support.palette import CLASS_COLOURS, MLE_COLOUR, OKABE_ITO, POSTERIOR_COLOUR
from bayescal.support.validation import Floats

COLOURS = {
    "posterior": POSTERIOR_COLOUR,
    "posterior-dark": OKABE_ITO["sky blue"],
    "mle": MLE_COLOUR,
    "negative": CLASS_COLOURS[0],
    "positive": CLASS_COLOURS[1],
    "recall": OKABE_ITO["reddish purple"],
}

# Formulas: elements of MathML, texts in it, and the words between them.
PIECE = re.compile(r"<mtext>.*?</mtext>|<mo .*?</mo>|<[^<>]*>|[^\s<]+")
NUMBER = re.compile(r"-?\d[\d.]*(e[+-]?\d+)?")
FUNCTIONS = ("log", "logit", "exp", "asinh")
SPACE = '<mspace width="0.17em"></mspace>'


OF_SCRIPTS = ("first",)  # data of figures, which templates hold too

# Titles and scripts of the pages.
FIGURES = ("numbers", "svg", "tables", "figure_element", "appearance")
PAGES = {
    "report": (
        "Calibration report",
        (
            *("numbers", "decisions", "svg", "tables", "figure_element", "figures", "chooser"),
            *("controls", "appearance", "evidence", "page"),
        ),
    ),
    "classes": ("Calibration report of several classes", (*FIGURES, "classes")),
    "rate": ("Report of a rate", (*FIGURES, "evidence", "evidence_page")),
    "review": ("Report of a review", (*FIGURES, "evidence", "evidence_page")),
    "ranking": ("Reading report", (*FIGURES, "chooser", "ranking")),
    "evidence": ("Validation of likelihood ratios", (*FIGURES, "evidence", "evidence_page")),
    "audit": ("Audit of probabilities", (*FIGURES, "audit")),
}


def write_page(
    path: Path,
    page: str,
    data: Any,
    *,
    title: str | None,
    level: float,
    run: Mapping[str, Mapping[str, str]],
    **context: Any,
) -> Path:
    """Write one of `PAGES`, with NAME.numbers.json, whole or not at all, and return its path."""
    # `data` are for its script, `run` is provenance by heading, `context` fills the template.
    usual_title, scripts = PAGES[page]
    environment = _environment()
    colours = " ".join(f"--{name}: {value};" for name, value in COLOURS.items())
    style = f":root {{{colours}}}\n" + _source("style.css")
    parts = (_source(f"{name}.js") for name in scripts)
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    text = environment.get_template(f"{page}.html").render(
        title=title or usual_title,
        percent=f"{100.0 * level:g}",
        run=run,
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":")),
        **context,
    )
    facts = {name: each for name, each in context.items() if name not in OF_SCRIPTS}
    numbers = plain({"title": title or usual_title, "level": level, **facts, "run": run})
    copy = json.dumps(numbers, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with whole_file(path) as page_file, whole_file(path.with_suffix(".numbers.json")) as copy_file:
        page_file.write_text(printable(text), encoding="utf-8", newline="\n")
        copy_file.write_text(copy, encoding="utf-8", newline="\n")
    return path


def plain(it: Any) -> Any:
    """Return numbers, intervals, rows and texts of a page as plain data, other objects as None."""
    if isinstance(it, Cell | Interval):
        return {name: plain(getattr(it, name)) for name in ("value", "lower", "upper")}
    if is_dataclass(it):
        return {each.name: plain(getattr(it, each.name)) for each in fields(it)}
    if isinstance(it, Mapping):
        return {str(name): plain(each) for name, each in it.items()}
    if isinstance(it, list | tuple):
        return [plain(each) for each in it]
    if isinstance(it, float):
        return float(it) if math.isfinite(it) else None
    return it if isinstance(it, str | int) and not isinstance(it, Markup) else None


def describe_run(tree: xr.DataTree) -> dict[str, dict[str, str]]:
    """Return versions and parameters of the fit stored in a tree, and current versions."""
    parameters = json.loads(tree.attrs["bayescal_parameters"])
    return {
        "Versions that fitted": json.loads(tree.attrs["bayescal_versions"]),
        "Versions that report": versions(),
        "Parameters of the estimator": {
            "random_state (seed)" if name == "random_state" else name: json.dumps(
                value, ensure_ascii=False
            )
            for name, value in sorted(parameters.items())
        },
    }


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bayescal.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= SHOWN | {"math": mark_formula}
    environment.globals |= SHOWN | {
        "cell": cell,
        "heading": heading,
        "infinity": math.inf,
        "exp": math.exp,
        "share": percent,
    }
    return environment


def short(value: float | None) -> str:
    """Return a number as text, with three digits or all before the point."""
    if value is None:
        return "\N{EN DASH}"
    value = float(value)
    whole = value.is_integer() or abs(value) >= 100.0
    text = f"{value:,.0f}" if whole else f"{value:#.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def percent(value: float | None) -> str:
    """Return a share in per cent as text, with more digits close to 0 and 1."""
    if value is None:
        return "\N{EN DASH}"
    end = 100.0 * min(abs(value), abs(1.0 - value))
    digits = 0 if end >= 9.5 or end == 0.0 else 1 if end >= 0.95 else 2
    return f"{100.0 * value:.{digits}f} %".replace("-", "\N{MINUS SIGN}")


def count(value: float | None) -> str:
    """Return a number of documents, which may be a mean, as text."""
    if value is None:
        return "\N{EN DASH}"
    return readable(value, 2)


def tenths(value: float | None) -> str:
    """Return a share or a difference of shares in per cent, with one decimal, as texts do."""
    text = "\N{EN DASH}" if value is None else f"{100.0 * value:.1f} %"
    return text.replace("-", "\N{MINUS SIGN}")


def decimals(value: float | None) -> str:
    """Return a number from 0 to 1 that is no share as text, with three decimals."""
    return "\N{EN DASH}" if value is None else f"{value:.3f}"


SHOWN = {
    **{"short": short, "percent": percent, "tenths": tenths},
    **{"count": count, "decimals": decimals},
}


@dataclass(frozen=True)
class Cell:
    """A number with its interval; None for missing values."""

    value: float | None
    lower: float | None = None
    upper: float | None = None
    shown: str = "short"  # format, a key of `SHOWN`

    @classmethod
    def of(cls, each: Any, shown: str = "short") -> Cell:
        """Return the cell of a number with `value`, `lower` and `upper`, which may be nan."""
        value = None if math.isnan(each.value) else each.value
        if not math.isfinite(each.lower):
            return cls(value, shown=shown)
        return cls(value, each.lower, each.upper, shown)


@dataclass(frozen=True)
class Row:
    """A row of a table, which may be marked."""

    name: str
    cells: Sequence[Cell | str]
    marked: bool = False


def cell(it: Cell) -> Markup:
    """Return a table's cell of a number and its interval; scripts sort by `data-value`."""
    show = SHOWN[it.shown]
    ends = {"value": it.value, "lower": it.lower, "upper": it.upper}
    data = " ".join(f'data-{name}="{v:.6g}"' for name, v in ends.items() if v is not None)
    interval = f' <span class="interval">{show(it.lower)} to {show(it.upper)}</span>'
    known = data if it.value is not None else 'data-value=""'
    both = interval if it.lower is not None else ""
    return Markup(f'<td class="number" {known}>{show(it.value)}{both}</td>')


def heading(words: str) -> Markup:
    """Return a column's head: a button, which browsers do not repeat in print, and text."""
    button = Markup(
        '<button type="button" class="screen">{0}</button><span class="printed">{0}</span>'
    )
    return button.format(words)


def describe_model(blocks: Iterable[Block]) -> Markup:
    """Return the text of a model as HTML; see `model.html`."""
    model = _environment().get_template("model.html").module
    return Markup().join(getattr(model, name)(**values) for name, values in blocks)


def mark_formula(text: str) -> Markup:
    """Return MathML; words between blanks become `mi`, `mn` or `mo` elements."""
    return Markup("".join(map(_marked, PIECE.findall(text))))


def _marked(piece: str) -> str:
    if piece.startswith("<"):
        return piece
    if piece in FUNCTIONS:
        return f"{SPACE}<mi>{piece}</mi>{SPACE}"
    tag = "mn" if NUMBER.fullmatch(piece) else "mi" if piece.isalpha() else "mo"
    shown = piece.replace("-", "\N{MINUS SIGN}")
    return f"<{tag}>{shown}</{tag}>"


def _source(name: str) -> str:
    return files("bayescal.report").joinpath("page", name).read_text(encoding="utf-8")


@cache
def page_words() -> dict[str, dict[str, str]]:
    """Return the words of `page/words.json` for each kind of name in tables."""
    words: dict[str, dict[str, str]] = json.loads(_source("words.json"))
    return words


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


# Compact numbers, which make up most of a page of many topics.

DIGITS = 4
LEVELS = 255


def numbers(values: Any, digits: int = DIGITS) -> Any:
    """Return numbers rounded to significant digits, as lists; None for those not finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [numbers(each, digits) for each in array]
    value = float(array)
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def series_of(kind: str, name: str, **columns: Any) -> dict[str, Any]:
    """Return a line, a band or dots of a figure that evidence.js draws."""
    return {"kind": kind, "name": name} | {key: numbers(each) for key, each in columns.items()}


def packed(matrix: Floats, *, by_column: bool = True) -> dict[str, Any]:
    """Return a matrix in base64, one byte a number on a scale from the least to the largest."""
    axis = 0 if by_column else None
    low, high = numbers(np.ravel(matrix.min(axis)), 5), numbers(np.ravel(matrix.max(axis)), 5)
    width = np.broadcast_to(np.subtract(high, low), matrix.shape)
    share = np.divide(matrix - low, width, out=np.zeros_like(matrix), where=width > 0.0)
    data = np.rint(LEVELS * np.clip(share, 0.0, 1.0)).astype(np.uint8)
    text = base64.b64encode(data.tobytes()).decode("ascii")
    return {"columns": matrix.shape[1], "low": low, "high": high, "bytes": text}


def unpacked(values: dict[str, Any]) -> Floats:
    """Return the matrix of `packed`, as pages read it."""
    data = np.frombuffer(base64.b64decode(values["bytes"]), np.uint8)
    low, high = np.array(values["low"]), np.array(values["high"])
    return np.asarray(low + (high - low) * data.reshape(-1, values["columns"]) / LEVELS)
