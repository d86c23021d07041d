"""The marks and the numbers of every figure of a page, as the data of the page have them."""

import numpy as np
from scipy import special

from tests.page_drawn import Expected
from tests.page_numbers import as_text, smooth_curve, unpacked


def topic_figures(data, page, costs, threshold):
    name = page.topic["name"] or ""
    figures = [_probability(data, page), _log_odds(data, page), _densities(data, page)]
    if page.topic["test"]:
        figures.append(reliability(page.topic["test"], data["level"]))
    _in_files_of(name, figures)
    if len(data["topics"]) == 1:
        figures[0].file = ("curve",)
    else:  # the first screen of a report of topics has the curve too
        first = _probability(data, page)
        first.title, first.file = f"{first.title}: {name}", (name, "curve")
        figures.append(first)
    return [*figures, _cost(page, costs), _selection(page, costs, threshold)]


def _in_files_of(name, figures):
    for each in figures:
        each.file = (name, each.title)
    return figures


def percent(level):
    return f"{100 * level:g} %"


def _around(*parts):
    """Return the ends of an axis that holds all these numbers with a margin."""
    values = np.concatenate([np.ravel(part) for part in parts])
    margin = 0.06 * np.ptp(values)
    return values.min() - margin, values.max() + margin


def _shares_axis(*parts):
    """Return the ends of an axis of shares: 0 and 1 with a margin, or nearer if these are wide."""
    values = np.concatenate([np.ravel(part) for part in parts])
    return _around(values) if 0.0 < np.ptp(values) <= 0.6 else (-0.03, 1.03)


def _curves(figure, data, page, read, name):
    """Draw the band, the fit of maximum likelihood and the estimate."""
    topic, banded = page.topic, "lower" in page.topic
    if banded:
        lower, upper = (read(np.array(topic[end])) for end in ("lower", "upper"))
        words = f"{percent(data['level'])} band"
        figure.band("posterior", page.x, upper, lower, words, column="")
    if "mle" in topic:
        mle = read(np.array(topic["mle"], float))
        figure.line("mle", page.x, mle, "maximum likelihood", column="maximum likelihood")
    words = "posterior" if banded else "estimate"
    figure.line("posterior", page.x, read(np.array(topic["point"])), words, column=name)


def _probability(data, page):
    labels, banded = (data["axis"], f"P({data['classes'][1]} | score)"), "lower" in page.topic
    figure = Expected("Probability by score", labels, (page.x[[0, -1]], (0, 1)), page.topic["x"],
                      spoken=f"Probability of class {data['classes'][1]} by score")  # fmt: skip
    within = f"lies in the band with probability {percent(data['level'])}"
    figure.note = [within if banded else "There is no posterior, and so no band."]
    _curves(figure, data, page, special.expit, "probability")
    return figure


def _log_odds(data, page):
    figure = Expected("Log-odds by score", (data["axis"], "log-odds (natural)"),
                      x=page.topic["x"], spoken="Calibrated log-odds by score")  # fmt: skip
    _curves(figure, data, page, lambda curve: curve, "log-odds")
    shown = [page.topic[name] for name in ("point", "lower", "upper") if name in page.topic]
    if (bins := page.topic.get("bins")) is not None:
        shown.append(bins["log_odds"])
        figure.note = ["Dots: the documents fitted, in bins of the score"]
    shown = np.concatenate([np.array(each, float) for each in shown])
    shown = np.clip(shown[np.isfinite(shown)], -16.0, 16.0)
    low, high = shown.min() - 0.5, shown.max() + 0.5
    figure.ranges = (page.x[[0, -1]], (low, high))
    if bins is not None:
        words = f"documents in bins, {percent(data['level'])} interval"
        lower = [low if end is None else end for end in bins["lower"]]
        upper = [high if end is None else end for end in bins["upper"]]
        closed = [None not in ends for ends in zip(bins["lower"], bins["upper"], strict=True)]
        figure.bins("empirical", bins["score"], bins["log_odds"], lower, upper, words, closed)
    return figure


