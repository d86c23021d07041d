"""A history of calibrated problems as the prior of one ScoreCalibrator."""

import pickle

import numpy as np
import pytest
from arviz_base import convert_to_datatree
from sklearn import config_context
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from bayescal import CalibratedClassifier, Population, ScoreCalibrator, TopicCalibrator, load
from bayescal.calibrators import leave_one_out
from bayescal.decisions import decide
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.diagnostics import diagnose
from tests.history_data import GRID, history, problem

FAMILIES = ["auto", "gaussian"]  # a combination, and densities alone
TOPIC = ["late"] * GRID.size


def fitted(family="auto", data=None, weight=None, **settings):
    settings = {"prior_knowledge": history(family), "random_state": 0} | settings
    return ScoreCalibrator(**settings).fit(*(data or problem()), weight)


def added(family="auto", data=None, weight=None):
    """Return the history's population with the problem added as a topic."""
    scores, labels = data or problem()
    population, topics = history(family).population_, ["late"] * scores.size
    return population.add_topics(scores, (labels == "spam").astype(int), topics, weight)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_posterior_is_that_of_a_topic_added(family):
    one, topic = fitted(family), added(family)
    np.testing.assert_array_equal(one.predict_proba(GRID), topic.predict_proba(GRID, TOPIC))
    for kind in ("pointwise", "hdi", "simultaneous"):
        band = topic.predict_interval(GRID, TOPIC, kind=kind)
        np.testing.assert_array_equal(one.predict_interval(GRID, kind=kind), band)
    np.testing.assert_array_equal(one.sample_proba(GRID), topic.sample_proba(GRID, TOPIC))
    moved = topic.predict_proba(GRID, TOPIC, prior=0.01)
    np.testing.assert_array_equal(one.predict_proba(GRID, prior=0.01), moved)
    np.testing.assert_array_equal(one.lapse_, topic.lapse_)
    # The negative: without the history the curve is another one.
    vague = ScoreCalibrator(random_state=0, draws=100).fit(*problem())
    assert np.abs(vague.predict_proba(GRID) - one.predict_proba(GRID)).max() > 0.02


@pytest.mark.parametrize("family", [pytest.param("auto", marks=pytest.mark.slow), "gaussian"])
def test_weights_count_as_they_do_for_a_topic(family):
    _, labels = problem()
    weight = np.where(labels == "spam", 2.0, 1.0)
    weight[:3] = 0.0
    one, topic = fitted(family, weight=weight), added(family, weight=weight)
    np.testing.assert_array_equal(one.predict_proba(GRID), topic.predict_proba(GRID, TOPIC))
    ones = fitted(family, weight=np.ones(labels.size))
    np.testing.assert_array_equal(ones.predict_proba(GRID), fitted(family).predict_proba(GRID))


@pytest.mark.slow
def test_the_order_of_documents_and_the_words_of_labels_do_not_matter():
    scores, labels = problem()
    order = np.random.default_rng(0).permutation(labels.size)
    mixed = fitted(data=(scores[order], labels[order]))
    # Negatives and positives each keep an order of their own, which sums of likelihoods round by.
    np.testing.assert_allclose(mixed.predict_proba(GRID), fitted().predict_proba(GRID), atol=1e-6)
    assert fitted().classes_.tolist() == ["ham", "spam"]
    swapped = fitted(data=(scores, np.where(labels == "spam", "ham", "spam")), positive="ham")
    of_positive = swapped.predict_proba(GRID)[:, ::-1]
    np.testing.assert_array_equal(of_positive, fitted().predict_proba(GRID))


def test_the_default_is_what_was_learnt():
    assert ScoreCalibrator().prior_knowledge == "learned"
    said, default = (
        ScoreCalibrator(**known, draws=50, random_state=0).fit(*problem()).predict_proba(GRID)
        for known in ({"prior_knowledge": "learned"}, {})
    )
    np.testing.assert_array_equal(said, default)


@pytest.mark.slow
def test_a_history_a_population_and_their_files_are_one_prior(tmp_path):
    whole = history("gaussian")
    forms = [
        whole.population_,
        Population(whole),
        Population(whole.population_),
        whole.save(tmp_path / "all.nc"),
        str(whole.population_.save(tmp_path / "population.nc")),
        Population(tmp_path / "population.nc"),
    ]
    expected = fitted("gaussian").predict_proba(GRID)
    for form in forms:
        found = fitted(prior_knowledge=form).predict_proba(GRID)
        np.testing.assert_array_equal(found, expected)
    # Nothing that was given has changed.
    assert whole.topics_.size == 8


