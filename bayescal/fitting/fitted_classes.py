"""The fit of several exclusive classes, with its storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.fitting import class_scores
from bayescal.fitting.class_scores import ClassScores
from bayescal.fitting.engines.multiclass import density
from bayescal.fitting.engines.multiclass.density import Maps, read_hyperparameters
from bayescal.fitting.engines.multiclass.engine import (
    CHAINS,
    HAMILTONIAN,
    INFERENCES,
    MapDraws,
    fit_map,
)
from bayescal.fitting.engines.multiclass.features import FeatureDesign, Features, ScoredOptions
from bayescal.fitting.parts.part import CONSTANTS, POSTERIOR, Groups
from bayescal.fitting.posterior import DRAWS, unpack, variables_of
from bayescal.fitting.results import diagnostics
from bayescal.fitting.results.diagnostics import class_findings
from bayescal.fitting.results.tree import CLUSTERS, Fit
from bayescal.inference.design_effect import design_effect
from bayescal.support import validation, weighting
from bayescal.support.labels import as_column, as_labels, shares_in_order
from bayescal.support.numerics import one_blas_thread
from bayescal.support.validation import Floats, Integers

OBSERVED, SAMPLER = "observed_data", "sample_stats"
GLOBALS = ("log_gain", "warp", "asymmetry")
ROWS = ("bias", "slope", "certainty")
RHAT_LIMIT = 1.05
BLOCK_ELEMENTS = 1 << 18  # draws x classes x documents of a block
MOST_ELEMENTS = 10_000_000  # draws x classes x documents that sentences rest on
READ = ("scores_are", "floor", "factor")  # attributes of `ClassScores` that read new scores
LEAST_WEIGHT = 1e-12  # documents of smaller weight are dropped


@dataclass(eq=False, repr=False)
class ClassParameters:
    """The parameters of a `MulticlassCalibrator`; see its docstring."""

    scores_are: str = "auto"
    _: KW_ONLY
    exchangeable: bool = False
    position_bias: bool = False
    prior_knowledge: Mapping[str, Any] | None = None
    inference: str = CHAINS
    draws: int = 100
    chains: int = 4
    random_state: Any = None


@dataclass(frozen=True)
class ClassData:
    """Labelled documents of several classes."""

    scores: ClassScores
    label: Integers  # (n,): columns
    weight: Floats | None  # (n,)
    cluster: NDArray[np.str_] | None = None  # (n,): names of clusters

    @property
    def weights(self) -> Floats:
        """Return the weight of each document, 1 by default."""
        return np.ones(self.label.size) if self.weight is None else self.weight

    def used(self) -> ClassData:
        """Return the documents with a positive weight."""
        if self.weight is None or self.weight.all():
            return self
        kept = np.flatnonzero(self.weight)
        scores = replace(self.scores, log_p=self.scores.log_p[kept])
        cluster = None if self.cluster is None else self.cluster[kept]
        return ClassData(scores, self.label[kept], self.weight[kept], cluster)


class BlockedMap:
    """Posterior draws of a calibration map, evaluated in blocks of documents and draws."""

    def __init__(self, design: FeatureDesign, maps: Maps, bias_scale: Floats | None = None) -> None:
        self.design, self.maps = design, maps
        self.size = maps.lapse_logit.size
        self._bias_scale = bias_scale  # (draws,): of biases of positions; None without any
        # Maps with biases alone, or without coefficients, read any number of options.
        self._bare = not design.used[1:].any()
        self._raw = design.coefficients(maps.theta)[:, : 1 if self._bare else None]

    def _coefficients(self, options: int) -> Floats:
        """Return the draws' coefficients; positions that were not fitted draw their bias."""
        more = options - self._raw.shape[2]
        if not self._bare or more <= 0:
            return self._raw
        new = np.zeros((self.size, 1, more))
        if self._bias_scale is not None:
            # Positions first, so that a position's draws do not depend on their number.
            standard = np.random.default_rng(0).standard_normal((more, self.size))
            new[:, 0] = (self._bias_scale * standard).T
        return np.concatenate([self._raw, new], axis=2)

    def _features(self, scored: ScoredOptions) -> Features:
        """Return the features that coefficients multiply."""
        if self._bare:
            nothing = np.zeros((0, scored.options.size))
            return Features(scored, nothing, nothing, nothing)
        return self.design.features(scored)

    def blocks(
        self, log_p: Floats, tilt: Floats | None = None, draws: Integers | None = None
    ) -> Iterator[tuple[slice, Floats]]:
        """Yield slices of documents and their P_k(class | scores), (draws, classes, documents)."""
        n, classes = log_p.shape
        which = np.arange(self.size) if draws is None else draws
        raw = self._coefficients(classes)
        width = max(1, BLOCK_ELEMENTS // classes // min(which.size, 16))
        with one_blas_thread():
            for start in range(0, n, width):
                part = slice(start, min(start + width, n))
                features = self._features(ScoredOptions.of(log_p[part], self.design.unit))
                out = np.empty((which.size, classes, part.stop - part.start))
                for first in range(0, which.size, 16):
                    some = slice(first, first + 16)
                    own, maps = which[some], self.maps
                    few = Maps(maps.globals_[own], maps.lapse_logit[own], maps.theta[own])
                    out[some] = density.probabilities(features, few, raw[own])
                if tilt is not None:
                    out *= (tilt if tilt.ndim == 1 else tilt[which])[..., None]
                    total = out.sum(axis=1, keepdims=True)
                    if not total.all():
                        row = start + int((total == 0.0).any(axis=(0, 1)).argmax())
                        raise ValueError(
                            "prior must give a share above 0 to some option of each document, got"
                            f" 0 for all that the scores of row {row} allow."
                        )
                    out /= total
                yield part, out

    def mean(self, log_p: Floats, tilt: Floats | None = None) -> Floats:
        """Return posterior mean probabilities, (n, K)."""
        out = np.empty(log_p.shape)
        for part, p in self.blocks(log_p, tilt):
            out[part] = p.mean(axis=0).T
        return out


def read_maps(groups: Groups) -> tuple[FeatureDesign, Maps]:
    """Return features and maps of a fit; draws of all chains in one row."""
    constants, posterior = groups[CONSTANTS], groups[POSTERIOR].stack(sample=DRAWS)
    flat = {str(name): each.transpose("sample", ...).values for name, each in posterior.items()}
    shared = np.swapaxes(flat["confusion"], 1, 2)
    theta = np.concatenate([np.stack([flat[name] for name in ROWS], axis=1), shared], axis=1)
    maps = Maps(
        np.stack([flat[name] for name in GLOBALS], axis=1), special.logit(flat["lapse"]), theta
    )
    return unpack(FeatureDesign, constants), maps


def groups_of(drawn: MapDraws, data: ClassData, classes: NDArray[Any]) -> dict[str, xr.Dataset]:
    """Return the groups of a fit."""
    names = [str(each) for each in classes.tolist()]

    def by_chain(values: Floats) -> Floats:
        return values.reshape(drawn.chains, -1, *values.shape[1:])

    dims = (*DRAWS, "klass")
    theta = by_chain(drawn.maps.theta)
    shared = np.swapaxes(theta[:, :, 3:], 2, 3)
    components = drawn.design.components is not None
    posterior: dict[str, Any] = {
        name: (DRAWS, by_chain(drawn.maps.globals_[:, k])) for k, name in enumerate(GLOBALS)
    }
    posterior["lapse"] = DRAWS, special.expit(by_chain(drawn.maps.lapse_logit))
    posterior |= {name: (dims, theta[:, :, k]) for k, name in enumerate(ROWS)}
    posterior["confusion"] = (*dims, "component" if components else "klass_to"), shared
    if drawn.blocks:
        posterior["scale"] = (*DRAWS, "block"), by_chain(drawn.scale)
    coords: dict[str, Any] = {"klass": names, "block": list(drawn.blocks)}
    if not components:
        coords["klass_to"] = names
    constants: dict[str, Any] = {
        **dict(variables_of(drawn.design)),
        "weight": ("document", data.weights),
    }
    if data.cluster is not None:
        constants["cluster"] = "document", data.cluster
    return {
        POSTERIOR: xr.Dataset(posterior, coords),
        SAMPLER: xr.Dataset(
            {"rhat": drawn.rhat, "acceptance": drawn.accepted}, attrs={"method": drawn.method}
        ),
        OBSERVED: xr.Dataset(
            {
                "score": (("document", "klass"), data.scores.log_p),
                "label": ("document", data.label.astype(np.int64)),
            },
            {"klass": names},
        ),
        CONSTANTS: xr.Dataset(
            constants, {"klass": names}, attrs={name: getattr(data.scores, name) for name in READ}
        ),
    }


class FittedClasses(Fit[ClassParameters]):
    """The fit of several classes."""

    estimator = "MulticlassCalibrator"
    parameter_type = ClassParameters

    @cached_property
    def map(self) -> BlockedMap:
        """Return the draws as functions of scores."""
        posterior, scale = self.results.groups[POSTERIOR], None
        if self.parameters.exchangeable and self.parameters.position_bias:
            scale = posterior["scale"].sel(block="bias").values.ravel()
        return BlockedMap(*read_maps(self.results.groups), scale)

    @cached_property
    def share(self) -> Floats:
        """The posterior mean share of each class among the documents, (K,)."""
        data = self.documents()
        total = data.weights @ self.map.mean(data.scores.log_p)
        return np.asarray(total / total.sum())

    @property
    def scores_are(self) -> str:
        """Return the meaning of the scores, with "auto" resolved."""
        return str(self.results.groups[CONSTANTS].attrs["scores_are"])

    def labels(self, options: int) -> NDArray[Any]:
        """Return the classes of a number of columns; more than fitted are named by position."""
        if options == self.classes.size:
            return self.classes
        if self.classes.tolist() != list(range(self.classes.size)):
            raise ValueError(
                f"scores have {options} options and classes names {self.classes.size}: fit with"
                " classes= for as many options as any document has."
            )
        return np.arange(options)

    def read(self, scores: Any) -> Floats:
        """Return log-probabilities of new scores, (n, K)."""
        known = self.documents().scores
        return class_scores.read_class_scores(
            scores,
            known.scores_are,
            floor=known.floor,
            factor=known.factor,
            ragged=self.parameters.exchangeable,
            columns=self.classes.size,
            wider=self.parameters.exchangeable,
            classes=self.classes,
            guessed=self.parameters.scores_are == class_scores.AUTO,
        ).log_p

    def tilt(self, prior: Any) -> Floats | None:
        """Return new over old shares of the classes; None where they stay."""
        if prior is None:
            return None
        return np.asarray(_shares(prior, self.classes, self.map.size) / self.share)

    def documents(self) -> ClassData:
        """Return the labelled documents."""
        groups = self.results.groups
        observed, attrs = groups[OBSERVED], groups[CONSTANTS].attrs
        scores = ClassScores(observed["score"].values, names=None, **{k: attrs[k] for k in READ})
        weight, cluster = groups[CONSTANTS]["weight"].values, groups[CONSTANTS].get("cluster")
        return ClassData(
            scores,
            observed["label"].values,
            None if np.all(weight == 1) else weight,
            None if cluster is None else cluster.values.astype(np.str_),
        )

    @property
    def diagnostics_(self) -> diagnostics.Diagnostics:
        """Return diagnostics of the draws, with advice."""
        posterior = self.results.groups[POSTERIOR]
        bulk, tail = _effective_sizes(posterior)
        return diagnostics.Diagnostics(
            rhat=self._rhat,
            ess_bulk=bulk,
            ess_tail=tail,
            divergences=0,
            draws=int(posterior.sizes["chain"] * posterior.sizes["draw"]),
            efficiency=None,
            pareto_k=None,
            problems=self.problems,
        )

    @property
    def _rhat(self) -> float | None:
        """Return the largest R-hat of chains, None for independent draws."""
        sampler = self.results.groups[SAMPLER]
        return float(sampler["rhat"]) if sampler.attrs["method"] == HAMILTONIAN else None

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the draws, by their largest R-hat."""
        rhat = self._rhat
        if rhat is None or rhat <= RHAT_LIMIT:
            return ()
        return (
            f"R-hat is {rhat:.3f} (limit {RHAT_LIMIT}): the chains disagree; raise draws=, or check"
            " scores that are far larger than others",
        )

    def findings(self, level: float) -> tuple[str, ...]:
        """Return sentences on over-confidence, confusions and what bands and counts rest on."""
        data = self.documents()
        log_p = data.scores.log_p
        part = slice(None, None, 1 + log_p.size * self.map.size // MOST_ELEMENTS)
        log_p, given = log_p[part], np.exp(data.scores.given[part])
        weight = data.weights[part]
        drawn = [np.swapaxes(p, 1, 2) for _, p in self.map.blocks(log_p)]
        classes = None if self.parameters.exchangeable else self.classes
        found = class_findings(np.concatenate(drawn, axis=1), given, weight, classes, level)
        method = self.results.groups[SAMPLER].attrs["method"]
        if method != HAMILTONIAN:
            found += (f"Bands rest on a {method} of the posterior: too narrow if it is skewed.",)
        return found if self.design_effect is None else (*found, f"{self.design_effect}.")

    def updated(
        self,
        parameters: ClassParameters,
        scores: Any,
        labels: ArrayLike,
        sample_weight: ArrayLike | None,
        forgetting: float,
        clusters: ArrayLike | None = None,
    ) -> FittedClasses:
        """Return the fit to these documents and to further ones."""
        validation.check_share(forgetting=forgetting)
        old, effect = self.documents(), self.design_effect
        if (effect is None) != (clusters is None) or (effect and old.cluster is None):
            raise ValueError(
                "clusters must be given in update if they were in fit, and only then, and inclusion"
                " in neither: fit all documents together."
            )
        log_p = self.read(scores)
        label = class_scores.positions(
            _labels(labels, len(log_p), "labels"), self.classes, "labels"
        )
        class_scores.check_possible(log_p, label)
        weight = weighting.as_weights(sample_weight, len(log_p))
        kept = old.weights * forgetting * (effect.factor if effect else 1.0)
        new = np.ones(len(log_p)) if weight is None else weight
        both = weighting.bounded_weights(np.concatenate([kept, new]))
        both = np.where(both < LEAST_WEIGHT * min(both.max(), 1.0), 0.0, both)
        data = ClassData(
            replace(old.scores, log_p=np.concatenate([old.scores.log_p, log_p])),
            np.concatenate([old.label, label]),
            None if np.all(both == 1.0) else both,
        )
        names = weighting.cluster_names(clusters, len(log_p), "scores")
        if names is not None and old.cluster is not None:
            data = replace(data, cluster=np.concatenate([old.cluster, names]))
        unit = float(self.results.groups[CONSTANTS]["unit"])
        return fit_counted(parameters, data.used(), self.classes, unit)


def _shares(prior: Any, classes: NDArray[Any], draws: int) -> Floats:
    """Return the shares of the classes, (K,) or (draws, K)."""
    if isinstance(prior, Mapping):
        prior = shares_in_order(prior, classes.tolist())
    shares = validation.as_reals(prior, "prior")
    if shares.shape not in ((classes.size,), (draws, classes.size)):
        raise ValueError(
            f"prior must have shape ({classes.size},) or ({draws}, {classes.size}), a share for"
            f" each class, got {shares.shape}."
        )
    off = np.abs(shares.sum(axis=-1) - 1.0).max()
    if not (np.isfinite(shares).all() and shares.min() >= 0.0 and off <= 1e-6):
        raise ValueError(
            "prior must hold shares of the classes that sum to 1, got"
            f" {validation.first_of(shares.ravel().tolist())}."
        )
    return shares


def _effective_sizes(posterior: xr.Dataset) -> tuple[float, float]:
    import arviz_stats

    kept = posterior[[name for name in (*GLOBALS, "lapse", "scale") if name in posterior]]
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = [arviz_stats.ess(kept, method=method) for method in ("bulk", "tail")]
    bulk, tail = (float(each.to_array().min()) for each in sizes)
    return bulk, tail


def _labels(y: Any, n: int, name: str = "y") -> NDArray[Any]:
    if y is None:
        raise ValueError(f"{name} must hold the label of every document, got None.")
    labels = as_column(y, name)
    validation.check_same_length("scores", n, name, labels.size)
    return labels


def fit_multiclass(
    parameters: ClassParameters,
    scores: Any,
    y: ArrayLike | None,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> FittedClasses:
    """Fit scores and labels of several classes; see `MulticlassCalibrator.fit`."""
    _check(parameters)
    scores = validation.as_documents(scores, "scores")
    weight = weighting.effective_weights(sample_weight, inclusion, len(scores))
    given = None if classes is None else as_labels(classes, "classes")
    read = class_scores.read_class_scores(
        scores, parameters.scores_are, weight=weight, ragged=parameters.exchangeable, classes=given
    )
    n, columns = read.log_p.shape
    labels = _labels(y, n)
    named = class_scores.read_classes(given, read.names, labels, columns)
    label = class_scores.positions(labels, named)
    class_scores.check_possible(read.log_p, label)
    data = ClassData(read, label, weight, weighting.cluster_names(clusters, n, "scores"))
    fitted = fit_counted(parameters, data.used(), named, sampled=inclusion is not None)
    diagnostics.warn_of_problems(fitted.problems)
    return fitted


def _check(parameters: ClassParameters) -> None:
    validation.check_choice("scores_are", parameters.scores_are, class_scores.SCORES_ARE)
    validation.check_choice("inference", parameters.inference, INFERENCES)
    read_hyperparameters(parameters.prior_knowledge)
    validation.check_flag(
        exchangeable=parameters.exchangeable, position_bias=parameters.position_bias
    )
    if parameters.position_bias and not parameters.exchangeable:
        raise ValueError(
            "position_bias must be False unless exchangeable=True: classes have biases anyway."
        )
    for name in ("draws", "chains"):
        validation.check_count(name, getattr(parameters, name))
    if parameters.chains < 2:
        raise ValueError("chains must be at least 2, so that they can be compared, got 1.")
    if parameters.draws < 4:
        raise ValueError(f"draws must be at least 4 a chain, got {parameters.draws}.")


def fit_counted(
    parameters: ClassParameters,
    data: ClassData,
    classes: NDArray[Any],
    unit: float | None = None,
    *,
    sampled: bool = False,
) -> FittedClasses:
    """Return the fit to documents that count by the design effect of their clusters, if any."""
    # Names serve updates, which samples with inclusion probabilities do not have.
    kept = replace(data, cluster=None) if sampled else data
    fitted = fit_documents(parameters, kept, classes, unit)
    if data.cluster is None:
        return fitted
    _, code = np.unique(data.cluster, return_inverse=True)
    # Fitted as if documents were independent: dependence does not bias P(class | scores).
    p = fitted.map.mean(data.scores.log_p)
    own = data.label[:, None] == np.arange(p.shape[1])
    effect = design_effect(own, p, code, data.weight, sampled=sampled)
    if effect.factor > 1.0:
        kept = replace(kept, weight=data.weights / effect.factor)
        fitted = fit_documents(parameters, kept, classes, unit)
    groups = {**fitted.groups, CLUSTERS: xr.Dataset(asdict(effect))}
    return FittedClasses.of_groups(parameters, groups, classes)


def fit_documents(
    parameters: ClassParameters, data: ClassData, classes: NDArray[Any], unit: float | None = None
) -> FittedClasses:
    """Return the fit to checked documents, with priors in an earlier fit's unit, if any."""
    with one_blas_thread():
        drawn = fit_map(
            data.scores.log_p,
            data.label,
            data.weight,
            chains=parameters.chains,
            draws=parameters.draws,
            rng=validation.generator(parameters.random_state),
            inference=parameters.inference,
            exchangeable=parameters.exchangeable,
            position_bias=parameters.position_bias,
            prior=read_hyperparameters(parameters.prior_knowledge),
            unit=unit,
        )
    return FittedClasses.of_groups(parameters, groups_of(drawn, data, classes), classes)
