"""Pages: one HTML file each, with its own script and style and nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.utils import htmlsafe_json_dumps
from markupsafe import Markup

from bayescal.palette import CLASS_COLOURS, MLE_COLOUR, OKABE_ITO, POSTERIOR_COLOUR
from bayescal.whole_file import whole_file

COLOURS = {
    "posterior": POSTERIOR_COLOUR,
    "mle": MLE_COLOUR,
    "negative": CLASS_COLOURS[0],
    "positive": CLASS_COLOURS[1],
    "recall": OKABE_ITO["reddish purple"],
}


def render(page: str, scripts: Sequence[str], data: Any, **context: Any) -> str:
    """
    Return a page as text; its policy allows its own script and style and nothing else.

    Parameters
    ----------
    page : str
        Name of a template in `page/` that extends `base.html`.
    scripts : sequence of str
        Names of the scripts there that it runs, in this order.
    data : dict
        What they read, as JSON.
    **context
        What the template shows.
    """
    environment = _environment()
    style = _colours() + _source(environment, "style.css")
    parts = (_source(environment, f"{name}.js") for name in scripts)
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "\n})();\n"
    return environment.get_template(f"{page}.html").render(
        style=Markup(style),
        style_hash=_hash(style),
        script=Markup(script),
        script_hash=_hash(script),
        data=htmlsafe_json_dumps(data, allow_nan=False, separators=(",", ":")),
        **context,
    )


def write_page(target: Path, text: str) -> Path:
    """Write a page, whole or not at all, and return its path."""
    with whole_file(target) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return target


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("bayescal.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["short"] = short
    return environment


def short(value: float | None) -> str:
    """
    Return a number for readers, with three digits or with all before the point.

    Examples
    --------
    >>> short(0.13), short(12345.6), short(5.0), short(None)
    ('0.130', '12,346', '5', '\N{EN DASH}')
    """
    if value is None:
        return "\N{EN DASH}"
    value = float(value)
    whole = value.is_integer() or abs(value) >= 100.0
    text = f"{value:,.0f}" if whole else f"{value:#.3g}"
    return text.replace("-", "\N{MINUS SIGN}")


def _colours() -> str:
    """Return the colours of what is drawn as variables of the style sheet, light and dark alike."""
    return f":root {{{' '.join(f'--{name}: {value};' for name, value in COLOURS.items())}}}\n"


def _source(environment: Environment, name: str) -> str:
    assert environment.loader is not None  # noqa: S101
    return environment.loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