def _densities(data, page):
    topic = page.topic
    title = "How the scores of each class are spread (densities)"
    figure = Expected(title, (data["axis"], "density"), x=topic["x"],
                      spoken="Density of the scores of each class")  # fmt: skip
    densities, bars = topic.get("densities", {}), topic.get("histogram")
    for k, kind in enumerate(("negative", "positive")):
        name = f"{kind}s (class {data['classes'][k]})"
        if bars:
            counts = np.array(bars["counts"][k])
            edges = np.linspace(bars["low"], bars["high"], counts.size + 1)
            heights = counts / counts.sum() / np.diff(edges)
            figure.bars(kind, edges[:-1], edges[1:], heights, f"scores of {name}")
        if "draws" in densities:
            for draw in unpacked(densities["draws"][k]):
                figure.line(f"draw {kind}", page.x, draw)
            figure.legend["posterior draws of either"] = "line draw positive"
        if "mle" in densities:
            curve, words = densities["mle"][k], "maximum likelihood of either"
            figure.line("mle", page.x, curve, words, column=f"{name}, maximum likelihood")
        if "predictive" in densities:
            curve, words = densities["predictive"][k], f"density of {name}"
            column = f"{name}, posterior predictive"
            figure.line(f"posterior {kind}", page.x, curve, words, column=column)
            figure.dots(f"mode {kind}", [page.x[np.argmax(curve)]], [max(curve)], radius=4)
    heights = [each[3] for each in figure.marks if each[0].startswith("bar")]
    for name in ("predictive", "mle"):
        if name in densities:
            # A spike is cut off at four times the other class's peak.
            peaks = np.max(densities[name], axis=1)
            heights.append(min(peaks.max(), 4.0 * peaks.min()))
    figure.ranges = (page.x[[0, -1]], (0.0, 1.08 * max(heights)))
    if not densities:
        figure.note = ["no class densities: histograms alone"]
    else:
        figure.note = ["bars: the scores fitted." if bars else "so that there are no bars."]
        figure.note += ["Dots mark the peaks."] if "predictive" in densities else []
    return figure


def reliability(test, level, whose=""):
    title = f"Held-out documents: predicted and found (reliability){whose}"
    spoken = f"Reliability of probabilities on held-out scores{whose}"
    figure = Expected(title, ("predicted probability", "share of positives"), spoken=spoken)
    figure.file = ("reliability",) if whose else figure.file
    point, mle = test["point"], test.get("mle")
    figure.note = [
        f"{point['n']} held-out documents, {point['positives']} positive where"
        f" {as_text(point['expected'])} were expected",
        f"log-loss {as_text(point['log_loss'])} bits and"
        f" squared error {as_text(point['brier'])} per",
    ]
    if mle:
        losses = " and ".join(as_text(mle[name]) for name in ("log_loss", "brier"))
        figure.note.append(f"(maximum likelihood {losses})")
    return _binned(figure, point["bins"], "posterior", level, mle and mle["bins"])


def _binned(figure, bins, words, level, mle=None):
    """Draw shares of bins on the range where they should lie."""
    figure.diagonal, figure.columns = True, bins
    expected = f"expected range if calibrated, {percent(level)}"
    x, y, lower, upper = (bins[name] for name in ("predicted", "observed", "lower", "upper"))
    figure.whiskers("consistency", x, lower, upper, expected)
    xs, ys = [x], [y, lower, upper]
    if mle:
        xs, ys = [*xs, mle["predicted"]], [*ys, mle["observed"]]
        figure.dots("mle", xs[-1], ys[-1], "maximum likelihood", radius=3)
    figure.dots("posterior", x, y, words)
    figure.ranges = _shares_axis(*xs), _shares_axis(*ys)
    return figure


def _by_threshold(figure, page, x, summary, kind, words):
    if "lower" in page.topic:
        ends = [smooth_curve(x, each) for each in summary[1:]]
        band = f"{percent(page.level)} band" + (f" of {kind}" if kind == words else "")
        figure.band(kind, ends[0][0], ends[1][1], ends[0][1], band)
    figure.line(kind, *smooth_curve(x, summary[0]), words)


