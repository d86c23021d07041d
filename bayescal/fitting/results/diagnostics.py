"""Summaries of fits: convergence of posterior draws, tables of parameters, findings of classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.engine import SIDES
from bayescal.fitting.engines.program import CHAINS
from bayescal.fitting.parts.combination import findings, part_of, worst
from bayescal.fitting.parts.densities import rows_of_classes
from bayescal.fitting.parts.part import MODE, POSTERIOR, Groups, all_paths, of_unseen
from bayescal.fitting.posterior import DRAWS
from bayescal.fitting.results.topics import names_of
from bayescal.fitting.results.tree import LIKELIHOOD, read_fits
from bayescal.fitting.scores import KLASS
from bayescal.inference.chains import Diagnostics as Diagnostics
from bayescal.inference.chains import check_chains
from bayescal.support.intervals import Interval, tails
from bayescal.support.validation import Floats, warn_user

if TYPE_CHECKING:
    import pandas as pd


class ConvergenceWarning(UserWarning):
    """Warning that posterior draws are unreliable; the message says what to do."""


def diagnose(groups: Groups) -> Diagnostics:
    """Check posterior draws: chains by their agreement, exact draws part by part."""
    # Limits of R-hat and effective sample sizes: Vehtari et al., Bayesian Analysis 2021.
    if CHAINS not in groups:
        return _of_exact_draws(groups)
    if of_unseen(POSTERIOR) not in groups:
        return check_chains(groups[CHAINS], groups[POSTERIOR])
    (paths,) = all_paths(groups)
    chains = check_chains(groups[CHAINS], xr.merge([groups[POSTERIOR], groups[paths.draws[-1]]]))
    return replace(chains, problems=(*chains.problems, *_of_exact_draws(groups).problems))


def _of_exact_draws(groups: Groups) -> Diagnostics:
    sizes = groups[all_paths(groups)[0].draws[0]].sizes
    draws = int(sizes["chain"] * sizes["draw"])
    names = names_of(groups) if of_unseen(POSTERIOR) in groups else None
    return Diagnostics(
        rhat=None,
        ess_bulk=float(draws),
        ess_tail=float(draws),
        divergences=0,
        draws=draws,
        efficiency=worst(groups, "efficiency", np.nanmin),
        pareto_k=worst(groups, "pareto_k", np.nanmax),
        problems=tuple(each.text(names) for each in findings(groups)),
    )


def warn_of_problems(problems: Sequence[str]) -> None:
    """Warn, once, of all problems of the draws of a fit, with advice."""
    if problems:
        message = "the posterior draws are not to be trusted yet: "
        warn_user(message + "; ".join(problems) + ".", ConvergenceWarning)


# Weights and evidence of families and warps.


def log_evidence(evidence: xr.Dataset, classes: NDArray[Any]) -> dict[str, float]:
    """Return each class's log evidence under the equal mixture of families and warps."""
    _check_families(evidence)
    values = evidence["log_evidence"].transpose("asinh_scale", "family", "klass").values
    members = values.shape[0] * values.shape[1]
    total = special.logsumexp(values, axis=(0, 1)) - np.log(members)
    return dict(zip(map(str, classes), total.tolist(), strict=True))


def family_probability(evidence: xr.Dataset, classes: NDArray[Any]) -> pd.DataFrame:
    """Return P(family | data) of each class, with equal prior probabilities."""
    _check_families(evidence)
    values = evidence["log_evidence"].transpose("klass", "family", "asinh_scale")
    total = special.logsumexp(values.values, axis=2)
    return _by_family(evidence, classes, special.softmax(total, axis=1))


def family_weight(evidence: xr.Dataset, classes: NDArray[Any]) -> pd.DataFrame:
    """Return the weight of each family in each class, over all warps."""
    _check_families(evidence)
    joint = evidence["family_weight"] * evidence["warp_weight"]
    return _by_family(
        evidence, classes, joint.sum("asinh_scale").transpose("klass", "family").values
    )


