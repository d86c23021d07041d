"""Which queries train, validate and test in each trial: every query in each role alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.validation import Integers

# A round of trials has every query train twice, validate once and test seven times.
ROUND = 10


@dataclass(frozen=True)
class Roles:
    """
    The queries of a trial by their roles, a fifth, a tenth and the rest.

    Attributes
    ----------
    train, validate, test : array of int
        Queries.
    """

    train: Integers
    validate: Integers
    test: Integers


def deal(queries: Integers, trials: int, seed: int = 0) -> list[Roles]:
    """
    Return the roles of all trials.

    Of 50 queries 10 train, 5 validate and 35 test; after 50 trials each has trained 10 times,
    validated 5 times and been tested 35 times, as in the paper.

    Parameters
    ----------
    queries : array of int
        At least 10.
    trials : int
        A multiple of 10.
    seed : int
        The same seed deals the same roles.

    Raises
    ------
    ValueError
        If there are too few queries, or trials are no multiple of 10.

    Examples
    --------
    >>> first = deal(np.arange(50), 50)[0]
    >>> first.train.size, first.validate.size, first.test.size
    (10, 5, 35)
    """
    if queries.size < ROUND or trials < 1 or trials % ROUND:
        raise ValueError(
            f"queries must be at least {ROUND} and trials a multiple of {ROUND}, so that every"
            f" query has each role alike, got {queries.size} and {trials}."
        )
    rng = np.random.default_rng((seed, trials))
    dealt = []
    for _ in range(trials // ROUND):
        tenths = np.array_split(rng.permutation(queries), ROUND)
        for start in range(ROUND):
            turned = tenths[start:] + tenths[:start]
            train, validate, test = turned[:2], turned[2:3], turned[3:]
            dealt.append(Roles(*(np.sort(np.concatenate(p)) for p in (train, validate, test))))
    return dealt
