"""Pieces of fits that calibrators reach seldom: weights of classifiers, formulas, covariates."""

import zlib
from functools import partial

import numpy as np
import pandas as pd

from bayescal.families import FAMILIES
from bayescal.fitting import formulas
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.curves.curves import log_odds_of_mean
from bayescal.fitting.engines.classifier_weights.engine import draw_weights, fit_modes, follow
from bayescal.fitting.engines.classifier_weights.model import (
    Design,
    WeightsPrior,
    centre_of_weights,
    interactions,
)
from bayescal.fitting.learned_prior import shipped_populations
from tests.same_numbers.plain import outcome

CENTRE = np.array([0.6, 0.3])
SIZES = {"one": [24], "three": [13, 20, 31], "indicators": [17, 25], "moderators": [19, 27]}
FRAME = pd.DataFrame(
    {
        "length": [3.0, 8.5, 1.0, 40.0, 8.5],
        "kind": ["news", "mail", "news", "web", "mail"],
        "seen": [True, False, True, True, False],
        "pages": [1, 2, 2, 9, 4],
    }
)


def designs_of(name):
    """Return random documents of some problems, two classifiers each."""
    rng = np.random.default_rng(len(name))
    found = []
    for k, n in enumerate(SIZES[name]):
        evidence, others = rng.normal(size=(n, 2)) * [2.0, 1.0], rng.normal(size=(n, 2))
        positive = rng.random(n) < 1.0 / (1.0 + np.exp(1.0 - evidence @ [0.9, 0.2 + 0.2 * k]))
        columns = [np.ones((n, 1)), evidence]
        if name in ("indicators", "moderators"):
            columns.append(others)
        moderated = interactions(evidence, others[:, :1])
        shifts = moderated.shape[1] if name == "moderators" else 0
        columns += [moderated] * (shifts > 0)
        weight = np.where(np.arange(n) % 3 == 0, 2.0, 1.0)
        found.append(Design(np.hstack(columns), -1.0 - 0.5 * k, positive, weight, shifts))
    return found


def weights_of(name):
    """Return the joint modes of weights on a grid of scales, draws, and modes that follow."""
    designs = designs_of(name)
    modes = fit_modes(designs, CENTRE, WeightsPrior())
    drawn = draw_weights(modes, 30, np.random.default_rng(4))
    first = designs[0]
    point = drawn[0].point
    other = first.columns[:, 1:3] * 1.3 + 0.1
    return {
        "share": modes.share,
        "evidence": [mode.log_evidence for mode in modes.modes],
        "mu": [mode.mu for mode in modes.modes[:3]],
        "points": modes.likeliest.points,
        "drawn": drawn,
        "followed": follow(drawn[0], first, other),
        "likelihood": first.log_likelihood(np.stack([point, point + 0.1])),
        "gradient": first.gradient(point),
        "information": first.information(point),
        "mean": first.mean_from_mode(point, np.diag(1.0 / drawn[0].precision)),
        "taken": first.take(first.positive).log_likelihood(point[None]),
    }


def centres():
    """Return the centre of the prior of weights for classifiers that know more or less."""
    log_scores = np.log(np.random.default_rng(3).uniform(0.2, 1.0, (3, 30))) - [[0.1], [0.0], [0.3]]
    weight = np.where(np.arange(30) % 4 == 0, 2.5, 1.0)
    return {
        "default": centre_of_weights(log_scores, weight, np.random.default_rng(1)),
        "rounds": centre_of_weights(log_scores, weight, np.random.default_rng(1), rounds=7),
    }


def words():
    """Return formulas and words of priors, by their checksums, and sentences in full."""
    blocks = {
        f"weights {i} {m}": formulas.classifier_weight_blocks(
            WeightsPrior(), indicators=i, moderators=m
        )
        for i in (0, 1, 3)
        for m in (0, 1, 2)
    }
    for rate in (None, 0.0, 0.03):
        blocks[f"lapses {rate}"] = formulas.lapse_blocks(rate)
    for name, family in FAMILIES.items():
        for scales in ((float("inf"),), (0.5, 2.0)):
            for scale in (None, (0.3, 2.0)):
                given = {"theta_scale": 1.5} if scale else {}
                blocks[f"{name} {scales} {scale}"] = formulas.density_blocks(
                    (family,), scales, scale, given
                )
    for scale in (None, (0.3, 2.0)):
        for given in ({}, {"centre": 1.0}, {"spread": 4.0, "slope_scale": 0.25}):
            for kind in ({}, {"straight": True}, {"along_densities": True}):
                name = f"log-odds {scale} {given} {kind}"
                blocks[name] = [formulas.block("Title", "Text.", given, scale, **kind)]
    every = tuple(FAMILIES.values())
    blocks["all"] = formulas.density_blocks(every, (0.5,), (1.0, 1.0), {})
    known = formulas.block_of_populations("Title", "Text.", shipped_populations())
    said = {name: [_checksum(each) for each in found] for name, found in blocks.items()}
    in_full = {n: [each.text for each in found] for n, found in blocks.items() if n[0] in "lw"}
    names = [(formulas.title(f), formulas.in_words(f)) for f in every]
    return {"checksums": said, "texts": in_full, "populations": known.text, "names": names}


def _checksum(block):
    return zlib.crc32(repr(block).encode())


def covariates():
    """Return columns of documents as they are coded, typical ones, words and errors."""
    known = Covariates.read(FRAME, 5)
    other = FRAME.iloc[[3, 0]]
    return {
        "columns": known.columns,
        "levels": known.levels,
        "like": known.like(other, 2).columns,
        "taken": known.take(slice(1, 3)).columns,
        "dataset": dict(known.dataset().attrs),
        "again": Covariates.of({"covariates": known.dataset()}),
        "typical": known.typical().columns,
        "words": known.words,
        "rows": outcome(lambda: known.typical().rows(3).columns),
        "none": outcome(known.like, None, 2),
        "missing": outcome(known.like, FRAME[["length"]], 5),
        "length": outcome(Covariates.read, FRAME, 4),
        "unknown": outcome(known.like, other.assign(kind="fax"), 2),
        "not finite": outcome(Covariates.read, FRAME.assign(length=np.nan), 5),
        "no frame": outcome(Covariates.read, [1.0, 2.0], 2),
        "no columns": outcome(Covariates.read, FRAME[[]], 5),
        "dates": outcome(Covariates.read, FRAME.assign(kind=pd.Timestamp(0)), 5),
    }


def means():
    """Return log-odds of mean probabilities over draws."""
    draws = np.array([[-40.0, -1.0, 0.0, 3.0], [1.0, 0.5, 0.0, 900.0], [-2.0, 2.0, 0.1, 800.0]])
    return log_odds_of_mean(draws)


CASES = {
    **{f"weights, {name}": partial(weights_of, name) for name in SIZES},
    "centres": centres,
    "formulas": words,
    "covariates": covariates,
    "means": means,
}
