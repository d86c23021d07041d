"""Sentences of pages and notebooks have the figures of the tables that they cite."""

import re

import pandas as pd
import pytest

from tests.pages import ROOT


def table_of(name):
    return pd.read_csv(ROOT / "docs/validation" / f"{name}.csv")


def percent(share):
    return f"{100 * share:.0f}"


def coverage_on_fresh_data():
    table = table_of("fresh")
    share = table[(table["method"] == "default") & (table["measure"] == "coverage")]
    low, high, mean = (percent(getattr(share["mean"], of)()) for of in ("min", "max", "mean"))
    yield "README.md", f"90 % bands contained the share of positives [...] in {mean} % of cases"
    yield "README.md", f"in {low} to {high} %, depending on the classifier"
    yield "docs/validation/fresh.md", f"{low} to {high} % of cases, {mean} % on average over cells"
    yield "docs/paper.md", f"remaining documents in {mean} % of cases, {low} to {high} % by cell"
    by_size = share.groupby("n")["mean"].mean()
    assert [by_size.idxmin(), by_size.idxmax()] == [5, 200]
    few, many = percent(by_size[5]), percent(by_size[200])
    text = f"in {mean} % of cases: between {few} % (five positives) and {many} % (two hundred)"
    yield "docs/bands.md", text


def losses_on_fresh_data():
    table = table_of("fresh")
    cells = table[(table["method"] == "default") & (table["measure"] == "bits")]
    worse = cells["difference"] > 2.0 * cells["difference error"]
    yield "README.md", f"In {worse.sum()} of {len(cells)} comparisons the best of seven"
    yield "docs/paper.md", f"In {worse.sum()} of {len(cells)} cells of classifier, time and size"


def coverage_of_shapes():
    table = table_of("robustness")
    table = table[table["method"] == "default"]
    share = table.pivot(index="shape", columns="n", values="coverage")
    mean = share.mean(axis=1)
    exceptions = ["bimodal negatives", "heavy tails"]
    assert sorted(mean.nsmallest(2).index) == exceptions
    others = mean.drop(exceptions)
    text = f"truth in {percent(others.min())} to {percent(others.max())} % of cases averaged over"
    yield "docs/bands.md", f"{text} sizes, with two exceptions"
    heavy = share.loc["heavy tails"]
    text = f"With heavy tails the share is {percent(heavy.mean())} %, and {percent(heavy[1000])} %"
    yield "docs/bands.md", f"{text} with 1,000 positives"
    worst = percent(mean["bimodal negatives"])
    yield "docs/bands.md", f"With bimodal negatives it is {worst} %"
    text = f"hold {worst} % (two modes of the negatives) to {percent(mean.max())} % on average"
    yield "docs/paper.md", text
    worst = share.drop(exceptions).stack().nsmallest(2)
    assert list(worst.index) == [("unequal Gaussians", 5), ("label noise", 100)]
    width, labels = (percent(each) for each in worst)
    text = f"{width} % (two Gaussians of unequal width, 5) and {labels} % (wrong labels, 100)"
    yield "docs/bands.md", text


def points():
    table = table_of("reuters")
    bits = table[table["n"] == 3].set_index(["method", "classifier"])["mean"]
    predictive, mean, median = (
        f"{bits[method, 'naive_bayes']:.0f} and {bits[method, 'linear_svm']:.0f}"
        for method in ("A.Laplace", "A.Laplace, mean", "A.Laplace, median")
    )
    text = f"needs {predictive} bits (NB, SVM), the mean {mean}, the median {median}"
    yield "docs/defaults.md", text


def families():
    table = table_of("reuters_choose")
    rows = table[table["n"] == 10].set_index(["classifier", "method"])
    bits = (
        rows["mean"].map("{:.0f}".format) + " ± " + rows["error"].map("{:.0f}".format)
    ).to_dict()
    by = {
        name: [bits[name, f"average, {way}"] for way in ("stacked", "evidence")]
        for name in ("naive_bayes", "linear_svm")
    }
    bayes, svm = by["naive_bayes"], by["linear_svm"]
    text = f"stacking needs {bayes[0]} bits and evidence {bayes[1]} at n+ = 10 for naive Bayes,"
    yield "docs/defaults.md", f"{text} {svm[0]} and {svm[1]} for the SVM"


def pooling():
    measured = table_of("topics_bars").set_index("claim")["measured"]
    few, some, many, more = (
        measured[f"{name}, n+ = {n}: pooled against default, unpooled"]
        .split(" bits")[0]
        .lstrip("-")
        for n in (3, 100)
        for name in ("naive_bayes", "linear_svm")
    )
    text = f"the gain is {few} bits for naive Bayes and {some} for the SVM, and with a hundred"
    yield "notebooks/05_many_small_topics.ipynb", f"{text} {many} and {more}"


def pooled_losses():
    rows = table_of("topics").set_index(["method", "classifier", "n"])
    names = {"pooled": "`TopicCalibrator`", "default, unpooled": "default, topic by topic"}
    for method, name in (names | {"Platt": "Platt"}).items():
        cells = [
            "{mean:.0f} ± {error:.0f}".format(**rows.loc[(method, classifier, n)])
            for classifier in ("naive_bayes", "linear_svm")
            for n in (3, 10, 30)
        ]
        yield "docs/paper.md", f"| {name} | {' | '.join(cells)} |"


SOURCES = (
    coverage_on_fresh_data, losses_on_fresh_data, coverage_of_shapes, points, families, pooling,
    pooled_losses,
)  # fmt: skip


@pytest.mark.parametrize("sentences", SOURCES)
def test_sentences_have_the_figures_of_their_table(sentences):
    for page, text in sentences():
        words = " ".join((ROOT / page).read_text(encoding="utf-8").split())
        for piece in text.split(" [...] "):
            assert piece in words, f"{page}: {piece}"


@pytest.mark.parametrize("pattern", ["*.md", "docs/**/*.md", "docs/**/*.csv", "notebooks/*"])
def test_per_cent_is_spelled_in_one_way(pattern):
    """Texts have "90 %", with a space, in formats of notebooks too; "%20" stands in addresses."""
    paths = [path for path in ROOT.glob(pattern) if path.is_file()]
    assert paths
    for path in paths:
        found = re.search(r"\d%(?![0-9A-F]{2}).*", path.read_text(encoding="utf-8"))
        assert found is None, f"{path}: {found[0]}"