@pytest.mark.slow
def test_a_population_says_what_it_is():
    population = Population(history())
    assert population.families == ("asymmetric_laplace", "gaussian")
    assert population.scores_are == "scores"
    assert population.draws == (4, 100)
    assert population.units == fitted().units_
    assert repr(population).startswith("Population(asymmetric_laplace, gaussian; centre ")
    assert clone(population, safe=False) is population


@pytest.mark.slow
@pytest.mark.parametrize("form", [lambda whole: whole, Population])
def test_copies_of_an_estimator_keep_it(form):
    prior = form(history())
    calibrator = ScoreCalibrator(prior_knowledge=prior, random_state=0)
    with config_context(enable_metadata_routing=True):
        calibrator.set_fit_request(sample_weight=True)
        copied = clone(clone(calibrator))
        assert copied.get_metadata_routing().fit.requests["sample_weight"] is True
    assert copied.prior_knowledge is prior
    assert not hasattr(copied, "classes_")
    assert calibrator.prior_knowledge is prior
    again = pickle.loads(pickle.dumps(copied.fit(*problem())))
    np.testing.assert_array_equal(again.predict_proba(GRID), fitted().predict_proba(GRID))
    np.testing.assert_array_equal(
        clone(again).fit(*problem()).predict_proba(GRID), fitted().predict_proba(GRID)
    )


@pytest.mark.slow
def test_a_grid_chooses_among_populations(tmp_path):
    scores, labels = problem(positives=10, negatives=20)
    path = history("gaussian").population_.save(tmp_path / "history.nc")
    grid = {"prior_knowledge": [Population(history()), path]}
    search = GridSearchCV(
        ScoreCalibrator(random_state=0), grid, scoring="neg_log_loss", cv=2, error_score="raise"
    ).fit(scores, labels)
    chosen = search.best_params_["prior_knowledge"]
    assert chosen is grid["prior_knowledge"][0] or chosen == path
    with pytest.raises(ValueError, match=r"not fitted.*bayescal\.Population of it"):
        GridSearchCV(
            ScoreCalibrator(), {"prior_knowledge": [history()]}, cv=2, error_score="raise"
        ).fit(scores, labels)


