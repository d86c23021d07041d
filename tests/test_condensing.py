"""Collections as counts: sums over rows, fits, metrics, decisions and rates from Dask."""

from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayescal import ScoreCalibrator, condense, metrics
from bayescal.decisions import (
    count_positives,
    precision_at,
    rates_by_topic,
    recall_at,
    threshold_for_precision,
    threshold_for_recall,
    thresholds_by_topic,
)
from bayescal.monitoring import audit
from bayescal.sampling import estimate_rate

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

N = 100_000


@pytest.fixture(scope="module")
def rows():
    """Return scores, labels and wrong probabilities, in memory."""
    rng = np.random.default_rng(0)
    y = rng.random(N) < 0.1
    scores = rng.normal(1.5 * y, 1.0 + 0.3 * y)
    return scores, y, 1.0 / (1.0 + np.exp(2.5 - 1.3 * scores))


@pytest.fixture(scope="module")
def lazy(rows):
    """Return the same as Dask arrays."""
    return [da.from_array(each, chunks=23_000) for each in rows]


@pytest.mark.parametrize("cells", [1000, 1 << 17])
def test_counts_keep_the_sums_of_each_label(rows, lazy, cells):
    scores, y, _ = rows
    found = condense(*lazy[:2], cells=cells)
    assert found.scores.size <= 2 * (cells + 2)
    for label in (False, True):
        own = found.labels == label
        assert found.counts[own].sum() == np.count_nonzero(y == label)
        total = scores[y == label].sum()
        assert found.counts[own] @ found.scores[own] == pytest.approx(total, rel=1e-9)
    assert found.scores.min() == scores.min()
    assert found.scores.max() == scores.max()
    # The number above a threshold is off by one cell: pi sqrt(q (1 - q)) / cells of all, and by
    # what later blocks add to a cell of earlier ones.
    for threshold in (-2.0, 0.0, 1.0, 4.0):
        share = np.mean(scores >= threshold)
        off = abs(found.counts[found.scores >= threshold].sum() / N - share)
        assert off <= 2.0 * np.pi * np.sqrt(share * (1.0 - share)) / cells + 1.0 / N


def test_few_distinct_scores_lose_nothing():
    rng = np.random.default_rng(1)
    scores, y, weight = rng.integers(0, 7, 1000) / 10.0, rng.integers(0, 3, 1000), rng.random(1000)
    table = pd.DataFrame({"score": scores, "y": y, "weight": weight})
    wanted = table.groupby(["score", "y"])["weight"].sum()
    kinds = (
        [da.from_array(each, chunks=300) for each in (scores, y, weight)],
        [dd.from_pandas(table, npartitions=4)[name] for name in table],
        [xr.DataArray(da.from_array(each, chunks=300)) for each in (scores, y, weight)],
        [scores, y, weight],
    )
    for values, labels, weights in kinds:
        found = condense(values, labels, sample_weight=weights)
        assert list(zip(found.scores, found.labels, strict=True)) == wanted.index.to_list()
        np.testing.assert_allclose(found.counts, wanted)


def test_words_as_labels_and_empty_blocks():
    scores = da.from_array(np.arange(10.0), chunks=2)
    words = da.from_array(np.array(["no", "yes"] * 5, dtype=object), chunks=2)
    some = scores > 5.0
    found = condense(scores[some], words[some])
    assert found.scores.tolist() == [6.0, 7.0, 8.0, 9.0]
    assert found.labels.tolist() == ["no", "yes", "no", "yes"]
    with pytest.raises(ValueError, match="at least one document, got none"):
        condense(scores[scores > 20.0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], da.zeros(2)), "scores must be a Dask collection if labels"),
        ((da.zeros(4, chunks=2), [0, 0, 0, 1]), "labels must be a Dask collection .*, got list"),
        ((da.zeros(4, chunks=2), dd.from_pandas(pd.Series([0] * 4), npartitions=1)), "2, got 1"),
        ((da.from_array([0.0, 1.0, np.nan], chunks=2),), "scores of block 1 .* must be finite"),
        ((da.zeros(4, chunks=2), da.zeros(6, chunks=3)), "same length"),
    ],
)
def test_what_cannot_be_counted_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        condense(*arguments)


METRICS = [
    metrics.log_loss,
    metrics.brier_score,
    metrics.calibration_error,
    metrics.smooth_calibration_error,
    lambda y, p: astuple(metrics.score_decomposition(y, p)),
    lambda y, p: metrics.reliability_curve(y, p, n_bins=5).prob_true,
    lambda y, p: metrics.calibration_verdict(y, p).slope,
]


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_of_a_collection_are_those_of_its_rows(rows, lazy, metric):
    (_, y, p), (_, of_y, of_p) = rows, lazy
    np.testing.assert_allclose(metric(of_y, of_p), metric(y, p), atol=1e-4)


