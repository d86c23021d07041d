"""The marks and the numbers of every figure of a page, as the data of the page have them."""

import numpy as np
from scipy import special

from tests.page_drawn import Expected
from tests.page_numbers import as_text, smooth_curve, unpacked


def topic_figures(data, page, costs, threshold):
    """Return the expected figures of a topic in a report, by title."""
    figures = [_probability(data, page), _log_odds(data, page), _densities(data, page)]
    if page.topic["test"]:
        figures.append(reliability(page.topic["test"], data["level"]))
    for each in figures:
        each.file = (_name_of(page), each.title)
    if len(data["topics"]) == 1:
        figures[0].file = ("curve",)
    else:
        figures.append(first_curve(data, page))
    figures += [_cost(page, costs), _selection(page, costs, threshold)]
    return {each.title: each for each in figures}


def _name_of(page):
    return page.topic["name"] or ""


def first_curve(data, page):
    """Return the curve on the first screen of a report of topics."""
    figure = _probability(data, page)
    figure.title += f": {_name_of(page)}"
    figure.file = (_name_of(page), "curve")
    return figure


def _curves(figure, data, page, read, name):
    """Draw the band, the fit of maximum likelihood and the estimate, and list their numbers."""
    topic = page.topic
    curves = {
        key: read(np.array(topic[key], float)) for key in ("point", "lower", "upper", "mle")
        if key in topic
    }  # fmt: skip
    figure.columns |= {data["axis"]: topic["x"], name: curves["point"]}
    if "lower" in curves:
        figure.band("posterior", page.x, curves["upper"], curves["lower"])
        figure.legend.append(("band posterior", f"{percent(data)} band"))
        figure.columns |= {end: curves[end] for end in ("lower", "upper")}
    if "mle" in curves:
        figure.line("mle", page.x, curves["mle"])
        figure.legend.append(("line mle", "maximum likelihood"))
        figure.columns["maximum likelihood"] = curves["mle"]
    figure.line("posterior", page.x, curves["point"])
    figure.legend.append(("line posterior", "posterior" if "lower" in curves else "estimate"))


def topic_values(values, name):
    """Return the finite numbers of a name, none where there is no such name."""
    given = np.array(values.get(name, []), float)
    return given[np.isfinite(given)]


def _ends(*parts):
    values = np.concatenate([np.ravel(part) for part in parts])
    return np.array([values.min(), values.max()])


def _shares_axis(*parts):
    """Return the ends of an axis of shares: 0 and 1 with a margin, or nearer if these are wide."""
    low, high = _ends(*parts)
    margin = 0.06 * (high - low)
    return (low - margin, high + margin) if 0.0 < high - low <= 0.6 else (-0.03, 1.03)


def percent(data):
    return f"{100 * data['level']:g} %"


def _probability(data, page):
    labels = (data["axis"], f"P({data['classes'][1]} | score)")
    figure = Expected("Probability by score", labels, (page.x[[0, -1]], (0, 1)),
                      spoken=f"Probability of class {data['classes'][1]} by score")  # fmt: skip
    within = f"lies in the band with probability {percent(data)}"
    figure.note = [within if "lower" in page.topic else "There is no posterior, and so no band."]
    _curves(figure, data, page, special.expit, "probability")
    return figure


def _log_odds(data, page):
    labels = (data["axis"], "log-odds (natural)")
    figure = Expected("Log-odds by score", labels, (page.x[[0, -1]], None),
                      spoken="Calibrated log-odds by score")  # fmt: skip
    _curves(figure, data, page, lambda curve: curve, "log-odds")
    shown = [topic_values(page.topic, name) for name in ("point", "lower", "upper")]
    shown.append(topic_values(page.topic.get("bins") or {}, "y"))
    ends = np.clip(_ends(*shown), -16.0, 16.0)
    figure.ranges = (page.x[[0, -1]], (ends[0] - 0.5, ends[1] + 0.5))
    if (bins := page.topic.get("bins")) is not None:
        for x, y, lower, upper in zip(
            bins["x"], bins["y"], bins["lower"], bins["upper"], strict=True
        ):
            figure.whiskers("empirical", [x], [lower], [upper])
            figure.dots("empirical", [x], [y])
        figure.legend.append(("dot empirical", f"documents in bins, {percent(data)} interval"))
        figure.note = ["Dots: log((positives + \N{VULGAR FRACTION ONE HALF})/"]
    return figure


