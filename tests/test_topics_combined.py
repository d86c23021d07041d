"""Topics by the default combination of parts, and a calibrator without topics."""

from copy import copy

import numpy as np
import pytest
import xarray as xr
from scipy import special

from bayescal import ScoreCalibrator, TopicCalibrator, load
from bayescal.fitting.engines.pooled.combination import (
    BELIEF_IN_POPULATION,
    LeftOut,
    own_weights,
    weigh_topics,
)
from bayescal.fitting.parts.part import flat
from bayescal.fitting.results.calibration import topic_calibration
from bayescal.fitting.results.diagnostics import ConvergenceWarning, diagnose
from bayescal.fitting.results.topics import append_to

NAMES = ["corn", "crude", "earn", "grain", "ship", "trade"]
NEW = np.linspace(-4.0, 6.0, 41)
EVIDENCE = [f"parts/{name}/evidence" for name in ("asymmetric_laplace", "gaussian", "monotone")]
PARTS = ["asymmetric_laplace", "gaussian", "recalibrated", "monotone"]


def read_topic(calibrator, topic):
    """Return the curve of a topic by its position."""
    return topic_calibration(flat(calibrator.posterior_), topic).draws


def made(positives=4, negatives=40, seed=0, names=NAMES):
    rng = np.random.default_rng(seed)
    labels = np.tile(np.repeat([0, 1], [negatives, positives]), len(names))
    topics = np.repeat(names, negatives + positives)
    shift = np.repeat(rng.normal(0.0, 0.5, len(names)), negatives + positives)
    return rng.normal(3.0 * labels + shift, 1.0), labels, topics


@pytest.fixture(scope="module")
def fitted():
    return TopicCalibrator(draws=250, random_state=0).fit(*made())


@pytest.mark.slow
def test_the_default_is_the_combination(fitted):
    table = fitted.combination_
    assert table.index.tolist() == PARTS
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table["se"].to_numpy()[table["elpd"].argmax()] == 0.0
    weight = fitted.posterior_["combination"]["weight"]
    np.testing.assert_allclose(weight.sum("part"), 1.0)
    alone = TopicCalibrator(parts="gaussian", draws=100, random_state=0).fit(*made())
    with pytest.raises(AttributeError, match="are not combined"):
        _ = alone.combination_


def test_points_are_weighted_means_of_the_parts(fitted):
    curve = read_topic(fitted, 2)
    weight = fitted.posterior_["combination"]["weight"].sel(topic="earn").values
    mean = sum(
        w * special.expit(part.predictive(NEW)) for w, part in zip(weight, curve.parts, strict=True)
    )
    rate, base = curve.mean_lapse
    found = fitted.predict_proba(NEW, ["earn"] * NEW.size)[:, 1]
    within = (curve.reach[0] <= NEW) & (curve.reach[1] >= NEW)
    expected = (1.0 - rate) * mean + rate * base
    np.testing.assert_allclose(found[within], expected[within], atol=1e-4)


@pytest.mark.slow
def test_a_topic_s_own_share_of_positives_as_prior_changes_nothing():
    scores, labels, topics = made(positives=20)
    rare = topics == "corn"
    kept = ~(rare & (labels == 1) & (np.arange(labels.size) % 10 > 0))
    fitted = TopicCalibrator(draws=100, random_state=0).fit(
        scores[kept], labels[kept], topics[kept]
    )
    own = read_topic(fitted, 0)
    again = own.with_prior(own.parts[0].prior)
    for mine, moved in zip(own.parts, again.parts, strict=True):
        # Of the recalibrated curve too, although the history's share of positives is another one;
        # up to the Monte Carlo error of the share, which each family of densities draws anew.
        np.testing.assert_allclose(mine.predictive(NEW), moved.predictive(NEW), atol=0.1)
    # The negative: that of the other topics moves log-odds a lot.
    other = read_topic(fitted, 1).parts[0].prior
    assert np.abs(own.predictive(NEW) - own.with_prior(other).predictive(NEW)).min() > 0.5


def test_bands_hold_draws_of_every_part_in_proportion_to_its_weight(fitted):
    curve = read_topic(fitted, 0)
    counts = np.bincount(curve.which, minlength=len(PARTS)) / curve.size
    np.testing.assert_allclose(counts, curve.weight, atol=1.0 / curve.size)
    low, high = fitted.predict_interval(NEW, ["corn"] * NEW.size).T
    inside = special.expit(curve.log_odds(NEW))
    share = ((inside >= low) & (inside <= high)).mean(axis=0)
    # Of log-odds above 37 the probability is 1, and as many draws as there are are within.
    told = high < 1.0
    assert told.sum() > 30
    np.testing.assert_allclose(share[told], 0.9, atol=0.02)


