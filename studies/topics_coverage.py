"""Bands of pooled topics cover the truth; topics with nothing in common lose nothing.

python -m studies.topics_coverage [--quick]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from bayescal import TopicCalibrator
from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.engines.pooled.engine import fit_topics, sides_of
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_CONCENTRATION,
    LOGIT_RATE,
    Hyperprior,
    draw_unseen,
    rates_given,
)
from bayescal.fitting.parts.log_odds import hyperparameters_path
from bayescal.fitting.scores import BinaryScores
from bayescal.metrics import losses
from bayescal.support.intervals import percent
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.peers import calibrator
from studies.reporting import Bar, fill, markdown, with_error, write_bars, write_page, write_table

FAMILY = FAMILIES["asymmetric_laplace"]
TOPICS, LEVELS = 10, (0.5, 0.9)
# Widths of bands; those below 1 belong to wrong engines.
BANDS = {"as it is": 1.0, "30 % too narrow": 0.7, "half as wide": 0.5}
# Standardised scores, chosen without the truth.
SCORES = np.linspace(-3.0, 3.0, 13)
POSITIVES = (3, 10, 30)
NEGATIVES_EACH = 4  # to a positive
NEW_DOCUMENTS = 1000
# Spreads of modes and log widths of topics with nothing in common; alike ones have a tenth.
WIDE = np.array([5.0, 1.0])
LARGEST_COST = 0.02
# Columns of log-losses: pooled and unpooled.
PAIRS = {"asymmetric Laplace": ("pooled", "unpooled"), "default": ("combined", "default unpooled")}

Sides = Floats  # (2, 3, topics): mode, left and right of negatives and positives


def run(options: Options) -> None:
    """Measure coverage and what pooling costs; write page and tables."""
    sets = options.size(100, 4)
    coverage = pd.concat(spread_over(options.jobs, cover, [(seed,) for seed in range(sets)]))
    cases = [
        (width, n, seed)
        for width in (1.0, 0.1)
        for n in POSITIVES
        for seed in range(options.size(10, 2))
    ]
    costs = pd.DataFrame(spread_over(options.jobs, cost, cases))
    covered, lost = summarise_coverage(coverage), summarise_costs(costs)
    write_table(covered, options.out, "topics_coverage")
    write_table(lost, options.out, "topics_nothing_in_common")
    bars = [*coverage_bars(covered), *cost_bars(lost)]
    write_bars(bars, options.out, "topics_coverage")
    write_page("topics_coverage", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: what pooling costs, and the coverage of bands as they are."""
    covered = pd.read_csv(folder / "topics_coverage.csv")
    right = covered[covered["band"] == "as it is"].to_dict("records")
    return fill(
        "topics_coverage",
        folder,
        table=_costs_shown(pd.read_csv(folder / "topics_nothing_in_common.csv")),
        coverage=", ".join(
            f"{with_error(row['mean'], row['error'], 3)}"
            f" ({row['topic']} topics, {percent(row['level'], 0)} band)"
            for row in right
        ),
    )


def cover(seed: int) -> pd.DataFrame:
    """Return coverage of one simulated population: rows (topic, band, level).

    Hyperparameters from the hyperprior, topics from the population, documents from the topics; at
    scores chosen without the truth a band's coverage is nominal exactly if the engine is right.
    """
    rng = np.random.default_rng((1, seed))
    points = [Hyperprior.of(1).draw(1, rng).repeat(TOPICS + 1, axis=0) for _ in range(2)]
    sides = np.stack([draw_unseen(each, FAMILY, rng) for each in points])
    rate = 1.0 / (1.0 + np.exp(-LOGIT_RATE[0] - LOGIT_RATE[1] * rng.normal()))
    documents = np.exp(LOG_CONCENTRATION[0] + LOG_CONCENTRATION[1] * rng.normal())
    beta = np.tile([[documents * rate], [documents * (1.0 - rate)]], TOPICS + 1)
    rates = rates_given(beta, np.zeros(1), np.zeros(1), rng)[0]
    n = rng.integers(5, 60, TOPICS)
    positive = rng.binomial(n, rates[:-1])
    classes = [
        [draw_scores(sides[k, :, t], size, rng) for t, size in enumerate(sizes)]
        for k, sizes in enumerate((n - positive, positive))
    ]
    topics = [
        BinaryScores(np.concatenate(pair), np.repeat([False, True], [each.size for each in pair]))
        for pair in zip(*classes, strict=True)
    ]
    results = fit_topics(topics, FAMILY, rng, draws=1000, pooling="partial", scale=(0.0, 1.0))
    known = np.mean(
        [
            _covered(results.topics.take((t, slice(None))), sides[:, :, t], rates[t])
            for t in range(TOPICS)
        ],
        axis=0,
    )
    new = _covered(results.unseen, sides[:, :, -1], rates[-1])
    rows = [
        (topic, band, level, inside[b, i], seed)
        for topic, inside in (("known", known), ("new", new))
        for b, band in enumerate(BANDS)
        for i, level in enumerate(LEVELS)
    ]
    return pd.DataFrame(rows, columns=["topic", "band", "level", "covered", "set"])