def _densities(data, page):
    topic = page.topic
    title = "How the scores of each class are spread (densities)"
    figure = Expected(title, (data["axis"], "density"), (page.x[[0, -1]], None),
                      spoken="Density of the scores of each class")  # fmt: skip
    figure.columns[data["axis"]] = topic["x"]
    densities, bars = topic.get("densities", {}), topic.get("histogram")
    for k, kind in enumerate(("negative", "positive")):
        name = f"{kind}s (class {data['classes'][k]})"
        if bars:
            counts = np.array(bars["counts"][k])
            edges = np.linspace(bars["low"], bars["high"], counts.size + 1)
            figure.bars(kind, edges[:-1], edges[1:], counts / counts.sum() / np.diff(edges))
            figure.legend.append((f"bar {kind}", f"scores of {name}"))
        if "draws" in densities:
            for draw in unpacked(densities["draws"][k]):
                figure.line(f"draw {kind}", page.x, draw)
        if "mle" in densities:
            figure.line("mle", page.x, densities["mle"][k])
            figure.columns[f"{name}, maximum likelihood"] = densities["mle"][k]
        if "predictive" in densities:
            curve = densities["predictive"][k]
            figure.line(f"posterior {kind}", page.x, curve)
            figure.dots(f"mode {kind}", [page.x[np.argmax(curve)]], [max(curve)], radius=4)
            figure.legend.append((f"line posterior {kind}", f"density of {name}"))
            figure.columns[f"{name}, posterior predictive"] = curve
    heights = [each[3] for each in figure.marks if each[0].startswith("bar")]
    for name in ("predictive", "mle"):
        if name in densities:
            # A spike is cut off at four times the other class's peak.
            peaks = np.max(densities[name], axis=1)
            heights.append(min(peaks.max(), 4.0 * peaks.min()))
    figure.ranges = (page.x[[0, -1]], (0.0, 1.08 * max(heights)))
    if "draws" in densities:
        figure.legend.append(("line draw positive", "posterior draws of either"))
    if "mle" in densities:
        figure.legend.append(("line mle", "maximum likelihood of either"))
    if not densities:
        figure.note = ["no class densities: histograms alone"]
    else:
        figure.note = ["bars: the scores fitted." if bars else "so that there are no bars."]
        figure.note += ["Dots mark the peaks."] if "predictive" in densities else []
    return figure


def reliability(test, level, whose=""):
    """Return the reliability diagram of held-out documents, without its diagonal."""
    title = f"Held-out documents: predicted and found (reliability){whose}"
    spoken = f"Reliability of probabilities on held-out scores{whose}"
    figure = Expected(title, ("predicted probability", "share of positives"), spoken=spoken)
    figure.file = ("reliability",) if whose else figure.file
    point = test["point"]
    bins = point["bins"]
    figure.note = [
        f"{point['n']} held-out documents, {point['positives']} positive where"
        f" {as_text(point['expected'])} were expected",
        f"log-loss {as_text(point['log_loss'])} bits and"
        f" squared error {as_text(point['brier'])} per",
    ]
    figure.diagonal = True
    figure.whiskers("consistency", bins["predicted"], bins["lower"], bins["upper"])
    figure.legend.append(("dot posterior", "posterior"))
    if test.get("mle"):
        other = test["mle"]["bins"]
        figure.dots("mle", other["predicted"], other["observed"], radius=3)
        figure.note.append("(maximum likelihood {} and {})".format(
            *(as_text(test["mle"][name]) for name in ("log_loss", "brier"))))  # fmt: skip
        figure.legend.append(("dot mle", "maximum likelihood"))
    other = test["mle"]["bins"] if test.get("mle") else {"predicted": [], "observed": []}
    figure.ranges = (
        _shares_axis(bins["predicted"], other["predicted"]),
        _shares_axis(*(bins[name] for name in ("observed", "lower", "upper")), other["observed"]),
    )
    figure.dots("posterior", bins["predicted"], bins["observed"])
    figure.legend.append(("line consistency", f"expected range if calibrated, {100 * level:g} %"))
    figure.columns = bins
    return figure


