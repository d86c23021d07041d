"""Branches that common data do not reach: empty parts, sizes beyond a limit, ends of ranges."""

import math
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.stats as st
import xarray as xr
from scipy import sparse
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from bayescal import MulticlassCalibrator, ScoreCalibrator
from bayescal.calibrators.classifier.ensemble import MULTICLASS, on_simplex
from bayescal.calibrators.classifier.wrappers import LogProbabilities
from bayescal.calibrators.recalibrator import Recalibrator
from bayescal.cli import writing
from bayescal.combining.indicators.models import SupportVectors, shift
from bayescal.combining.indicators.transformer import selected_words
from bayescal.fitting import fitted_recalibration
from bayescal.fitting.class_scores import _padded
from bayescal.fitting.engines.pooled import combination, drawing
from bayescal.fitting.engines.pooled.engine import SMALLEST_SHARE, _open
from bayescal.fitting.engines.pooled.population import Hyperprior
from bayescal.fitting.engines.program_functions import ProgramRecord
from bayescal.fitting.fitted_classes import _labels
from bayescal.fitting.fitted_topics import _base_rates
from bayescal.fitting.parts import part
from bayescal.fitting.parts.configured import Density
from bayescal.fitting.results import calibration
from bayescal.inference.newton import compare
from bayescal.ranking.drawn_relevance import estimate
from bayescal.ranking.relevance_report import Judged
from bayescal.report.answer import _scores_and_topics
from bayescal.report.classes import _answer, _facts
from bayescal.sampling.design import _clopper_pearson
from bayescal.sampling.stopping import rank_order_pvalue
from bayescal.support import parallel
from bayescal.support.weighting import representatives
from tests import small_fits

# Classifiers


def test_draws_of_several_classes_that_are_all_0_are_shared_evenly():
    draws = np.array([[[0.2, 0.2, 0.4], [0.0, 0.0, 0.0]]])
    expected = [[[0.25, 0.25, 0.5], [1 / 3, 1 / 3, 1 / 3]]]
    np.testing.assert_allclose(on_simplex(MULTICLASS, draws), expected)
    assert on_simplex("multilabel", draws) is draws


def test_logarithms_of_probabilities_are_those_of_a_classifier():
    p = np.array([[0.2, 0.8], [0.5, 0.5]])
    fitted = LogProbabilities(np.array(["a", "b"]))
    np.testing.assert_allclose(fitted.fit(np.log(p), None).predict_proba(np.log(p)), p)


def test_rows_of_different_lengths_are_padded():
    rows = [[1.0, 2.0], [3.0], np.array([4.0, 5.0, 6.0])]
    nan = math.nan
    expected = [[1.0, 2.0, nan, nan], [3.0, nan, nan, nan], [4.0, 5.0, 6.0, nan]]
    np.testing.assert_array_equal(_padded(rows, 4), expected)
    np.testing.assert_array_equal(_padded(rows, 2), np.array(expected)[:, :3])
    np.testing.assert_array_equal(_padded(rows, None), np.array(expected)[:, :3])
    table = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(_padded(table, 3), [[1.0, 2.0, nan], [3.0, 4.0, nan]])
    for columns in (2, 1, None):
        assert _padded(table, columns).tolist() == table.tolist()
    with pytest.raises(ValueError, match="a sequence of numbers for each document"):
        _padded([[[1.0]], [[2.0]]], None)


def test_labels_may_be_a_column():
    assert _labels(np.array([["a"], ["b"]]), 2).tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"shape \(n,\), one label a document, got \(2, 2\)"):
        _labels(np.zeros((2, 2), dtype=int), 2)


def test_no_support_vectors_move_nothing():
    empty = SupportVectors(
        SimpleNamespace(decision_function=lambda X: np.ones(X.shape[0])),
        sparse.csr_matrix((0, 2)),
        np.empty(0),
        np.empty(0),
    )
    assert shift(empty, sparse.csr_matrix(np.eye(2))).tolist() == [[0.0, 0.0]] * 5


def test_words_are_selected_within_pipelines():
    X, y = np.array([[5, 1, 0], [4, 1, 0], [0, 1, 6]]), [0, 0, 1]
    one = make_pipeline(SelectKBest(chi2, k=2), MultinomialNB()).fit(X, y)
    assert selected_words(one, 3).tolist() == [True, False, True]
    assert selected_words(FrozenEstimator(one), 3).tolist() == [True, False, True]
    assert selected_words(make_pipeline(FrozenEstimator(one)), 3).tolist() == [True, False, True]
    assert selected_words(one, 4) is None
    assert selected_words(make_pipeline(MultinomialNB()), 3) is None


