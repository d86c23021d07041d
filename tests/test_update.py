"""Updates: yesterday's posterior is today's prior, whatever the pieces and their order."""

import numpy as np
import pytest
from scipy import special

from bayescal import Densities, ScoreCalibrator, load
from bayescal.families import FAMILIES
from bayescal.fitting.fitted_scores import FittedScores, fit_groups
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import read_options

RNG = np.random.default_rng(7)
N, FIRST = 360, 120
POSITIVE = RNG.random(N) < 0.35
SCORES = RNG.gumbel(0.0, 1.0, N) + 1.5 * POSITIVE + 0.5 * (np.arange(N) > FIRST)
LABELS = np.where(POSITIVE, "spam", "ham")
GRID = np.linspace(-4.0, 8.0, 25)
# Documents after the first fit: in one piece, in two, in five, and in another order.
LATER = np.arange(FIRST, N)
PIECES = {
    "one": [LATER],
    "two": [LATER[:50], LATER[50:]],
    "five": np.array_split(LATER, 5),
    "backwards": np.array_split(LATER, 5)[::-1],
    "shuffled": np.array_split(np.random.default_rng(1).permutation(LATER), 4),
}


def first_fit(family="asymmetric_laplace", inference="auto", **settings):
    settings = {"draws": 100, "random_state": 0} | settings
    calibrator = ScoreCalibrator(family, inference, **settings)
    return calibrator.fit(SCORES[:FIRST], LABELS[:FIRST])


def updated(calibrator, pieces, **arguments):
    for piece in pieces:
        calibrator.update(SCORES[piece], LABELS[piece], **arguments)
    return calibrator


def at_once(calibrator, weight=None):
    """Fit another calibrator to all documents, in the units of the first fit."""
    parameters = calibrator.get_params() | {"units": calibrator.units_}
    return ScoreCalibrator(**parameters).fit(SCORES, LABELS, weight)


def assert_same_posterior(one, other, tolerance=1e-8):
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, rel=tolerance, abs=tolerance)
    assert one.predict_proba(GRID) == pytest.approx(other.predict_proba(GRID), abs=tolerance)
    assert one.predict_interval(GRID) == pytest.approx(other.predict_interval(GRID), abs=tolerance)
    columns = ["mle", "median"]
    assert one.summary()[columns].values == pytest.approx(
        other.summary()[columns].values, rel=tolerance
    )


@pytest.mark.parametrize(
    ("family", "pieces"),
    # Two ways for each family, and each way for two families.
    [
        (family, pieces)
        for k, family in enumerate(sorted(FAMILIES))
        for j, pieces in enumerate(PIECES)
        if (j - k) % len(PIECES) < 2
    ],
)
def test_any_pieces_in_any_order_are_one_fit(family, pieces):
    calibrator = updated(first_fit(family), PIECES[pieces])
    assert_same_posterior(calibrator, at_once(calibrator))


def test_evidence_of_the_new_is_a_ratio_of_evidences():
    """p(new | old) = p(all)/p(old), here by draws of the old posterior alone."""
    calibrator = first_fit("gaussian", draws=5000)
    before = calibrator.log_evidence_
    few = LATER[:4][POSITIVE[LATER[:4]] == POSITIVE[LATER[0]]]
    label = LABELS[few[0]]
    draws = calibrator.posterior_["posterior"].to_dataset()
    own = draws.sel(klass="positive" if label == "spam" else "negative")
    mu, sigma = own["mu"].values.ravel(), own["sigma"].values.ravel()
    z = (SCORES[few, None] - mu) / sigma
    log_density = (-0.5 * z**2 - np.log(sigma * np.sqrt(2.0 * np.pi))).sum(axis=0)
    expected = special.logsumexp(log_density) - np.log(mu.size)
    found = calibrator.update(SCORES[few], LABELS[few]).log_evidence_
    # Evidence is in units of the standardised scores.
    assert found[label] - before[label] == pytest.approx(expected, abs=0.02)


@pytest.mark.parametrize("pieces", PIECES)
def test_maximum_likelihood_is_a_fit_to_all(pieces):
    calibrator = updated(first_fit(inference="mle"), PIECES[pieces])
    reference = ScoreCalibrator("asymmetric_laplace", "mle").fit(SCORES, LABELS)
    expected = reference.decision_function(GRID)
    assert calibrator.decision_function(GRID) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("parts", ["combined", "monotone", "logistic"])
