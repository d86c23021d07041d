"""A calibrator without topics: what is known of the next one, saved, and built on."""

import numpy as np
import pytest

from bayescal import TopicCalibrator, load
from tests.test_topics_combined import NEW, made


@pytest.fixture(scope="module")
def fitted():
    return TopicCalibrator(draws=100, random_state=0).fit(*made())


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
