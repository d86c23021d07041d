"""Large work: two Dask workers against one, and growth with rows, topics, classes and workers.

python -m benchmarks.scale_out                      # the ratio of two workers to one
python -m benchmarks.scale_out growth --out FOLDER  # growth.csv and growth.png, about an hour
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from bayescal import MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from benchmarks.timing import report

TOPICS, SIZE = 1000, 30
BAR = 0.65  # times the time of one worker; half, and what the cluster and the parent cost
CLUSTER = {"threads_per_worker": 1, "dashboard_address": ":0"}
ROWS, ROW_GROUP = (100_000, 1_000_000, 10_000_000, 100_000_000), 1 << 18
SIZES = {"rows": ROWS, "topics": (10, 100, 1000, 10_000), "classes": (10, 30, 100, 300, 1000)}
SIZES["workers"] = (1, 2, 3, 4)
ANSWERED = 100_000  # documents to predict, of all topics or classes together
DOCUMENTS = 20  # labelled documents of a class
OWN = ("benchmarks.scale_out", "measure")
COLUMNS = ["of", "size", "stage", "seconds", "processor_seconds", "megabytes"]


def topics(count=TOPICS):
    """Return long scores, labels and topics, a fifth of each positive."""
    labels = np.tile(np.arange(SIZE) >= SIZE * 4 // 5, count).astype(int)
    scores = np.random.default_rng(0).normal(3.0 * labels, 1.0)
    return scores, labels, np.repeat(np.arange(count), SIZE)


def fit_on(client, data):
    """Fit topics apart on a cluster."""
    import joblib

    with joblib.parallel_config("dask", client=client):
        TopicCalibrator("none", draws=50, random_state=0).fit(*data)


def two_workers_against_one():
    """Print the ratio of two workers to one."""
    from distributed import Client, LocalCluster

    data = topics()
    with (
        LocalCluster(n_workers=2, **CLUSTER) as two,
        LocalCluster(n_workers=1, **CLUSTER) as one,
        Client(two, set_as_default=False) as of_two,
        Client(one, set_as_default=False) as of_one,
    ):
        report(
            f"{TOPICS:,} topics apart, 2 workers",
            lambda: fit_on(of_two, data),
            lambda: fit_on(of_one, data),
            "1 worker",
            BAR,
            runs=3,
        )


def measured(stages):
    """Print wall time, processor time and peak memory of this process after each stage."""
    found = {}
    for name, stage in stages:
        begin, used = time.perf_counter(), time.process_time()
        stage()
        found[name] = time.perf_counter() - begin, time.process_time() - used, peak_memory()
    print(json.dumps(found))


def peak_memory():
    """Return the peak memory of this process in MB; getrusage counts that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def measure_topics(count):
    """Fit topics that share a population, and predict."""
    calibrator, data = TopicCalibrator(random_state=0), topics(count)
    names = np.arange(ANSWERED) % count
    scores = np.random.default_rng(1).normal(size=ANSWERED)
    measured(
        [
            ("fit", lambda: calibrator.fit(*data)),
            ("predict", lambda: calibrator.predict_proba(scores, topics=names)),
        ]
    )


def measure_classes(count):
    """Fit so many classes, and predict."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(count), DOCUMENTS)
    scores = rng.normal(size=(labels.size, count)) + 3.0 * (labels[:, None] == np.arange(count))
    new = rng.normal(size=(ANSWERED // count, count))
    calibrator = MulticlassCalibrator(random_state=0)
    measured(
        [
            ("fit", lambda: calibrator.fit(scores, labels)),
            ("predict", lambda: calibrator.predict_proba(new)),
        ]
    )


def measure_workers(count):
    """Fit topics apart on so many workers of a Dask cluster."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=count, **CLUSTER) as cluster, Client(cluster) as client:
        fit_on(client, topics(10))  # workers have imported the package
        measured([("fit", lambda: fit_on(client, topics()))])


MEASURES = {"topics": measure_topics, "classes": measure_classes, "workers": measure_workers}