def test_a_calibrated_classifier_takes_it():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 2))
    y = rng.random(200) < 1.0 / (1.0 + np.exp(-2.0 * x[:, 0]))
    classifier = LogisticRegression().fit(x[:100], y[:100])
    margins = classifier.decision_function(x)
    topics = np.arange(100) % 4
    past = TopicCalibrator(draws=50, random_state=0).fit(margins[:100], y[:100], topics)
    around = ScoreCalibrator(prior_knowledge=past, random_state=0)
    later = slice(100, None)
    whole = CalibratedClassifier(FrozenEstimator(classifier), around, random_state=0)
    whole.fit(x[later], y[later])
    (found,) = whole.calibrated_classifiers_[0].calibrators
    alone = clone(around).set_params(random_state=found.random_state)
    alone.fit(margins[later], y[later])
    np.testing.assert_allclose(whole.predict_proba(x), alone.predict_proba(margins), atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_a_file_needs_no_other_file(family, tmp_path):
    path = history(family).population_.save(tmp_path / "history.nc")
    for prior in (path, Population(path))[family == "auto" :]:
        one = fitted(prior_knowledge=prior)
        one.save(tmp_path / "one.nc")
        again = load(tmp_path / "one.nc")
        np.testing.assert_array_equal(again.predict_proba(GRID), one.predict_proba(GRID))
        np.testing.assert_array_equal(again.lapse_, one.lapse_)
        # Updated, it has the prior of its own file.
        path.rename(tmp_path / "elsewhere.nc")
        more = problem(positives=2, negatives=3, seed=9)
        np.testing.assert_array_equal(
            again.update(*more).predict_proba(GRID), one.update(*more).predict_proba(GRID)
        )
        assert again.fitted_problems()[""].describe(several=False)
        (tmp_path / "elsewhere.nc").rename(path)
    assert isinstance(again.prior_knowledge, Population)
    refitted = again.fit(*problem())
    first = fitted(family).predict_proba(GRID)
    np.testing.assert_array_equal(refitted.predict_proba(GRID), first)


@pytest.mark.parametrize("family", FAMILIES)
def test_updates_are_one_fit_to_all_documents(family):
    scores, labels = problem(positives=6, negatives=30)
    order = np.random.default_rng(2).permutation(labels.size)
    first, later = order[:20], order[20:]
    found = fitted(family, (scores[first], labels[first]))
    for piece in np.array_split(later, 3):
        found.update(scores[piece], labels[piece])
    at_once = fitted(family, (scores[order], labels[order]))
    np.testing.assert_array_equal(found.predict_proba(GRID), at_once.predict_proba(GRID))
    np.testing.assert_array_equal(found.predict_interval(GRID), at_once.predict_interval(GRID))
    assert found.units_ == at_once.units_ == Population(history(family)).units
    assert len(found.prequential_) == 3


@pytest.mark.parametrize("family", FAMILIES)
def test_summary_and_diagnostics_are_of_the_problem(family):
    one, topic = fitted(family), added(family)
    table = one.summary()
    rows = [(each, name) for each in ("ham", "spam") for name in ("mode", "left_width")]
    assert set(rows) < set(table.index)
    # Modes are those of the topic's first family, in raw score units.
    theta = topic.posterior_["posterior"]["theta"].sel(topic="late", klass="positive")
    assert table.loc[("spam", "mode"), "median"] == pytest.approx(float(theta.median()))
    rate = topic.posterior_["posterior"]["prior"].sel(topic="late")
    assert table.loc[("spam", "prior"), "median"] == pytest.approx(float(rate.median()))
    assert one.diagnostics_.ok
    assert one.diagnostics_.draws == 400
    assert one.inference_ == "exact"


def test_the_weights_are_the_topic_s():
    weight = added().posterior_["combination"]["weight"].sel(topic="late")
    np.testing.assert_array_equal(fitted().combination_["weight"], weight)
    with pytest.raises(AttributeError, match="are not combined"):
        _ = fitted("gaussian").combination_
    with pytest.raises(AttributeError, match=r"a population has no evidence.*combination_"):
        _ = fitted().log_evidence_


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_plots_reports_decisions_and_exports_take_it(family, tmp_path):
    from bayescal.plots import ClassDensityDisplay, ProbabilityDisplay

    one = fitted(family)
    for display in (ClassDensityDisplay, ProbabilityDisplay):
        assert display.from_estimator(one).data.sizes
    text = one.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "one more topic of a population" in text
    assert "Population" in one._repr_html_() or "ScoreCalibrator" in one._repr_html_()
    chosen = decide(one.sample_proba(GRID, draws=50), [[0, 10], [1, 0]])
    assert chosen is not None
    assert one.export(tmp_path / "curve.py").exists()


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_arviz_groups_are_made(family):
    # Of so many draws that standard deviations are known to a few in a hundred.
    past = history(family, draws=500)
    made = fitted(family, prior_knowledge=past).to_arviz(draws=2000, random_state=0)
    tree = convert_to_datatree(made)
    prior, posterior = tree["prior"].to_dataset(), tree["posterior"].to_dataset()
    assert set(prior) == set(posterior)
    assert prior.sizes["chain"] == 1
    assert prior.sizes["draw"] == 2000
    # Of a topic without labels less is known than of this one, and it is the population's. With
    # several families this shows in the tails alone.
    spread = [float(each["mode"].sel(klass="positive").std()) for each in (prior, posterior)]
    assert spread[0] > 1.05 * spread[1]
    new = past.posterior_["population/posterior"]["theta"].sel(klass="positive")
    drawn = prior["mode"].sel(klass="positive")
    assert float(drawn.mean()) == pytest.approx(float(new.mean()), abs=0.15)


def test_leaving_one_out_is_a_fit_without_the_document():
    scores, labels = problem(positives=10, negatives=20, seed=4)
    found = leave_one_out(fitted("gaussian", (scores, labels)), draws=400).elpd_i
    keep = np.ones(labels.size, dtype=bool)
    for left_out in (0, 5, 22, 29):
        keep[left_out] = False
        others = fitted("gaussian", (scores[keep], labels[keep]))
        both = others.predict_proba(scores[[left_out]])[0]
        said = both[int(labels[left_out] == "spam")]
        assert np.exp(found[left_out]) == pytest.approx(said, abs=0.03)
        keep[left_out] = True
    # The negative: with its label each document is likelier, above all the unlikely ones.
    with_it = fitted("gaussian", (scores, labels)).predict_proba(scores)
    assert np.log(with_it[np.arange(30), (labels == "spam").astype(int)]).sum() > found.sum()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"parts": "gaussian"}, r"parts must be 'auto' with prior_knowledge, got 'gaussian'"),
        ({"parts": "monotone"}, "parts must be 'auto'"),
        ({"inference": "nuts"}, "inference must be 'auto' or 'exact' with prior_knowledge"),
        ({"inference": "mle"}, "inference must be"),
        ({"units": {"centre": 0.0, "spread": 3.0}}, "units must be None"),
        ({"lapse": 0.01}, "lapse must be 'auto'"),
        ({"draws": 500}, "draws must be 1000 or 100 with prior_knowledge, got 500"),
        ({"scores_are": "log_odds"}, "scores_are must be 'auto' or 'scores'"),
        ({"prior_knowledge": None}, "prior_knowledge must be 'vague'.*got None"),
        ({"prior_knowledge": 3.0}, "got 3.0"),
        ({"prior_knowledge": LogisticRegression()}, "got LogisticRegression"),
        ({"prior_knowledge": TopicCalibrator()}, "which is not fitted"),
    ],
)
def test_what_does_not_go_with_it_is_named(settings, message):
    settings = {"prior_knowledge": history()} | settings
    with pytest.raises(ValueError, match=message):
        ScoreCalibrator(**settings).fit(*problem())


