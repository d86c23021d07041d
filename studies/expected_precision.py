"""Expected average precision of new constructed queries: python -m studies.expected_precision.

The calibrator draws a curve for a new query from the population of queries, whatever the scores of
its documents. Four expectations take this apart: by each query's own curve, by those of other
queries in units of all queries, by those in units of the query (median and spread), and fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from bayescal.ranking.drawn_relevance import average_precision_of, draw_relevance
from bayescal.support.numerics import centre_and_spread
from bayescal.support.validation import Floats
from studies.command import Options, main
from studies.relevance import calibrator
from studies.reporting import fill, markdown, with_errors, write_page, write_table

QUERIES = 40  # half of them fitted
DRAWS = 1000
COLLECTIONS = 8


@dataclass(frozen=True)
class Query:
    """Documents of a query, best first: two Gaussians with a rate and a distance of its own."""

    scores: Floats
    relevant: np.ndarray
    rate: float
    distance: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> Query:
        """Return a query of 20 to 100 documents."""
        rate, distance = expit(rng.normal(-1.5, 0.7)), rng.normal(1.5, 0.4)
        n = rng.integers(20, 100, endpoint=True)
        relevant = rng.random(n) < rate
        scores = rng.normal(distance * relevant)
        order = np.argsort(-scores)
        return cls(scores[order], relevant[order], float(rate), float(distance))

    def curve(self, scores: Floats) -> Floats:
        """Return P(relevant) at scores."""
        return expit(logit(self.rate) + self.distance * (scores - 0.5 * self.distance))


def expected(probability: Floats, rng: np.random.Generator) -> float:
    """Return the mean average precision of labels drawn, given that one is relevant."""
    return float(np.nanmean(average_precision_of(draw_relevance(probability, rng))))


def measure(seed: int) -> dict[str, float]:
    """Return means over the new queries of a collection of actual and expected precision."""
    rng = np.random.default_rng(seed)
    queries = [Query.draw(rng) for _ in range(QUERIES)]
    others = [Query.draw(rng) for _ in range(DRAWS)]
    units = [centre_and_spread(each.scores) for each in others]
    judged = queries[: QUERIES // 2]
    fitted = calibrator().fit(
        np.concatenate([each.scores for each in judged]),
        np.concatenate([each.relevant for each in judged]),
        np.repeat(np.arange(len(judged)), [each.scores.size for each in judged]),
    )
    rows = []
    for query in queries[QUERIES // 2 :]:
        if not query.relevant.any():
            continue
        centre, spread = centre_and_spread(query.scores)
        own = (query.scores - centre) / spread
        by_curves = np.array([each.curve(query.scores) for each in others])
        by_units = np.array([q.curve(c + s * own) for q, (c, s) in zip(others, units, strict=True)])
        qid = np.zeros(own.size)
        one = np.tile(fitted.predict_proba(query.scores, qid)[:, 1], (DRAWS, 1))
        precision = fitted.expected_average_precision(query.scores, qid)["mean"]
        rows.append(
            {
                "actual": average_precision_of(query.relevant[None])[0],
                "own curve": expected(np.tile(query.curve(query.scores), (DRAWS, 1)), rng),
                "curves of other queries": expected(by_curves, rng),
                "and units of the query": expected(by_units, rng),
                "RelevanceCalibrator": precision.item(),
                "one curve": expected(one, rng),
            }
        )
    return {name: float(value) for name, value in pd.DataFrame(rows).mean().items()}


def run(options: Options) -> None:
    """Measure collections; write page and table."""
    table = pd.DataFrame([measure(seed) for seed in range(options.size(COLLECTIONS, 2))])
    apart = table.sub(table["own curve"], axis=0)
    frame = pd.DataFrame(
        {
            "expectation": table.columns,
            "mean": [f"{mean:.3f}" for mean in table.mean()],
            "less that of the own curve": with_errors(apart.mean(), apart.sem(), 3),
        }
    )
    write_table(frame, options.out, "expected_precision")
    write_page("expected_precision", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: expectations by what they know."""
    table = markdown(pd.read_csv(folder / "expected_precision.csv", dtype=str))
    return fill("expected_precision", folder, table=table)


if __name__ == "__main__":
    main("expected_precision")