def write_rows(path, rows):
    """Write a Parquet file of scores with identifiers."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    schema = pa.schema([("document", pa.string()), ("score", pa.float64())])
    with parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, rows, ROW_GROUP):
            number = np.arange(first, min(first + ROW_GROUP, rows))
            scores = rng.normal(3.0 * (rng.random(number.size) < 0.1), 1.0)
            names = pa.array(np.char.add("d", number.astype(str)))
            writer.write_table(pa.table({"document": names, "score": scores}, schema=schema))


def copy_rows(path, out):
    """Read a Parquet file and write it with three more columns by pyarrow alone."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = ("probability", "lower", "upper")
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        schema = file.schema_arrow
        for name in columns:
            schema = schema.append(pa.field(name, pa.float64()))
        with parquet.ParquetWriter(out, schema) as writer:
            for block in file.iter_batches(ROW_GROUP):
                table = pa.Table.from_batches([block])
                values = np.tanh(block.column("score").to_numpy())
                for k, name in enumerate(columns):
                    table = table.append_column(name, pa.array(values + k))
                writer.write_table(table)


def run(*arguments):
    """Return output, wall time, processor time and peak memory of the largest process."""
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([sys.executable, "-m", *map(str, arguments)], stdout=output)
        _, status, used = os.wait4(process.pid, 0)
        if status:
            raise SystemExit(f"{arguments} ended with {os.waitstatus_to_exitcode(status)}.")
        output.seek(0)
        text = output.read().decode()
    return text, (time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def measure_rows(count):
    """Return the time and memory of predictions of a Parquet file, and of pyarrow alone."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        labels = np.repeat([0, 1], [450, 50])
        scores = np.random.default_rng(0).normal(3.0 * labels, 1.0)
        ScoreCalibrator(random_state=0).fit(scores, labels).save(folder / "calibrator.nc")
        # In a process of its own: the memory of this one would count in those that it starts.
        run("benchmarks.scale_out", "write", folder / "scores.parquet", count)
        predict = ["bayescal", "predict", folder / "calibrator.nc", folder / "scores.parquet", "-q"]
        own = ["benchmarks.scale_out", "copy", folder / "scores.parquet"]
        return {
            "pyarrow alone": run(*own, folder / "copy.parquet")[1],
            "one process": run(*predict, "--out", folder / "out.parquet")[1],
            "two processes": run(*predict, "--out", folder / "parts", "--jobs", 2)[1],
        }


def growth(out, kinds):
    """Write a table and a figure of time and memory by size; one run for each figure."""
    import pandas as pd

    path = out / "growth.csv"
    kept = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    rows = kept[~kept["of"].isin(kinds)].to_numpy().tolist()
    for kind in kinds:
        for size in SIZES[kind]:
            of_rows = kind == "rows"
            found = measure_rows(size) if of_rows else json.loads(run(*OWN, kind, size)[0])
            for stage, figures in found.items():
                rows.append([kind, size, stage, *np.round(figures, 3)])
                print(*rows[-1], flush=True)
                pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    draw(pd.read_csv(path), out / "growth.png")


def draw(table, path):
    """Draw time and memory by size on logarithmic axes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.5), layout="constrained")
    axes = figure.subplots(2, len(SIZES), sharex="col", sharey="row")
    for k, (kind, part) in enumerate(table.groupby("of", sort=False)):
        # Workers divide the time of the clock, not that of processors.
        clock = kind == "workers"
        for stage, line in part.groupby("stage", sort=False):
            time_of = line["seconds" if clock else "processor_seconds"]
            axes[0, k].loglog(line["size"], time_of, "o-", label=stage)
            axes[1, k].loglog(line["size"], line["megabytes"], "o-")
        axes[0, k].set(title="elapsed time" if clock else "processor time")
        axes[0, k].legend(fontsize="small")
        axes[1, k].set(xlabel=kind)
        if clock:
            axes[1, k].set(xscale="linear", xticks=SIZES["workers"])
    axes[0, 0].set(ylabel="time, s")
    axes[1, 0].set(ylabel="peak memory, MB")
    for each in axes.flat:
        each.grid(alpha=0.3)
    figure.savefig(path, dpi=100, metadata={"Software": None})


def main():
    """Run what the arguments name."""
    if len(sys.argv) == 1:
        two_workers_against_one()
        return
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("growth")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--kinds", nargs="+", default=list(SIZES), choices=SIZES)
    write = commands.add_parser("write")
    write.add_argument("path", type=Path)
    write.add_argument("rows", type=int)
    copy = commands.add_parser("copy")
    copy.add_argument("paths", nargs=2, type=Path)
    measure = commands.add_parser("measure")
    measure.add_argument("kind", choices=MEASURES)
    measure.add_argument("size", type=int)
    given = parser.parse_args()
    if given.command == "growth":
        growth(given.out, given.kinds)
    elif given.command == "write":
        write_rows(given.path, given.rows)
    elif given.command == "copy":
        copy_rows(*given.paths)
    else:
        MEASURES[given.kind](given.size)


if __name__ == "__main__":
    main()
