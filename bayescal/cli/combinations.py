"""Experiments that combine five classifiers of Reuters topics, as the dissertation does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import Data, Experiment, Topics, read_corpus
from bayescal.cli.experiment_tables import rounds_screen, strive_screen
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from bayescal.reproduce.strive import Combination, TopicInputs
    from bayescal.reproduce.strive_table import Groups, Published

PAPER_TOPICS = 10


@dataclass(frozen=True, kw_only=True)
class Combinations(Experiment):
    """The options of these experiments."""

    data: Data = None
    topics: Topics = PAPER_TOPICS


def run_combinations(
    asked: Combinations,
    name: str,
    combinations: Mapping[str, Combination],
    published: Published,
    groups: Groups,
    rounds_table: Callable[[Sequence[TopicInputs]], pd.DataFrame] | None = None,
) -> None:
    """Fit classifiers and combinations, and write the table of what they decide, or lost online."""
    asked.check(**{"--topics": asked.topics})
    screen, seed, jobs = asked.screen, asked.seed, asked.jobs
    corpus = read_corpus(asked.data)
    from bayescal.reproduce.corpus_scores import largest_topics
    from bayescal.reproduce.markdown import markdown_table
    from bayescal.reproduce.strive import decide_all, topic_inputs
    from bayescal.reproduce.strive_table import strive_table

    with blamed_on_use():
        topics = largest_topics(corpus, asked.topics)
    screen.say(f"Fitting five classifiers and their indicators: {len(topics)} topics ...")
    inputs = topic_inputs(corpus, topics, random_state=seed, jobs=jobs)
    screen.say(f"Combining them in {len(combinations)} ways ...")
    found = decide_all(inputs, combinations, random_state=seed, jobs=jobs)
    table = strive_table(
        found,
        [each.truth for each in inputs],
        with_paper=asked.topics == PAPER_TOPICS,
        published=published,
        groups=groups,
    )
    screen.show(strive_screen(table, len(topics), groups))
    rounds = None if rounds_table is None else rounds_table(inputs)
    if rounds is not None:
        screen.show(rounds_screen(rounds, len(topics)))
    with staged_folder(asked.out) as stage:
        if rounds is not None:
            rounds.to_csv(stage / f"{name}_rounds.csv", index=False, float_format="%.6g")
        table.to_csv(stage / f"{name}.csv", index=False)
        (stage / f"{name}.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    screen.say(f"The table with all digits and published figures is in {asked.out}.")