def test_a_model_of_parts_is_one_fit_in_the_units_of_the_first(parts):
    calibrator = first_fit(parts)
    units = tuple(calibrator.units_.values())
    updated(calibrator, PIECES["two"])
    parameters = calibrator._parameters()
    groups = fit_groups(read_options(parameters), BinaryScores(SCORES, POSITIVE, units=units))
    fitted = FittedScores.of_groups(parameters, groups, np.unique(LABELS))
    reference = ScoreCalibrator.from_results(fitted.tree)
    expected = reference.predict_proba(GRID)
    assert calibrator.predict_proba(GRID) == pytest.approx(expected, abs=1e-8)
    assert calibrator.units_ == reference.units_


@pytest.mark.slow
def test_the_mode_is_searched_again():
    calibrator = updated(first_fit("gaussian", "map"), PIECES["one"])
    expected = at_once(calibrator).decision_function(GRID)
    assert calibrator.decision_function(GRID) == pytest.approx(expected, abs=1e-5)


class TestForgetting:
    @pytest.mark.parametrize("inference", ["exact", "mle"])
    def test_is_a_power_of_the_likelihood_of_the_old(self, inference):
        calibrator = updated(first_fit(inference=inference), PIECES["one"], forgetting=0.5)
        weight = np.where(np.arange(N) < FIRST, 0.5, 1.0)
        expected = at_once(calibrator, weight).decision_function(GRID)
        assert calibrator.decision_function(GRID) == pytest.approx(expected, abs=1e-8)

    def test_goes_on_at_every_update(self):
        calibrator = updated(first_fit(), PIECES["two"], forgetting=0.8)
        weight = np.r_[np.full(FIRST, 0.64), np.full(50, 0.8), np.ones(N - FIRST - 50)]
        assert_same_posterior(calibrator, at_once(calibrator, weight))

    def test_leaves_so_many_documents_in_the_long_run(self):
        calibrator = first_fit(inference="mle")
        for _ in range(60):
            calibrator.update(SCORES[:30], LABELS[:30], forgetting=0.75)
        weight = calibrator.results_["constant_data"]["weight"].values
        assert weight.sum() == pytest.approx(30 / (1 - 0.75), rel=1e-6)

    def test_lets_documents_go_but_keeps_both_classes(self):
        calibrator = first_fit("gaussian")
        negatives = SCORES[~POSITIVE][:10]
        for _ in range(45):
            calibrator.update(negatives, ["ham"] * 10, forgetting=0.3)
        documents = calibrator.results_["observed_data"]
        assert documents.sizes["document"] < 10 * 45
        assert documents["label"].values.sum() == np.count_nonzero(POSITIVE[:FIRST]) > 0
        assert calibrator.mle_.prior < 0.1

    # Halved, they are no numbers of documents.
    @pytest.mark.filterwarnings("ignore:sample_weight counts documents")
    def test_weights_multiply_what_is_given(self):
        weight = np.random.default_rng(0).integers(1, 4, N).astype(float)
        calibrator = ScoreCalibrator("laplace", draws=100, random_state=0)
        calibrator.fit(SCORES[:FIRST], LABELS[:FIRST], weight[:FIRST])
        calibrator.update(SCORES[LATER], LABELS[LATER], weight[LATER], forgetting=0.5)
        weight[:FIRST] *= 0.5
        assert_same_posterior(calibrator, at_once(calibrator, weight))


class TestPrequential:
    def test_scores_predictions_made_before(self):
        calibrator = first_fit()
        assert calibrator.prequential_.empty
        expected = []
        for piece in PIECES["two"]:
            probability = calibrator.predict_proba(SCORES[piece])[:, 1]
            happened = np.where(POSITIVE[piece], probability, 1.0 - probability)
            expected.append(
                (piece.size, -np.log2(happened).mean(), ((1.0 - happened) ** 2).mean(), 1.0)
            )
            calibrator.update(SCORES[piece], LABELS[piece])
        table = calibrator.prequential_
        assert list(table.columns) == ["documents", "log_loss", "brier", "forgetting"]
        assert table.index.tolist() == [1, 2]
        assert table.values == pytest.approx(np.array(expected), abs=1e-4)

    def test_weighs_documents(self):
        calibrator = first_fit(inference="mle")
        two = [int(np.flatnonzero(POSITIVE)[-1]), int(np.flatnonzero(~POSITIVE)[-1])]
        loss = np.logaddexp(0.0, calibrator.decision_function(SCORES[two]) * [-1, 1]) / np.log(2)
        calibrator.update(SCORES[two], LABELS[two], [3.0, 1.0])
        row = calibrator.prequential_.iloc[0]
        assert row["documents"] == 4.0
        assert row["log_loss"] == pytest.approx((3 * loss[0] + loss[1]) / 4)

    def test_a_fit_begins_anew(self):
        calibrator = updated(first_fit(inference="mle"), PIECES["two"])
        assert len(calibrator.prequential_) == 2
        assert calibrator.fit(SCORES, LABELS).prequential_.empty


