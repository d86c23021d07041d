"""Topics fitted and predicted on a cluster of two processes; workers killed while they do."""

import os
import threading
import time

import dask.array as da
import joblib
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayescal import TopicCalibrator, condense
from bayescal.support.parallel import in_parallel, reporting, workers
from tests.scale_out_tools import (
    FEW,
    Killer,
    dies,
    dies_once,
    limit_files,
    made,
    noted_by,
    thread_name,
    unwatch,
    watch,
)
from tests.sizes import size

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


def test_the_workers_of_an_active_client_do_the_work():
    from distributed import Client

    here = {threading.current_thread().name}
    with Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        with workers():
            assert all("Dask" in name for name in in_parallel(thread_name, range(4)))
        with joblib.parallel_config(n_jobs=1), workers():
            assert set(in_parallel(thread_name, range(4))) == here
    with workers():
        assert set(in_parallel(thread_name, range(4))) == here


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


def fitted_alone(n, folder):
    """Return a fit by this process and the number of its pieces of work."""
    watch(folder)
    with joblib.parallel_config("threading", n_jobs=1):
        alone = TopicCalibrator("none", **FEW).fit(*made(n))
    unwatch()
    (work,) = noted_by(folder).values()
    return posterior(alone), work


@pytest.mark.slow
def test_a_slow_worker_does_not_change_a_bit(client, tmp_path):
    (tmp_path / "alone").mkdir()
    (tmp_path / "together").mkdir()
    alone, work = fitted_alone(300, tmp_path / "alone")
    client.wait_for_workers(2)
    slow, fast = client.run(os.getpid)
    pid = client.run(os.getpid, workers=[slow])[slow]
    for worker, pause in ((slow, 0.5), (fast, 0.0)):
        client.run(watch, tmp_path / "together", pause, workers=[worker])
    together = TopicCalibrator("none", **FEW).fit(*made(300))
    client.run(unwatch)
    noted = noted_by(tmp_path / "together")
    assert 1 <= noted[pid] < work / 2
    assert sum(noted.values()) == work  # nothing is done twice
    xr.testing.assert_identical(posterior(together), alone)


def until(ready):
    """Wait until a condition holds, at most one minute."""
    end = time.monotonic() + 60.0
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_workers_that_come_and_go_do_not_change_a_bit(tmp_path):
    from distributed import Client, LocalCluster, WorkerPlugin

    class Watch(WorkerPlugin):
        def setup(self, worker):
            watch(tmp_path / "together", 0.1, tmp_path / "go")

    (tmp_path / "alone").mkdir()
    (tmp_path / "together").mkdir()
    alone, work = fitted_alone(300, tmp_path / "alone")
    done = []
    with (
        # With one thread in all, joblib would work in this process.
        LocalCluster(
            n_workers=1, threads_per_worker=2, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        client.register_plugin(Watch())
        soon = {"minimum": 1, "interval": "100ms", "target_duration": "100ms"}

        def grow_and_shrink():
            # A worker leaves after so many times without enough work for it.
            cluster.adapt(maximum=2, wait_count=10_000, **soon)
            until(lambda: len(cluster.scheduler.workers) == 2)
            (tmp_path / "go").touch()
            until(lambda: len(noted_by(tmp_path / "together")) == 2)
            cluster.adapt(maximum=1, wait_count=1, **soon)
            until(lambda: len(cluster.scheduler.workers) == 1)
            done.append(sum(noted_by(tmp_path / "together").values()))

        change = threading.Thread(target=grow_and_shrink)
        change.start()
        together = TopicCalibrator("none", **FEW).fit(*made(300))
        change.join()
    assert done[0] < work
    # Another worker repeats the tasks that a retiring one began, on two threads.
    assert work <= sum(noted_by(tmp_path / "together").values()) <= work + 2
    xr.testing.assert_identical(posterior(together), alone)


@pytest.mark.slow
def test_a_worker_with_a_full_disk_does_not_change_a_bit(client, tmp_path):
    data, kept = made(200), tmp_path / "kept"
    with joblib.parallel_config("threading", n_jobs=1):
        alone = posterior(TopicCalibrator("none", **FEW).fit(*data))
    client.wait_for_workers(2)
    full, _ = client.run(os.getpid)
    client.run(limit_files, 4096, workers=[full])
    first = TopicCalibrator("none", memory=kept, **FEW).fit(*data)
    client.run(limit_files, workers=[full])
    xr.testing.assert_identical(posterior(first), alone)
    written = len(list(kept.rglob("output.pkl")))
    again = TopicCalibrator("none", memory=kept, **FEW).fit(*data)
    xr.testing.assert_identical(posterior(again), alone)
    assert 0 < written < len(list(kept.rglob("output.pkl")))


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


def test_topics_are_fitted_from_memory_or_counts(fitted):
    import dask.dataframe as dd

    scores, labels, topics = made(3)
    frame = pd.DataFrame({"score": scores, "label": labels, "topic": topics})
    lazy = dd.from_pandas(frame, npartitions=2)
    calibrator = TopicCalibrator("none", **FEW)
    for data in ((lazy,), (da.from_array(scores), labels, topics), (scores, labels, lazy["topic"])):
        with pytest.raises(ValueError, match=r"to fit must be in memory, .* bayescal\.condense"):
            calibrator.fit(*data)
    with pytest.raises(ValueError, match="to fit must be in memory"):
        fitted.add_topics(lazy)

    def counted(part):
        found = condense(part["score"], part["label"])
        return pd.DataFrame(found._asdict()).assign(topic=part.name)

    of_topics = lazy.groupby("topic")[["score", "label"]].apply(
        counted, meta={"scores": float, "labels": int, "counts": float, "topic": int}
    )
    rows = of_topics.compute()
    data = rows["scores"], rows["labels"], rows["topic"], rows["counts"]
    found, expected = calibrator.fit(*data), TopicCalibrator("none", **FEW).fit(frame)
    new = np.linspace(-2.0, 5.0, 30), np.repeat([0, 1, 2], 10)
    np.testing.assert_allclose(found.predict_proba(*new), expected.predict_proba(*new), atol=1e-9)


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
