"""Topics fitted and predicted on a cluster of two processes; workers killed while they do."""

import os

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayescal import TopicCalibrator
from bayescal.support.parallel import in_parallel, reporting, workers
from tests.scale_out_tools import FEW, Killer, dies, dies_once, made
from tests.sizes import size

pytestmark = pytest.mark.one_era

LIMIT = 400 * 10**6  # bytes, of each worker
TOPICS = size(240, 5000)


@pytest.fixture(scope="module")
def client():
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=LIMIT,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def fitted():
    return TopicCalibrator("none", **FEW).fit(*made(8))


def posterior(calibrator):
    return calibrator.posterior_["posterior"].to_dataset()


def pid_of_a_worker(client):
    return next(iter(client.run(os.getpid).values()))


@pytest.mark.slow
def test_many_topics_are_fitted_although_a_worker_is_killed(client):
    scores, labels, topics = made(TOPICS)
    pid = pid_of_a_worker(client)
    # The drawing of the first class counts as many topics, after maximum likelihood.
    killer = Killer(pid, after=100)
    with reporting(killer):
        calibrator = TopicCalibrator("none", **FEW).fit(scores, labels, topics)
    assert killer.when is not None
    assert pid not in client.run(os.getpid).values()
    draws = posterior(calibrator)
    assert draws.sizes["topic"] == TOPICS
    assert all(np.isfinite(draws[name]).all() for name in draws)
    # Of six positives each a topic may say little; a hundred together do not.
    some = np.arange(TOPICS - 100, TOPICS)
    low, high = (calibrator.predict_proba(np.full(100, x), some)[:, 1].mean() for x in (-1.0, 4.0))
    assert low < 0.2 < 0.8 < high