def test_a_saved_calibrator_goes_on(tmp_path):
    calibrator = updated(first_fit(), [PIECES["two"][0]])
    loaded = load(calibrator.save(tmp_path / "stream.nc"))
    assert loaded.prequential_.equals(calibrator.prequential_)
    for each in (calibrator, loaded):
        updated(each, [PIECES["two"][1]], forgetting=0.9)
    assert np.array_equal(calibrator.predict_proba(GRID), loaded.predict_proba(GRID))
    assert loaded.prequential_.equals(calibrator.prequential_)


def test_probabilities_stay_probabilities():
    probability = special.expit(SCORES - 1.0)
    calibrator = ScoreCalibrator("gaussian", draws=100, scores_are="probabilities", random_state=0)
    calibrator.fit(probability[:FIRST], LABELS[:FIRST])
    calibrator.update(probability[LATER], LABELS[LATER])
    parameters = calibrator.get_params() | {"units": calibrator.units_}
    reference = ScoreCalibrator(**parameters).fit(probability, LABELS)
    inside = np.linspace(0.01, 0.99, 9)
    expected = reference.predict_proba(inside)
    assert calibrator.predict_proba(inside) == pytest.approx(expected, abs=1e-8)
    with pytest.raises(ValueError, match=r"probabilities must lie between 0 and 1, got 1\.5"):
        calibrator.update([1.5], ["spam"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1.0, 2.0], ["spam", "eggs"]), "labels must hold 'ham', 'spam' only, got 'eggs'"),
        (([1.0, 2.0], ["spam"]), "scores and labels must have the same length, got 2 and 1"),
        (([[1.0, 2.0]], ["spam"]), r"scores must have shape \(n,\) or \(n, 1\).*got \(1, 2\)"),
        (([], []), "scores must hold at least one score"),
        (([np.nan], ["spam"]), "scores must be finite, got nan at position 0"),
        (([1.0], ["spam"], [1.0, 2.0]), r"sample_weight must have shape \(1,\)"),
        (([1.0], ["spam"], [0.0]), "sample_weight must not be all zero"),
        (([1.0], None), "labels must hold the label of every score, got None"),
    ],
)
def test_bad_input_is_named_and_changes_nothing(arguments, message):
    calibrator = updated(first_fit("laplace", draws=20, chains=1), [PIECES["two"][0]])
    before, results = calibrator.predict_proba(GRID), calibrator.results_
    with pytest.raises(ValueError, match=message):
        calibrator.update(*arguments)
    assert calibrator.results_ is results
    assert np.array_equal(calibrator.predict_proba(GRID), before)
    assert len(calibrator.prequential_) == 1


@pytest.mark.parametrize("forgetting", [0.0, -0.5, 1.5, np.nan, True, "half", None])
def test_a_forgetting_factor_that_is_none(forgetting):
    calibrator = first_fit(inference="mle")
    with pytest.raises(ValueError, match="forgetting must be a number above 0 and at most 1"):
        calibrator.update([1.0], ["spam"], forgetting=forgetting)


def test_a_failed_fit_changes_nothing():
    calibrator = first_fit("laplace", draws=20, chains=1)
    before = calibrator.results_
    calibrator.set_params(parts=Densities(prior_knowledge={"no_such_thing": 1.0}))
    with pytest.raises(ValueError, match="no_such_thing"):
        calibrator.update([1.0], ["spam"])
    assert calibrator.results_ is before


def test_an_update_needs_a_fit():
    with pytest.raises(ValueError, match="not fitted yet"):
        ScoreCalibrator().update([1.0], [1])
