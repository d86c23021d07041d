"""Figures as plain values: what each artist draws, and how."""

import numpy as np
from matplotlib import pyplot
from matplotlib.axis import Axis
from matplotlib.colors import to_hex
from matplotlib.legend import Legend
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.ticker import AutoLocator

LOOKS = (
    "label", "text", "color", "facecolor", "edgecolor", "alpha", "linestyle", "linewidth", "zorder",
    "clip_on", "rasterized", "visible", "hatch", "fill", "ha", "va", "fontsize", "fontweight",
    "rotation", "position", "width", "height", "extent", "clim", "slope",
)  # fmt: skip
MARKERS = ("marker", "markersize", "markeredgewidth", "markeredgecolor", "markerfacecolor",
           "markevery")  # fmt: skip
# Common values are left out.
ORDINARY = ("", "None", "none", "False", "[None, None]", "[[0, None]]")
ORDINARY_LOOKS = ("clip_on=True", "visible=True", "zorder=2", "markeredgewidth=1")


def drawn(display):
    """Return a display's data and all that its figure shows, and close the figure."""
    figure = display.figure_
    # Limits and ticks are set before the figure is laid out: fonts of machines do not matter.
    said = {
        "figure": _text(figure.get_size_inches().tolist(), figure.get_supxlabel(),
                        figure.get_supylabel(), type(figure.get_layout_engine()).__name__),
        "attrs": _text(dict(display.data.attrs)),
        "data": _joined(each.values for each in display.data.variables.values()),
    }  # fmt: skip
    for k, ax in enumerate(figure.axes):
        said[f"axes {k}"] = _axes(ax)
        said[f"artists {k}"] = [
            [f"{type(each).__name__}: {_looks(each)}", _data(each)]
            for each in ax.get_children()
            if not isinstance(each, Axis | Spine | Legend) and each is not ax.patch
            if not isinstance(each, Text) or each.get_text()
        ]
    pyplot.close(figure)
    return said


def _axes(ax):
    axes = (ax.xaxis, ax.yaxis)
    return {
        "limits": np.array([*ax.get_xlim(), *ax.get_ylim()]),
        "labels": _text(ax.get_title(), ax.get_xlabel(), ax.get_ylabel(), *map(_ticks, axes)),
        "looks": _text(ax.get_xscale(), ax.get_yscale(), ax.get_aspect(), ax.get_visible(),
                       [name for name, spine in ax.spines.items() if spine.get_visible()],
                       ax.title.get_fontsize(),
                       "".join("01"[on] for axis in axes for which in ("major", "minor")
                               for on in axis.get_tick_params(which).values()
                               if isinstance(on, bool))),
        "legend": None if ax.get_legend() is None else _legend(ax.get_legend(), ax),
    }  # fmt: skip


def _ticks(axis):
    """Return an axis' ticks, if somebody chose them, and how they are written."""
    if isinstance(axis.get_major_locator(), AutoLocator):
        return "ticks as usual"
    labels = axis.get_ticklabels()
    looks = [(text.get_fontsize(), text.get_rotation()) for text in labels[:1]]
    minor = sorted({text.get_text() for text in axis.get_ticklabels(minor=True)})
    return [list(axis.get_ticklocs()), [text.get_text() for text in labels], minor, looks]


def _legend(legend, ax):
    frame, anchor = legend.get_frame(), legend.get_bbox_to_anchor()
    return _text(
        [text.get_text() for text in legend.get_texts()],
        [legend._loc, legend._ncols, legend.handlelength, legend.borderpad],
        np.round(anchor.transformed(ax.transAxes.inverted()).bounds, 6).tolist(),
        [legend.get_texts()[0].get_fontsize(), frame.get_alpha(), to_hex(frame.get_edgecolor())],
    )


def _looks(artist):
    marked = _got(artist, "marker") not in (None, "None")
    said = {}
    for name in (*LOOKS, *MARKERS * marked):
        value = None if name == "text" and not isinstance(artist, Text) else _got(artist, name)
        said[name] = _text(_colours(value) if "color" in name else value)
    if said["linestyle"] == "--":
        said["linestyle"] = _text(artist._unscaled_dash_pattern)
    if said["label"].startswith("_"):
        said["label"] = ""
    for name in ("edgecolor", "markeredgecolor", "markerfacecolor"):
        if said.get(name) in (said["color"], said["facecolor"]):
            said[name] = ""
    words = [f"{name}={value}" for name, value in said.items() if value not in ORDINARY]
    return "; ".join(each for each in words if each not in ORDINARY_LOOKS)


def _colours(value):
    """Return the names of one colour or several."""
    if value is None or isinstance(value, str):
        return value and to_hex(value)
    rows = np.atleast_2d(np.asarray(value, dtype=float))
    return ",".join(to_hex(row, keep_alpha=bool(row[3:] != 1.0)) for row in rows)


def _got(artist, name):
    return getattr(artist, f"get_{name}", lambda: None)()


def _data(artist):
    """Return the places that an artist draws at."""
    if hasattr(artist, "get_xydata"):
        return np.asarray(artist.get_xydata(), dtype=float)
    if hasattr(artist, "get_paths"):
        return _joined(path.vertices for path in artist.get_paths())
    if hasattr(artist, "get_data"):
        return _joined(artist.get_data())
    if hasattr(artist, "get_xy"):
        return np.array(artist.get_xy(), dtype=float)
    if hasattr(artist, "get_array"):
        return np.asarray(artist.get_array())
    return np.array(getattr(artist, "xyann", ()), dtype=float)


def _joined(arrays):
    """Return the numbers of several arrays as one, and names as their lengths."""
    arrays = [np.asarray(each if each is not None else np.nan) for each in arrays]
    plain = [each if each.dtype.kind in "biuf" else np.vectorize(len)(each) for each in arrays]
    return np.concatenate([each.ravel().astype(float) for each in plain or [np.empty(0)]])


def _text(*values):
    """Return values in words, numbers with six digits."""
    return " | ".join(_short(value) for value in values)


def _short(value):
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_short(each)}" for name, each in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        return f"[{', '.join(_short(each) for each in value)}]"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
