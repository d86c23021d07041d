"""`bayescal reproduce strive` and `online`: five classifiers combined, as in the dissertation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayescal.cli.errors import blamed_on_use
from bayescal.cli.reproduce_corpus import Data, Experiment, Topics, read_corpus
from bayescal.cli.reproduce_tables import strive_screen
from bayescal.cli.writing import staged_folder

if TYPE_CHECKING:
    from collections.abc import Mapping

    from bayescal.reproduce.strive import Combination
    from bayescal.reproduce.strive_table import Groups, Published

PAPER_TOPICS = 10


@dataclass(frozen=True, kw_only=True)
class Combinations(Experiment):
    """The options of `bayescal reproduce strive` and of `bayescal reproduce online`."""

    data: Data = None
    topics: Topics = PAPER_TOPICS


def strive(asked: Combinations) -> None:
    """Combine five classifiers by every method of the dissertation's chapter 7, and by ours.

    [bold]bayescal reproduce strive --data reuters21578.tar.gz[/bold]

    puts seven measures and significance tests on ten topics beside the
    published ones. It takes a quarter of an hour on two cores.
    """
    from bayescal.reproduce.published_strive import PUBLISHED
    from bayescal.reproduce.strive import COMBINATIONS
    from bayescal.reproduce.strive_table import GROUPS

    _combine(asked, "strive", COMBINATIONS, PUBLISHED, GROUPS)


def online(asked: Combinations) -> None:
    """Combine five classifiers by the online combiners of the dissertation's chapter 9.

    [bold]bayescal reproduce online --data reuters21578.tar.gz[/bold]

    puts each of them, with one pass and with ten, beside the published
    figures, beside exponentiated gradient and beside the best of chapter 7.
    It takes a quarter of an hour on two cores.
    """
    from bayescal.reproduce.online import COMBINATIONS, GROUPS
    from bayescal.reproduce.published_online import PUBLISHED

    _combine(asked, "online", COMBINATIONS, PUBLISHED, GROUPS)


def _combine(
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
