"""The study of how many populations there should be: log scores by hand, and all of it, tiny."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bayescal.fitting.engines.monotone.engine import LaplaceFits, log_evidence_around
from bayescal.fitting.learned_prior import shipped_populations
from bayescal.fitting.scores import BinaryScores
from studies import populations
from studies.command import Options
from studies.learning import KINDS
from studies.populations import GROUPINGS, SHIPPED, VAGUE, log_score, measure, run, sharing
from studies.problems.library import EmptyLibraryError, problems
from studies.tests.unseen_data import problem, write_library
from studies.unseen_samples import draw_sample

MARGINS, LOG_ODDS, _, SHARES = shipped_populations()


def evidence_of(a_problem, population):
    sample = draw_sample(a_problem, 5)
    data = BinaryScores(sample.scores, sample.labels == 1)
    return log_evidence_around(LaplaceFits(data), [population])[0]


def test_every_grouping_has_every_classifier_once():
    everything = sorted(each for classifiers, _ in KINDS.values() for each in classifiers)
    for kinds in GROUPINGS.values():
        assert sorted(each for classifiers, _ in kinds.values() for each in classifiers) == (
            everything
        )


def test_those_that_share_are_asked_of_the_scores_of_any_of_them():
    ((classifiers, said),) = sharing([("linear_svm", "random_forest")]).values()
    assert classifiers == ("linear_svm", "random_forest")
    assert said == ("scores", "probabilities")


def test_the_log_score_is_that_of_equally_likely_populations():
    mine = problem()
    each = [evidence_of(mine, population) for population in (MARGINS, LOG_ODDS)]
    assert log_score([MARGINS], mine, 5) == pytest.approx(each[0])
    assert log_score([LOG_ODDS], mine, 5) == pytest.approx(each[1])
    both = np.log(np.mean(np.exp(each)))
    assert log_score([MARGINS, LOG_ODDS], mine, 5) == pytest.approx(both)
    # Populations of another sort of scores say nothing.
    assert log_score([LOG_ODDS, SHARES], mine, 5) == pytest.approx(each[1])
    shares = problem(score_kind="probability")
    assert log_score([MARGINS, SHARES], shares, 5) == log_score([SHARES], shares, 5)


def test_the_right_population_has_the_best_score():
    # The scores are the log-odds.
    wrong = replace(LOG_ODDS, prior=replace(LOG_ODDS.prior, intercept_location=4.0))
    scores = [log_score(each, problem(), 20) for each in ([LOG_ODDS], [wrong], ())]
    assert np.argmax(scores) == 0


def test_nothing_is_learnt_of_the_data_set_judged(tmp_path, monkeypatch):
    asked = []

    def learnt(folder, data_sets, kinds):
        asked.append(set(data_sets))
        return [LOG_ODDS, SHARES]

    monkeypatch.setattr(populations, "populations_of", learnt)
    library = write_library(tmp_path, ("one", "two", "three"))
    judged = [each for each in problems(library) if each.data_set == "two"]
    rows = measure(library, judged, ["one", "two", "three"], (3,))
    assert asked == len(GROUPINGS) * [{"one", "three"}]
    assert {row["populations"] for row in rows} == {VAGUE, *GROUPINGS}
    assert len(rows) == len(judged) * (1 + len(GROUPINGS))


@pytest.mark.slow
def test_a_page_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(
        populations, "GROUPINGS", {name: GROUPINGS[name] for name in ("one", SHIPPED)}
    )
    library = write_library(tmp_path / "library", ("one", "two", "three"))
    run(Options(quick=True, problems=library, out=tmp_path, jobs=1))
    page = (tmp_path / "populations.md").read_text(encoding="utf-8")
    assert "$" not in page
    assert all(f"| {name} |" in page for name in ("one", VAGUE))
    means = pd.read_csv(tmp_path / "populations.csv")
    assert set(means["data_set"]) == {"one", "two"}  # every other one, in the order of their names
    assert f"| {VAGUE} | {(means[VAGUE] - means[SHIPPED]).mean():.2f} ±" in page


def test_a_folder_without_problems_is_an_error(tmp_path):
    with pytest.raises(EmptyLibraryError):
        run(Options(problems=tmp_path, out=tmp_path))