def test_draws_of_one_topic_say_nothing_of_anothers_parts(fitted):
    first, second = (read_topic(fitted, topic) for topic in (1, 2))
    alike = (first.weight * second.weight).sum()
    error = np.sqrt(0.25 / first.size)
    assert abs((first.which == second.which).mean() - alike) < 4.0 * error
    # The negative: in the same order most draws are of the same part.
    assert np.minimum(first.weight, second.weight).sum() - alike > 10.0 * error


def test_densities_are_those_of_their_families_alone(fitted):
    curve = read_topic(fitted, 0)
    alone = TopicCalibrator(parts="asymmetric_laplace", draws=250, random_state=1).fit(*made())
    ours = special.expit(curve.parts[0].predictive(NEW))
    theirs = alone.predict_proba(NEW, ["corn"] * NEW.size)[:, 1]
    np.testing.assert_allclose(ours, theirs, atol=0.05)


@pytest.mark.slow
def test_log_odds_of_topics_with_many_documents_are_those_of_a_calibrator_of_the_topic():
    scores, labels, topics = made(positives=200, negatives=400, names=NAMES[:3])
    fitted = TopicCalibrator(draws=250, random_state=0).fit(scores, labels, topics)
    mine = topics == "corn"
    alone = ScoreCalibrator(parts="monotone", draws=250, random_state=0)
    alone.fit(scores[mine], labels[mine])
    ours = special.expit(read_topic(fitted, 0).parts[3].predictive(NEW))
    np.testing.assert_allclose(ours, alone.predict_proba(NEW)[:, 1], atol=0.05)


@pytest.mark.slow
def test_wrong_densities_are_recalibrated():
    # Positives of two modes: no family knows of them, and all topics together do.
    rng = np.random.default_rng(3)
    names = np.arange(20)
    labels = np.tile(np.repeat([0, 1], [100, 20]), names.size)
    modes = np.where(rng.random(labels.size) < 0.5, -1.5, 4.0)
    scores = np.where(labels == 1, modes, 0.0) + rng.normal(0.0, 0.5, labels.size)
    fitted = TopicCalibrator(draws=100, random_state=1).fit(scores, labels, np.repeat(names, 120))
    elpd = fitted.combination_["elpd"]
    assert elpd["recalibrated"] > max(elpd["asymmetric_laplace"], elpd["gaussian"])


def left_out(score, *, both=True):
    """Return log scores of the documents of one topic, (parts, n)."""
    n = score.shape[1]
    positive = np.ones(n, dtype=bool)
    return LeftOut(score, np.ones(n), np.zeros(n, dtype=int), np.array([both]), positive)


def test_weights_follow_the_labels():
    right, wrong = np.log([0.8, 0.3])
    score = np.array([[right], [wrong], [wrong], [wrong]]) * np.ones(2000)
    found, _ = weigh_topics(left_out(score))
    np.testing.assert_allclose(found.weight[0], 1.0, atol=0.01)
    np.testing.assert_allclose(found.elpd, 2000 * score[:, 0])


def test_few_documents_keep_the_populations_weights_and_many_do_not():
    population = np.array([0.7, 0.1, 0.1, 0.1])
    score = np.log([[0.4], [0.9], [0.4], [0.4]])

    def own(documents):
        return own_weights(left_out(score * np.ones(documents)), population)[0]

    assert own(1)[0] > 0.6
    assert own(1000)[1] > 0.97
    # Nothing said: exactly the population's.
    equal = left_out(np.zeros((4, 5)))
    np.testing.assert_allclose(own_weights(equal, population)[0], population, atol=1e-9)
    # Documents of one class say nothing of weights.
    one_sided = left_out(score * np.ones(1000), both=False)
    np.testing.assert_array_equal(own_weights(one_sided, population)[0], population)
    assert BELIEF_IN_POPULATION == 10.0


@pytest.mark.slow
def test_topics_without_a_class_have_the_populations_weights():
    scores, labels, topics = made()
    kept = (topics != "earn") | (labels == 0)
    fitted = TopicCalibrator(draws=100, random_state=0)
    fitted.fit(scores[kept], labels[kept], topics[kept])
    assert list(fitted.flagged_) == ["earn"]
    weight = fitted.posterior_["combination"]["weight"]
    population = fitted.combination_["weight"].to_numpy()
    np.testing.assert_array_equal(weight.sel(topic="earn"), population)
    assert not np.array_equal(weight.sel(topic="corn"), population)


@pytest.mark.slow
def test_workers_do_not_change_a_bit(fitted):
    parallel = TopicCalibrator(draws=250, random_state=0, n_jobs=2).fit(*made())
    where = NEW, ["ship"] * NEW.size
    np.testing.assert_array_equal(
        parallel.decision_function(*where), fitted.decision_function(*where)
    )


