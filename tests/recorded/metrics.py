"""Metrics of probabilities, of two classes and of several."""

import numpy as np

from bayescal import metrics

RNG = np.random.default_rng(1)
P = np.round(RNG.uniform(0.02, 0.98, 60), 2)
Y = (RNG.random(60) < P**1.5).astype(int)
DRAWS = np.clip(P + 0.02 * RNG.normal(size=(40, 60)), 0.001, 0.999)
CLASSES = np.round(RNG.dirichlet([2.0, 1.0, 0.5], 60), 2)
CLASSES[:, 2] = 1.0 - CLASSES[:, :2].sum(axis=1)
LABELS = np.array([RNG.choice(3, p=each**0.5 / np.sum(each**0.5)) for each in CLASSES])
WEIGHT, INCLUSION = RNG.integers(1, 4, 60), RNG.choice([0.2, 0.5, 1.0], 60)
CLUSTERS = np.arange(60) // 3
SAMPLES = {"": {}, "weights": {"sample_weight": WEIGHT}, "inclusion": {"inclusion": INCLUSION}}


def _of_samples(metric, *given, **options):
    return {name: metric(*given, **options, **sample) for name, sample in SAMPLES.items()}


def losses():
    of_two = {
        f"{each.__name__} {name}": result
        for each in (metrics.log_loss, metrics.brier_score, metrics.smooth_calibration_error)
        for name, result in _of_samples(each, Y, P).items()
    }
    of_classes = {
        f"{each.__name__} of classes": _of_samples(each, LABELS, CLASSES)
        for each in (metrics.log_loss, metrics.brier_score, metrics.ranked_probability_score)
    }
    return of_two | of_classes | {
        "bits": metrics.log_loss(Y, P, base=2),
        "losses": metrics.losses(np.log(P / (1.0 - P)), Y == 1, WEIGHT),
        "pointwise": [metrics.pointwise_losses(Y, P, loss) for loss in ("log", "brier")],
        "pointwise of classes": metrics.pointwise_losses(LABELS, CLASSES),
        "top label": metrics.top_label(LABELS, CLASSES),
    }  # fmt: skip


def calibration():
    error = metrics.calibration_error
    return {
        "default": _of_samples(error, Y, P),
        "uniform": error(Y, P, strategy="uniform", n_bins=7),
        "l2": _of_samples(error, Y, P, norm="l2", n_bins=5),
        "debiased": error(Y, P, norm="l2", debias=True, n_bins=5),
        "spiegelhalter": _of_samples(metrics.spiegelhalter_test, Y, P),
    }


def reliability():
    curve, decompose = metrics.reliability_curve, metrics.score_decomposition
    kinds = [("corp", "consistency"), ("corp", "confidence"), ("quantile", "consistency")]
    return {
        f"{method}, {band}": curve(Y, P, method=method, band=band, resamples=60, rng=0, level=0.8)
        for method, band in kinds
    } | {
        "weights": curve(Y, P, resamples=60, rng=0, **SAMPLES["weights"]),
        "inclusion": curve(Y, P, resamples=60, rng=0, **SAMPLES["inclusion"]),
        "clusters": curve(Y, P, resamples=60, rng=0, clusters=CLUSTERS, band="confidence"),
        "no band": curve(Y, P, band=None, n_bins=4),
        "decomposition": _of_samples(decompose, Y, P),
        "decomposition of log loss": decompose(Y, P, score=metrics.log_loss),
    }


def intervals():
    bootstrap, posterior = metrics.bootstrap_interval, metrics.posterior_interval
    given = metrics.brier_score, Y, P
    return {
        "percentile": _of_samples(bootstrap, *given, resamples=80, rng=0, level=0.8),
        "basic": bootstrap(*given, resamples=80, rng=0, kind="basic"),
        "clusters": bootstrap(*given, resamples=80, rng=0, clusters=CLUSTERS),
        "posterior": _of_samples(posterior, metrics.log_loss, Y, DRAWS),
        "resampled": posterior(metrics.log_loss, Y, DRAWS, resample=True, rng=0),
    }


def verdicts():
    verdict = metrics.calibration_verdict
    return {
        name: [result, result.text, str(result)]
        for name, result in {
            "all": verdict(Y, P),
            "weights": verdict(Y, P, sample_weight=WEIGHT),
            "draws": verdict(Y, P, draws=DRAWS, level=0.9),
            "clusters": verdict(Y, P, clusters=CLUSTERS),
            "few": verdict(Y[:9], P[:9]),
        }.items()
    }


def class_verdicts():
    verdict, names = metrics.class_verdict, np.array(["ant", "bee", "wasp"])
    drawn = np.stack([CLASSES**power for power in np.linspace(0.8, 1.2, 12)])
    drawn /= drawn.sum(axis=2, keepdims=True)
    return {
        name: [result, str(result)]
        for name, result in {
            **_of_samples(verdict, names[LABELS], CLASSES, names),
            "draws": verdict(LABELS, CLASSES, draws=drawn),
            "clusters": verdict(LABELS, CLASSES, clusters=CLUSTERS),
        }.items()
    }
