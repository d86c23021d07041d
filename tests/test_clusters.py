"""Clusters of dependent documents: the design effect, and the fits and tests that count by it."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    MulticlassCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
    load,
)
from bayescal.fitting import fitted_recalibration
from bayescal.inference.design_effect import design_effect
from bayescal.likelihood_ratio import validate
from bayescal.metrics import (
    bootstrap_interval,
    calibration_verdict,
    class_verdict,
    reliability_curve,
)
from bayescal.monitoring import Recalibrator, audit
from bayescal.support.score_checks import ScoresWarning
from bayescal.text import TextCalibrator
from tests.cli_tools import MLE, run, summary_of, write

RNG = np.random.default_rng(3)
CLUSTER = RNG.integers(0, 12, 40)
Y, P = RNG.random(40) < 0.4, RNG.uniform(0.05, 0.8, 40)
COUNT = RNG.integers(0, 4, 40).astype(float)


def pairs_of(cluster):
    """Yield ordered pairs of documents of one cluster."""
    for i, own in enumerate(cluster):
        for j in np.flatnonzero(cluster == own):
            if i != j:
                yield i, j


def copies(seed, clusters=60):
    """Return scores, labels and clusters of 1 to 8 near copies of a document, and their P(+)."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), rng.integers(1, 9, clusters))
    positive = rng.random(clusters) < 0.3
    score = rng.normal(2.0 * positive, 1.0)
    p = special.expit(2.0 * score - 2.0 + special.logit(0.3))
    return score[cluster], positive[cluster], cluster, p[cluster]


def test_it_is_the_sum_over_pairs():
    found = design_effect(Y, P, CLUSTER)
    e, v = Y - P, P * (1.0 - P)
    pairs = list(pairs_of(CLUSTER))
    top = sum(e[i] * e[j] for i, j in pairs)
    rho = top / sum(np.sqrt(v[i] * v[j]) for i, j in pairs)
    assert found.estimate == pytest.approx(rho, rel=1e-12)
    used = found.correlation
    assert used == pytest.approx(np.clip(rho + found.error, 0.0, 1.0))
    log_odds = np.log(P / (1.0 - P))
    ratios = []
    for x in (np.ones(40), log_odds - np.average(log_odds, weights=v)):
        own = sum(v * x * x)
        ratios.append(1.0 + used * sum(np.sqrt(v[i] * v[j]) * x[i] * x[j] for i, j in pairs) / own)
    assert found.factor == pytest.approx(max(1.0, *ratios), rel=1e-12)
    assert (found.documents, found.positives) == (40.0, Y.sum())
    assert found.positive_clusters == len(set(CLUSTER[Y]))


def test_the_error_is_that_of_a_ratio_of_sums():
    found = design_effect(Y, P, CLUSTER)
    e, v = Y - P, P * (1.0 - P)
    own = []
    for name in range(12):
        mine = name == CLUSTER
        pairs = np.outer(np.sqrt(v[mine]), np.sqrt(v[mine]))
        products = np.outer(e[mine], e[mine])
        own.append([products.sum() - np.trace(products), pairs.sum() - np.trace(pairs)])
    products, scales = np.array(own).T
    away = products - found.estimate * scales
    assert found.error == pytest.approx(np.sqrt((away**2).sum()) / scales.sum(), rel=1e-10)


def test_counts_are_repetitions():
    times = COUNT.astype(int)
    repeated = design_effect(*(np.repeat(each, times) for each in (Y, P, CLUSTER)))
    counted = design_effect(Y, P, CLUSTER, COUNT)
    for name, each in vars(repeated).items():
        assert getattr(counted, name) == pytest.approx(each, rel=1e-10), name


def test_inverse_inclusion_probabilities_multiply_residuals():
    weight = RNG.uniform(1.0, 9.0, 40)
    found = design_effect(Y, P, CLUSTER, weight, sampled=True)
    e, v = weight * (Y - P), weight**2 * P * (1.0 - P)
    pairs = list(pairs_of(CLUSTER))
    rho = sum(e[i] * e[j] for i, j in pairs) / sum(np.sqrt(v[i] * v[j]) for i, j in pairs)
    assert found.estimate == pytest.approx(rho, rel=1e-12)
    ratio = sum(np.sqrt(v[i] * v[j]) for i, j in pairs) / v.sum()
    assert found.factor >= 1.0 + found.correlation * ratio - 1e-12
    assert (found.documents, found.positives) == (40.0, Y.sum())
    # Only ratios of sampling weights matter.
    plain, equal = design_effect(Y, P, CLUSTER), np.full(40, 3.0)
    assert design_effect(Y, P, CLUSTER, equal, sampled=True).factor == pytest.approx(plain.factor)