@pytest.mark.slow
@pytest.mark.parametrize(("pooling", "n"), [("none", 60), ("partial", size(12, 30))])
def test_a_cluster_and_its_losses_do_not_change_a_bit(client, pooling, n):
    scores, labels, topics = made(n)
    with joblib.parallel_config("threading", n_jobs=1):
        alone = TopicCalibrator(pooling, **FEW).fit(scores, labels, topics)
    killer = Killer(pid_of_a_worker(client), after=n // 3)
    with reporting(killer):
        together = TopicCalibrator(pooling, **FEW).fit(scores, labels, topics)
    assert killer.when is not None
    xr.testing.assert_identical(posterior(together), posterior(alone))


@pytest.mark.slow
def test_scores_larger_than_the_workers_memory_are_predicted(client, fitted):
    documents = size(5, 8) * LIMIT // (4 * 8 * 8) + 1
    rng = da.random.default_rng(0)
    scores = rng.uniform(-2.0, 5.0, (documents, 8), chunks=(60_000, 8))
    assert scores.nbytes > 1.25 * LIMIT
    array = xr.DataArray(scores, dims=("document", "topic"), coords={"topic": np.arange(8)})
    lazy = fitted.predict_proba(array)
    assert lazy.chunks == array.chunks
    grid = np.linspace(-2.0, 5.0, 1001)
    expected = [fitted.predict_proba(grid, np.full(1001, k))[:, 1].mean() for k in range(8)]
    # Standard deviation of each mean: below 0.5 / sqrt(7.8 million).
    np.testing.assert_allclose(lazy.mean("document").compute(), expected, atol=2e-3)


def test_lazy_answers_are_those_of_arrays(fitted):
    scores, _, topics = made(8, seed=1)
    wide = scores.reshape(8, -1).T
    lazy = da.from_array(wide, chunks=(7, 3))
    named = xr.DataArray(lazy, dims=("document", "topic"), coords={"topic": np.arange(8)})
    for form in (lazy, named):
        for method in ("decision_function", "predict_proba", "predict_interval"):
            found = getattr(fitted, method)(form)
            assert type(found) is type(form)
            np.testing.assert_allclose(found, getattr(fitted, method)(wide), rtol=1e-12)
    long, names = da.from_array(scores, chunks=50), da.from_array(topics, chunks=70)
    coordinate = xr.DataArray(long, dims="cell", coords={"topic": ("cell", topics)})
    expected = fitted.predict_interval(scores, topics)
    for arguments in ((long, names), (long, topics), (coordinate,)):
        np.testing.assert_allclose(fitted.predict_interval(*arguments), expected, rtol=1e-12)
    assert fitted.predict_interval(coordinate)["band"].values.tolist() == ["lower", "upper"]
    assert fitted.predict_proba(coordinate)["klass"].values.tolist() == [0, 1]


def test_draws_of_topics_are_lazy_too(fitted):
    scores, _, topics = made(8, seed=1)
    few = {"draws": 5, "random_state": 1}
    expected = fitted.sample_proba(scores, topics, **few)
    coordinate = xr.DataArray(scores, dims="cell", coords={"topic": ("cell", topics)})
    for lazy in (coordinate, coordinate.chunk(50)):
        found = fitted.sample_proba(lazy, **few)
        assert found.dims == ("draw", "cell")
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_lazy_tables(fitted):
    import dask.dataframe as dd

    scores, _, topics = made(8, seed=1)
    frame = pd.DataFrame({"score": scores, "topic": topics})
    lazy = fitted.predict_proba(dd.from_pandas(frame, npartitions=3))
    np.testing.assert_allclose(lazy.compute(), fitted.predict_proba(frame), rtol=1e-12)


def test_nothing_is_computed_before_it_is_asked_for(fitted):
    computed = []

    def block(block_info=None):
        computed.append(block_info)
        return np.zeros(5)

    scores = da.map_blocks(block, chunks=((5, 5),), dtype=float, meta=np.zeros(0))
    lazy = fitted.predict_proba(scores, da.zeros(10, chunks=5, dtype=int))
    assert computed == []
    lazy.compute(scheduler="synchronous")
    assert len(computed) == 2


def test_lazy_scores_must_go_with_their_topics(fitted):
    scores = da.zeros(10, chunks=5)
    with pytest.raises(ValueError, match="topics must hold the topic of each score, got None"):
        fitted.predict_proba(scores)
    with pytest.raises(ValueError, match="the same length, got 10 and 9"):
        fitted.predict_proba(scores, da.zeros(9, chunks=5, dtype=int))
    with pytest.raises(ValueError, match="topics must name the 2 columns"):
        fitted.predict_proba(da.zeros((10, 2), chunks=5), [1, 2, 3])
    strict = TopicCalibrator("none", new_topics="error", **FEW).fit(*made(3))
    lazy = strict.predict_proba(scores, np.full(10, 7))
    with pytest.raises(ValueError, match="topics 7 were not fitted"):
        lazy.compute()


def test_tables_of_topics_are_kept(fitted, monkeypatch):
    scores, topics = np.linspace(-3.0, 6.0, 20_000), np.repeat([0, 1], 10_000)
    first = fitted.predict_interval(scores, topics)

    def make(*_, **__):
        raise AssertionError("made again")

    monkeypatch.setattr("bayescal.fitting.curves.curves.refine", make)
    np.testing.assert_array_equal(fitted.predict_interval(scores, topics), first)


@pytest.mark.slow
def test_a_killed_process_of_this_machine_loses_nothing(tmp_path):
    paths = [tmp_path / str(k) for k in range(6)]
    with workers(n_jobs=2):
        assert list(in_parallel(dies_once, paths)) == list(range(6))


@pytest.mark.slow
def test_work_that_kills_every_process_is_given_up():
    from concurrent.futures.process import BrokenProcessPool

    with workers(n_jobs=2), pytest.raises(BrokenProcessPool):
        list(in_parallel(dies, [1, 2]))


def test_progress_counts_sizes():
    seen = []
    with reporting(lambda *counts: seen.append(counts)):
        assert list(in_parallel(abs, [-1, -2], sizes=[3, 4])) == [1, 2]
    assert seen == [(3, 7), (7, 7)]