def _by_threshold(figure, page, x, summary, kind):
    if "lower" in page.topic:
        ends = [smooth_curve(x, each) for each in summary[1:]]
        figure.band(kind, ends[0][0], ends[1][1], ends[0][1])
    figure.line(kind, *smooth_curve(x, summary[0]))


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
                      file=(_name_of(page), "expected cost"),
                      spoken="Expected cost of a document by the score")  # fmt: skip
    _by_threshold(figure, page, x, cost, "posterior")
    figure.vertical = decision["threshold"][0]
    figure.legend = [("line posterior", "expected cost"),
                     ("line threshold", "threshold of least cost")]  # fmt: skip
    if "lower" in page.topic:
        figure.legend.insert(1, ("band posterior", f"{100 * page.level:g} % band"))
    figure.columns = dict(
        zip(("threshold", "expected cost", "lower", "upper"), (x, *cost), strict=True)
    )
    return figure


def _selection(page, costs, threshold):
    x, summaries = page.by_threshold(**costs)
    labels = ("call positive from this score on", "share")
    figure = Expected("Precision and recall by threshold", labels, (page.x[[0, -1]], (0, 1)),
                      file=(_name_of(page), "precision and recall"),
                      spoken="Precision and recall by the score")  # fmt: skip
    figure.columns["threshold"] = x
    for name in ("precision", "recall"):
        _by_threshold(figure, page, x, summaries[name], name)
        figure.legend.append((f"line {name}", name))
        figure.columns[name] = summaries[name][0]
        if "lower" in page.topic:
            figure.columns |= {f"{name}, lower": summaries[name][1],
                               f"{name}, upper": summaries[name][2]}  # fmt: skip
    figure.vertical = threshold
    if "lower" in page.topic:
        figure.legend += [
            (f"band {name}", f"{100 * page.level:g} % band of {name}")
            for name in ("precision", "recall")
        ]
    figure.legend.append(("line threshold", "threshold of your own"))
    return figure


def audit_figures(data):
    """Return the expected figures of an audit, by title."""
    band, curve, benefit = f"{100 * data['level']:g} %", data["curve"], data["benefit"]
    p = curve["probability"]
    top = min(1.0, np.ceil(10.0 * max(*curve["upper"], *p)) / 10.0)
    first = Expected("Calibration curve", ("given probability", "true probability"),
                     ((0.0, top), (0.0, top)))  # fmt: skip
    first.diagonal = True
    first.band("outer", p, curve["outerUpper"], curve["outerLower"])
    first.band("posterior", p, curve["upper"], curve["lower"])
    first.line("posterior", p, curve["mean"])
    first.fringe = {"top": data["positives"], "bottom": data["negatives"]}
    first.legend = [
        ("line posterior", "true probability"), ("band posterior", f"{band} band"),
        ("band outer", f"{band} band of the whole curve"),
        ("line diagonal", "right probabilities"),
        ("line empirical", "positives (top) and negatives (bottom)"),
    ]  # fmt: skip
    first.columns = {"given": p, "true": curve["mean"], "lower": curve["lower"],
                     "upper": curve["upper"]}  # fmt: skip
    most = 1.1 * max(*benefit["asIs"], *benefit["again"])
    second = Expected("Net benefit", ("threshold", "net benefit"), ((0, 1), (-0.25 * most, most)))
    x = benefit["threshold"]
    second.band("posterior", x, benefit["upper"], benefit["lower"])
    for kind, name in (("posterior", "asIs"), ("recall", "again"), ("mle", "all")):
        second.line(kind, x, benefit[name])
    second.line("diagonal", [0, 1], [0, 0])
    second.legend = [
        ("line posterior", "given probabilities"), ("band posterior", f"{band} band of these"),
        ("line recall", "recalibrated"), ("line mle", "treat all"),
        ("line diagonal", "treat nobody"),
    ]  # fmt: skip
    if data["threshold"] is not None:
        second.vertical = data["threshold"]
        second.legend.append(("line threshold", "the threshold asked for"))
    second.columns = {"threshold": x, "given": benefit["asIs"], "recalibrated": benefit["again"],
                      "all": benefit["all"]}  # fmt: skip
    names, shares = data["explanations"]["name"], data["explanations"]["probability"]
    places = np.arange(1, len(names) + 1)
    third = Expected("Explanations", ("explanation", "probability"),
                     ((0.5, len(names) + 0.5), (0, 1)),
                     spoken="Probabilities of the four explanations")  # fmt: skip
    third.bars("positive", places - 0.35, places + 0.35, shares)
    third.legend = [("bar positive", "probability")]
    third.columns = {"explanation": names, "probability": shares}
    sites = [_sites(data, which, band) for which in data["sites"]]
    return _in_files_of("audit", [first, second, third, *sites])