# Fits


def test_documents_in_the_middle_of_cells_stand_for_a_large_class():
    scores, weight = np.array([8.0, 0.0, 2.0, 6.0, 4.0, 1.0, 5.0, 3.0, 7.0]), np.arange(9.0)
    picked, own = representatives(scores, weight, 5)
    assert scores[picked].tolist() == [1.0, 3.0, 4.0, 6.0, 7.0]
    assert own.tolist() == [8.0, 7.0, 4.0, 9.0, 8.0]
    picked, own = representatives(scores[:5], weight[:5], 5)
    assert (picked.tolist(), own.tolist()) == ([0, 1, 2, 3, 4], weight[:5].tolist())
    x = np.random.default_rng(0).normal(size=100_000)
    picked, own = representatives(x, np.ones(x.size), 256)
    assert own @ x[picked] ** 2 == pytest.approx((x**2).sum(), rel=5e-3)


def test_a_million_distinct_scores_have_the_curve_of_as_many_rounded_ones():
    # Every score of its own is one more node or sample of a sum, which must not change the sum.
    rng = np.random.default_rng(0)
    y = rng.random(1_000_000) < 0.2
    scores = rng.normal(1.5 * y, 1.0 + 0.3 * y)
    x = np.array([-1.0, 0.0, 1.0, 2.0, 4.0])
    log_odds = np.log(0.25) + st.norm.logpdf(x, 1.5, 1.3) - st.norm.logpdf(x)
    for given in (scores, scores.round(3)):
        found = ScoreCalibrator(draws=250, random_state=0).fit(given, y).predict_proba(x)[:, 1]
        assert found == pytest.approx(1.0 / (1.0 + np.exp(-log_odds)), abs=3e-3)


def test_many_points_of_a_smooth_curve_are_read_off_a_table(monkeypatch):
    monkeypatch.setattr(combination, "MOST_NODES", 20)
    seen = []

    def line(x):
        seen.append(x.size)
        return 2.0 * x + 1.0

    for x in (np.linspace(0.0, 1.0, 20), np.random.default_rng(0).normal(size=50)):
        np.testing.assert_allclose(combination._at_many(line, x), 2.0 * x + 1.0)
    assert seen == [20, 20]


def test_results_that_are_soon_computed_again_are_not_kept_on_disk(monkeypatch):
    asked = []

    def in_parallel(function, tasks, **options):
        asked.append(options)
        return map(function, tasks)

    monkeypatch.setattr(drawing, "in_parallel", in_parallel)
    assert drawing._done(abs, [-1, 2]) == [1, 2]
    assert drawing._done(abs, [-3]) == [3]
    assert asked == [{"keep": False}]


def test_differences_without_documents_have_no_error():
    elpd, error = compare(np.empty((2, 0)), np.empty(0))
    assert elpd.tolist() == [0.0, 0.0]
    assert np.isnan(error).all()
    score, weight = np.array([[1.0, 2.0], [0.0, 5.0]]), np.array([2.0, 1.0])
    elpd, error = compare(score, weight)
    assert elpd.tolist() == [4.0, 5.0]
    np.testing.assert_allclose(error, [np.sqrt(2) * np.std([2.0, -3.0]), 0.0])


def test_hyperparameters_are_drawn_from_their_normal_prior():
    hyperprior = Hyperprior.of(2)
    points = hyperprior.draw(4000, np.random.default_rng(0))
    # Standard errors are 1/63 and 1/89 of a standard deviation: five of them.
    z = (points - np.array(hyperprior.mean)) / np.array(hyperprior.scale)
    assert z.shape == (4000, len(hyperprior.mean))
    assert np.abs(z.mean(axis=0)).max() < 5 / 63
    assert np.abs(z.std(axis=0) - 1.0).max() < 5 / 89


def test_sides_of_no_width_get_a_little():
    theta, left, right = _open(np.array([[0.5, 0.5], [3.0, 0.0], [1.0, 2.0]]))
    assert theta.tolist() == [0.5, 0.5]
    np.testing.assert_allclose(left, [3.0, 2.0 * SMALLEST_SHARE])
    np.testing.assert_allclose(right, [1.0, 2.0], rtol=1e-6)


