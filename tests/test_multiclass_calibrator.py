"""MulticlassCalibrator as users meet it: inputs of every kind, answers, files."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal
from scipy import special

import bayescal
from bayescal import MulticlassCalibrator
from bayescal.decisions import with_abstention
from bayescal.fitting.class_scores import read_class_scores
from bayescal.fitting.results.diagnostics import class_findings
from bayescal.support.score_checks import ScoresWarning
from tests import small_fits

# Chains may disagree where documents are few or labels reversed; rounding decides in which fits.
pytestmark = pytest.mark.filterwarnings("ignore:the posterior draws are not to be trusted")
NAMES = ["bird", "cat", "dog"]


def quick(**options):
    return MulticlassCalibrator(**{"random_state": 0} | options)


def simulated(n=150, classes=3, seed=0, sharpness=2.0):
    """Return over-confident logits and labels drawn from their softmax at temperature 3."""
    rng = np.random.default_rng(seed)
    scores = sharpness * 3.0 * rng.normal(size=(n, classes))
    p = special.softmax(scores / 3.0, axis=1)
    return scores, np.array([rng.choice(classes, p=each) for each in p])


@pytest.fixture(scope="module")
def fitted():
    scores, y = simulated()
    return quick().fit(scores, np.array(NAMES)[y], classes=NAMES)


@pytest.fixture(scope="module")
def plain():
    """Return the fit of the same documents with positions as labels."""
    return quick().fit(*simulated())


@pytest.fixture(scope="module")
def new():
    return simulated(40, seed=1)[0]


@pytest.mark.slow
def test_probabilities_intervals_and_draws_agree(fitted, new):
    p, draws = fitted.predict_proba(new), fitted.sample_proba(new)
    assert draws.shape == (400, 40, 3)
    assert_allclose(draws.sum(axis=2), 1.0)
    assert_allclose(draws.mean(axis=0), p, rtol=1e-12)
    interval = fitted.predict_interval(new, 0.8)
    expected = np.moveaxis(np.quantile(draws, [0.1, 0.9], axis=0), 0, 2)
    assert_allclose(interval, expected, rtol=1e-12)
    shortest = fitted.predict_interval(new, 0.8, "hdi")
    assert (np.ptp(shortest, axis=2) <= np.ptp(interval, axis=2) + 0.02).all()
    assert (np.diff(shortest, axis=2) >= 0.0).all()
    assert fitted.predict(new).tolist() == [NAMES[k] for k in p.argmax(axis=1)]
    assert_allclose(np.exp(fitted.predict_log_proba(new)), p)


def test_top_class_is_the_likeliest(fitted, new):
    top, draws = fitted.predict_top(new, 0.8), fitted.sample_proba(new)
    best = draws.mean(axis=0).argmax(axis=1)
    own = draws[:, np.arange(40), best]
    assert top.label.tolist() == [NAMES[k] for k in best]
    assert_allclose(top.probability, own.mean(axis=0))
    assert_allclose(top.interval, np.quantile(own, [0.1, 0.9], axis=0).T)
    assert_allclose(top.probability_likeliest, (draws.argmax(axis=2) == best).mean(axis=0))


def test_sets_cover_as_expected(fitted, new):
    p = fitted.predict_proba(new)
    of_documents = fitted.predict_set(new, 0.95, "document")
    for chosen, row in zip(of_documents, p, strict=True):
        size = chosen.sum()
        assert np.sort(row)[::-1][:size].sum() >= 0.95
        assert np.sort(row)[::-1][: size - 1].sum() < 0.95
        assert row[chosen].min() >= row[~chosen].max(initial=0.0)
    scores, _ = simulated()
    marginal = fitted.predict_set(scores, 0.95)
    known = fitted.predict_proba(scores)
    expected = (known * marginal).sum(axis=1).mean()
    assert 0.95 <= expected < 0.96
    assert marginal.sum() < fitted.predict_set(scores, 0.95, "document").sum()


@pytest.mark.slow
def test_sets_of_tied_options_hold_as_many_as_they_must():
    fitted = quick(exchangeable=True).fit(np.full((30, 3), 2.0), np.arange(30) % 3)
    for kind in ("marginal", "document"):
        assert fitted.predict_set(np.full((2, 3), 2.0), 0.9, kind).all()


def test_decisions_may_abstain(fitted, new):
    costs = with_abstention(1.0 - np.eye(3), 0.3)
    found, draws = fitted.decide(new, costs), fitted.sample_proba(new)
    expected = draws.mean(axis=0) @ costs.T
    assert found.decision.tolist() == expected.argmin(axis=1).tolist()
    assert {3} < set(found.decision.tolist())
    assert_allclose(found.expected_cost, expected.min(axis=1))
    each = (draws @ costs.T)[:, np.arange(40), found.decision]
    assert_allclose(found.cost_interval, np.quantile(each, [0.05, 0.95], axis=0).T)


def test_other_shares_follow_bayes_rule(fitted, new):
    prior = {"bird": 0.8, "cat": 0.1, "dog": 0.1}
    draws = fitted.sample_proba(new) * np.array([0.8, 0.1, 0.1]) / fitted.share_
    expected = (draws / draws.sum(axis=2, keepdims=True)).mean(axis=0)
    assert_allclose(fitted.predict_proba(new, prior), expected)
    assert_allclose(fitted.predict_proba(new, [0.8, 0.1, 0.1]), expected)
    rows = np.tile([0.8, 0.1, 0.1], (400, 1))
    assert_allclose(fitted.predict_proba(new, rows), expected)
    assert_allclose(fitted.predict_proba(new, fitted.share_), fitted.predict_proba(new), rtol=1e-12)
    assert fitted.predict_proba(new, [0.5, 0.5, 0.0])[:, 2].max() == 0.0


def test_a_saved_calibrator_is_the_fitted_one(fitted, new, tmp_path):
    path = fitted.save(tmp_path / "map.nc")
    for read in (bayescal.load(path), MulticlassCalibrator.load(path)):
        assert_array_equal(read.predict_interval(new), fitted.predict_interval(new))
        assert read.classes_.tolist() == NAMES
        assert read.get_params() == fitted.get_params()


def test_posterior_has_named_coordinates(fitted):
    posterior = fitted.posterior_["posterior"]
    assert isinstance(fitted.posterior_, xr.DataTree)
    assert posterior["confusion"].dims == ("chain", "draw", "klass", "klass_to")
    assert posterior["klass"].values.tolist() == NAMES
    assert float(np.abs(posterior["confusion"].sel(klass="cat", klass_to="cat")).max()) == 0.0
    assert fitted.diagnostics_.draws == 400


def test_the_summary_holds_quantiles_of_every_parameter_in_use(fitted):
    posterior = fitted.posterior_["posterior"].to_dataset().stack(sample=("chain", "draw"))
    table, seen = fitted.summary(level=0.8), 0
    for (name, own, other), row in table.iterrows():
        values = posterior["scale" if name.startswith("scale of ") else name]
        if name.startswith("scale of "):
            values = values.sel(block=name.removeprefix("scale of "))
        elif other:
            values = values.sel(klass=own, klass_to=other)
            seen += 1
        elif own:
            values = values.sel(klass=own)
        assert_allclose(row, np.quantile(values, [0.5, 0.1, 0.9]), err_msg=name)
    assert table.columns.tolist() == ["median", "lower", "upper"]
    used = fitted.posterior_["constant_data"]["used"].values.astype(bool)
    assert seen == used[3:].sum() > 0
    assert {("bias", name, "") for name in NAMES} <= set(table.index)


def test_findings_are_shares_of_documents():
    p = np.array([[0.7, 0.2, 0.1], [0.6, 0.4, 0.0], [0.1, 0.0, 0.9]])
    raw, weight = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.0, 0.0, 1.0]]), np.array([1, 1, 2])
    confidence, pair = class_findings(p[None], raw, weight, np.array(NAMES), 0.9)
    # (.9 + .8 + 2) / 4 claimed, (.7 + .6 + 1.8) / 4 right, and (.2 + .4) / 2 of birds are cats.
    assert "over-confident: they give their likeliest class the probability 0.925" in confidence
    assert "right with probability 0.775 (0.775 to 0.775)" in confidence
    assert pair.startswith("cat is mistaken for bird most often")
    assert "30.0 % (30.0 % to 30.0 %) are cat" in pair
    between = class_findings(np.stack([p, raw]), 0.5 * (p + raw), weight, None, 0.9)
    assert "as confident as they are right" in between[0]
    assert "under-confident" in class_findings(raw[None], p, weight, None, 0.9)[0]


def test_findings_are_those_of_the_documents_fitted(fitted):
    scores, _ = simulated()
    p, raw = fitted.sample_proba(scores), special.softmax(scores, axis=1)
    expected = class_findings(p, raw, np.ones(150), np.array(NAMES), 0.8)
    assert fitted.findings(0.8) == expected
    assert len(quick(exchangeable=True).fit(*simulated(30)).findings()) == 1
    approximate = quick(inference="variational").fit(*simulated(30)).findings()
    assert approximate[-1].startswith("Bands rest on a variational normal approximation of the")


def test_a_constant_added_to_a_document_changes_nothing(fitted, new):
    moved = new + np.arange(len(new))[:, None]
    assert_allclose(fitted.predict_proba(moved), fitted.predict_proba(new), rtol=1e-9)


@pytest.mark.slow
def test_weights_are_repetitions(new):
    scores, y = simulated(60)
    weight = np.arange(60) % 3
    repeated = np.repeat(np.arange(60), weight)
    p = quick().fit(scores, y, sample_weight=weight).predict_proba(new)
    q = quick().fit(scores[repeated], y[repeated]).predict_proba(new)
    # Equal to the draws' Monte Carlo error.
    assert_allclose(p, q, atol=0.05)


@pytest.mark.parametrize("cluster", [None, np.arange(70) // 2])
def test_documents_of_weight_0_are_left_out(cluster):
    weight = np.arange(70) % 3
    found = []
    for rows in (np.arange(70), np.flatnonzero(weight)):
        fitted = MulticlassCalibrator(**small_fits.SMALL)
        own = None if cluster is None else cluster[rows]
        scores, labels = small_fits.LOGITS[rows], small_fits.KLASS[rows]
        fitted.fit(scores, labels, sample_weight=weight[rows], clusters=own)
        assert fitted.results_["observed_data"].sizes["document"] == 46
        found.append(fitted)
    p, q = (each.predict_proba(small_fits.LOGITS) for each in found)
    np.testing.assert_array_equal(p, q)
    factors = [cluster is None or each.design_effect_.factor for each in found]
    assert factors[0] == factors[1]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("scores_are", ["scores", "probabilities"])
def test_weights_count_documents_in_the_unit_and_the_floor(scores_are, tied):
    scores, weight = small_fits.LOGITS.copy(), np.arange(70) % 3
    if tied:
        scores[scores.argmax(axis=1) > 0] = [1.0, 1.0, 0.5]
    if scores_are == "probabilities":
        scores = special.softmax(scores, axis=1)
        scores[::3] = [1.0, 0.0, 0.0]  # of weight 0
    repeated = read_class_scores(np.repeat(scores, weight, axis=0), scores_are)
    found = read_class_scores(scores, scores_are, weight=weight.astype(float))
    assert found.factor == pytest.approx(repeated.factor, rel=1e-12)
    assert found.floor == repeated.floor
    np.testing.assert_allclose(np.repeat(found.log_p, weight, axis=0), repeated.log_p, atol=1e-6)


@pytest.mark.slow
def test_update_is_a_fit_to_all_documents(new):
    scores, y = simulated(120)
    updated = quick().fit(scores[:80], y[:80]).update(scores[80:], y[80:])
    at_once = quick().fit(scores, y)
    assert_allclose(updated.predict_proba(new), at_once.predict_proba(new), atol=0.06)
    forgotten = quick().fit(scores[:80], 2 - y[:80])
    forgotten.update(scores[80:], y[80:], forgetting=1e-13)
    assert forgotten.results_["observed_data"].sizes["document"] == 40


def test_tables_name_the_classes(new):
    scores, y = simulated(30)
    table = pd.DataFrame(scores, columns=NAMES)
    fitted = quick().fit(table, np.array(NAMES)[y])
    assert fitted.classes_.tolist() == NAMES
    turned = pd.DataFrame(new, columns=NAMES)[["dog", "bird", "cat"]]
    assert_array_equal(fitted.predict_proba(turned), fitted.predict_proba(new))
    with pytest.raises(ValueError, match="got 'dog', 'bird', 'cow'"):
        fitted.predict_proba(turned.rename(columns={"cat": "cow"}))
    for form in (turned.to_numpy(), da.from_array(turned.to_numpy(), chunks=(2, 3))):
        array = xr.DataArray(form, {"klass": turned.columns}, ("document", "klass"))
        assert_array_equal(fitted.predict_proba(array), fitted.predict_proba(new))
    again = quick().fit(table[turned.columns], np.array(NAMES)[y], classes=NAMES)
    assert_array_equal(again.predict_proba(turned), fitted.predict_proba(new))
    with pytest.raises(ValueError, match="got 'cow', 'cat', 'dog'"):
        quick().fit(table.rename(columns={"bird": "cow"}), np.array(NAMES)[y], classes=NAMES)
    with pytest.raises(ValueError, match="must be named 2, 0, 1, got 0, 1, 2: rename them"):
        quick().fit(pd.DataFrame(scores), y, classes=[2, 0, 1])
    twice = table.set_axis(["cat", "cat", "dog"], axis=1)
    with pytest.raises(ValueError, match="columns of scores must name every class once"):
        quick().fit(twice, np.array(["cat", "dog"])[y // 2])


def test_excluded_options_have_probability_zero():
    scores, y = simulated(60)
    other = (y + 1) % 3
    scores[np.arange(0, 60, 2), other[::2]] = -np.inf
    fitted = quick().fit(scores, y)
    p, interval = fitted.predict_proba(scores), fitted.predict_interval(scores)
    assert fitted.predict_proba([[0.0, -np.inf, 0.0]], [0.0, 0.4, 0.6]).tolist() == [[0, 0, 1]]
    for prior in ([0.0, 0.4, 0.6], np.tile([0.0, 0.4, 0.6], (400, 1))):
        with pytest.raises(ValueError, match="got 0 for all that the scores of row 1 allow"):
            fitted.predict_proba([[0.0, 1.0, 2.0], [0.0, -np.inf, -np.inf]], prior)
    assert (p[np.isneginf(scores)] == 0.0).all()
    assert (interval[np.isneginf(scores)] == 0.0).all()
    assert np.isfinite(p).all()
    assert_allclose(p.sum(axis=1), 1.0)


@pytest.mark.slow
def test_probabilities_are_read_as_their_logarithms(plain, new):
    scores, y = simulated()
    p = special.softmax(scores, axis=1)
    by_p = quick().fit(p, y)
    assert by_p.scores_are_ == "probabilities"
    found = by_p.predict_proba(special.softmax(new, axis=1))
    by_log_p = quick().fit(special.log_softmax(scores, axis=1), y)
    expected = by_log_p.predict_proba(special.log_softmax(new, axis=1))
    assert_allclose(found, expected, atol=0.05)
    # Logits have another unit, which the prior knows.
    assert_allclose(found, plain.predict_proba(new), atol=0.1)
    votes = np.round(10.0 * p) / 10.0
    votes /= votes.sum(axis=1, keepdims=True)
    assert np.isfinite(quick().fit(votes, y).predict_proba(votes)).all()


@pytest.mark.slow
def test_options_may_be_ragged():
    rng = np.random.default_rng(0)
    sizes = rng.integers(2, 6, 200)
    rows = [4.0 * rng.normal(size=k) for k in sizes]
    y = np.array([rng.choice(len(row), p=special.softmax(row / 2.0)) for row in rows])
    padded = np.full((200, 5), np.nan)
    for k, row in enumerate(rows):
        padded[k, : row.size] = row
    calibrator = quick(exchangeable=True).fit(rows, y)
    p = calibrator.predict_proba(rows)
    assert_array_equal(p, quick(exchangeable=True).fit(padded, y).predict_proba(padded))
    assert_allclose(p.sum(axis=1), 1.0)
    assert (p[np.isnan(padded)] == 0.0).all()
    # Options are exchangeable: in another order they keep their probabilities.
    turned = calibrator.predict_proba([row[::-1] for row in rows])
    assert_allclose(turned[7, : sizes[7]][::-1], p[7, : sizes[7]])
    more = calibrator.predict_top([[0.0, 1.0, 2.0, 3.0, 4.0, 9.0]])
    assert more.label.tolist() == [5]
    with pytest.raises(ValueError, match="scores must have 5 columns"):
        quick(scores_are="scores").fit(np.zeros((9, 5)), np.arange(9) % 5).predict([[0.0] * 6])
    biased = quick(exchangeable=True, position_bias=True).fit(rows, y)
    assert float(np.abs(biased.posterior_["posterior"]["bias"]).max()) > 0.0
    # A position that was not fitted has the bias of any, but those fitted keep theirs.
    wide = biased.sample_proba([[*row, np.nan] for row in padded[:9]])
    assert_array_equal(wide[..., :5], biased.sample_proba(padded[:9]))
    own = [
        each.sample_proba([[0.0, 0.0] + [np.nan] * 3 + [0.0]])[:, 0, 5]
        for each in (biased, calibrator)
    ]
    assert own[0].std() > 2.0 * own[1].std()
    assert float(np.abs(calibrator.posterior_["posterior"]["bias"]).max()) == 0.0


SCORES, LABELS = simulated(12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((SCORES[:, 0], LABELS), r"scores must have shape \(documents, classes\)"),
        ((SCORES[:, :1], LABELS), "at least two, got one: use ScoreCalibrator"),
        ((SCORES, None), "y must hold the label of every document, got None"),
        ((SCORES, LABELS[:5]), "scores and y must have the same length, got 12 and 5"),
        ((SCORES, LABELS, ["a", "b"]), "classes must name the 3 columns of scores, got 2"),
        ((SCORES, LABELS, [0, 1, 1]), "every class once"),
        ((SCORES, np.arange(12)), "pass classes="),
        ((SCORES, [5, *LABELS[1:]], [0, 1, 2]), "got 5, which no column has"),
        ((SCORES, ["a"] * 12, [0, 1, 2]), "got 'a', which no column has"),
        ((np.where(SCORES > 5.0, np.nan, SCORES), LABELS), "finite, or -inf .* got nan in row"),
        ((np.where(SCORES > 5.0, np.inf, SCORES), LABELS), "got inf in row"),
        ((np.full((12, 3), -np.inf), LABELS), "row 0 has none"),
        ((SCORES, LABELS, None, np.ones(12), np.ones(12)), "either sample_weight or"),
    ],
)
def test_bad_input_is_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        quick().fit(*arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"position_bias": True}, "position_bias must be False unless"),
        ({"chains": 1}, "chains must be at least 2"),
    ],
)
def test_bad_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        quick(**options).fit(SCORES, LABELS)


def test_probabilities_that_do_not_sum_to_one():
    p = special.softmax(SCORES, axis=1)
    p[3] *= 0.9
    with pytest.raises(ValueError, match=r"row 3 sum to 0\.9"):
        quick(scores_are="probabilities").fit(p, LABELS)
    with pytest.warns(ScoresWarning, match=r"do not sum to 1 .*those of row 3 sum to 0\.9"):
        quick().fit(p, LABELS)
    with pytest.raises(ValueError, match="between 0 and 1, got"):
        quick(scores_are="probabilities").fit(SCORES, LABELS)


def test_probabilities_after_a_fit_to_other_scores_are_named(fitted, new):
    with pytest.warns(ScoresWarning, match="scores look like probabilities, but those fitted"):
        fitted.predict_proba(special.softmax(new, axis=1))


def test_a_label_that_is_excluded():
    scores = SCORES.copy()
    scores[4, LABELS[4]] = -np.inf
    with pytest.raises(ValueError, match="label of row 4 is an option that its scores exclude"):
        quick().fit(scores, LABELS)


def test_bad_questions_are_named(fitted, new):
    for question, arguments, message in (
        (fitted.predict_proba, (new[:, :2],), "scores must have 3 columns"),
        (fitted.predict_set, (new, 0.0), "coverage must lie between"),
        (fitted.predict_proba, (new, [0.5] * 3), r"shares of the classes that sum to 1, got \d"),
        (fitted.predict_proba, (new, {"cat": 1.0}), "prior must give a share to each class"),
        (fitted.decide, (new, np.eye(2)), "costs must have shape"),
    ):
        with pytest.raises(ValueError, match=message):
            question(*arguments)


@pytest.mark.slow
@pytest.mark.parametrize("case", ["constant", "identical", "one class", "fewer than classes"])
def test_degenerate_documents_have_an_answer(case):
    scores, y = simulated(30)
    if case == "constant":
        scores[:, 1] = 0.0
    elif case == "identical":
        scores[:, 1] = scores[:, 2]
    elif case == "one class":
        y = np.zeros_like(y)
    else:
        scores, y = simulated(4, classes=6)
    fitted = quick().fit(scores, y, classes=range(scores.shape[1]))
    p = fitted.predict_proba(scores)
    assert np.isfinite(p).all()
    assert p.min() > 0.0


@pytest.mark.parametrize("scores", [5.0, np.array(5.0), None, np.zeros((0, 3))])
def test_scores_without_documents_are_refused(scores):
    with pytest.raises(ValueError, match=r"scores must .* (at least one|a row for each) document"):
        MulticlassCalibrator().fit(scores, [0, 1])
