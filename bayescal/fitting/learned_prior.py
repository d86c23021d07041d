"""Populations of log-odds, learned from earlier problems and kept in readable JSON files.

`populations.json` holds populations of a few kinds of classifiers on real data sets;
`python -m tools.make_populations` writes it.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.engines.pooled.log_odds import fit_log_odds, moments
from bayescal.fitting.scores import read_binary_scores, together
from bayescal.support.files import digest, whole_file
from bayescal.support.numerics import one_blas_thread, units_of
from bayescal.support.validation import check_choice, generator

SHIPPED = Path(__file__).with_name("populations.json")
FORMAT = "bayescal populations of log-odds"
VERSION = 1
DIGITS = 6  # of numbers in files; the posterior determines fewer


def write_populations(
    populations: Sequence[LogOddsPopulation],
    path: str | Path,
    provenance: Mapping[str, Any] | None = None,
) -> Path:
    """Write populations to a JSON file, rounded to six digits, and return its path.

    Parameters
    ----------
    populations : sequence of LogOddsPopulation
        The populations.
    path : str or Path
        The file.
    provenance : mapping, optional
        Their provenance, in types that JSON supports.

    Raises
    ------
    OSError
        If the file cannot be written; no partial file stays.
    """
    plain = [_plain(each) for each in populations]
    content = {
        "format": FORMAT,
        "version": VERSION,
        "checksum": _checksum(plain),
        "provenance": dict(provenance or {}),
        "populations": plain,
    }
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return Path(path)


def read_populations(path: str | Path) -> tuple[LogOddsPopulation, ...]:
    """Return the populations of a file that `write_populations` wrote.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it has another format or version, or is damaged.

    Examples
    --------
    >>> from bayescal.fitting.learned_prior import shipped_populations
    >>> [each.name for each in shipped_populations()]
    ['margins', 'log-odds', 'naive Bayes', 'shares']
    """
    source = Path(path)
    if not source.is_file():
        raise FileNotFoundError(f"populations were expected in {source}: there is no such file.")
    try:
        content = json.loads(source.read_text(encoding="utf-8"))
        stated, version, checksum = (content[key] for key in ("format", "version", "checksum"))
    except (ValueError, KeyError, TypeError) as err:
        raise ValueError(
            f"{source} does not hold {FORMAT}, which write_populations writes."
        ) from err
    if (stated, version) != (FORMAT, VERSION):
        raise ValueError(
            f"{source} holds {stated}, version {version}; expected {FORMAT}, version {VERSION}:"
            " learn them again with this version of bayescal."
        )
    if checksum != _checksum(content.get("populations")):
        raise ValueError(
            f"{source} is damaged: its populations do not match its checksum. Copy it again from"
            " where it was written, or learn them again."
        )
    return tuple(_population(each) for each in content["populations"])


@cache
def shipped_populations() -> tuple[LogOddsPopulation, ...]:
    """Return the populations that come with the package; see docs/prior.md."""
    return read_populations(SHIPPED)


def _checksum(plain: Any) -> str:
    return digest([json.dumps(plain, sort_keys=True).encode()])


def _plain(population: LogOddsPopulation) -> dict[str, Any]:
    return {
        "name": population.name,
        "scores_are": list(population.scores_are),
        "centre": _rounded(population.centre),
        "spread": _rounded(population.spread),
        "asinh_scale": _rounded(population.asinh_scale),
        "knots": [_rounded(knot) for knot in population.pieces.knots.tolist()],
        "reference": _rounded(population.pieces.reference),
        "prior": {name: _rounded(value) for name, value in asdict(population.prior).items()},
    }


def _population(plain: Mapping[str, Any]) -> LogOddsPopulation:
    return LogOddsPopulation(
        name=plain["name"],
        scores_are=tuple(plain["scores_are"]),
        centre=plain["centre"],
        spread=plain["spread"],
        asinh_scale=plain["asinh_scale"],
        pieces=Pieces(np.array(plain["knots"]), plain["reference"]),
        prior=Prior(**plain["prior"]),
    )


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


FEWEST = 5  # problems; fewer do not determine the variance over problems
DRAWS = 1000
# Values of scores_are that a named population accepts.
SCORES_ARE = ("scores", "log_odds", "probabilities")


def learn_population(
    name: str,
    problems: Sequence[tuple[ArrayLike, ArrayLike]],
    *,
    scores_are: str = "scores",
    random_state: Any = None,
) -> LogOddsPopulation:
    r"""Return the population of the log-odds of one kind of scores over problems.

    The log-odds at the reference r and the logarithms of the slopes there have normal
    distributions, a_t ~ Normal(mu, tau) and log b_t ~ Normal(nu, sigma), over problems t. The
    posterior of the four parameters, given all problems' labels, is the prior of a new problem:

        a ~ Normal(E mu, sqrt(E tau^2 + Var mu)),   log b ~ Normal(E nu, sqrt(E sigma^2 + Var nu)).

    Parameters
    ----------
    name : str
        Name of the population.
    problems : sequence of (scores, labels)
        At least five. Held-out scores of documents, in the classifier's own units; labels of two
        values each, the second in sorted order being the positive one.
    scores_are : {"scores", "log_odds", "probabilities"}
        Meaning of the scores. A population of log-odds also serves for probabilities.
    random_state : int, numpy Generator, RandomState or None
        Seeds the draws.

    Returns
    -------
    LogOddsPopulation
        For `ScoreCalibrator(prior_knowledge=(population,))`, or to be written by
        `write_populations`.

    Raises
    ------
    ValueError
        If there are fewer than five problems, or scores or labels are not as described.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.fitting.learned_prior import learn_population
    >>> rng = np.random.default_rng(0)
    >>> labels = [rng.random(200) < 0.3 for _ in range(8)]
    >>> problems = [(rng.normal(3.0 * y), y) for y in labels]  # log-odds rise by 3 a unit
    >>> learn_population("simulated", problems, random_state=0).prior.slope_scale < 0.7
    True
    """
    check_choice("scores_are", scores_are, SCORES_ARE)
    if len(problems) < FEWEST:
        raise ValueError(
            f"problems must be at least {FEWEST}, to tell how alike they are; got {len(problems)}."
        )
    topics = [read_binary_scores(s, y, None, scores_are)[0] for s, y in problems]
    everything = together(topics)
    scale = units_of(everything.score, everything.positive, everything.weight)
    with one_blas_thread():
        posterior = fit_log_odds(topics, scale, generator(random_state), draws=DRAWS)
    unseen = posterior.unseen
    return LogOddsPopulation(
        name=name,
        scores_are=(scores_are,),
        centre=float(unseen.centre),
        spread=float(unseen.spread),
        asinh_scale=float(unseen.asinh_scale),
        pieces=unseen.pieces,
        prior=Prior(*moments(posterior.population)),
    )