@pytest.mark.slow
def test_added_topics_are_nearly_what_fitting_them_gives():
    scores, labels, topics = made(positives=10)
    old = topics != "corn"
    joined = TopicCalibrator(draws=250, random_state=0).fit(scores[old], labels[old], topics[old])
    joined.add_topics(scores[~old], labels[~old], topics[~old])
    whole = TopicCalibrator(draws=250, random_state=0).fit(scores, labels, topics)
    for name in ("corn", "ship"):
        where = NEW, [name] * NEW.size
        np.testing.assert_allclose(
            joined.predict_proba(*where)[:, 1], whole.predict_proba(*where)[:, 1], atol=0.08
        )


@pytest.mark.slow
def test_topics_are_added_to_topics_added(tmp_path):
    fitted = TopicCalibrator(draws=100, random_state=0).fit(*made(positives=3))
    scores, labels, _ = made(positives=150, negatives=300, seed=1, names=["many"])
    fitted.add_topics(scores, labels, ["many"] * labels.size)
    some = np.r_[0:5, 300]
    fitted.add_topics(scores[some], labels[some], ["few"] * 5 + ["tiny"])
    where = NEW, ["many"] * NEW.size
    assert np.diff(fitted.predict_proba(*where)[:, 1]).min() > -0.01
    again = TopicCalibrator.load(fitted.save(tmp_path / "topics.nc"))
    np.testing.assert_array_equal(again.decision_function(*where), fitted.decision_function(*where))
    assert again.combination_.equals(fitted.combination_)
    assert again.topics_.tolist() == [*NAMES, "many", "few", "tiny"]
    assert again.diagnostics_.ok
    for group in EVIDENCE:
        added = again.posterior_[group].to_dataset().sel(topic=["many", "few", "tiny"])
        assert (added["resolved"] == 1).all()
        assert (added["efficiency"] > 0.03).all()
        least = 0.03 if group == "parts/monotone/evidence" else 0.9
        assert (added["proposal_efficiency"] > least).all()


def added(calibrator, name, seed):
    return calibrator.add_topics(*made(seed=seed, names=[name]))


def test_topics_added_to_one_calibrator_do_not_reach_another(fitted):
    first = added(copy(fitted), "first", 1)
    both = [added(copy(first), name, seed) for seed, name in enumerate(("second", "third"), 2)]
    alone = added(added(copy(fitted), "first", 1), "second", 2)
    assert first.topics_.tolist() == [*NAMES, "first"]
    assert [each.topics_[-1] for each in both] == ["second", "third"]
    xr.testing.assert_identical(both[0].posterior_, alone.posterior_)


def test_adding_warns_of_what_is_added_and_diagnostics_tell_of_all(fitted):
    tree = fitted.posterior_.copy(deep=True)
    tree["posterior"]["theta"].values[2] = np.nan
    broken = TopicCalibrator.from_results(tree)
    added(broken, "first", 1)  # a warning is an error
    (problem,) = broken.diagnostics_.problems
    assert "for topic 'earn' hold values that are not finite" in problem
    with pytest.warns(ConvergenceWarning, match="for topic 'earn' hold values"):
        broken.summary()
    scores, labels, _ = made(names=["far"])
    with pytest.warns(ConvergenceWarning, match="for topic 'far'") as told:
        broken.add_topics(scores + 9.0, labels, ["far"] * labels.size)
    assert "earn" not in str(told[0].message)
    assert len(broken.diagnostics_.problems) > 1


@pytest.mark.parametrize("group", EVIDENCE)
def test_an_unresolved_population_of_any_family_is_a_problem(fitted, group):
    assert fitted.diagnostics_.problems == ()
    tree = fitted.posterior_.copy()
    uneven = xr.full_like(tree[group]["pareto_k"], 0.9)
    tree[group] = xr.DataTree(tree[group].to_dataset().assign(pareto_k=uneven))
    (problem,) = diagnose(flat(tree)).problems
    assert "Pareto k 0.90" in problem
    tree[group] = xr.DataTree(fitted.posterior_[group].to_dataset().assign(resolved=0))
    (problem,) = diagnose(flat(tree)).problems
    assert "was not resolved: look for extreme outliers" in problem


@pytest.mark.slow
def test_topics_of_a_document_each_are_answered_by_the_population():
    """Without it nothing is known of a topic, so nothing tells how the parts differ."""
    scores, labels = np.array([-1.0, 2.0, 0.0, 1.5, -2.0, 3.0]), np.tile([0, 1], 3)
    alone = TopicCalibrator(draws=100, random_state=0).fit(scores, labels, NAMES)
    table = alone.combination_
    assert table["weight"].sum() == pytest.approx(1.0)
    assert table["elpd"].eq(0.0).all()
    assert table["se"].isna().all()
    low, high = alone.predict_proba([-1.0, 2.0], [NAMES[0]] * 2)[:, 1]
    assert 0.0 < low < high < 1.0