def _in_files_of(page, figures):
    for each in figures:
        each.file = (page, each.title)
    return figures


def _sites(data, which, band):
    sites = data["sites"][which]
    n, right = len(sites["name"]), {"shift": 0, "slope": 1}[which]
    low, high = _ends([right], sites["lower"], sites["upper"])
    margin = 0.06 * (high - low)
    figure = Expected(f"{which.capitalize()} by site", ("row of the table of sites", which),
                      ((0, n + 1), (low - margin, high + margin)),
                      spoken=f"{which} by site")  # fmt: skip
    figure.line("diagonal", [0, n + 1], [right, right])
    for k in range(n):
        figure.whiskers("posterior", [k + 1], [sites["lower"][k]], [sites["upper"][k]])
        figure.dots("posterior", [k + 1], [sites["mean"][k]])
    figure.legend = [("line posterior", f"{band} interval"),
                     ("line diagonal", "right probabilities")]  # fmt: skip
    figure.columns = {"site": sites["name"], which: sites["mean"], "lower": sites["lower"],
                      "upper": sites["upper"]}  # fmt: skip
    return figure


def class_figures(data):
    """Return the expected figures of several classes, by title."""
    band = f"{100 * data['level']:g} %"
    likeliest, *others = data["figures"]
    rest = [_reliability_of(each, band) for each in others]
    drawn = [_reliability_of(likeliest, band), _risk(data["risk"], band), *rest]
    return _in_files_of("classes", drawn)


def _reliability_of(given, band):
    bins = given["bins"]
    figure = Expected(f"Reliability: {given['name']}",
                      ("predicted probability", "share of documents"),
                      (_shares_axis(bins["predicted"]),
                       _shares_axis(*(bins[name] for name in ("observed", "lower", "upper")))),
                      spoken=f"Reliability of P({given['name']}) on held-out")  # fmt: skip
    figure.note = [f"{given['positives']} of {given['n']} documents where"
                   f" {as_text(given['expected'])} were expected."]  # fmt: skip
    figure.diagonal = True
    figure.whiskers("consistency", bins["predicted"], bins["lower"], bins["upper"])
    figure.dots("posterior", bins["predicted"], bins["observed"])
    figure.legend = [("dot posterior", "documents in bins"),
                     ("line consistency", f"expected range if calibrated, {band}")]  # fmt: skip
    figure.columns = bins
    return figure


