"""Experiments that combine five classifiers of Reuters topics, as the dissertation does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayescal.cli.errors import blamed_on_use
from bayescal.cli.experiment import Data, Experiment, Topics, read_corpus
from bayescal.cli.experiment_tables import strive_screen
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayescal.reproduce.strive import Combination
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
) -> None:
    """Fit classifiers and combinations, and write the table of what they decide."""
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
    with staged_folder(asked.out) as stage:
        table.to_csv(stage / f"{name}.csv", index=False)
        (stage / f"{name}.md").write_text(markdown_table(table) + "\n", encoding="utf-8")
    screen.say(f"The table with all digits and published figures is in {asked.out}.")