def test_audits_and_fits_of_a_collection_are_those_of_its_rows(rows, lazy):
    (scores, y, p), (many, of_y, of_p) = rows, lazy
    tables = [
        audit(*each, threshold=0.2, random_state=0).to_frame() for each in ((y, p), (of_y, of_p))
    ]
    np.testing.assert_allclose(tables[0], tables[1], atol=1e-4)
    x = np.linspace(-3.0, 5.0, 30)
    both = [ScoreCalibrator(random_state=0).fit(*each) for each in ((scores, y), (many, of_y))]
    one, other = (each.predict_proba(x) for each in both)
    np.testing.assert_allclose(one, other, atol=1e-3)
    one, other = (each.predict_interval(x) for each in both)
    np.testing.assert_allclose(one, other, atol=3e-3)  # ends of 4,000 draws


def test_what_counts_cannot_hold_is_refused_by_name(lazy):
    scores, y, p = lazy
    for call, name in (
        (lambda: ScoreCalibrator().fit(scores, y, clusters=y), "clusters"),
        (lambda: ScoreCalibrator().fit(scores, y, inclusion=np.ones(N)), "inclusion"),
        (lambda: ScoreCalibrator().fit(scores, y, covariates={"length": np.ones(N)}), "covariates"),
        (lambda: audit(y, p, np.zeros(N)), "sites"),
        (lambda: metrics.calibration_verdict(y, p, draws=np.ones((3, N))), "draws"),
        (lambda: estimate_rate(scores, y, clusters=np.arange(N)), "clusters"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be None where .* is a Dask collection"):
            call()
    with pytest.raises(ValueError, match=r"y must be a Dask collection .*, got ndarray"):
        ScoreCalibrator().fit(scores, np.zeros(N))
    with pytest.raises(ValueError, match="design must be 'random' or None"):
        estimate_rate(scores, y, design=np.full(N, 0.1))
    with pytest.raises(ValueError, match=r"labels must be a Dask collection .*, got ndarray"):
        estimate_rate(scores, np.zeros(N))
    with pytest.raises(ValueError, match="y_prob must be a Dask collection if y_true or sample_we"):
        metrics.log_loss(y, np.zeros(N))


def test_decisions_of_a_collection_are_those_of_its_rows(rows, lazy):
    (scores, y, _), many = rows, lazy[0]
    fitted = ScoreCalibrator("gaussian", draws=100, random_state=0)
    fitted.fit(scores[:2000], y[:2000])
    cells = condense(many)
    weight = {"sample_weight": cells.counts}
    draws = fitted.sample_proba(cells.scores, 60, random_state=0)
    of_rows = fitted.sample_proba(scores, 60, random_state=0)
    for measure in (recall_at, precision_at):
        options = {"of": "population"}
        found = measure(1.0, cells.scores, draws, **weight, **options)
        wanted = measure(1.0, scores, of_rows, **options)
        assert found.value == pytest.approx(wanted.value, abs=1e-4)
        assert found.selected == pytest.approx(wanted.selected, rel=1e-4)
        # With labels drawn, both are Monte Carlo estimates.
        found = measure(1.0, cells.scores, draws, **weight, rng=0)
        assert found.value == pytest.approx(measure(1.0, scores, of_rows, rng=0).value, abs=2e-3)
    for choose, wanted in ((threshold_for_recall, 0.8), (threshold_for_precision, 0.3)):
        found = choose(cells.scores, draws, wanted, **weight, of="population")
        assert found.value == pytest.approx(
            choose(scores, of_rows, wanted, of="population").value, abs=1e-3
        )
    found, wanted = count_positives(draws, **weight, rng=0), count_positives(of_rows, rng=0)
    assert found.method == "drawn"
    assert found.value == pytest.approx(wanted.value, rel=2e-3)
    assert found.sd == pytest.approx(wanted.sd, rel=0.1)
    assert found.pmf.sum() == pytest.approx(1.0)
    means = ["documents", "selected", "precision", "recall", "found", "missed"]
    for table in (rates_by_topic, thresholds_by_topic):
        asked = {"threshold": 1.0} if table is rates_by_topic else {"recall": 0.8}
        one, other = (table(fitted, each, **asked, random_state=0) for each in (many, scores))
        same = one.columns.intersection(means)
        np.testing.assert_allclose(one[same], other[same], rtol=5e-3)


def judged(n, seed, decimals):
    """Return scores of a judge and labels of 400 documents, some of them ties."""
    rng = np.random.default_rng(seed)
    good = rng.random(n) < 0.3
    labels, some = np.full(n, np.nan), rng.choice(n, 400, replace=False)
    labels[some] = np.where(rng.random(400) < 0.1, 0.5, good[some])
    return np.round(rng.normal(1.5 * good), decimals), labels


@pytest.mark.parametrize("design", ["random", None])
def test_the_rate_of_a_collection_is_that_of_its_rows(design):
    # Equal scores share a cell, so nothing is lost.
    one = estimate_rate(*judged(50_000, 0, 2), design=design)
    blocks = [da.from_array(each, chunks=13_000) for each in judged(50_000, 0, 2)]
    other = estimate_rate(*blocks, design=design)
    np.testing.assert_allclose(other.draws, one.draws, rtol=1e-12)
    assert other.useless == pytest.approx(one.useless)
    assert other.text == one.text
    for name in ("labels", "documents", "notes", "design_effect"):
        assert getattr(other, name) == getattr(one, name)
    np.testing.assert_allclose(astuple(other.curve), astuple(one.curve), atol=1e-12)
    # More scores than cells.
    rows = judged(400_000, 4, 15)
    one = estimate_rate(*rows, design=design)
    other = estimate_rate(*(da.from_array(each, chunks=90_000) for each in rows), design=design)
    assert other.documents == 400_000
    assert other.value == pytest.approx(one.value, abs=1e-4)
    assert other.draws.mean() == pytest.approx(one.draws.mean(), abs=1e-4)
    assert other.draws.std() == pytest.approx(one.draws.std(), abs=1e-4)
    np.testing.assert_allclose(other.curve.probability, one.curve.probability, atol=1e-3)
    for end in ("lower", "upper"):  # of 4,000 draws
        assert getattr(other, end) == pytest.approx(getattr(one, end), abs=1e-3)


@pytest.mark.parametrize("kind", ["float", "Int64", "boolean"])
def test_missing_labels_of_a_collection_are_nan(kind):
    scores, labels = judged(2000, 0, 1)
    labels[labels == 0.5] = 1.0
    table = pd.DataFrame({"score": scores, "label": pd.Series(labels).astype(kind)})
    lazy = dd.from_pandas(table, npartitions=3)
    one, other = (estimate_rate(each["score"], each["label"]) for each in (table, lazy))
    np.testing.assert_allclose(other.draws, one.draws, rtol=1e-12)
    words = da.from_array(np.array(["no", None, "yes"], dtype=object), chunks=3)
    with pytest.raises(ValueError, match=r"labels of block 0 .* must be real numbers"):
        condense(da.arange(3, chunks=3), words)


def test_rates_take_counts_of_documents():
    scores, labels = np.array([0.0, 1.0, 1.0, 2.0, 2.0, 3.0]), [np.nan, 0, np.nan, 1, np.nan, 1]
    weight = np.array([40, 2, 30, 3, 20, 0])
    rows = np.repeat(np.arange(6), weight)
    one = estimate_rate(scores, labels, sample_weight=weight, design="random")
    other = estimate_rate(scores[rows], np.array(labels)[rows], design="random")
    np.testing.assert_array_equal(one.draws, other.draws)
    assert (one.labels, one.documents, one.text) == (5, 95, other.text)
    few = scores, labels
    for options, message in (
        ({"sample_weight": 0.5}, r"whole numbers, .*; got 0\.5"),
        ({"sample_weight": 1, "design": np.full(6, 0.5)}, "design must be 'random' or None"),
        ({"sample_weight": 1, "clusters": np.arange(6)}, "and clusters None"),
    ):
        with pytest.raises(ValueError, match=message):
            estimate_rate(*few, **options)


def test_counts_of_documents_are_repeated_documents():
    p = np.random.default_rng(0).random((40, 3))
    found = count_positives(p, sample_weight=[2, 0, 1])
    assert found.method == "exact"
    np.testing.assert_allclose(found.pmf, count_positives(p[:, [0, 0, 2]]).pmf, atol=1e-15)
    with pytest.raises(ValueError, match=r"whole numbers, .*; got 0\.5"):
        count_positives(p, sample_weight=[2, 0, 0.5])
    rows = p[:, [0, 0, 2]]
    one = recall_at(2.0, [3.0, 0.0, 1.0], p, sample_weight=[2, 0, 1], of="population")
    assert one.value == recall_at(2.0, [3.0, 3.0, 1.0], rows, of="population").value
    assert one.selected == 2