@pytest.mark.parametrize("part", ["gaussian", "monotone"])
def test_draws_that_few_of_agree_with_the_population_are_warned_of(part):
    groups = flat(fitted().results_)
    assert diagnose(groups).ok
    (paths,) = (each for each in all_paths(groups) if each.name == part)
    evidence = groups[paths.evidence]
    groups[paths.evidence] = evidence.assign(efficiency=0.01 * evidence["efficiency"])
    (told,) = diagnose(groups).problems
    assert f"too few draws of the part '{part}' agree with the population" in told
    assert "compare with prior_knowledge='vague'" in told


def test_a_file_that_is_missing_or_of_another_kind_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"prior_knowledge must be.*no file 'learnt'"):
        fitted(prior_knowledge="learnt")
    vague = ScoreCalibrator(inference="mle").fit(*problem())
    with pytest.raises(ValueError, match="holds a ScoreCalibrator"):
        fitted(prior_knowledge=vague.save(tmp_path / "one.nc"))
    with pytest.raises(ValueError, match=r"got ScoreCalibrator\("):
        fitted(prior_knowledge=fitted())


@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_a_history_without_a_population_is_refused(pooling):
    apart = history(topics=2, pooling=pooling, draws=20)
    with pytest.raises(ValueError, match=f"pooling='{pooling}', which has no population"):
        fitted(prior_knowledge=apart)


def test_one_topic_is_no_history():
    with pytest.warns(UserWarning, match="one topic makes no population"):
        alone = TopicCalibrator(draws=20, random_state=0).fit(*problem(), ["only"] * 34)
    with pytest.raises(ValueError, match="of one topic, which makes no population"):
        fitted(prior_knowledge=alone)


def test_probabilities_are_calibrated_around_those_of_a_history():
    rng = np.random.default_rng(4)
    labels = np.tile(np.repeat([0, 1], [60, 30]), 4)
    scores = 1.0 / (1.0 + np.exp(-rng.normal(2.0 * labels - 1.0)))
    topics = np.repeat(["a", "b", "c", "d"], 90)
    past = TopicCalibrator(scores_are="probabilities", draws=50, random_state=0)
    past.fit(scores, labels, topics)
    some = slice(40, 70)
    one = ScoreCalibrator(prior_knowledge=past, random_state=0).fit(scores[some], labels[some])
    late = past.population_.add_topics(scores[some], labels[some], ["late"] * 30)
    shown = np.linspace(0.05, 0.95, 10)
    np.testing.assert_array_equal(
        one.predict_proba(shown), late.predict_proba(shown, ["late"] * 10)
    )
    with pytest.raises(ValueError, match=r"between 0 and 1|probabilities"):
        ScoreCalibrator(prior_knowledge=past).fit(*problem())
