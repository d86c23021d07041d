"""Fixtures for several files of tests: tables of scores, a browser, figures closed."""

import gc
import zlib
from pathlib import Path

import numpy as np
import pytest

from bayescal import ScoreCalibrator, TopicCalibrator
from bayescal.report import write_report
from tests import report_data
from tests.browser import browser
from tests.cli_tools import make_frame, make_topics, replace_sampler, write
from tests.report_data import make_problem


@pytest.fixture
def frame():
    return make_frame()


@pytest.fixture
def scores(frame, tmp_path):
    return write(frame, tmp_path / "scores.csv")


@pytest.fixture
def topics(tmp_path):
    return write(make_topics(), tmp_path / "topics.csv")


@pytest.fixture(scope="module")
def chromium():
    with browser() as one:
        yield one


@pytest.fixture(scope="session")
def one_report(tmp_path_factory):
    """Return the report of a problem with held-out documents and the weight of evidence."""
    calibrator = ScoreCalibrator(random_state=0, draws=100).fit(*make_problem(200, seed=1))
    path = tmp_path_factory.mktemp("one") / "report.html"
    test = make_problem(300, seed=2)
    return write_report(calibrator, path, test=test, likelihood_ratio=True, level=0.8)


@pytest.fixture(scope="session")
def topics_report(tmp_path_factory):
    """Return the report of topics, one without held-out documents."""
    frame, test = report_data.make_topics(), report_data.make_topics(seed=1)
    calibrator = TopicCalibrator(parts="gaussian", random_state=0, draws=100).fit(frame)
    path = tmp_path_factory.mktemp("topics") / "report.html"
    return write_report(calibrator, path, test=test[test["topic"] != "crude"], fitted=frame)


@pytest.fixture
def ax():
    from matplotlib.figure import Figure

    return Figure().subplots()


@pytest.fixture
def fake_nuts(monkeypatch):
    replace_sampler(monkeypatch)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Seed by the test's name what it leaves unseeded: its bounds hold in all runs or in none."""
    seed_of_test = zlib.crc32(item.nodeid.encode())
    seeds = np.random.SeedSequence(seed_of_test)
    np.random.seed(seed_of_test)  # noqa: NPY002 -- what scikit-learn and SciPy draw from
    default_rng = np.random.default_rng

    def seeded(seed=None):
        return default_rng(seeds.spawn(1)[0] if seed is None else seed)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(np.random, "default_rng", seeded)
        return (yield)


# Files that take longest start first, so that no process waits for the other at the end.
LONGEST = {
    "test_notebooks", "test_pages", "test_pooled_sbc", "test_recorded", "test_sbc",
    "test_topic_calibrator", "test_topics_combined", "test_topics_nuts", "test_topics_studies",
}  # fmt: skip

# PyMC or ArviZ has a part in these files, so CI runs them in both eras; a test among them that
# needs only one bears the mark itself.
BOTH_ERAS = {
    "test_arviz", "test_class_programs", "test_classifier_weights", "test_cli", "test_cli_fit",
    "test_cli_predict", "test_comparison", "test_distributions", "test_distributions_composition",
    "test_engines", "test_engines_equal_nuts", "test_exact_priors", "test_figures_in_text",
    "test_intervals", "test_learned_prior_nuts", "test_live_nuts", "test_map_equals_mle",
    "test_monotone_pieces", "test_monotone_programs", "test_noisy_logistic", "test_notebooks",
    "test_own_densities", "test_own_programs", "test_pooled_program", "test_probability_table",
    "test_program_engine", "test_programs", "test_raw_units", "test_relative",
    "test_score_calibrator", "test_seams", "test_stored_files", "test_topics_nuts",
}  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests of one era before pytest chooses those of a lane."""
    for item in items:
        if Path(__file__).parent in item.path.parents and item.path.stem not in BOTH_ERAS:
            item.add_marker("one_era")
    items.sort(key=lambda item: item.path.stem not in LONGEST)


def pytest_collection_finish():
    """Keep the collector of garbage from walking over all tests again and again, 0.7 s each."""
    gc.freeze()