def sampled_copies(seed, clusters=150):
    """Draw clusters of `copies` whole, and return them with their inclusion probabilities."""
    *arrays, cluster, p = copies(seed, clusters)
    inclusion = np.where(np.arange(clusters) % 2, 0.9, 0.3)
    drawn = (np.random.default_rng(seed).random(clusters) < inclusion)[cluster]
    return [each[drawn] for each in (*arrays, cluster, p, inclusion[cluster])]


def test_right_probabilities_of_sampled_copies_are_seldom_called_off():
    # With a test of 5 %, 20 samples reject more than 4 of right ones with probability .003.
    off = np.zeros(2, dtype=int)
    for seed in range(20):
        _, y, cluster, p, inclusion = sampled_copies(seed)
        off += [
            calibration_verdict(y, p, inclusion=inclusion, clusters=each).outcome == "off"
            for each in (cluster, None)
        ]
    assert off[0] <= 4
    assert off[1] >= 8


def test_an_audit_of_sampled_copies_has_wider_intervals():
    _, y, cluster, p, inclusion = sampled_copies(1)
    plain, named = (
        audit(y, p, inclusion=inclusion, clusters=each, random_state=0) for each in (None, cluster)
    )
    wider = named.outcomes.effect.factor**0.5
    assert wider > 1.5
    for name in ("observed / expected", "calibration in the large", "slope", "AUC"):
        ratio = named.numbers[name].width / plain.numbers[name].width
        assert 0.75 * wider < ratio < 1.35 * wider, name
    verdict, other = named.verdict, plain.verdict
    assert (verdict.documents, verdict.observed) == (other.documents, other.observed)
    assert verdict.upper - verdict.lower > 1.3 * (other.upper - other.lower)


@pytest.mark.parametrize("by_score", [True, False])
def test_documents_sampled_in_clusters_are_fitted_as_fewer(by_score):
    score, y, cluster, _, inclusion = sampled_copies(1)
    if by_score:
        inclusion = np.where(score > 1.0, 1.0, 0.4)
    plain, named = (
        ScoreCalibrator("monotone", draws=500, random_state=0).fit(
            score, y, inclusion=inclusion, clusters=each
        )
        for each in (None, cluster)
    )
    grid = np.linspace(0.0, 2.0, 9)
    factor = named.design_effect_.factor
    width, other = (
        np.ptp(special.logit(each.predict_interval(grid)), axis=1) for each in (named, plain)
    )
    assert np.median(width / other) > 1.0 + 0.4 * (factor**0.5 - 1.0)
    counts = [
        each.posterior_["constant_data"]["base_rate"].values.sum() - 2.0 for each in (named, plain)
    ]
    assert counts[0] == pytest.approx(counts[1] / factor)