def test_evidence_says_that_it_was_not_resolved():
    found = [
        list(part.unresolved("densities", xr.Dataset(variables)))
        for variables in ({}, {"resolved": ("k", [True])}, {"resolved": ("k", [True, False])})
    ]
    assert [len(each) for each in found] == [0, 0, 1]
    assert "was not resolved" in found[2][0].what


def test_densities_are_parameters_of_an_estimator():
    density = Density("StudentT", nu=4, priors={"sigma": Density("HalfNormal", sigma=1.0)})
    same = Density("StudentT", nu=4, priors={"sigma": Density("HalfNormal", sigma=1.0)})
    assert density == same
    assert density != Density("StudentT", nu=5, priors=density.priors)
    assert density != "StudentT"
    assert density.set_params(nu=5, priors=None) is density
    assert density.get_params() == {"distribution": "StudentT", "priors": None, "nu": 5}
    assert density == Density("StudentT", nu=5)


def test_calibrations_of_topics_beyond_a_number_are_read_again(monkeypatch):
    monkeypatch.setattr(calibration, "MOST_KEPT", 2)
    curves = calibration.TopicCurves(small_fits.topics()._fit.results)
    first = curves._read(0)
    assert curves._read(0) is first
    curves._read(1)
    assert curves._read(0) is first
    curves._read(2)
    assert curves._read(0) is not first


@pytest.mark.parametrize(("gain", "weight"), [(-50.0, 0.0), (50.0, 1.0)])
def test_a_refit_that_hardly_helps_is_left_out(gain, weight, monkeypatch):
    monkeypatch.setattr(
        fitted_recalibration, "_cross_validated_gain", lambda data, cluster, rng: gain
    )
    p = np.random.default_rng(0).uniform(size=200)
    fitted = Recalibrator(draws=12, random_state=0).fit(p, p > 0.5)
    assert fitted.refit_weight_ == pytest.approx(weight, abs=1e-9)
    assert (fitted._fitted.refit is None) == (weight == 0.0)


def test_shares_of_classes_are_means_of_the_documents_probabilities():
    fitted = small_fits.classes()
    expected = fitted.predict_proba(small_fits.LOGITS).mean(axis=0)
    np.testing.assert_allclose(fitted.share_, expected, rtol=1e-12)


def test_a_map_of_classes_is_pickled_once():
    fitted = small_fits.classes()
    fitted.predict_proba(small_fits.LOGITS[:2])
    again = pickle.loads(pickle.dumps(fitted))
    assert "map" in vars(fitted._fit)
    assert vars(again._fit).keys() == vars(fitted._fit).keys() - {"map", "share"}
    one, other = (each.predict_proba(small_fits.LOGITS) for each in (again, fitted))
    np.testing.assert_array_equal(one, other)


def test_options_beyond_those_fitted_have_positions_and_no_names():
    scores, names = small_fits.LOGITS, small_fits.KLASS
    by_number = np.unique(names, return_inverse=True)[1]
    for y, classes in ((names, None), (by_number, [0, 1, 2, 3])):
        fitted = MulticlassCalibrator(**small_fits.SMALL, exchangeable=True).fit(scores, y)
        if classes is None:
            with pytest.raises(ValueError, match="have 4 options and classes names 3: fit with"):
                fitted._fit.labels(4)
        else:
            assert fitted._fit.labels(4).tolist() == classes
        assert fitted._fit.labels(3).tolist() == fitted.classes_.tolist()
    wide = np.column_stack([scores, np.full(len(scores), np.nan)])
    for bias in (False, True):
        fitted.set_params(position_bias=bias).fit(scores, by_number)
        draws = fitted.sample_proba(wide)
        np.testing.assert_array_equal(draws[..., :3], fitted.sample_proba(scores))
        assert (draws[..., 3] == 0.0).all()


def test_arguments_of_programs_are_kept_as_json():
    arguments = {"a": np.array([1.0, 2.5]), "b": np.float64(3.0), "c": "text", "d": None}
    record = ProgramRecord("file", "mine", arguments=arguments, units=(1.0, 2.0))
    again = ProgramRecord.from_json(record.to_json())
    assert again.arguments == {"a": [1.0, 2.5], "b": 3.0, "c": "text", "d": None}
    assert (again.kind, again.name, again.units) == ("file", "mine", (1.0, 2.0))
    with pytest.raises(ValueError, match="got an object of type object"):
        ProgramRecord("file", "mine", arguments={"a": object()}).to_json()