def _cost(page, costs):
    x, summaries = page.by_threshold(**costs)
    cost, decision = summaries["cost"], page.decision(*costs.values())
    limit = max(1.5 * min(cost[2, 0], cost[2, -1]), 1.2 * decision["cost"][2], 1.2 * cost[2].min())
    below = np.flatnonzero(cost[2] > limit)
    best = int(np.argmin(cost[0]))
    start = max(below[below < best], default=-1) + 1
    end = min(below[below > best], default=x.size)
    x, cost = x[start:end], cost[:, start:end]
    labels = ("call positive from this score on", "expected cost")
    figure = Expected("Expected cost by threshold", labels, (x[[0, -1]], (0, limit)),
                      file=(page.topic["name"] or "", "expected cost"),
                      spoken="Expected cost of a document by the score")  # fmt: skip
    _by_threshold(figure, page, x, cost, "posterior", "expected cost")
    figure.vertical = decision["threshold"][0], "threshold of least cost"
    heads = ("threshold", "expected cost", "lower", "upper")
    figure.columns = dict(zip(heads, (x, *cost), strict=True))
    return figure


def _selection(page, costs, threshold):
    x, summaries = page.by_threshold(**costs)
    labels = ("call positive from this score on", "share")
    figure = Expected("Precision and recall by threshold", labels, (page.x[[0, -1]], (0, 1)),
                      file=(page.topic["name"] or "", "precision and recall"),
                      spoken="Precision and recall by the score")  # fmt: skip
    figure.columns["threshold"] = x
    for name in ("precision", "recall"):
        _by_threshold(figure, page, x, summaries[name], name, name)
        for head, values in zip(("", ", lower", ", upper"), summaries[name], strict=True):
            if not head or "lower" in page.topic:
                figure.columns[name + head] = values
    figure.vertical = threshold, "threshold of your own"
    return figure


def audit_figures(data):
    band, curve, benefit = f"{percent(data['level'])} band", data["curve"], data["benefit"]
    p = curve["probability"]
    top = min(1.0, np.ceil(10.0 * max(*curve["upper"], *p)) / 10.0)
    first = Expected("Calibration curve", ("given probability", "true probability"),
                     ((0.0, top), (0.0, top)), columns={"given": p})  # fmt: skip
    first.diagonal, first.legend["right probabilities"] = True, "line diagonal"
    whole = f"{band} of the whole curve"
    first.band("outer", p, curve["outerUpper"], curve["outerLower"], whole)
    first.band("posterior", p, curve["upper"], curve["lower"], band, column="")
    first.line("posterior", p, curve["mean"], "true probability", column="true")
    first.fringe = {"top": data["positives"], "bottom": data["negatives"]}
    first.legend["positives (top) and negatives (bottom)"] = "line empirical"
    most, x = 1.1 * max(*benefit["asIs"], *benefit["again"]), benefit["threshold"]
    second = Expected("Net benefit", ("threshold", "net benefit"), ((0, 1), (-0.25 * most, most)),
                      x)  # fmt: skip
    second.band("posterior", x, benefit["upper"], benefit["lower"], f"{band} of these")
    second.line("posterior", x, benefit["asIs"], "given probabilities", column="given")
    second.line("empirical", x, benefit["counted"], "given, counted", column="counted")
    second.line("recall", x, benefit["again"], "recalibrated", column="recalibrated")
    second.line("mle", x, benefit["all"], "treat all", column="all")
    second.line("diagonal", [0, 1], [0, 0], "treat nobody")
    if data["threshold"] is not None:
        second.vertical = data["threshold"], "the threshold asked for"
    names, shares = data["explanations"]["name"], data["explanations"]["probability"]
    places = np.arange(1, len(names) + 1)
    third = Expected("Explanations", ("explanation", "probability"),
                     ((0.5, len(names) + 0.5), (0, 1)), names,
                     spoken="Probabilities of the four explanations")  # fmt: skip
    third.bars("positive", places - 0.35, places + 0.35, shares, "probability")
    third.columns["probability"] = shares
    sites = [_sites(data, which) for which in data["sites"]]
    return _in_files_of("audit", [first, second, third, *sites])


