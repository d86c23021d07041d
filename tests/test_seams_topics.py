"""Readers notice a fault in one topic's draws in any part, or in the topics' population."""

from html import unescape

import numpy as np
import pytest
import xarray as xr

from bayescal import TopicCalibrator
from bayescal.fitting.parts.log_odds import HYPERPARAMETERS
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from tests.spoiling import (
    all_the_same,
    drawn,
    named,
    one_nan,
    reread,
    with_bad_evidence,
    with_spoilt_draws,
)

LABELS = np.tile(np.repeat([0, 1], [16, 4]), 2)
SCORES = np.random.default_rng(0).normal(2.0 * LABELS)
TOPICS = np.repeat(["corn", "crude"], 20)


@pytest.fixture(scope="module")
def whole():
    return TopicCalibrator(draws=50, chains=2, random_state=0).fit(SCORES, LABELS, TOPICS)


@pytest.fixture(scope="module")
def parts(whole):
    """Return where the parts of a combination are."""
    return all_paths(flat(whole.posterior_))


def paths(tree, part):
    """Yield the groups of a part's draws, with a topic where they are topics', and with None."""
    for group in part.draws:
        dataset = tree[group].to_dataset().drop_vars(HYPERPARAMETERS, errors="ignore")
        of_topics = {"topic" in dataset[name].dims for name in drawn(dataset)}
        yield from ((group, "corn" if each else None) for each in sorted(of_topics))


def check_told(calibrator, part, topic):
    """Check that readers tell of a part, and of the topic alone if it is one topic's."""
    text = " ".join(calibrator.diagnostics_.problems)
    assert named(part.name) in text
    assert ("'corn'" in text) == (topic is not None)
    assert "'crude'" not in text
    with pytest.warns(ConvergenceWarning, match=named(part.name)):
        calibrator.summary()
    assert named(part.name) in unescape(calibrator._repr_html_())


def check_reported(calibrator, part, topic, folder):
    page = unescape(calibrator.report(folder / "report.html").read_text())
    assert named(part.name) in page
    assert f"{2 if topic is None else 1} of 2 topics have a problem" in page


def test_nothing_is_wrong_with_a_fit_of_every_part(whole, parts, tmp_path):
    assert [part.name for part in parts] == whole.combination_.index.tolist()
    found = whole.diagnostics_
    assert found.ok
    assert found.rhat is None
    assert found.draws == 100
    assert 0.03 < found.efficiency < 1.0
    assert found.pareto_k < 0.7
    whole.summary()  # a warning would be an error here
    text = whole.report(tmp_path / "report.html").read_text()
    assert '<div id="verdict" class="verdict good">' in text


@pytest.mark.slow
def test_every_reader_notices_draws_that_are_all_the_same(whole, parts, tmp_path):
    tree = whole.posterior_
    for part in parts:
        for group, topic in paths(tree, part):
            calibrator = reread(whole, with_spoilt_draws(tree, group, all_the_same, topic))
            check_told(calibrator, part, topic)
        check_reported(calibrator, part, topic, tmp_path)


@pytest.mark.slow
def test_every_reader_notices_draws_that_were_not_resolved(whole, parts, tmp_path):
    tree = whole.posterior_
    for part in parts:
        of_topics = "topic" in tree[part.evidence]["resolved"].dims
        for topic in (None, "corn") if of_topics else (None,):
            calibrator = reread(whole, with_bad_evidence(tree, part.evidence, topic))
            check_told(calibrator, part, topic)
        check_reported(calibrator, part, topic, tmp_path)


def test_draws_that_are_not_finite_are_refused_where_they_are_read(whole, parts):
    tree, not_finite = whole.posterior_, "hold values that are not finite"
    for part in parts:
        for group, topic in paths(tree, part):
            calibrator = reread(whole, with_spoilt_draws(tree, group, one_nan, topic))
            (problem,) = calibrator.diagnostics_.problems
            assert (
                f"{named(part.name)} hold" in problem
                or f"{named(part.name)} for topic 'corn' hold" in problem
            )
            assert not_finite in problem
            if not group.endswith("hyperparameters"):  # which no curve is read from
                with pytest.raises(ValueError, match=f"{named(part.name)}.* {not_finite}"):
                    calibrator.predict_proba([0.0], ["new" if topic is None else topic])


def test_one_topic_that_is_not_finite_leaves_the_others(whole, parts, tmp_path):
    tree = with_spoilt_draws(whole.posterior_, "posterior", one_nan, "corn")
    calibrator = reread(whole, tree)
    assert np.isfinite(calibrator.predict_proba([0.0], ["crude"])).all()
    with pytest.raises(ValueError, match=f"{named(parts[0].name)} for topic 'corn' hold values"):
        calibrator.report(tmp_path / "report.html")


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("pareto_k", 0.9),
        ("pareto_k", np.nan),
        ("population_efficiency", 0.01),
        ("efficiency", 0.01),
    ],
)
def test_each_number_of_the_evidence_counts(whole, parts, variable, value):
    for part in parts:
        tree = whole.posterior_.copy()
        dataset = tree[part.evidence].to_dataset()
        if variable in dataset:
            changed = dataset.assign({variable: xr.full_like(dataset[variable], value)})
            tree[part.evidence] = xr.DataTree(changed)
            (problem,) = reread(whole, tree).diagnostics_.problems
            assert named(part.name) in problem
