"""The fit of recalibrated probabilities, shrunk towards no change."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.fitting.curves.curves import READ_ONCE
from bayescal.fitting.curves.part_draws import ChangedDraws, combine
from bayescal.fitting.engines.point_estimates import without_densities
from bayescal.fitting.engines.sites import draw_sites
from bayescal.fitting.fitted_scores import FittedScores, fit_scores
from bayescal.fitting.parts.part import POPULATION, POSTERIOR, Block, cluster_blocks
from bayescal.fitting.posterior import DRAWS, Posterior
from bayescal.fitting.problems.problem import FittedProblem, Problems
from bayescal.fitting.results import tree
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.fitting.scores import NOTHING, BinaryScores
from bayescal.fitting.settings import VAGUE, ScoreParameters
from bayescal.metrics import changes
from bayescal.metrics.changes import LogOddsCells, LogOddsFrame, fit_changes
from bayescal.metrics.evidence import effect_of
from bayescal.metrics.inputs import Forecasts, as_probabilities
from bayescal.support import validation, weighting
from bayescal.support.intervals import Interval
from bayescal.support.labels import as_labels, encode_labels, read_groups
from bayescal.support.score_checks import warn_if_reversed, without_scores_warnings
from bayescal.support.validation import Floats, Integers, check_choice, check_count, generator
from bayescal.support.weighting import read_clusters

if TYPE_CHECKING:
    import pandas as pd

COMPLETE, PARTIAL = POOLINGS = ("complete", "partial")
AUTO, ALWAYS, NEVER = REFITS = ("auto", "always", "never")
# "Fit again" is compared with at least FEWEST documents of the rarer class, and these prior odds.
FEWEST, PRIOR_ODDS, FOLDS = 20, 1.0 / 9.0, 5
CROSS_DRAWS, CHAINS = 250, 4  # draws a chain in cross-validation; chains
REFIT = "refit"  # the group that holds the fit of "fit again"
WEIGHTS = "refit_weight"  # the group of the weights of the average and of "fit again"
KEPT_PART, REFIT_PART = "change", "fit again"
NEGLIGIBLE = 1e-3  # weight of "fit again" below which it is left out


@dataclass(eq=False, repr=False)
class RecalibrationParameters:
    """The parameters of a `Recalibrator`; see its docstring."""

    pooling: str = COMPLETE
    _: KW_ONLY
    refit: str = AUTO
    positive: Any = None
    draws: int = 4000
    random_state: Any = None

    def check(self) -> None:
        """Raise ValueError if a parameter is not as described."""
        check_choice("pooling", self.pooling, POOLINGS)
        check_choice("refit", self.refit, REFITS)
        check_count("draws", self.draws)
        if self.pooling == PARTIAL and self.refit == ALWAYS:
            raise ValueError(
                "refit must be 'auto' or 'never' with pooling='partial', got 'always': sites share"
                " a population of shifts and slopes."
            )


def read_labels(y: ArrayLike, positive: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the negative and the positive class, and the mask of positives; one may be absent."""
    values = as_labels(y, "y")
    if positive is None and values.ndim == 1 and values.size and values.dtype.kind in "biuf":
        known = np.array([0, 1]).astype(values.dtype)
        if np.isin(values, known).all():
            return known, values == known[1]
    return encode_labels(y, name="y", positive=positive)


def read_sites(sites: ArrayLike, documents: int) -> tuple[NDArray[Any], Integers]:
    """Return the names of the sites, in order, and the position of each document's site."""
    return read_groups(sites, "sites", "site", documents, "p")


def _cells(data: BinaryScores) -> LogOddsCells:
    """Return documents counted by their log-odds."""
    return LogOddsCells.of(data.score, data.positive, data.weight)


