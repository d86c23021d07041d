"""Fits and predictions limit BLAS to one thread, and restore the former number after."""

import os
import threading

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from bayescal import CombinedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.combining.combiners import bayes
from bayescal.fitting import fitted_topics
from bayescal.fitting.engines.monotone import posterior
from bayescal.fitting.parts import densities
from bayescal.support.numerics import one_blas_thread
from bayescal.support.parallel import in_parallel, workers
from studies.command import spread_over


def blas_threads(_=None):
    """Return the numbers of threads of all BLAS libraries."""
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        # A library that was built for one thread could show nothing.
        assert blas_threads() == {2}
        yield
        assert blas_threads() == {2}


def test_one_inside_and_as_many_as_before_after():
    with one_blas_thread():
        assert blas_threads() == {1}
        with one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == {1}


def test_it_is_given_back_after_an_error():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        _ = 1 / 0


def test_other_threads_leave_it_alone():
    seen = []

    def enter():
        with one_blas_thread():
            seen.append(blas_threads())

    other = threading.Thread(target=enter)
    with one_blas_thread():
        other.start()
        other.join(10.0)
        assert blas_threads() == {1}
    assert seen == [{1}]


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_workers_have_one_each(jobs):
    with workers(jobs):
        assert list(in_parallel(blas_threads, [None] * 3)) == [{1}] * 3


def here(first, second):
    """Return the argument, the process, and its numbers of threads."""
    return (first, second), os.getpid(), blas_threads()


@pytest.mark.slow
def test_work_spread_over_processes_comes_in_order_and_has_one_thread_each(monkeypatch):
    # What processes would otherwise take over from this one.
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "2")
    asked = [(k, -k) for k in range(4)]
    came, processes, threads = zip(*spread_over(2, here, asked), strict=True)
    assert list(came) == asked
    assert os.getpid() not in processes
    assert list(threads) == [{1}] * 4


def test_work_spread_over_one_process_is_done_in_this_one():
    asked = [(k, -k) for k in range(4)]
    assert [each[:2] for each in spread_over(1, here, asked)] == [(a, os.getpid()) for a in asked]


@pytest.mark.parametrize(
    ("calibrator", "engine"),
    [
        (ScoreCalibrator(draws=100, random_state=0), (densities.engine, "fit_densities")),
        (TopicCalibrator("none", draws=50, random_state=0), (fitted_topics, "fit_topic_groups")),
    ],
    ids=["scores", "topics"],
)
def test_a_fit_has_one(calibrator, engine, monkeypatch):
    seen, run = [], getattr(*engine)

    def recorded(*args, **kwargs):
        seen.append(blas_threads())
        return run(*args, **kwargs)

    monkeypatch.setattr(*engine, recorded)
    y = np.arange(60) % 3 == 0
    documents = [np.random.default_rng(0).normal(2.0 * y), y]
    if isinstance(calibrator, TopicCalibrator):
        documents.append(np.repeat(["a", "b"], 30))
    calibrator.fit(*documents)
    assert seen == [{1}]


@pytest.mark.slow
def test_predictions_through_blas_have_one(monkeypatch):
    """More threads would add up in another order, as the number of documents has it."""
    seen = []

    def recorded(run):
        def record(*args):
            seen.append(blas_threads())
            return run(*args)

        return record

    y = np.arange(60) % 3 == 0
    documents = np.random.default_rng(0).normal(2.0 * y, size=(2, 60)).T
    monotone = ScoreCalibrator(parts="monotone", draws=100, random_state=0).fit(documents[:, 0], y)
    pair = CombinedClassifier([("first", GaussianNB()), ("second", LogisticRegression())])
    combined = pair.set_params(random_state=0).fit(documents, y)
    monkeypatch.setattr(posterior, "standardise", recorded(posterior.standardise))
    monkeypatch.setattr(bayes, "_with_gaps", recorded(bayes._with_gaps))
    monotone.predict_interval([0.0, 1.0])
    of_calibrator = len(seen)
    combined.predict_interval(documents)
    combined.fitted_problems()[""].calibration.draws.log_odds(np.zeros(1))
    assert 0 < of_calibrator < len(seen)
    assert set(map(frozenset, seen)) == {frozenset({1})}


def process(_):
    return os.getpid()


@pytest.mark.slow
def test_one_item_is_done_here_and_several_are_sent():
    with workers(2):
        assert list(in_parallel(process, [0])) == [os.getpid()]
        assert os.getpid() not in in_parallel(process, [0, 1])