def test_the_combination_needs_a_population():
    with pytest.raises(ValueError, match="needs pooling='partial'"):
        TopicCalibrator("none", parts="combined").fit(*made())
    with pytest.warns(UserWarning, match="one topic"):
        alone = TopicCalibrator(draws=100, random_state=0).fit(*made(names=["corn"]))
    assert "combination" not in alone.posterior_


# A calibrator without topics: what is known of the next one, saved, and built on


def one_more():
    return made(positives=6, seed=7, names=["late"])


def said_of(calibrator, topic):
    where = NEW, [topic] * NEW.size
    return calibrator.predict_proba(*where), calibrator.predict_interval(*where)


@pytest.mark.slow
def test_it_answers_for_topics_as_before(fitted):
    population = fitted.population_
    assert population.topics_.tolist() == []
    for mine, whole in zip(said_of(population, "new"), said_of(fitted, "new"), strict=True):
        np.testing.assert_array_equal(mine, whole)
    # The fit itself is as it was.
    assert fitted.topics_.size == 6


@pytest.mark.slow
def test_topics_added_to_it_are_those_added_to_the_fit(fitted, tmp_path):
    path = fitted.population_.save(tmp_path / "history.nc")
    mine = load(path).add_topics(*one_more())
    whole = TopicCalibrator.load(fitted.save(tmp_path / "all.nc")).add_topics(*one_more())
    for here, there in zip(said_of(mine, "late"), said_of(whole, "late"), strict=True):
        np.testing.assert_array_equal(here, there)
    # The negative: labels say more than the population alone.
    assert np.abs(said_of(mine, "late")[0] - said_of(whole, "new")[0]).max() > 0.02
    assert mine.topics_.tolist() == ["late"]


@pytest.mark.slow
def test_a_file_of_it_tells_nothing_of_single_topics(fitted, tmp_path):
    written = fitted.population_.save(tmp_path / "history.nc").read_bytes()
    whole = fitted.save(tmp_path / "all.nc").read_bytes()
    assert b"grain" in whole
    assert b"grain" not in written
    assert len(written) < 0.6 * len(whole)


def test_what_needs_a_topic_says_so_and_the_rest_is_empty(fitted, tmp_path):
    population = fitted.population_
    assert population.summary().empty
    assert "0 topics" in population._repr_html_()
    with pytest.raises(ValueError, match=r"a report needs a topic.*add_topics"):
        population.report(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("pooling", ["none", "complete"])
def test_without_partial_pooling_there_is_none(pooling):
    apart = TopicCalibrator(pooling=pooling, draws=50, random_state=0).fit(*made())
    with pytest.raises(AttributeError, match="has no population"):
        _ = apart.population_


# Groups of results with further topics, made from variables, against xarray's own joining


def group(names, seed):
    """Return the topics' posterior, and that of their population."""
    rng = np.random.default_rng(seed)
    n = len(names)
    variables = {
        "draws": (("klass", "topic", "draw"), rng.normal(size=(2, n, 3))),
        "resolved": ("topic", rng.integers(0, 2, n)),
        "pareto_k": ("klass", np.array([0.1, 0.2])),
        "centre": 1.5,
    }
    coords = {"klass": ["negative", "positive"], "topic": np.array(names), "draw": np.arange(3)}
    return xr.Dataset(variables, coords, {"scores_are": "scores"})


@pytest.mark.parametrize("names", [(["a", "b"], ["longer"]), ([1, 2], [7]), ([1, 2], ["c"])])
def test_it_is_what_xarray_makes_of_both(names):
    old, new = (group(each, seed) for seed, each in enumerate(names))
    joined = append_to(old, new)
    of_topics = ["draws", "resolved"]
    expected = xr.concat([old[of_topics], new[of_topics]], "topic").merge(old.drop_dims("topic"))
    xr.testing.assert_equal(joined, expected)
    assert joined["topic"].values.tolist() == [*names[0], *names[1]]
    assert joined["resolved"].dtype == old["resolved"].dtype
    assert joined.attrs == old.attrs


def test_dimensions_may_come_in_another_order():
    old, new = group(["a", "b"], 0), group(["c"], 1)
    joined = append_to(old.transpose("draw", "topic", "klass"), new)
    expected = append_to(old, new)
    xr.testing.assert_equal(joined.transpose("klass", "topic", "draw"), expected)


def test_what_a_group_does_not_know_of_others_is_left_out():
    old, new = group(["a", "b"], 0).drop_vars("resolved"), group(["c"], 1)
    assert set(append_to(old, new)) == {"draws", "pareto_k", "centre"}
    shared = old.drop_dims("topic")
    xr.testing.assert_identical(append_to(shared, new), shared)