def fit_recalibration(
    parameters: RecalibrationParameters,
    p: ArrayLike,
    y: ArrayLike,
    sites: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> FittedRecalibration:
    """Fit probabilities and labels; see `Recalibrator.fit`."""
    parameters.check()
    values = as_probabilities(p, "p")
    classes, positive = read_labels(y, parameters.positive)
    validation.check_same_length("p", values.size, "y", positive.size)
    weight = weighting.effective_weights(sample_weight, inclusion, values.size)
    weight = np.ones(values.size) if weight is None else weight
    partial = parameters.pooling == PARTIAL
    if partial != (sites is not None):
        raise ValueError(
            "sites must be given with pooling='partial' and only with it, got"
            f" pooling={parameters.pooling!r} {'and' if sites is not None else 'without'} sites."
        )
    groups, code = {}, np.arange(values.size)
    if clusters is not None:
        outcomes = Forecasts(positive, values, weight, sampled=inclusion is not None)
        code = read_clusters(clusters, values.size, "p")[1]
        effect = effect_of(outcomes, code)
        groups[tree.CLUSTERS], weight = xr.Dataset(asdict(effect)), weight / effect.factor
    kept = weight > 0.0
    log_odds = changes.clipped_log_odds(values)[kept]
    data = BinaryScores(log_odds, positive[kept], weight[kept], "probabilities")
    warn_if_reversed(data.score, data.positive, data.weight, classes.tolist())
    rng = generator(parameters.random_state)
    if sites is None:
        groups |= _documents(data) | _average_groups(data, parameters.draws, rng)
        groups |= _compare_refit(parameters, data, code[kept], rng)
    else:
        names, site = read_sites(sites, values.size)
        groups |= _documents(data, site[kept])
        groups |= _pooled_groups(data, names, site[kept], parameters.draws, rng)
    return FittedRecalibration.of_groups(parameters, groups, classes)


def _documents(data: BinaryScores, code: Integers | None = None) -> dict[str, xr.Dataset]:
    frame, cells = _cells(data).frame, {"weight": ("document", data.weights)}
    observed: dict[str, Any] = {
        "score": ("document", data.score, {"long_name": "log-odds of the given probability"}),
        "label": ("document", data.positive.astype(np.int64)),
    }
    if code is not None:
        observed["site"] = ("document", code.astype(np.int64))
    return {"observed_data": xr.Dataset(observed), "constant_data": xr.Dataset(cells | vars(frame))}


def _drawn(coefficient: Floats, prior: Floats, names: NDArray[Any] | None = None) -> xr.Dataset:
    """Return draws of shift, slope, bend and P(+), (chain, draw) or (site, chain, draw)."""
    dims = DRAWS if names is None else ("site", *DRAWS)
    linear = np.expand_dims(coefficient[..., : changes.LINEAR], -3)
    variables: dict[str, Any] = {
        "shift": (dims, linear[..., 0]),
        "slope": (dims, 1.0 + linear[..., 1]),
        "prior": (dims, np.expand_dims(prior, -2)),
    }
    if coefficient.shape[-1] > changes.LINEAR:
        bend = np.expand_dims(coefficient[..., changes.LINEAR :], -3)
        variables["bend"] = ((*dims, "feature"), bend)
    coords = {} if names is None else {"site": names}
    return xr.Dataset(variables, {"chain": [0], "draw": np.arange(prior.shape[-1]), **coords})


def _base_rate(data: BinaryScores, draws: int, rng: np.random.Generator) -> Floats:
    plus = data.total(True)
    return np.asarray(rng.beta(1.0 + plus, 1.0 + data.total() - plus, draws))


def _average_groups(
    data: BinaryScores, draws: int, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    posterior = fit_changes(_cells(data))
    coefficient = posterior.draw(draws, rng)
    fits = posterior.fits
    models = xr.Dataset(
        {
            "log_evidence": ("regression", [fit.log_evidence for _, fit in fits]),
            "prior": ("regression", [each.prior for each, _ in fits]),
            "weight": ("regression", posterior.weight),
            "probability": ("kind", list(posterior.probability.values())),
        },
        {"regression": [each.kind for each, _ in fits], "kind": list(changes.KINDS)},
    )
    return {POSTERIOR: _drawn(coefficient, _base_rate(data, draws, rng)), "models": models}


def _pooled_groups(
    data: BinaryScores, sites: NDArray[Any], code: Integers, draws: int, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    own = [data.take(np.flatnonzero(code == j)) for j in range(sites.size)]
    drawn = draw_sites([_cells(each) for each in own], _cells(data).frame, draws, rng)
    prior = np.stack([_base_rate(each, draws, rng) for each in own])
    population = _drawn(drawn.new, _base_rate(data, draws, rng))
    hyper = {
        "mean_shift": drawn.mean[:, 0],
        "mean_slope": 1.0 + drawn.mean[:, 1],
        "between_shift": drawn.between[:, 0],
        "between_slope": drawn.between[:, 1],
    }
    population = population.assign({name: (DRAWS, each[None]) for name, each in hyper.items()})
    return {POSTERIOR: _drawn(drawn.own, prior, sites), f"{POPULATION}/{POSTERIOR}": population}


# A fifth model: calibrate the log-odds from scratch, as scores of unknown meaning.


def _compare_refit(
    parameters: RecalibrationParameters,
    data: BinaryScores,
    cluster: Integers,
    rng: np.random.Generator,
) -> dict[str, xr.Dataset]:
    """Return the groups of weights and of a fit from scratch; none without a comparison."""
    rarer = min(data.total(True), data.total() - data.total(True))
    constant = np.ptp(data.score) == 0.0
    rare = data.total(True) <= data.total(False)
    spread = np.unique(cluster[data.positive == rare]).size >= FOLDS
    enough = rarer >= FEWEST and spread and not constant
    if parameters.refit == NEVER or (parameters.refit == AUTO and not enough):
        return {}
    if rarer < FOLDS or not spread or constant:
        raise ValueError(
            f"refit='always' needs at least {FOLDS} documents of each class, in as many clusters,"
            f" and probabilities that differ, got {rarer:g} of the rarer class: use refit='auto'."
        )
    gain = _cross_validated_gain(data, cluster, rng)
    weight = float(special.expit(math.log(PRIOR_ODDS) + gain))
    if parameters.refit == AUTO and weight < NEGLIGIBLE:
        refit, weight = None, 0.0
    else:
        refit = _fit_again(data, -(-parameters.draws // CHAINS), rng)
    group = xr.Dataset(
        {"weight": ("part", [1.0 - weight, weight]), "log_score_gain": gain},
        {"part": [KEPT_PART, REFIT_PART]},
    )
    if refit is None:
        return {WEIGHTS: group}
    return {WEIGHTS: group, **tree.kept_below(REFIT, refit.results)}


def _cross_validated_gain(data: BinaryScores, cluster: Integers, rng: np.random.Generator) -> float:
    """Return the cross-validated log score of "fit again" minus the average's, in nats."""
    order = np.lexsort((data.positive, data.score))  # of whatever order the documents have
    data, cluster = data.take(order), cluster[order]
    # Clusters in order of appearance: those of one document get the folds of documents.
    code = weighting.by_appearance(cluster)
    rare = data.total(True) <= data.total(False)
    with_rare = np.bincount(code, data.positive == rare) > 0.0
    fold = np.empty(with_rare.size, dtype=np.intp)
    for klass in (False, True):
        mine = np.flatnonzero(with_rare == (klass == rare))
        fold[rng.permutation(mine)] = np.arange(mine.size) % FOLDS
    fold = fold[code]
    gain = 0.0
    for k in range(FOLDS):
        rest, out = (data.take(np.flatnonzero(mine)) for mine in (fold != k, fold == k))
        kept = special.logit(fit_changes(_cells(rest)).predict(out.score))
        calibration = _fit_again(rest, CROSS_DRAWS, rng).calibration
        again = calibration.log_odds(out.score, "predictive", READ_ONCE)
        sign = np.where(out.positive, 1.0, -1.0)
        scores = special.log_expit(sign * again) - special.log_expit(sign * kept)
        gain += float(out.weights @ scores)
    return gain


def _fit_again(data: BinaryScores, draws: int, rng: np.random.Generator) -> FittedScores:
    seed = int(rng.integers(1 << 31))
    parameters = ScoreParameters(
        scores_are="scores", prior_knowledge=VAGUE, draws=draws, chains=CHAINS, random_state=seed
    )
    weight = None if np.all(data.weights == 1.0) else data.weight
    # The recalibration reports problems of this fit itself, if its weight matters.
    with without_scores_warnings(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return fit_scores(parameters, data.score, data.positive.astype(int), weight)


class FittedRecalibration(tree.Fit[RecalibrationParameters]):
    """The fit of given probabilities."""

    estimator = "Recalibrator"
    parameter_type = RecalibrationParameters

    def _prepare(self) -> None:
        self._kept: dict[int | None, Calibration] = {}

    @cached_property
    def refit(self) -> FittedScores | None:
        """The calibration from scratch, where it has a weight."""
        own = tree.read_below(REFIT, self.groups)
        return None if own is None else FittedScores.from_results(own)

    @property
    def frame(self) -> LogOddsFrame:
        """Return the pivot, mean and standard deviation of the log-odds fitted."""
        constants = self.groups["constant_data"]
        return LogOddsFrame(*(float(constants[name]) for name in ("pivot", "mean", "sd")))

    @property
    def sites(self) -> list[Any] | None:
        """Return the names of the sites; None without pooling."""
        posterior = self.groups[POSTERIOR]
        return posterior["site"].values.tolist() if "site" in posterior.dims else None

    @property
    def refit_weight(self) -> float:
        """Return the weight of "fit again"."""
        return 0.0 if self.refit is None else float(self.groups[WEIGHTS]["weight"][1])

    @property
    def problems(self) -> tuple[str, ...]:
        """Return problems of the draws, with advice."""
        return () if self.refit is None else self.refit.problems

    def data(self, site: int | None = None) -> BinaryScores:
        """Return the fitted documents, of all sites or of one."""
        observed = self.groups["observed_data"]
        rows: Any = slice(None) if site is None else observed["site"].values == site
        return BinaryScores(
            observed["score"].values[rows],
            observed["label"].values[rows] == 1,
            self.groups["constant_data"]["weight"].values[rows],
            "probabilities",
        )

    def drawn(self, site: int | None) -> xr.Dataset:
        """Return the draws of the only problem, or of a site; None of pooled fits is a new one."""
        if self.sites is None:
            return self.groups[POSTERIOR]
        if site is None:
            return self.groups[f"{POPULATION}/{POSTERIOR}"]
        return self.groups[POSTERIOR].isel(site=site, drop=True)

    def calibration(self, site: int | None = None) -> Calibration:
        """Return the calibration of the only problem, of a site, or for None of a new site."""
        if site not in self._kept:
            data = self.data()
            centre, spread = data.centre_and_spread
            self._kept[site] = Calibration(
                fits=without_densities(data if site is None else self.data(site)),
                draws=self._curves(self.drawn(site)),
                centre=centre,
                spread=spread,
                score_range=data.score_range,
                scores_are="probabilities",
            )
        return self._kept[site]

    def _curves(self, drawn: xr.Dataset) -> Posterior:
        columns = [drawn["shift"].values.ravel(), drawn["slope"].values.ravel() - 1.0]
        if "bend" in drawn:
            columns += list(drawn["bend"].values.reshape(len(columns[0]), -1).T)
        prior = drawn["prior"].values.ravel()
        kept = ChangedDraws(self.frame, np.stack(columns, axis=1), prior, np.zeros_like(prior))
        if self.refit is None:
            return kept
        again = self.refit.calibration.draws
        assert again is not None  # noqa: S101
        index = np.arange(kept.size) % again.size
        weight = self.groups[WEIGHTS]["weight"].values
        return combine((kept, again.take(index)), weight)

    def fitted_problems(self) -> Problems:
        """Return the problem under the empty name, or one for each site."""
        if self.sites is None:
            return Problems([""], lambda _: self.problem(None), by_topic=False)
        return Problems(
            self.sites, self.problem, by_topic=True, read_new=lambda: self.problem(None)
        )

    def problem(self, site: int | None) -> RecalibrationProblem:
        """Return the only problem, a site, or for None a new site."""
        sites = self.sites
        documents = NOTHING if sites is not None and site is None else self.data(site)
        return RecalibrationProblem(
            name="" if sites is None or site is None else str(sites[site]),
            labels=self.classes,
            calibration=replace(self.calibration(site), scores_are="scores"),
            point="predictive",
            documents=documents,
            counts=(documents.total(False), documents.total(True)),
            score_name="given probability",
            scores_are="probabilities",
            inference="exact",
            fitted=self,
            site=site,
        )


@dataclass(frozen=True)
class RecalibrationProblem(FittedProblem):
    """The fitted problem of a recalibration, or a site of one."""

    fitted: FittedRecalibration
    site: int | None

    @property
    def model(self) -> str:
        """Return a short name of the model."""
        return "recalibration"

    @property
    def problems(self) -> tuple[str, ...]:
        """Return problems of the draws, with advice."""
        return self.fitted.problems

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the number of draws, which are independent."""
        return {"independent_draws": self.fitted.parameters.draws}

    @property
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of the change and of "fit again"; None without a comparison."""
        group = self.fitted.groups.get(WEIGHTS)
        return None if group is None else group[["weight"]].to_dataframe()

    def parameters(self, level: float) -> pd.DataFrame:
        """Return the posterior of shift and slope; rows (class, parameter)."""
        import pandas as pd

        drawn, rows = self.fitted.drawn(self.site), {}
        for name in ("shift", "slope"):
            found = Interval.of_draws(drawn[name].values.ravel(), level)
            numbers = {"mean": found.value, "lower": found.lower, "upper": found.upper}
            rows[str(self.labels[1]), name] = numbers
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(list(rows), names=["class", "parameter"])
        return table

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words."""
        values = {"sites": self.fitted.sites is not None, "refit": bool(self.fitted.refit)}
        blocks = [Block("inference", {"method": "laplace"}), *cluster_blocks(self.design_effect)]
        return [*blocks, Block("recalibration", values)]