def _check_families(evidence: xr.Dataset) -> None:
    if "family" not in evidence.dims:
        raise AttributeError("log-odds fits have no class densities to compare families of.")


def _by_family(evidence: xr.Dataset, classes: NDArray[Any], values: Floats) -> pd.DataFrame:
    import pandas as pd

    index = pd.Index(list(map(str, classes)), name="class")
    return pd.DataFrame(values, index, pd.Index(evidence["family"].values, name="family"))


def warp_weight(evidence: xr.Dataset) -> pd.Series[float]:
    """Return the weight of each warp, by its asinh scale in score units; inf is no warp."""
    import pandas as pd

    index = pd.Index(evidence["asinh_scale"].values, name="asinh_scale")
    return pd.Series(evidence["warp_weight"].values, index, name="weight")


# Tables of parameters: maximum likelihood beside the posterior, both in raw score units.

# The guard of the class prior: see `bayescal.support.numerics.class_prior`.
ADD_ONE = "add_one"


def parameter_table(groups: Groups, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return the parameters and the class prior; see `ScoreCalibrator.summary`."""
    import pandas as pd

    labels = str(classes[0]), str(classes[1])
    fits = read_fits(groups)
    inferred = next((groups[name] for name in (POSTERIOR, MODE) if name in groups), None)
    parts = all_paths(groups)
    if parts and inferred is not None:
        rows = list(part_of(parts[0].kind).rows(fits, inferred, parts[0], labels))
    else:
        rows = list(rows_of_classes(fits, inferred, labels, mixed=False))
    draws = None if inferred is None else inferred["prior"]
    rows.append(((labels[1], "prior"), {"mle": fits.prior, "guard": ADD_ONE}, draws))
    index = pd.MultiIndex.from_tuples([row[0] for row in rows], names=["class", "parameter"])
    sampled = CHAINS in groups
    return pd.DataFrame(
        [mle | _inferred(draws, level, sampled=sampled) for _, mle, draws in rows], index=index
    )


def _inferred(draws: xr.DataArray | None, level: float, *, sampled: bool) -> dict[str, float]:
    if draws is None:
        return {}
    if "chain" not in draws.dims:
        return {"map": float(draws)}
    tails = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
    lower, median, upper = np.quantile(draws.values, tails).tolist()
    rhat, ess = _of_chains(draws) if sampled else (np.nan, float(draws.size))
    return {"median": median, "lower": lower, "upper": upper, "rhat": rhat, "ess_bulk": ess}


def _of_chains(draws: xr.DataArray) -> tuple[float, float]:
    """Return R-hat (nan for a single chain) and the bulk effective sample size."""
    # A slow import, which independent draws do not need.
    import arviz_stats

    dataset = draws.to_dataset(name="x")
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = float(arviz_stats.rhat(dataset)["x"]) if draws.sizes["chain"] > 1 else np.nan
        ess = float(arviz_stats.ess(dataset, method="bulk")["x"])
    return rhat, ess


def unpooled_sides(fits: xr.Dataset) -> xr.Dataset:
    """Return mode and sides of maximum likelihood, (klass, topic), from a group of topics."""
    family = FAMILIES[fits.attrs["family"]]
    sides = family.sides(*(fits[name].values for name in family.parameters))
    dims = "klass", "topic"
    variables = {name: (dims, values) for name, values in zip(SIDES, sides, strict=True)}
    return xr.Dataset(variables, {name: fits[name] for name in dims})


def topic_table(groups: Groups, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return estimates unpooled, pooled and of the population; see `TopicCalibrator.summary`."""
    import pandas as pd

    shares = tails(level)
    posterior, fits = groups[POSTERIOR], groups[LIKELIHOOD]
    unpooled = unpooled_sides(fits)
    parts = []
    for name in SIDES:
        draws = posterior[name].transpose(..., *DRAWS)
        # Explicit sizes: -1 is ambiguous without topics.
        every = draws.values.reshape(*draws.shape[:-2], draws.shape[-2] * draws.shape[-1])
        lower, upper = np.quantile(every, shares, axis=-1)
        columns = {
            "documents": fits["total_weight"],
            "unpooled": unpooled[name],
            "pooled": draws.mean(DRAWS),
            "lower": (draws.dims[:-2], lower),
            "upper": (draws.dims[:-2], upper),
            "population": groups[of_unseen(POSTERIOR)][name].median(DRAWS),
        }
        frame = xr.Dataset(columns).drop_vars(DRAWS, errors="ignore").to_dataframe().reset_index()
        parts.append(frame.assign(parameter=name))
    table = pd.concat(parts)
    table["class"] = table["klass"].map(dict(zip(KLASS, map(str, classes), strict=True)))
    order = ["topic", "class", "parameter"]
    kept = ["documents", "unpooled", "pooled", "lower", "upper", "population"]
    return table.set_index(order)[kept].sort_index(level="topic", sort_remaining=False)


# Parameters and findings of several classes.

SHARED = ("log_gain", "warp", "asymmetry", "lapse")
OF_CLASSES = ("bias", "slope", "certainty", "confusion")


def class_table(groups: Groups, level: float) -> pd.DataFrame:
    """Return medians and equal-tailed intervals; see `MulticlassCalibrator.summary`."""
    import pandas as pd

    posterior, used = groups[POSTERIOR], groups["constant_data"]["used"].values.astype(bool)
    rows: dict[tuple[str, str, str], Floats] = {}

    def quantiles(name: str) -> Floats:
        draws = posterior[name].transpose(*DRAWS, ...).values
        return np.asarray(np.quantile(draws, [0.5, *tails(level)], axis=(0, 1)))

    for name in SHARED:
        if name in posterior:
            rows[name, "", ""] = quantiles(name)
    if "scale" in posterior:
        for block, each in zip(posterior["block"].values, quantiles("scale").T, strict=True):
            rows[f"scale of {block}", "", ""] = each
    classes = [str(each) for each in posterior["klass"].values]
    for row, name in enumerate(OF_CLASSES):
        of_classes = quantiles(name)
        if name != "confusion":
            for k in np.flatnonzero(used[row]).tolist():
                rows[name, classes[k], ""] = of_classes[:, k]
        elif "klass_to" in posterior[name].dims:
            for j, k in np.argwhere(used[row:]).tolist():
                rows[name, classes[k], classes[j]] = of_classes[:, k, j]
    index = pd.MultiIndex.from_tuples(list(rows), names=["parameter", "class", "other class"])
    return pd.DataFrame(list(rows.values()), index, ["median", "lower", "upper"])


def class_findings(
    drawn: Floats, raw: Floats, weight: Floats, classes: NDArray[Any] | None, level: float
) -> tuple[str, ...]:
    """Return sentences on the scores' confidence and, unless None, on the classes confused."""
    share, at = weight / weight.sum(), np.arange(weight.size)
    top = raw.argmax(axis=1)
    claimed = float(share @ raw[at, top])
    right = Interval.of_draws(drawn[:, at, top] @ share, level)
    how = "as confident as they are right"
    if not right.lower <= claimed <= right.upper:
        how = "over-confident" if claimed > right.upper else "under-confident"
    sentences = [
        f"The scores are {how}: they give their likeliest class the probability {claimed:.3g} on"
        f" average, and it is right with probability {right:.3g}."
    ]
    if classes is not None:
        mean = drawn.mean(axis=0)
        best = mean.argmax(axis=1)
        confused = np.stack([share[best == j] @ mean[best == j] for j in range(classes.size)])
        np.fill_diagonal(confused, 0.0)
        j, k = np.unravel_index(confused.argmax(), confused.shape)
        mine = best == j
        wrong = Interval.of_draws(drawn[:, mine, k] @ share[mine] / share[mine].sum(), level)
        taken, own = classes[j], classes[k]
        sentences.append(
            f"{own!s} is mistaken for {taken!s} most often: of documents whose likeliest class is"
            f" {taken!s}, {wrong:.1%} are {own!s}."
        )
    return tuple(sentences)