def _risk(risk, band):
    top = max(*risk["upper"], *risk["observed"], 0.02)
    figure = Expected("Risk against coverage",
                      ("share of documents answered, surest first", "share of wrong answers"),
                      ((0, 1), (0, min(1.0, 1.05 * top))),
                      spoken="Share of wrong answers by the share")  # fmt: skip
    figure.band("posterior", risk["coverage"], risk["upper"], risk["lower"])
    figure.line("posterior", risk["coverage"], risk["risk"])
    figure.line("empirical", risk["coverage"], risk["observed"])
    figure.legend = [("line posterior", "expected"), ("band posterior", f"{band} band"),
                     ("line empirical", "held-out documents")]  # fmt: skip
    figure.columns = risk
    return figure


def query_figures(data, query):
    """Return the expected figures of a query in a report of rankings."""
    band, x, judged = f"{100 * data['level']:g} %", query["rank"], query.get("judged")
    ranks = (0, max(query["documents"], 2))
    first = Expected("P(relevant) by rank", ("rank", "P(relevant)"), (ranks, (0, 1)))
    first.band("posterior", x, query["upper"], query["lower"])
    first.line("posterior", x, query["probability"])
    first.vertical = query["stop"]
    first.legend = [("line posterior", "P(relevant)"), ("band posterior", f"{band} band"),
                    ("line threshold", "stop")]  # fmt: skip
    first.columns = {"rank": x, "P(relevant)": query["probability"], "lower": query["lower"],
                     "upper": query["upper"]}  # fmt: skip
    enough = f"probability of a recall of {100 * data['recall']:g} % or more"
    second = Expected("Recall by rank, and when to stop", ("rank", "share, probability"),
                      (ranks, (0, 1)),
                      spoken="Recall by rank, and the probability that it is")  # fmt: skip
    second.band("recall", x, query["recall_upper"], query["recall_lower"])
    second.line("recall", x, query["recall"])
    second.line("posterior", x, query["reached"])
    second.line("diagonal", [0, query["documents"]], [data["probability"]] * 2)
    second.vertical = query["stop"]
    second.legend = [
        ("line recall", "recall, expected"), ("band recall", f"{band} band of recall"),
        ("line posterior", enough), ("line diagonal", "the probability asked for"),
        ("line threshold", "stop"),
    ]  # fmt: skip
    second.note = [f"the {enough} is {as_text(data['probability'])}."]
    second.columns = {"rank": x, "recall": query["recall"], "lower": query["recall_lower"],
                      "upper": query["recall_upper"], enough: query["reached"]}  # fmt: skip
    if judged:
        first.fringe = {"top": judged["relevant"]}
        first.legend.append(("line empirical", "judged relevant (ticks at the top)"))
        second.line("empirical", x, judged["recall"])
        second.legend.append(("line empirical", "recall, judged"))
        second.columns["recall, judged"] = judged["recall"]
    return _in_files_of(query["name"], [first, second])


def evidence_figures(data):
    """Return the expected figures of the weight of evidence."""
    return [_evidence(each) for each in data["evidence"]]


def _evidence(given):
    figure = Expected(given["title"], (given["xLabel"], given["yLabel"]),
                      (given["x"], given["y"]))  # fmt: skip
    if "at" in given:
        figure.whiskers("diagonal", [given["at"]], *([end] for end in given["y"]))
    for each in given["series"]:
        shape, kind = each["kind"].split()
        figure.legend.append((each["kind"], each["name"]))
        if shape == "band":
            figure.band(kind, each["x"], each["upper"], each["lower"])
        elif shape == "line":
            figure.line(kind, each["x"], each["y"])
        else:
            figure.dots(kind, each["x"], each["y"], radius=2.5)
    lines = [each for each in given["series"] if each["kind"].startswith("line")]
    # The table has the lines that share their places with the last.
    shared = [each for each in lines if len(each["x"]) == len(lines[-1]["x"])]
    figure.columns = {given["xLabel"]: shared[0]["x"]} | {
        each["name"]: each["y"] for each in shared
    }
    for each in given["series"]:
        if each["kind"].startswith("band"):
            figure.columns |= {f"{each['name']}, lower": each["lower"],
                               f"{each['name']}, upper": each["upper"]}  # fmt: skip
    return figure
