"""Recalibrator: a calibrator of the package that shrinks to leaving probabilities as they are."""

import pickle

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import bayescal
from bayescal import ScoreCalibrator
from bayescal.decisions import rates_by_topic
from bayescal.fitting.fitted_recalibration import _fit_again
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics.changes import LogOddsCells, fit_changes
from bayescal.monitoring import DriftMonitor, Recalibrator, estimate_prior, load_heart_disease
from bayescal.plots import LogOddsDisplay, ProbabilityDisplay


def documents(n=300, seed=0, truth=lambda z: z - 0.7, mean=-1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(mean, 1.2, n)
    return special.expit(z), (rng.random(n) < special.expit(truth(z))).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return Recalibrator(refit="never", random_state=0).fit(*documents())


@pytest.fixture(scope="module")
def pooled():
    patients = load_heart_disease()
    again = Recalibrator("partial", random_state=0)
    return again.fit(patients["p"], patients["y"], sites=patients["site"])


def test_it_is_the_average_of_the_models(fitted):
    p, y = documents()
    posterior = fit_changes(LogOddsCells.of(special.logit(p), y))
    at = np.linspace(0.01, 0.9, 20)
    expected = posterior.predict(special.logit(at))
    np.testing.assert_allclose(fitted.predict_proba(at)[:, 1], expected, atol=0.003)
    assert fitted.model_probability_ == pytest.approx(posterior.probability)
    drawn = fitted.sample_proba(at)
    assert drawn.shape == (4000, 20)
    np.testing.assert_allclose(drawn.mean(axis=0), expected, atol=0.003)
    band = fitted.predict_interval(at, level=0.8)
    np.testing.assert_allclose(band, np.quantile(drawn, [0.1, 0.9], axis=0).T, atol=1e-3)


def test_inclusion_undoes_a_choice_by_outcome():
    p, y = documents(3000, 4, truth=lambda z: z)
    chance = np.where(y == 1, 1.0, 0.1)
    kept = np.random.default_rng(0).random(y.size) < chance
    plain = Recalibrator(random_state=0).fit(p[kept], y[kept])
    mended = Recalibrator(random_state=0).fit(p[kept], y[kept], inclusion=chance[kept])
    at = np.array([0.1, 0.3, 0.6])
    np.testing.assert_allclose(mended.predict_proba(at)[:, 1], at, atol=0.05)
    assert (plain.predict_proba(at)[:, 1] > at + 0.2).all()


def test_equal_probabilities_of_inclusion_change_nothing():
    p, y = documents()
    plain = Recalibrator(random_state=0).fit(p, y)
    sampled = Recalibrator(random_state=0).fit(p, y, inclusion=np.full(y.size, 0.02))
    band = sampled.predict_interval([0.1, 0.5])
    np.testing.assert_allclose(band, plain.predict_interval([0.1, 0.5]), rtol=1e-6)


def test_ten_labels_change_little_and_a_thousand_what_they_ask_for():
    few = Recalibrator(random_state=0).fit(*documents(10, 1))
    many = Recalibrator(refit="never", random_state=0).fit(*documents(4000, 1))
    at = np.array([0.1, 0.3, 0.6])
    truth = special.expit(special.logit(at) - 0.7)
    assert np.abs(few.predict_proba(at)[:, 1] - at).max() < 0.12
    np.testing.assert_allclose(many.predict_proba(at)[:, 1], truth, atol=0.03)
    p, y = documents(2000, 2, truth=lambda z: z)
    right = Recalibrator(refit="never", random_state=0).fit(p, y)
    np.testing.assert_allclose(right.predict_proba(p)[:, 1], p, atol=0.02)


def test_methods_agree(fitted):
    at = np.array([0.05, 0.5, 0.95])
    log_odds = fitted.decision_function(at)
    both = fitted.predict_proba(at)
    np.testing.assert_allclose(
        both, np.stack([special.expit(-log_odds), special.expit(log_odds)], 1)
    )
    assert fitted.predict(at).tolist() == (log_odds > 0).astype(int).tolist()
    some = fitted.sample_proba(at, draws=7, random_state=0)
    assert some.shape == (7, 3)
    wide = fitted.predict_interval(at, kind="simultaneous")
    narrow = fitted.predict_interval(at)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (wide[:, 1] >= narrow[:, 1]).all()
    moved = fitted.predict_proba(at, prior=0.5)[:, 1]
    assert (moved > both[:, 1]).all()


def test_text_labels_and_the_first_class_as_positive():
    p, y = documents()
    words = np.where(y == 1, "dead", "well")
    named = Recalibrator(positive="dead", refit="never", random_state=0).fit(p, words)
    plain = Recalibrator(refit="never", random_state=0).fit(p, y)
    assert named.classes_.tolist() == ["dead", "well"]
    np.testing.assert_allclose(named.predict_proba(p)[:, 0], plain.predict_proba(p)[:, 1])
    np.testing.assert_allclose(named.predict_interval(p[:5]), plain.predict_interval(p[:5]))
    assert set(named.predict(p)) <= {"dead", "well"}


def test_a_weight_repeats_a_document():
    p, y = documents(150, 3)
    weight = np.random.default_rng(0).integers(0, 3, 150)
    weighed = Recalibrator(refit="never", random_state=0).fit(p, y, sample_weight=weight)
    again = Recalibrator(refit="never", random_state=0).fit(
        np.repeat(p, weight), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighed.predict_proba(p), again.predict_proba(p), atol=1e-6)


@pytest.mark.parametrize("outcome", [0, 1, False, True])
def test_one_class_alone(outcome):
    again = Recalibrator(random_state=0).fit(np.linspace(0.1, 0.5, 40), np.full(40, outcome))
    moved = again.predict_proba([0.3])[0, 1]
    assert moved > 0.3 if outcome else moved < 0.3
    assert len(again.classes_) == 2
    lower, upper = again.predict_interval([0.3])[0]
    assert 0.0 < lower < upper < 1.0


@pytest.mark.slow
def test_probabilities_of_zero_and_one():
    p, y = documents(200, 4)
    p[0], y[0], p[1], y[1] = 0.0, 1, 1.0, 0
    again = Recalibrator(random_state=0).fit(p, y)
    both = again.predict_proba([0.0, 1.0])
    assert np.isfinite(both).all()
    assert both[0, 1] > 0.0
    assert np.isfinite(again.predict_interval([0.0, 1.0])).all()


def test_sites_borrow_and_a_new_one_is_of_the_population(pooled):
    patients = load_heart_disease()
    table = pooled.summary()
    shift = table.xs("shift", level="parameter")["mean"].droplevel("class")
    assert shift["switzerland"] > 1.0
    assert shift["hungarian"] < 0.0
    at = np.array([0.2, 0.5, 0.5])
    one = pooled.predict_proba(at, sites=["switzerland", "va", "elsewhere"])[:, 1]
    assert one[0] > 0.4
    assert one[2] == pytest.approx(pooled.predict_proba([0.5])[0, 1])
    new = pooled.predict_interval([0.5])[0]
    own = pooled.predict_interval([0.5], sites=["va"])[0]
    assert new[1] - new[0] > 2 * (own[1] - own[0])
    order = np.random.default_rng(0).permutation(len(patients))
    p, site = patients["p"].to_numpy(), patients["site"].to_numpy()
    mixed = pooled.predict_proba(p[order], sites=site[order])
    np.testing.assert_allclose(mixed, pooled.predict_proba(p, sites=site)[order])
    assert pooled.sample_proba(p[:4], draws=3, random_state=0, sites=site[:4]).shape == (3, 4)


def test_problems_of_sites_are_read_like_topics(pooled):
    patients = load_heart_disease()
    problems = pooled.fitted_problems()
    assert list(problems) == pooled.sites_ == ["hungarian", "switzerland", "va"]
    assert problems["va"].counts == (52.0, 149.0)
    assert problems.answers("nowhere")
    rates = rates_by_topic(pooled, patients["p"], patients["site"], probability=0.5)
    assert set(rates.index) == set(problems)
    with pytest.raises(AttributeError, match="compares no models"):
        _ = pooled.model_probability_


@pytest.mark.slow
def test_scores_of_another_meaning_are_fitted_again():
    rng = np.random.default_rng(0)
    y = (rng.random(400) < 0.4).astype(int)
    # Log-odds that say almost the opposite scale: bimodal, far from linear.
    z = np.where(y == 1, rng.normal(-6, 0.4, 400), rng.normal(-8, 0.4, 400))
    again = Recalibrator(random_state=0).fit(special.expit(z), y)
    kept = Recalibrator(refit="never", random_state=0).fit(special.expit(z), y)
    assert again.refit_weight_ > 0.5
    assert kept.refit_weight_ == 0.0

    def loss(calibrator):
        return -np.log(calibrator.predict_proba(special.expit(z))[np.arange(400), y]).mean()

    assert loss(again) < loss(kept)
    assert again.fitted_problems()[""].parts["weight"].sum() == pytest.approx(1.0)


def test_fitting_again_is_off_with_few_of_the_rarer_class():
    p, y = documents(60, 5)
    assert y.sum() < 20
    assert Recalibrator(random_state=0).fit(p, y).refit_weight_ == 0.0


def test_fitting_again_draws_as_many_curves_as_asked_for():
    again = Recalibrator(refit="always", draws=30, random_state=0).fit(*documents(200))
    assert again.results_["refit/lapse"].sizes == {"chain": 4, "draw": 8}


@pytest.mark.slow
def test_it_is_saved_loaded_pickled_and_cloned(fitted, pooled, tmp_path):
    again = Recalibrator(refit="always", draws=200, random_state=0).fit(*documents())
    at = np.array([0.0, 0.1, 0.5, 1.0])
    for k, each in enumerate((fitted, pooled, again)):
        path = each.save(tmp_path / f"{k}.nc")
        for copy in (
            bayescal.load(path),
            Recalibrator.load(path),
            pickle.loads(pickle.dumps(each)),
        ):
            np.testing.assert_array_equal(copy.predict_proba(at), each.predict_proba(at))
            assert copy.get_params() == each.get_params()
            assert copy.refit_weight_ == each.refit_weight_
    with pytest.raises(NotFittedError):
        clone(fitted).predict([0.5])
    ScoreCalibrator(inference="mle").fit([0.0, 1.0, 2.0], [0, 1, 1]).save(tmp_path / "other.nc")
    with pytest.raises(ValueError, match="holds a ScoreCalibrator"):
        Recalibrator.load(tmp_path / "other.nc")


@pytest.mark.slow
def test_displays_reports_exports_and_monitors_take_it(fitted, pooled, tmp_path):
    from matplotlib.figure import Figure

    p, y = documents(100, 6)
    LogOddsDisplay.from_estimator(fitted, ax=Figure().subplots())
    shown = ProbabilityDisplay.from_estimator(pooled, topic="va", ax=Figure().subplots())
    assert shown.data.attrs["topic"] == "va"
    text = fitted.report(tmp_path / "one.html", (p, y)).read_text()
    assert "Change of given probabilities" in text
    assert "Sites" in pooled.report(tmp_path / "sites.html").read_text()
    fitted.export(tmp_path / "again.py")
    written: dict[str, object] = {}
    exec((tmp_path / "again.py").read_text(), written)
    probability = np.ravel(written["predict"]([0.3]))[0]
    assert probability == pytest.approx(fitted.predict_proba([0.3])[0, 1], abs=2e-4)
    monitor = DriftMonitor(fitted).update(p, y)
    assert monitor.documents_ == 100
    share = estimate_prior(fitted, p, random_state=0)
    assert share.lower < share.upper


def test_the_same_seed_gives_the_same_bits(fitted):
    again = Recalibrator(refit="never", random_state=0).fit(*documents())
    at = np.linspace(0, 1, 11)
    np.testing.assert_array_equal(fitted.predict_interval(at), again.predict_interval(at))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.2, 1.2], [0, 1]), "p must lie between 0 and 1, got 1.2"),
        (([0.2, np.nan], [0, 1]), "p must be finite"),
        (([0.2], [0, 1]), "p and y must have the same length"),
        (([0.2, 0.3], ["no", "no"]), "y must hold both classes"),
        (([0.2, 0.3, 0.4], [0, 1, 2]), "Only binary classification"),
        (([0.2, 0.3], [0, np.nan]), "y must not hold nan"),
        (([0.2, 0.3], [0, 1], ["a", "b"]), "sites must be given with pooling='partial'"),
    ],
)
def test_wrong_documents(arguments, message):
    with pytest.raises(ValueError, match=message):
        Recalibrator().fit(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"refit": True}, "refit must be one of 'auto', 'always', 'never'"),
        ({"pooling": "partial"}, "without sites"),
        ({"pooling": "partial", "refit": "always"}, "refit must be 'auto' or 'never'"),
        ({"refit": "always"}, "at least 5 documents of each class"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        Recalibrator(**options).fit([0.2, 0.4, 0.6], [0, 1, 0])


def test_a_positive_class_that_no_label_names():
    with pytest.raises(ValueError, match="positive must be a label of y, 'a' or 'b', got 'x'"):
        Recalibrator(positive="x").fit([0.2, 0.4, 0.6], ["a", "b", "a"])


def test_wrong_calls(fitted, pooled):
    for call, message in (
        (lambda: fitted.predict([0.2], sites=["a"]), "sites must be None"),
        (lambda: pooled.predict([0.2, 0.3], sites=["va"]), "sites and p must have the same length"),
        (lambda: fitted.predict([20.0]), "p must lie between 0 and 1"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_the_same_seed_fits_again_alike():
    p, y = documents(40, 7)
    data = BinaryScores(special.logit(p), y, np.ones(40))
    one, other = (
        _fit_again(data, 20, np.random.default_rng(3)).calibration.sample(special.logit(p))
        for _ in range(2)
    )
    np.testing.assert_array_equal(one, other)
