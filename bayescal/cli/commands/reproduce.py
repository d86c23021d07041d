"""`bayescal reproduce`: Bennett's experiment on Reuters-21578, and the one on few positives."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.reproduce_tables import markdown_page, reuters_table, small_data_table
from bayescal.cli.settings import check_at_least
from bayescal.cli.writing import check_folder, staged_folder

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.methods import Method
    from bayescal.reproduce.corpus_scores import TopicScores

CORPUS, EXPERIMENT = "Corpus", "Experiment"

reproduce = typer.Typer(
    help="Make the paper's tables and figures again.", no_args_is_help=True, add_completion=False
)

Out = Annotated[
    Path,
    typer.Option("--out", metavar="FOLDER", help="Where to write.", rich_help_panel=options.OUTPUT),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data",
        metavar="PATH",
        help="A copy of Reuters-21578: a folder of .sgm files or a tar archive. By default the"
        " environment variable BAYESCAL_REUTERS21578 names it, or it is fetched.",
        rich_help_panel=CORPUS,
    ),
]
Topics = Annotated[
    int, typer.Option("--topics", help="The largest so many, up to 90.", rich_help_panel=CORPUS)
]
Weights = Annotated[
    str,
    typer.Option(
        "--weights",
        help="Of words, for the SVM: binary, tf, log_tf, tf_idf or log_tf_idf.",
        rich_help_panel=EXPERIMENT,
    ),
]
Cost = Annotated[float, typer.Option("--cost", help="The SVM's C.", rich_help_panel=EXPERIMENT)]
Normalise = Annotated[
    bool,
    typer.Option(
        "--normalise/--as-long-as-they-are",
        help="Whether documents get length 1 for the SVM.",
        rich_help_panel=EXPERIMENT,
    ),
]
Methods = Annotated[
    str,
    typer.Option(
        "--methods",
        help="paper: those of the paper; all: also peers that are installed, and ours.",
        rich_help_panel=EXPERIMENT,
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", help="Processes that score topics.", rich_help_panel=EXPERIMENT)
]
Repeats = Annotated[
    int,
    typer.Option("--repeats", help="Random subsets a size.", rich_help_panel=EXPERIMENT),
]


@reproduce.command()
def reuters(
    out: Out = Path("reproduction"),
    data: Data = None,
    topics: Topics = 10,
    weights: Weights = "log_tf",
    cost: Cost = 0.1,
    normalise: Normalise = False,
    methods: Methods = "all",
    jobs: Jobs = 2,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Run the Reuters half of the paper's table, for naive Bayes and a linear SVM.

    [bold]bayescal reproduce reuters --data reuters21578.tar.gz[/bold]

    scores 12,902 documents on ten topics, calibrates them with every method,
    and puts totals and sign tests beside the published ones; draws figures 2
    to 5. It takes some minutes on two cores.
    """
    check_at_least(0, **{"--seed": seed})
    check_at_least(1, **{"--jobs": jobs, "--topics": topics})
    _check_figures(out)
    screen = Screen(quiet=quiet)
    chosen = _methods(methods)
    corpus = _corpus(data)
    from bayescal.reproduce import reuters as experiment
    from bayescal.reproduce.corpus_scores import largest_topics, score_topics

    with blamed_on_use():
        names = largest_topics(corpus, topics)
        both = experiment.classifiers(weights, cost, normalise=normalise, seed=seed)
    screen.say(f"Scoring {len(corpus)} documents: {len(names)} topics, two classifiers ...")
    scores = score_topics(corpus, names, both, random_state=seed, jobs=jobs)
    screen.say(f"Calibrating by {len(chosen)} methods ...")
    decisions = experiment.decide_each(chosen, scores)
    found = experiment.tabulate(decisions)
    with_paper = topics == experiment.PAPER_TOPICS
    shown = {name: experiment.as_printed(found, name, with_paper=with_paper) for name in both}
    for name, table in shown.items():
        screen.show(reuters_table(name, table, decisions[name].truth.size))
    bold = {
        name: experiment.as_printed(found, name, with_paper=with_paper, bold="**") for name in both
    }
    with staged_folder(out) as stage:
        found.totals.to_csv(stage / "reuters.csv", index=False, float_format="%.8g")
        found.tests.to_csv(stage / "reuters_sign_tests.csv", index=False, float_format="%.6g")
        (stage / "reuters.md").write_text(markdown_page(bold), encoding="utf-8")
        _draw(names[0], scores, stage)
    screen.say(f"Tables, sign tests of all pairs and figures are in {out}.")


@reproduce.command("small-data")
def small_data(
    out: Out = Path("reproduction"),
    repeats: Repeats = 10,
    jobs: Jobs = 2,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Calibrate from 3 to 100 positives a topic: every method's log-loss, with standard errors.

    [bold]bayescal reproduce small-data --repeats 2[/bold]

    takes random subsets of the embedded scores of ten Reuters topics, and
    tests on 3,299 documents; draws the learning curves. Two repeats take five
    minutes on two cores.
    """
    check_at_least(0, **{"--seed": seed})
    check_at_least(1, **{"--jobs": jobs, "--repeats": repeats})
    _check_figures(out)
    screen = Screen(quiet=quiet)
    from bayescal.reproduce.lines import learning_curves
    from bayescal.reproduce.small_data import learning_table, totals_by_size, wide

    screen.say(f"Calibrating {repeats} random subsets of each size ...")
    bits = totals_by_size(repeats, jobs=jobs, seed=seed)
    table = learning_table(bits)
    shown = {str(name): wide(part) for name, part in table.groupby("classifier", sort=False)}
    for name, each in shown.items():
        screen.show(small_data_table(name, each, repeats))
    with staged_folder(out) as stage:
        table.to_csv(stage / "small_data.csv", index=False, float_format="%.6g")
        (stage / "small_data.md").write_text(markdown_page(shown), encoding="utf-8")
        learning_curves(table).savefig(stage / "small_data.png", metadata={"Software": None})
    screen.say(f"The tables and the learning curves are in {out}.")


def _corpus(data: Path | None) -> pd.DataFrame:
    from bayescal.datasets import fetch_reuters21578

    with blamed_on_use(kinds=(ValueError, OSError, ImportError)):
        return fetch_reuters21578(path=data)


def _methods(which: str) -> dict[str, Method]:
    from bayescal.methods import installed_methods
    from bayescal.validation import check_choice

    with blamed_on_use():
        check_choice("--methods", which, ("paper", "all"))
    return installed_methods(*(("paper",) if which == "paper" else ()))


def _check_figures(out: Path) -> None:
    check_folder(out)
    if find_spec("matplotlib") is None:
        raise UsageError("the figures need matplotlib: pip install 'bayescal[plots]'.")


def _draw(topic: str, scores: list[TopicScores], stage: Path) -> None:
    from bayescal.reproduce.figures import draw_figures

    first = {each.classifier: each for each in scores if each.topic == topic}
    for name, figure in draw_figures(first).items():
        figure.savefig(stage / f"{name}.png", metadata={"Software": None})