def _sites(data, which):
    sites, right = data["sites"][which], {"shift": 0, "slope": 1}[which]
    n = len(sites["name"])
    axis = "site" if n <= 8 else "row of the table of sites"
    figure = Expected(f"{which.capitalize()} by site", (axis, which),
                      ((0, n + 1), _around([right], sites["lower"], sites["upper"])),
                      spoken=f"{which} by site")  # fmt: skip
    figure.line("diagonal", [0, n + 1], [right, right], "right probabilities")
    figure.bins("posterior", range(1, n + 1), sites["mean"], sites["lower"], sites["upper"])
    figure.legend[f"{percent(data['level'])} interval"] = "line posterior"
    figure.columns = {"site": sites["name"], which: sites["mean"], "lower": sites["lower"],
                      "upper": sites["upper"]}  # fmt: skip
    return figure


def class_figures(data):
    likeliest, *others = [_reliability_of(each, data["level"]) for each in data["figures"]]
    return _in_files_of("classes", [likeliest, _risk(data["risk"], data["level"]), *others])


def _reliability_of(given, level):
    figure = Expected(f"Reliability: {given['name']}",
                      ("predicted probability", "share of documents"),
                      spoken=f"Reliability of P({given['name']}) on held-out")  # fmt: skip
    figure.note = [f"{given['positives']} of {given['n']} documents where"
                   f" {as_text(given['expected'])} were expected."]  # fmt: skip
    return _binned(figure, given["bins"], "documents in bins", level)


def _risk(risk, level):
    top, x = max(*risk["upper"], *risk["observed"], 0.02), risk["coverage"]
    figure = Expected("Risk against coverage",
                      ("share of documents answered, surest first", "share of wrong answers"),
                      ((0, 1), (0, min(1.0, 1.05 * top))), columns=risk,
                      spoken="Share of wrong answers by the share")  # fmt: skip
    figure.band("posterior", x, risk["upper"], risk["lower"], f"{percent(level)} band")
    figure.line("posterior", x, risk["risk"], "expected")
    figure.line("empirical", x, risk["observed"], "held-out documents")
    return figure


def query_figures(data, query):
    band, x, judged = f"{percent(data['level'])} band", query["rank"], query.get("judged")
    ranks = (0, max(query["documents"], 2))
    first = Expected("P(relevant) by rank", ("rank", "P(relevant)"), (ranks, (0, 1)), x)
    first.band("posterior", x, query["upper"], query["lower"], band, column="")
    first.line("posterior", x, query["probability"], "P(relevant)", column="P(relevant)")
    enough = f"probability of a recall of {percent(data['recall'])} or more"
    second = Expected("Recall by rank, and when to stop", ("rank", "share, probability"),
                      (ranks, (0, 1)), x,
                      spoken="Recall by rank, and the probability that it is")  # fmt: skip
    lower, upper, words = query["recall_lower"], query["recall_upper"], f"{band} of recall"
    second.band("recall", x, upper, lower, words, column="")
    second.line("recall", x, query["recall"], "recall, expected", column="recall")
    second.line("posterior", x, query["reached"], enough, column=enough)
    asked = [data["probability"]] * 2
    second.line("diagonal", [0, query["documents"]], asked, "the probability asked for")
    first.vertical = second.vertical = query["stop"], "stop"
    second.note = [f"the {enough} is {as_text(data['probability'])}."]
    if judged:
        first.fringe = {"top": judged["relevant"]}
        first.legend["judged relevant (ticks at the top)"] = "line empirical"
        second.line("empirical", x, judged["recall"], "recall, judged", column="recall, judged")
    return _in_files_of(query["name"], [first, second])


def evidence_figure(given):
    figure = Expected(given["title"], (given["xLabel"], given["yLabel"]),
                      (given["x"], given["y"]))  # fmt: skip
    if "at" in given:
        figure.whiskers("diagonal", [given["at"]], *([end] for end in given["y"]))
    lines = [each for each in given["series"] if each["kind"].startswith("line")]
    for each in given["series"]:
        (shape, kind), name, x = each["kind"].split(), each["name"], each["x"]
        if shape == "band":
            figure.band(kind, x, each["upper"], each["lower"], name, column=name)
        elif shape == "line":
            # The table has the lines that share their places with the last.
            shared = len(x) == len(lines[-1]["x"])
            figure.line(kind, x, each["y"], name, column=name if shared else None)
            figure.columns |= {given["xLabel"]: x} if shared else {}
        else:
            figure.dots(kind, x, each["y"], name, radius=2.5)
    return figure