def draw_scores(sides: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Return scores of one class: an exponential to either side of the mode."""
    theta, left, right = sides
    on_left = rng.random(size) < left / (left + right)
    return theta + rng.exponential(size=size) * np.where(on_left, -left, right)


def _covered(drawn: DensitySides, true: Floats, rate: float) -> Floats:
    """Return the share of scores whose true log-odds are within the band; (bands, levels)."""
    curves = drawn.log_odds(SCORES)
    truth = sides_of(FAMILY.name, true[..., None], np.array([rate])).log_odds(SCORES)[0]
    middle, out = np.median(curves, axis=0), np.empty((len(BANDS), len(LEVELS)))
    for i, level in enumerate(LEVELS):
        low, high = np.quantile(curves, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        for b, factor in enumerate(BANDS.values()):
            inside = (middle + factor * (low - middle) <= truth) & (
                truth <= middle + factor * (high - middle)
            )
            out[b, i] = inside.mean()
    return out


def cost(width: float, n_positive: int, seed: int) -> dict[str, float]:
    """Return held-out log-loss in bits per document, by columns of PAIRS, and the population's tau.

    Modes of topics are that much times WIDE apart and their widths that many log units; positives
    lie one to three widths above negatives.
    """
    rng = np.random.default_rng((2, round(10 * width), n_positive, seed))
    mode, log_width = width * WIDE[:, None] * rng.normal(size=(2, TOPICS))
    gap = 2.0 + width * rng.uniform(-1.0, 1.0, TOPICS)
    size = np.exp(log_width)
    modes = np.stack([mode, mode + gap * size])
    share = 0.5 + width * rng.uniform(-0.4, 0.4, (2, TOPICS))
    sides = np.stack([modes, share * size, (1.0 - share) * size], axis=1)
    train = _documents(sides, n_positive, rng)
    score, label, topic = _documents(sides, NEW_DOCUMENTS // (1 + NEGATIVES_EACH), rng)
    out: dict[str, float] = {"width": width, "n": n_positive, "seed": seed}

    def lost(log_odds: Floats) -> float:
        return losses(log_odds, label == 1).log_loss / score.size

    for name, pooling, model in (
        ("pooled", "partial", {"parts": FAMILY.name}),
        ("unpooled", "none", {"parts": FAMILY.name}),
        ("combined", "partial", {"parts": "combined"}),
    ):
        fitted = TopicCalibrator(pooling, **model, draws=250, random_state=seed).fit(*train)
        out[name] = lost(fitted.decision_function(score, topic))
        if name == "pooled":
            group = fitted.posterior_[hyperparameters_path(FAMILY.name)].to_dataset()
            spread = float(fitted.posterior_["constant_data"]["spread"])
            tau = np.exp(group[DENSITY_NAMES[1]].sel(klass="negative").values)
            out["tau"] = float(np.median(tau)) * spread / width
    log_odds = np.empty(score.size)
    alone = calibrator(prior_knowledge="vague", draws=250, random_state=seed)
    for t in range(TOPICS):
        mine, here = train[2] == t, topic == t
        log_odds[here] = alone(train[0][mine], train[1][mine], score[here])
    return out | {"default unpooled": lost(log_odds)}


def _documents(
    sides: Sides, n_positive: int, rng: np.random.Generator
) -> tuple[Floats, np.ndarray, np.ndarray]:
    score, label, topic = [], [], []
    for t in range(TOPICS):
        for k, size in enumerate((NEGATIVES_EACH * n_positive, n_positive)):
            score.append(draw_scores(sides[k, :, t], size, rng))
            label.append(np.full(size, k))
            topic.append(np.full(size, t))
    return np.concatenate(score), np.concatenate(label), np.concatenate(topic)


def summarise_coverage(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean coverage and its standard error between sets."""
    grouped = rows.groupby(["topic", "band", "level"], sort=False)["covered"]
    return pd.DataFrame({"mean": grouped.mean(), "error": grouped.sem()}).reset_index()


def summarise_costs(rows: pd.DataFrame) -> pd.DataFrame:
    """Return log-losses, pooling's cost as a share of unpooled's, and tau, in sds of modes."""
    grouped = rows.groupby(["width", "n"], sort=False)
    tau = grouped["tau"].mean() / WIDE[0], grouped["tau"].sem() / WIDE[0]
    out = pd.DataFrame({"tau": tau[0], "tau error": tau[1]})
    for name, (pooled, unpooled) in PAIRS.items():
        excess = rows.assign(excess=rows[pooled] - rows[unpooled])
        cost = excess.groupby(["width", "n"], sort=False)["excess"]
        level = grouped[unpooled].mean()
        out = out.assign(**{pooled: grouped[pooled].mean(), unpooled: level})
        out[f"cost, {name}"], out[f"error, {name}"] = cost.mean() / level, cost.sem() / level
    return out.reset_index()


def coverage_bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars: bands have nominal coverage, and narrower ones do not."""
    out = []
    for row in table.to_dict("records"):
        right = row["band"] == "as it is"
        near = abs(row["mean"] - row["level"]) <= 3.0 * row["error"]
        out.append(
            Bar(
                claim=f"{row['topic']} topic, {percent(row['level'], 0)} band {row['band']}",
                measured=with_error(row["mean"], row["error"], 3),
                limit=f"{'within' if right else 'not within'} three errors of {row['level']}",
                holds=bool(near == right),
            )
        )
    return out


def cost_bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars: pooling costs topics with nothing in common little, and tau is large."""
    out = []
    for row in table[table["width"] == 1.0].to_dict("records"):
        where = f"nothing in common, {row['n']} positives"
        for name in PAIRS:
            cost, error = row[f"cost, {name}"], row[f"error, {name}"]
            out.append(
                Bar(
                    claim=f"{where}: log-loss of the {name} pooled beside unpooled",
                    measured=f"{100.0 * cost:+.1f} % ± {percent(error, 1)}",
                    limit=f"at most {percent(LARGEST_COST, 0)} more, two errors allowed",
                    holds=bool(cost - 2.0 * error <= LARGEST_COST),
                )
            )
        out.append(
            Bar(
                claim=f"{where}: tau, in standard deviations of the topics' modes",
                measured=with_error(row["tau"], row["tau error"], 2),
                limit="0.5 to 2",
                holds=bool(0.5 <= row["tau"] <= 2.0),
            )
        )
    return out


def _costs_shown(table: pd.DataFrame) -> str:
    rows = [
        {
            "topics": "nothing in common" if row["width"] == 1.0 else "alike",
            "positives per topic": f"{row['n']:.0f}",
            **{column: f"{row[column]:.4f}" for pair in PAIRS.values() for column in pair},
            **{
                f"{name}, pooled beside unpooled": f"{100.0 * row[f'cost, {name}']:+.1f} % ±"
                f" {percent(row[f'error, {name}'], 1)}"
                for name in PAIRS
            },
            "tau": with_error(row["tau"], row["tau error"], 2),
        }
        for row in table.to_dict("records")
    ]
    return markdown(pd.DataFrame(rows))


if __name__ == "__main__":
    main("topics_coverage")