def test_base_rates_of_topics_apart_are_their_own():
    counts = np.array([[3.0, 9.0], [0.0, 4.0]])
    own, unseen = _base_rates(
        counts, SimpleNamespace(prior_alpha=0.5, prior_beta=2.0), SimpleNamespace(pooling="none")
    )
    assert own.tolist() == [[3.5, 11.0], [0.5, 6.0]]
    assert unseen.tolist() == [0.5, 2.0]


# Measures


def test_estimates_leave_out_what_is_undefined():
    undefined = estimate(np.array([np.nan, np.nan]), 0.9)
    assert np.isnan([undefined.value, undefined.lower, undefined.upper]).all()
    known = estimate(np.array([3.0, np.nan, 1.0, 2.0]), 0.5)
    assert (known.value, known.lower, known.upper) == (2.0, 1.0, 3.0)


def test_recall_of_reading_nothing():
    for relevant, recall in (([False, True], 0.0), ([False, False], 1.0)):
        relevant = np.array(relevant)
        shares = np.cumsum(relevant) / relevant.sum() if relevant.any() else np.ones(2)
        judged = Judged(relevant, shares, math.nan)
        assert [judged.recall_after(k) for k in range(3)] == [recall, recall, 1.0]


def test_a_share_of_nothing_may_be_any():
    nothing = _clopper_pearson(0, 0, 0.9)
    assert np.isnan(nothing.value)
    assert (nothing.lower, nothing.upper) == (0.0, 1.0)
    some = _clopper_pearson(3, 10, 0.9)
    ends = [st.beta.ppf(0.05, 3, 8), st.beta.ppf(0.95, 4, 7)]
    np.testing.assert_allclose([some.value, some.lower, some.upper], [0.3, *ends])


def test_a_recall_that_cannot_be_missed_has_no_evidence_against_it():
    labels = np.array([1, 1, 1, 0])
    assert rank_order_pvalue(labels, 4, 0.5) == 0.0
    # One unread document that may be positive: all three were found before it.
    assert 0.0 < rank_order_pvalue(labels, 12, 0.5) <= 1.0


# What people read


def test_collections_are_read_as_tables_and_arrays():
    one, many = small_fits.one().fitted_problems(), small_fits.topics().fitted_problems()
    frame = {"score": [1.0, 2.0], "topic": ["a", "b"]}
    table = pd.DataFrame(frame)
    scores, topics = _scores_and_topics(table, many)
    assert (scores.tolist(), topics.tolist()) == (frame["score"], frame["topic"])
    scores, topics = _scores_and_topics(table, one)
    assert (scores.tolist(), topics) == (frame["score"], None)
    assert _scores_and_topics([1.0], one) == ([1.0], None)
    assert _scores_and_topics(([1.0], ["a"]), many) == ([1.0], ["a"])
    with pytest.raises(ValueError, match=r"columns score, topic, or arrays; it lacks topic\."):
        _scores_and_topics(table[["score"]], many)
    with pytest.raises(ValueError, match=r"columns score, or arrays; it lacks score\."):
        _scores_and_topics(table[["topic"]], one)


def test_reports_of_classes_without_labels_ask_for_them():
    assert _answer(None, "classes").state == "missing"
    facts = _facts("classes", ["a", "b"], None)
    assert facts == {"Classes": "2", "Documents held out": "none given"}


def test_many_calibrators_are_counted():
    many = [f"{k}.nc" for k in range(writing.MOST_NAMES + 1)]
    assert writing._listed([*many, "t.csv"]) == [f"{len(many)} calibrators (.nc)", "t.csv"]
    few = [*many[1:], "topics.csv"]
    assert writing._listed(few) == few


def test_dask_counts_where_a_client_was_made(monkeypatch):
    def none():
        raise ValueError

    for module, active in (
        (None, False),
        (SimpleNamespace(default_client=none), False),
        (SimpleNamespace(default_client=object), True),
    ):
        monkeypatch.setitem(sys.modules, "distributed", module)
        assert parallel._dask_is_active() is active
