"""Repeat a published experiment: python -m studies.papers NAME [options]."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path

from studies.papers.command import UsageError

# By name: the module of the experiment and its function.
EXPERIMENTS = {
    "sigir2003": ("sigir2003", "run"),
    "small_data": ("sigir2003", "run_small_data"),
    "strive": ("strive", "run"),
    "online": ("online", "run"),
    "label": ("label", "run"),
    "action_items": ("action_items", "run"),
    "svm_map": ("svm_map", "run"),
}
PROTOCOLS = ("together", "tasks-left-out", "corpora-left-out")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the experiment that the command line names."""
    given = vars(parser().parse_args(arguments))
    module, function = EXPERIMENTS[name := given.pop("name")]
    out = given["out"]
    if out.exists() and not out.is_dir():
        parser().error(f"--out must be a folder, got the file {out}")
    try:
        getattr(import_module(f"studies.papers.{module}.experiment"), function)(**given)
    except UsageError as err:
        parser().error(f"{name}: {err}")


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m studies.papers", description="Repeat a published experiment."
    )
    names = top.add_subparsers(dest="name", required=True, metavar="NAME")

    def experiment(name: str, summary: str) -> argparse.ArgumentParser:
        own = names.add_parser(name, help=summary, description=summary)
        own.add_argument("--out", type=Path, default=Path("reproduction"), help="folder to write")
        own.add_argument("--jobs", type=at_least(1), default=2, help="processes (default 2)")
        own.add_argument("--seed", type=at_least(0), default=0, help="random seed (default 0)")
        return own

    def on_reuters(own: argparse.ArgumentParser, topics: int) -> None:
        own.add_argument(
            "--data",
            type=Path,
            help="a copy of Reuters-21578, a folder of .sgm files or a tar archive (default: the"
            " environment variable BAYESCAL_REUTERS21578, else a download)",
        )
        text = f"how many of the largest topics, up to 90 (default {topics})"
        own.add_argument("--topics", type=at_least(1), default=topics, help=text)

    own = experiment("sigir2003", "The Reuters half of the paper's table, and figures 2 to 5.")
    on_reuters(own, 10)
    own.add_argument(
        "--weights", default="log_tf", help="of words, for the SVM: binary, tf, log_tf, tf_idf, ..."
    )
    own.add_argument("--cost", type=float, default=0.1, help="C of the SVM (default 0.1)")
    own.add_argument("--normalise", action="store_true", help="scale documents to length 1")
    text = "paper: those of the paper; all (default): also other packages' and bayescal's"
    own.add_argument("--methods", choices=("paper", "all"), default="all", help=text)

    own = experiment("small_data", "Calibrate from 3 to 100 positives a topic: learning curves.")
    own.add_argument("--repeats", type=at_least(1), default=10, help="subsets of each size")

    on_reuters(experiment("strive", "Combine five classifiers, with reliability indicators."), 10)
    on_reuters(experiment("online", "Combine five classifiers by online combiners."), 10)

    own = experiment("label", "Combine classifiers in many tasks by the labels of all tasks.")
    on_reuters(own, 90)
    text = "folder with Mulan's enron and medical (.arff, plain or .xz, and .xml)"
    own.add_argument("--multilabel", type=Path, help=text)
    text = "whose labels a task learns from: all tasks', or only those of other tasks or corpora"
    own.add_argument("--protocol", choices=PROTOCOLS, default="together", help=text)
    own.add_argument("--bayes", action="store_true", help="also CombinedClassifier's default; slow")

    own = experiment("action_items", "Find requests in e-mail: ten classifiers, combined.")
    text = "folder with both files of github.com/ParakweetLabs/EmailIntentDataSet"
    own.add_argument("--data", type=Path, required=True, help=text)
    own.add_argument("--folds", type=at_least(2), default=10, help="of cross-validations")

    own = experiment("svm_map", "Compare rankers for average precision.")
    text = "folder with clueweb09/ or lightgbm/ (default: the constructed collection alone)"
    own.add_argument("--data", type=Path, help=text)
    text = "a multiple of 10 (default 10; the paper has 50)"
    own.add_argument("--trials", type=int, default=10, help=text)
    return top


def at_least(least: int) -> Callable[[str], int]:
    """Return a reader of integers that rejects smaller ones."""

    def integer(text: str) -> int:
        if (value := int(text)) < least:
            raise argparse.ArgumentTypeError(f"must be at least {least}, got {value}")
        return value

    return integer


if __name__ == "__main__":
    main()
