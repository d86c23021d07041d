"""`bayescal reproduce label`: what the labels of other tasks are worth to a combination."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import command
from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import CORPUS, EXPERIMENT, Data, Experiment, Topics, read_corpus
from bayescal.cli.experiment_tables import label_screen
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from bayescal.reproduce.label.corpora import Corpus

app = typer.Typer()

Multilabel = Annotated[
    Path | None,
    options.option(
        "--multilabel",
        CORPUS,
        "A folder with Mulan's enron and medical (-train.arff, -test.arff, plain or .xz, and .xml)."
        " Without it only Reuters is taken.",
        metavar="FOLDER",
    ),
]
Protocol = Annotated[
    str,
    options.option(
        "--protocol",
        EXPERIMENT,
        "Which tasks learn from which. together: every task from all; tasks-left-out: a task's"
        " labels are not seen, in three groups of tasks; corpora-left-out: nor those of its"
        " corpus.",
    ),
]
Bayes = Annotated[
    bool,
    options.option(
        "--bayes/--no-bayes",
        EXPERIMENT,
        "Whether to combine each task by CombinedClassifier's default, too, which takes longer"
        " than all else.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Label(Experiment):
    """The options of `bayescal reproduce label`."""

    data: Data = None
    multilabel: Multilabel = None
    topics: Topics = 90
    protocol: Protocol = "together"
    bayes: Bayes = False


@command(app, Label)
def label(asked: Label) -> None:
    """Combine classifiers in many tasks by what all tasks' labels say (LABEL, chapter 8).

    [bold]bayescal reproduce label --data reuters21578.tar.gz --multilabel mulan[/bold]

    fits four classifiers and their indicators to each topic of three corpora, one
    metaclassifier to all of them, and prints macro F1, error, normalised error and
    log-loss, with sign tests over tasks, beside the published figures. It takes
    some eight minutes.
    """
    asked.check(**{"--topics": asked.topics})
    screen = asked.screen
    from bayescal.reproduce.label import inputs, protocols, table
    from bayescal.reproduce.markdown import markdown_table
    from bayescal.validation import check_choice

    with blamed_on_use():
        check_choice("--protocol", asked.protocol, tuple(protocols.PROTOCOLS))
    corpora = _corpora(asked)
    for corpus in corpora:
        usable = len(corpus.usable().topics)
        screen.say(
            f"{corpus.name}: {usable} of {len(corpus.topics)} topics have two positive documents to"
            " train with and one to test on."
        )
    screen.say("Fitting four classifiers and their indicators to each topic ...")
    tasks = inputs.tasks_of(
        [corpus.usable() for corpus in corpora], random_state=asked.seed, jobs=asked.jobs
    )
    screen.say(f"Combining them in {len(tasks)} tasks, {asked.protocol} ...")
    with blamed_on_use():
        found = protocols.decide_all(
            tasks,
            asked.protocol,
            slow=asked.bayes,
            random_state=asked.seed,
            jobs=asked.jobs,
        )
    measures = table.by_task(found, tasks)
    shown = table.label_table(measures, against=next(iter(found)))
    screen.show(label_screen(shown, len(tasks), asked.protocol))
    with staged_folder(asked.out) as stage:
        measures.to_csv(stage / "label.csv", index=False, float_format="%.6g")
        (stage / "label.md").write_text(markdown_table(shown) + "\n", encoding="utf-8")
    screen.say(f"The table, and every method's measures on every task, are in {asked.out}.")


def _corpora(asked: Label) -> list[Corpus]:
    from bayescal.reproduce.label.corpora import multilabel, reuters

    found = [reuters(read_corpus(asked.data), asked.topics)]
    if asked.multilabel is None:
        return found
    with blamed_on_use(kinds=(ValueError, OSError)):
        return [*found, *multilabel(asked.multilabel)]
