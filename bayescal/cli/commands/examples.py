"""`bayescal examples`: the files that the examples of all commands read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from bayescal.cli import options
from bayescal.cli.files import check_folder, write_frame
from bayescal.cli.terminal import Screen, UsageError, usage_errors

if TYPE_CHECKING:
    import pandas as pd

CLASSIFIER, TOPIC, TOPICS = "linear_svm", "corn", ("corn", "ship", "wheat")
EVERY, PANES, SITE = 6, 20, "va"
CLASSES, GRADES, ANIMALS = ("ant", "bee", "wasp"), ("poor", "fair", "good"), 300
ANSWERS, READ = 2000, 100

Folder = Annotated[Path, options.argument("FOLDER", "The folder to write.")]

app = typer.Typer()


@app.command()
def examples(folder: Folder, quiet: options.Quiet = False) -> None:
    """Write small files on which the examples of all commands run.

    [bold]bayescal examples files[/bold]

    writes scores of a classifier of news (scores.csv, topics.csv, new.csv,
    held_out.csv, and read.csv with the labels of the 300 highest scores), a
    model's probabilities of heart disease (outcomes.csv, later.csv),
    comparisons of glass (pairs.csv), made-up scores of three classes
    (logits.csv) and of three grades (grades.csv), and made-up scores of a
    judge of two systems (answers.csv, old_answers.csv, and 100 labels of each
    in read_answers.csv and read_old_answers.csv). Run the examples that
    --help shows in this folder.
    """
    check_folder(folder)
    written = tables()
    with usage_errors("FOLDER: ", (OSError,)):
        folder.mkdir(parents=True, exist_ok=True)
        present = sorted(name for name in written if (folder / name).exists())
        if present:
            raise UsageError(f"FOLDER must not have {', '.join(present)}: choose another.")
        for name, frame in written.items():
            write_frame(frame, folder / name)
    Screen(quiet=quiet).say(f"Written to {folder}: {', '.join(written)}")


def tables() -> dict[str, pd.DataFrame]:
    """Return the tables by the names of their files."""
    import pandas as pd

    from bayescal.likelihood_ratio import load_comparisons
    from bayescal.monitoring import load_heart_disease
    from bayescal.text.reuters_scores import load_reuters_scores

    def scores(topic: str, split: str) -> pd.DataFrame:
        return load_reuters_scores(CLASSIFIER, topic, split)[
            ["document", "topic", "score", "label"]
        ]

    # Every sixth document of each class, so that all fits are quick.
    groups = (scores(topic, "calibration").groupby("label") for topic in TOPICS)
    topics = pd.concat([own.iloc[::EVERY] for each in groups for _, own in each])
    held_out = scores(TOPIC, "test")
    patients = load_heart_disease()
    pairs = load_comparisons("glass").rename(columns={"source_a": "a", "source_b": "b"})
    rng = np.random.default_rng(0)
    klass = rng.integers(len(CLASSES), size=ANIMALS)
    logits = pd.DataFrame(
        np.round(2.0 * np.eye(len(CLASSES))[klass] + rng.normal(0.0, 1.5, (ANIMALS, 3)), 3),
        columns=list(CLASSES),
    )
    judged = {}
    for name, rate in (("answers", 0.8), ("old_answers", 0.6)):
        good = rng.random(ANSWERS) < rate
        answers = pd.DataFrame(
            {
                "document": np.arange(ANSWERS) + 1,
                "score": np.round(2.0 * good + rng.normal(size=ANSWERS), 3),
            }
        )
        read = rng.choice(ANSWERS, READ, replace=False)
        judged[f"{name}.csv"] = answers
        judged[f"read_{name}.csv"] = answers[["document"]].assign(label=good).iloc[read]
    relevance = np.round(rng.normal(size=ANIMALS), 3)
    reached = np.digitize(relevance + 0.5 * rng.logistic(size=ANIMALS), [-0.2, 0.9])
    graded = pd.DataFrame({"score": relevance, "label": np.array(GRADES)[reached]})
    return {
        "scores.csv": topics[topics["topic"] == TOPIC].drop(columns="topic"),
        "topics.csv": topics,
        "new.csv": held_out.drop(columns="label"),
        "held_out.csv": held_out,
        "read.csv": held_out.nlargest(300, "score")[["document", "label"]],
        "outcomes.csv": patients[patients["site"] != SITE],
        "later.csv": patients[patients["site"] == SITE].drop(columns="y"),
        "pairs.csv": pairs[(pairs[["a", "b"]] <= PANES).all(axis=1)],
        "logits.csv": logits.assign(label=np.array(CLASSES)[klass]),
        "grades.csv": graded,
        **judged,
    }