def test_two_equal_copies_count_as_one():
    # Residuals of copies are equal, so that rho is 1 up to its estimate, and k = 2.
    y, p = np.repeat([1, 0, 0, 1], 2).astype(bool), np.full(8, 0.5)
    assert design_effect(y, p, np.arange(8) // 2).factor == 2.0


def test_copies_are_fitted_as_one_document_each():
    rng = np.random.default_rng(0)
    positive = rng.random(150) < 0.3
    score, grid = rng.normal(2.0 * positive), np.linspace(0.5, 4.0, 9)
    once, twice, counted = (
        ScoreCalibrator("monotone", draws=4000, random_state=0) for _ in range(3)
    )
    once.fit(score, positive)
    pairs = np.repeat(score, 2), np.repeat(positive, 2)
    twice.fit(*pairs)
    counted.fit(*pairs, clusters=np.arange(300) // 2)
    assert counted.design_effect_.factor == pytest.approx(2.0, abs=0.15)
    width, own, too_small = (
        np.ptp(special.logit(each.predict_interval(grid)), axis=1)
        for each in (once, counted, twice)
    )
    np.testing.assert_allclose(own, width, rtol=0.12)
    assert (too_small < 0.85 * width).mean() > 0.7


def test_documents_of_clusters_of_their_own_change_no_bit():
    score, y, _, p = copies(0)
    alone = RNG.permutation(y.size)
    for inference in ("exact", "mle"):
        plain, named = (ScoreCalibrator(inference=inference, random_state=0) for _ in range(2))
        plain.fit(score, y)
        named.fit(score, y, clusters=alone)
        np.testing.assert_array_equal(plain.predict_proba(score), named.predict_proba(score))
    assert named.design_effect_.factor == 1.0
    assert str(named.design_effect_) == f"no cluster of {y.size} holds two documents"
    assert plain.design_effect_ is None
    verdict = calibration_verdict(y, p, clusters=alone)
    assert verdict.pvalue == calibration_verdict(y, p).pvalue
    numbers, others = (
        audit(y, p, clusters=each, random_state=0).to_frame() for each in (alone, None)
    )
    assert numbers.equals(others)


@pytest.mark.parametrize("names", [str, lambda each: each, lambda each: each - 7])
def test_names_and_order_are_the_users(names):
    score, y, cluster, _ = copies(1)
    plain = ScoreCalibrator("monotone", random_state=0).fit(score, y, clusters=cluster)
    order = np.random.default_rng(0).permutation(y.size)
    named = np.array([names(each) for each in cluster.tolist()])[order]
    other = ScoreCalibrator("monotone", random_state=0).fit(score[order], y[order], clusters=named)
    assert other.design_effect_.factor == pytest.approx(plain.design_effect_.factor, rel=1e-9)


def test_right_probabilities_of_copies_are_seldom_called_off():
    # With a test of 5 %, 80 samples reject more than 10 of right ones with probability .0035.
    off = np.zeros(2, dtype=int)
    for seed in range(80):
        _, y, cluster, p = copies(seed)
        off += [
            calibration_verdict(y, p, clusters=each).outcome == "off" for each in (cluster, None)
        ]
    assert off[0] <= 10
    assert off[1] >= 30  # as independent documents they are


def test_errors_of_all_odds_are_still_found():
    found = 0
    for seed in range(20):
        _, y, cluster, p = copies(seed, 300)
        odds = p / (1.0 - p) * 4.0
        found += calibration_verdict(y, odds / (1.0 + odds), clusters=cluster).outcome == "off"
    assert found >= 18


def test_an_audit_and_a_verdict_say_what_documents_count():
    _, y, cluster, p = copies(2, 200)
    plain, clustered = (audit(y, p, clusters=each, random_state=0) for each in (None, cluster))
    effect = clustered.outcomes.effect
    assert f"{effect}." in clustered.text
    assert str(effect) in calibration_verdict(y, p, clusters=cluster).test
    assert effect.factor > 2.0
    for name, own in clustered.numbers.items():
        other = plain.numbers[name]
        # Curves shrink by more where documents count for less.
        if np.isfinite(own.lower) and not name.startswith(("mean", "median", "90th", "largest")):
            ratio = (own.upper - own.lower) / (other.upper - other.lower)
            assert 0.7 * effect.factor**0.5 < ratio < 1.4 * effect.factor**0.5, name
    verdict, plain_verdict = clustered.verdict, plain.verdict
    assert (verdict.documents, verdict.observed) == (plain_verdict.documents, y.sum())
    assert verdict.expected == pytest.approx(p.sum())
    wider = (verdict.upper - verdict.lower) / (plain_verdict.upper - plain_verdict.lower)
    assert wider == pytest.approx(effect.factor**0.5, rel=0.1)


def test_results_keep_it(tmp_path):
    score, y, cluster, _ = copies(3)
    fitted = ScoreCalibrator("monotone", draws=100, random_state=0)
    fitted.fit(score, y, clusters=cluster)
    fitted.save(tmp_path / "kept.nc")
    effect = load(tmp_path / "kept.nc").design_effect_
    assert effect == fitted.design_effect_
    fitted.report(tmp_path / "page.html")
    assert str(effect) in (tmp_path / "page.html").read_text()


def test_positives_of_few_clusters_are_named():
    score, y = np.r_[np.zeros(30), 2.0 + 0.01 * np.arange(30)], np.arange(60) >= 30
    score += np.random.default_rng(0).normal(size=60)
    cluster = np.where(y, np.arange(60) // 50, 100 + np.arange(60))
    with pytest.warns(ScoresWarning, match="all 30 positives are in 2 clusters"):
        ScoreCalibrator("monotone", draws=100).fit(score, y, clusters=cluster)


def test_one_giant_cluster_is_named():
    rng = np.random.default_rng(0)
    score, cluster = rng.normal(size=300), np.maximum(np.arange(300) // 2 - 60, 0)
    y = rng.random(300) < special.expit(score)
    with pytest.warns(ScoresWarning, match="one cluster holds 99 % of the pairs"):
        fitted = ScoreCalibrator("monotone", draws=100).fit(score, y, clusters=cluster)
    sizes = np.bincount(cluster)
    pairs = sizes * (sizes - 1)
    assert fitted.design_effect_.largest == pytest.approx(pairs.max() / pairs.sum(), abs=0.01)
    verdict = calibration_verdict(y, special.expit(score), clusters=cluster)
    assert "99 % of the pairs" in verdict.text
    assert "of the pairs" not in str(design_effect(Y, P, CLUSTER))


@pytest.mark.parametrize(
    ("match", "options"),
    [
        ("the same length", {"clusters": [1, 2]}),
        ("leave documents without a cluster out", {"clusters": [np.nan] * 60}),
        ("one cluster a document", {"clusters": np.ones((60, 2), int)}),
    ],
)
def test_what_is_no_cluster_is_refused(match, options):
    score, y = np.linspace(-1.0, 1.0, 60), np.arange(60) % 2
    with pytest.raises(ValueError, match=match):
        ScoreCalibrator("monotone").fit(score, y, **options)
    p = special.expit(score)
    for judge in (calibration_verdict, audit):
        with pytest.raises(ValueError, match=match):
            judge(y, p, **options)


@pytest.mark.parametrize("ensemble", [False, True])
def test_folds_of_a_classifier_keep_clusters_together(ensemble):
    score, y, cluster, _ = copies(4)
    X = np.stack([score, RNG.normal(size=y.size)], axis=1)
    seen = []

    class Recorder(LogisticRegression):
        def fit(self, X, y):
            seen.append(X[:, 0])
            return super().fit(X, y)

    quick = ScoreCalibrator("monotone", draws=100, random_state=0)
    fitted = CalibratedClassifier(Recorder(), quick, cv=4, ensemble=ensemble)
    fitted.fit(X, y, clusters=cluster)
    # Copies have equal scores, which name their cluster.
    size = dict(zip(*np.unique(score, return_counts=True), strict=True))
    for part in seen:
        for value, count in zip(*np.unique(part, return_counts=True), strict=True):
            assert count == size[value]
    for pair in fitted.calibrated_classifiers_:
        (own,) = pair.calibrators
        assert own.design_effect_.factor > 1.5
    with pytest.raises(ValueError, match="fold 1 has documents of cluster 7 in both parts"):
        CalibratedClassifier(Recorder(), quick, cv=ShuffleSplit(3)).fit(
            X, y, clusters=np.full(y.size, 7)
        )


def test_combined_classifiers_count_clusters():
    score, y, cluster, _ = copies(4)
    X = np.stack([score, RNG.normal(size=y.size)], axis=1)
    pair = [("all", LogisticRegression()), ("one", LogisticRegression(C=0.01))]
    plain, named = (
        CombinedClassifier(pair, combiner="logistic", cv=4, random_state=0).fit(X, y, clusters=each)
        for each in (None, cluster)
    )
    assert plain.design_effects_ is None
    (effect,) = named.design_effects_
    # Residuals are of the combination before its documents counted as fewer.
    own = design_effect(y, special.expit(named.scores_), cluster)
    assert effect.factor == pytest.approx(own.factor, rel=0.1)
    assert effect.factor > 1.5
    (combined,) = named._combined
    np.testing.assert_allclose(combined.labelled.weight, 1.0 / effect.factor)
    fold = combined.labelled.fold
    assert len(set(zip(cluster.tolist(), fold.tolist(), strict=True))) == 60
    splits = list(StratifiedKFold(3).split(X, y))
    with pytest.raises(ValueError, match="of cluster 7 in both parts"):
        CombinedClassifier(pair, cv=splits).fit(X, y, clusters=np.full(y.size, 7))


@pytest.mark.slow
def test_bands_of_combined_classifiers_count_clusters():
    score, y, cluster, _ = copies(4, 150)
    X = np.stack([score, RNG.normal(size=y.size)], axis=1)
    pair = [("all", LogisticRegression()), ("one", LogisticRegression(C=0.01))]
    width = [
        np.ptp(
            CombinedClassifier(pair, random_state=0).fit(X, y, clusters=each).predict_interval(X),
            axis=1,
        )
        for each in (None, cluster)
    ]
    assert np.median(width[1] / width[0]) > 1.2


def test_texts_of_a_thread_stay_together():
    _, y, cluster, _ = copies(6)
    texts = [
        f"{'good' if own else 'bad'} text of thread {k}" for k, own in zip(cluster, y, strict=True)
    ]
    fitted = TextCalibrator(folds=3, min_documents=1).fit(texts, y, clusters=cluster)
    (own,) = fitted.calibrated_classifiers_[0].calibrators
    assert own.design_effect_.clusters == 60


def test_classes_calibrated_one_by_one_have_clusters():
    score, y, cluster, _ = copies(5)
    X, classes = np.stack([score, RNG.normal(size=y.size)], axis=1), 1 * y + (score > 1.0)
    quick = ScoreCalibrator("monotone", draws=100, random_state=0)
    fitted = CalibratedClassifier(LogisticRegression(), quick).fit(X, classes, clusters=cluster)
    effects = [each.design_effect_ for each in fitted.calibrated_classifiers_[0].calibrators]
    assert [each.clusters for each in effects] == [60, 60, 60]
    with pytest.raises(ValueError, match="takes no clusters"):
        CalibratedClassifier(LogisticRegression(), "temperature").fit(X, classes, clusters=cluster)


@pytest.mark.parametrize("inference", ["exact", "mle"])
def test_an_update_continues_clusters(inference, tmp_path):
    score, y, cluster, _ = copies(3)
    first = np.arange(y.size) < 150  # within a cluster
    assert cluster[first].max() == cluster[~first].min()
    options = {"inference": inference, "random_state": 0}
    options |= {"parts": "gaussian"} if inference == "mle" else {"parts": "monotone", "draws": 100}
    fitted = ScoreCalibrator(**options).fit(score[first], y[first], clusters=cluster[first])
    fitted.save(tmp_path / "today.nc")
    fitted = load(tmp_path / "today.nc")
    fitted.update(score[~first], y[~first], clusters=cluster[~first])
    at_once = ScoreCalibrator(**options, units=fitted.units_).fit(score, y, clusters=cluster)
    assert fitted.design_effect_.clusters == 60
    assert fitted.design_effect_.factor == pytest.approx(at_once.design_effect_.factor, rel=1e-6)
    np.testing.assert_allclose(fitted.predict_proba(score), at_once.predict_proba(score), atol=1e-6)
    for clustered, given in ((fitted, None), (ScoreCalibrator(**options).fit(score, y), cluster)):
        with pytest.raises(ValueError, match="clusters must be given in update if they were"):
            clustered.update(score, y, clusters=given)


def test_recalibrated_probabilities_have_clusters():
    _, y, cluster, p = copies(2, 200)
    plain, named, alone = (
        Recalibrator(refit="never", random_state=0).fit(p, y, clusters=each)
        for each in (None, cluster, RNG.permutation(y.size))
    )
    np.testing.assert_array_equal(plain.predict_proba(p), alone.predict_proba(p))
    assert plain.design_effect_ is None
    effect = named.design_effect_
    assert effect == calibration_verdict(y, p, clusters=cluster).design_effect
    weight, grid = np.full(y.size, 1.0 / effect.factor), [0.05, 0.2, 0.5]
    counted = Recalibrator(refit="never", random_state=0).fit(p, y, None, weight)
    np.testing.assert_array_equal(named.predict_interval(grid), counted.predict_interval(grid))
    (problem,) = named.fitted_problems().values()
    assert ("clusters", {"effect": str(effect)}) in problem.describe(several=False)


def test_folds_of_a_recalibrator_keep_clusters_together(monkeypatch):
    seen = []

    class Stub:
        """Stands for "fit again", which is compared on the other folds."""

        def __init__(self, data, *_):
            seen.append(data.score)
            self.calibration = self

        def log_odds(self, score, *_):
            return np.zeros_like(score)

    monkeypatch.setattr(fitted_recalibration, "_fit_again", Stub)
    _, y, cluster, p = copies(2, 100)
    options = {"refit": "auto", "random_state": 0}
    Recalibrator(**options).fit(p, y, clusters=cluster)
    # Copies have equal probabilities, which name their cluster.
    size = dict(zip(*np.unique(special.logit(p), return_counts=True), strict=True))
    assert len(seen) == 5
    for part in seen:
        values, counts = np.unique(part, return_counts=True)
        assert [size[value] for value in values] == counts.tolist()
    seen.clear()
    for each in (None, RNG.permutation(y.size)):
        Recalibrator(**options).fit(p, y, clusters=each)
    for part, same in zip(seen[:5], seen[5:], strict=True):
        np.testing.assert_array_equal(part, same)


def test_bootstrap_intervals_draw_whole_clusters():
    # The standard error of a mean of clusters of equal size is that of the clusters' means.
    rng = np.random.default_rng(0)
    p = np.repeat(rng.uniform(0.1, 0.9, 50), 6)
    y, cluster = rng.random(300) < p, np.repeat(rng.permutation(50), 6)

    def mean(y_true, y_prob, *, sample_weight=None):
        return float(np.average(y_prob, weights=sample_weight))

    found = bootstrap_interval(mean, y, p, clusters=cluster, rng=0)
    assert np.std(found.draws) == pytest.approx(p[::6].std() / 50**0.5, rel=0.1)
    same, plain = (
        bootstrap_interval(mean, y, p, clusters=each, resamples=20, rng=0)
        for each in (rng.permutation(300), None)
    )
    np.testing.assert_array_equal(same.draws, plain.draws)
    weight = np.tile([0, 1, 2], 100)  # of clusters, only documents with a weight are drawn
    found = bootstrap_interval(mean, y, p, clusters=cluster, sample_weight=weight, rng=0)
    assert np.std(found.draws) == pytest.approx(p[::6].std() / 50**0.5, rel=0.1)


def test_intervals_of_cllr_leave_out_whole_clusters():
    _, y, cluster, p = copies(2, 200)
    log10_lr = (special.logit(p) - special.logit(0.3)) / np.log(10.0)
    plain, alone, named = (
        validate(y, log10_lr, clusters=each, rng=0) for each in (None, np.arange(y.size), cluster)
    )
    assert (plain.cllr.lower, plain.cllr.upper) == (alone.cllr.lower, alone.cllr.upper)
    # The standard error of a sum over clusters, beside that of a sum over comparisons.
    share, loss = y.mean(), np.where(y, np.log2(1 + 10**-log10_lr), np.log2(1 + 10**log10_lr))
    away = (loss - np.where(y, loss[y].mean(), loss[~y].mean())) / np.where(y, share, 1.0 - share)
    of_clusters = np.bincount(cluster, away)
    wider = np.sqrt((of_clusters**2).sum() / (away**2).sum())
    assert wider > 1.8
    ratio = (named.cllr.upper - named.cllr.lower) / (plain.cllr.upper - plain.cllr.lower)
    assert ratio == pytest.approx(wider, rel=0.15)
    assert "of 200 clusters" in named.text
    with pytest.raises(ValueError, match="either sources or clusters must be None"):
        validate(y, log10_lr, clusters=cluster, sources=(cluster, cluster))


@pytest.mark.parametrize("method", ["uniform", "corp"])
def test_confidence_bands_count_clusters(method):
    _, y, cluster, p = copies(2, 200)
    options = {"method": method, "n_bins": 4, "band": "confidence"}
    found = reliability_curve(y, p, clusters=cluster, **options)
    factor = calibration_verdict(y, p, clusters=cluster).design_effect.factor
    weight = np.full(y.size, 1.0 / factor)
    same = reliability_curve(y, p, sample_weight=weight, **options)
    np.testing.assert_allclose(found.lower, same.lower, atol=1e-9)
    np.testing.assert_allclose(found.upper, same.upper, atol=1e-9)
    plain = reliability_curve(y, p, **options)
    assert (found.upper - found.lower).mean() > 1.3 * (plain.upper - plain.lower).mean()


def test_consistency_bands_hold_curves_of_copies():
    # In 80 other samples these held .94 ± .01 of the curves, and those of documents .62 ± .03.
    inside = np.zeros(2)
    for seed in range(20):
        _, y, cluster, p = copies(seed)
        for k, names in enumerate((cluster, None)):
            curve = reliability_curve(
                y, p, method="quantile", n_bins=4, clusters=names, resamples=50, rng=seed
            )
            held = (curve.lower <= curve.prob_true) & (curve.prob_true <= curve.upper)
            inside[k] += held.mean() / 20
    assert inside[0] >= 0.82
    assert inside[1] <= 0.78
    alone = np.random.default_rng(0).permutation(y.size)
    plain, same = (reliability_curve(y, p, clusters=each, rng=0) for each in (None, alone))
    np.testing.assert_array_equal(plain.lower, same.lower)


def copies_of_topics():
    """Return scores, labels, topics and clusters; names of clusters repeat in the other topic."""
    both = copies(2, 30), copies(3, 30)
    score, y, cluster, _ = (np.concatenate(each) for each in zip(*both, strict=True))
    return score, y, np.repeat(["a", "b"], [each[1].size for each in both]), cluster


def test_topics_have_one_design_effect(tmp_path):
    score, y, topic, cluster = copies_of_topics()
    options = {"pooling": "none", "draws": 50, "random_state": 0}
    plain, named, alone = (
        TopicCalibrator(**options).fit(score, y, topic, clusters=each)
        for each in (None, cluster, np.arange(y.size))
    )
    assert plain.design_effect_ is None
    np.testing.assert_array_equal(
        plain.predict_proba(score, topic), alone.predict_proba(score, topic)
    )
    effect = named.design_effect_
    # The same name in another topic is another cluster.
    assert effect.clusters == 60
    own = design_effect(y, plain.predict_proba(score, topic)[:, 1], cluster + 30 * (topic == "b"))
    assert effect.factor == pytest.approx(own.factor, rel=1e-6)
    counted = named.posterior_["maximum_likelihood"]["total_weight"].sum()
    assert counted == pytest.approx(y.size / effect.factor)
    named.save(tmp_path / "topics.nc")
    assert load(tmp_path / "topics.nc").design_effect_ == effect
    assert str(effect) in str(next(iter(named.fitted_problems().values())).describe(several=True))
    with pytest.raises(ValueError, match="add_topics must follow a fit without clusters"):
        named.add_topics(score, y, np.full(y.size, "c"))


def test_wide_scores_have_a_cluster_a_document():
    score, y, _, cluster = copies_of_topics()
    n = y.size // 2
    wide, labels = score[: 2 * n].reshape(2, n).T, y[: 2 * n].astype(float).reshape(2, n).T
    labels[0, 0] = np.nan
    by_row = TopicCalibrator("none", draws=100, random_state=0)
    by_row.fit(wide, labels, clusters=cluster[:n])
    by_cell = TopicCalibrator("none", draws=100, random_state=0)
    by_cell.fit(
        wide.ravel(), labels.ravel(), np.tile([0, 1], n), clusters=np.repeat(cluster[:n], 2)
    )
    assert by_row.design_effect_ == by_cell.design_effect_
    assert by_row.design_effect_.documents == 2 * n - 1


def copies_of_classes(seed, clusters=60):
    """Return probabilities of three classes, labels and clusters of 1 to 8 copies."""
    rng = np.random.default_rng(seed)
    cluster = np.repeat(np.arange(clusters), rng.integers(1, 9, clusters))
    p = rng.dirichlet(np.ones(3), clusters)
    y = (p.cumsum(axis=1) < rng.random((clusters, 1))).sum(axis=1)
    return p[cluster], y[cluster], cluster


def test_two_classes_are_one():
    both = np.stack([~Y, Y], axis=1), np.stack([1.0 - P, P], axis=1)
    one, two = design_effect(Y, P, CLUSTER, COUNT), design_effect(*both, CLUSTER, COUNT)
    for name in ("factor", "correlation", "estimate", "error", "documents", "clusters"):
        assert getattr(two, name) == pytest.approx(getattr(one, name), rel=1e-9), name


def test_two_copies_of_several_classes_count_as_one():
    # Residuals of copies are equal, and of these sizes in the mean, so that rho is 1.
    p, y = np.full((6, 3), 1.0 / 3.0), np.arange(6) // 2
    found = design_effect(np.eye(3, dtype=bool)[y], p, y)
    assert found.factor == pytest.approx(2.0)
    assert (found.positives, found.positive_clusters) == (2.0, 1)


@pytest.mark.slow
def test_right_probabilities_of_classes_of_copies_are_seldom_called_off():
    # With a test of 5 %, 10 samples reject more than 3 of right ones with probability .001.
    off = np.zeros(2, dtype=int)
    for seed in range(10):
        p, y, cluster = copies_of_classes(seed)
        off += [class_verdict(y, p, clusters=each).outcome == "off" for each in (cluster, None)]
    assert off[0] <= 3
    assert off[1] >= 5  # as independent documents they are


def test_verdicts_on_classes_say_what_documents_count():
    p, y, cluster = copies_of_classes(0)
    draws = np.random.default_rng(0).dirichlet(np.ones(3), (2, y.size)) * 0.1 + 0.9 * p
    for options in ({}, {"draws": draws}):
        plain, alone, named = (
            class_verdict(y, p, clusters=each, **options)
            for each in (None, RNG.permutation(y.size), cluster)
        )
        assert (plain.pvalue, plain.slope) == (alone.pvalue, alone.slope)
        effect = named.design_effect
        assert f"{effect}." in named.test
        wider = (named.upper - named.lower) / (plain.upper - plain.lower)
        np.testing.assert_allclose(wider, effect.factor**0.5, rtol=0.15)
        assert named.detectable > plain.detectable
    equal = class_verdict(y, p, clusters=cluster, inclusion=np.full(y.size, 0.5))
    assert equal.design_effect.factor == pytest.approx(effect.factor, rel=1e-9)
    assert equal.pvalue == pytest.approx(class_verdict(y, p, clusters=cluster).pvalue, abs=0.02)


@pytest.mark.slow
def test_one_map_of_classes_has_clusters():
    p, y, cluster = copies_of_classes(0)
    scores = np.log(p)
    plain, alone, named = (
        MulticlassCalibrator(exchangeable=True, random_state=0).fit(scores, y, clusters=each)
        for each in (None, RNG.permutation(y.size), cluster)
    )
    np.testing.assert_array_equal(plain.predict_proba(scores), alone.predict_proba(scores))
    effect = named.design_effect_
    assert effect.factor > 3.0
    assert named.findings()[-1] == f"{effect}."
    counted = MulticlassCalibrator(exchangeable=True, random_state=0)
    counted.fit(scores, y, sample_weight=np.full(y.size, 1.0 / effect.factor))
    np.testing.assert_array_equal(named.predict_proba(scores), counted.predict_proba(scores))


@pytest.mark.slow
def test_an_update_of_classes_continues_clusters(tmp_path):
    p, y, cluster = copies_of_classes(0, 30)
    scores, first = np.log(p), np.flatnonzero(cluster % 2)
    # One cluster goes on in the update.
    first, later = first[:-2], np.append(np.flatnonzero(cluster % 2 == 0), first[-2:])
    every = np.append(first, later)
    fitted, whole, sampled = (
        MulticlassCalibrator(exchangeable=True, draws=20, random_state=0) for _ in range(3)
    )
    fitted.fit(scores[first], y[first], clusters=cluster[first]).save(tmp_path / "classes.nc")
    fitted = load(tmp_path / "classes.nc")
    with pytest.raises(ValueError, match="clusters must be given in update"):
        fitted.update(scores[later], y[later])
    fitted.update(scores[later], y[later], clusters=cluster[later])
    whole.fit(scores[every], y[every], clusters=cluster[every])
    effect, expected = fitted.design_effect_, whole.design_effect_
    assert (effect.documents, effect.clusters) == (expected.documents, expected.clusters)
    assert effect.factor == pytest.approx(expected.factor, rel=0.05)
    np.testing.assert_allclose(fitted.predict_proba(scores), whole.predict_proba(scores), atol=0.05)
    sampled.fit(scores, y, inclusion=np.full(y.size, 0.5), clusters=cluster)
    with pytest.raises(ValueError, match="inclusion in neither"):
        sampled.update(scores, y, clusters=cluster)


def copies_in(path, name="thread_id", **columns):
    """Write scores, labels, probabilities and clusters of copies to a file."""
    score, y, cluster, p = copies(2)
    frame = pd.DataFrame({"score": score, "label": y.astype(int), "p": p, name: cluster})
    return write(frame.assign(**columns), path)


def test_a_shell_reads_clusters(tmp_path):
    score, y, cluster, _ = copies(2)
    effect = ScoreCalibrator(inference="mle").fit(score, y, clusters=cluster).design_effect_
    path, out = copies_in(tmp_path / "a.csv"), tmp_path / "out"
    named = "--cluster-column", "thread_id"
    result = run("fit", path, *MLE, *named, "--out", out)
    assert str(effect) in " ".join(result.stdout.split())
    (topic,) = summary_of(out)["topics"]
    assert topic["clusters"] == pytest.approx(vars(effect))
    assert "values in" not in result.stderr


def test_an_audit_in_a_shell_reads_clusters(tmp_path):
    _, y, cluster, p = copies(2)
    path = copies_in(tmp_path / "a.csv")
    of_p = audit(y, p, clusters=cluster, random_state=0).outcomes.effect
    named = "--cluster-column", "thread_id"
    result = run("audit", path, "--label-column", "label", *named)
    assert f"{of_p}.".replace("documents", "rows") in " ".join(result.stdout.split())
    assert f"{y.sum()} of {y.size} rows are positive" in result.stdout
    out = tmp_path / "out"
    result = run(
        "recalibrate", path, "--label-column", "label", *named, "--refit", "never", "--out", out
    )
    assert f"{of_p}." in " ".join(result.stdout.split())


def test_a_fit_in_a_shell_holds_out_whole_clusters(tmp_path):
    path, out = copies_in(tmp_path / "a.csv"), tmp_path / "out"
    named = "--cluster-column", "thread_id", "--draws", "50", "--parts", "monotone"
    result = run("fit", path, *named, "--holdout", "0.25", "--out", out)
    assert "held out at random, 25 % of clusters" in " ".join(result.stdout.split())
    rows = pd.read_csv(out / "probabilities.csv")
    tested = rows.groupby("thread_id")["held_out"].agg(["min", "max"])
    assert (tested["min"] == tested["max"]).all()
    assert tested["min"].sum() == 15
    (topic,) = summary_of(out)["topics"]
    assert topic["clusters"]["clusters"] == 45


@pytest.mark.slow
def test_texts_in_a_shell_have_clusters(tmp_path):
    _, y, cluster, _ = copies(6, 15)
    texts = [f"{'good' if own else 'bad'} text {k}" for k, own in zip(cluster, y, strict=True)]
    frame = pd.DataFrame({"text": texts, "label": y.astype(int), "thread": cluster})
    path = write(frame, tmp_path / "texts.csv")
    options = ("--min-documents", "1", "--folds", "2", "--cluster-column", "thread")
    assert "of 15 clusters count as" in run("text", "fit", path, *options).stdout


@pytest.mark.parametrize(
    "name", ["thread_id", "Patient ID", "prompt", "e-mail", "speakerNumber", "family", "Doc. ID"]
)
def test_a_shell_warns_of_columns_that_name_clusters(name, tmp_path):
    path = copies_in(tmp_path / "a.csv", name)
    for words in (("fit", *MLE), ("audit", "--label-column", "label")):
        assert f"column {name!r} of {path} has 60 values in" in run(*words, path).stderr


@pytest.mark.parametrize("name", ["site", "document", "thread_id"])
def test_a_shell_warns_of_no_other_column(name, tmp_path):
    # As the topic, or with a name for each row, a column is no cluster.
    numbers = {} if name == "site" else {name: np.arange(copies(2)[1].size)}
    path = copies_in(tmp_path / "a.csv", name, **numbers)
    assert "values in" not in run("fit", path, *MLE).stderr


def test_documents_that_topics_share_repeat_nothing(tmp_path):
    score, y, _, _ = copies(2)
    topics = {"topic": np.repeat(["corn", "oil"], score.size)}
    twice = {"score": np.tile(score, 2), "label": np.tile(y, 2).astype(int)}
    names = {"document": np.tile(np.arange(score.size), 2)}
    path = write(pd.DataFrame({**twice, **topics, **names}), tmp_path / "a.csv")
    assert "values in" not in run("fit", path, *MLE, "--topic-column", "topic").stderr
    assert "leave out rows that repeat others" in run("fit", path, *MLE).stderr


def test_a_shell_warns_of_clusters_that_are_fitted_and_tested_on(tmp_path):
    split = np.where(copies(2)[2] > 40, "test", "train")
    split[0] = "test"
    path = copies_in(tmp_path / "a.csv", split=split)
    stderr = run("fit", path, *MLE, "--cluster-column", "thread_id").stderr
    assert "1 cluster of column 'thread_id'" in stderr
    assert "have rows to fit and to test on ('0')" in stderr
