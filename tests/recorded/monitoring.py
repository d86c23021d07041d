"""Audits, evidence of drift, and shares of classes among new documents."""

from types import SimpleNamespace

import numpy as np
from scipy import special

from bayescal import ScoreCalibrator, monitoring
from tests.recorded.metrics import CLASSES, CLUSTERS, INCLUSION, WEIGHT, P, Y

SCORES, UNIFORM = np.round(special.logit(P), 1), np.random.default_rng(5).random(60)


def audits():
    found, sites = {}, np.array(["ann", "bob", "cy"])[np.arange(60) % 3]
    for k, (log_odds, own) in enumerate(((SCORES, {"sites": sites, "sample_weight": WEIGHT}),
        (SCORES - 1.5, {"threshold": 0.3, "level": 0.8, "inclusion": INCLUSION}),
        (SCORES + 1.5, {"costs": [[0, 4], [1, 0.5]]}), (3.0 * SCORES, {"noun": "patient"}),
        (3.0 * np.abs(SCORES) - 2.5, {}), (SCORES + 4.0 * (sites == "bob"), {"sites": sites}),
        (SCORES, {"clusters": CLUSTERS}), (SCORES - 9.0, {}))):  # fmt: skip
        one = monitoring.audit(special.expit(log_odds) > UNIFORM, P, random_state=0, **own)
        found[f"{k}"] = [one, one.text, len(one.text), one.more_labels]
    return found


def in_use():
    one = ScoreCalibrator("gaussian", draws=60, random_state=0).fit(SCORES, Y)
    own = {"clusters": CLUSTERS, "level": 0.8, "random_state": 0}
    several = SimpleNamespace(share_=CLASSES.mean(axis=0), classes_=np.arange(3))
    several.sample_proba = lambda rows: rows ** np.linspace(0.8, 1.5, 20)[:, None, None]
    found = {"needed": [
        monitoring.labels_needed(P, slope_width=1, ratio_width=1, auc_width=0.1, prevalence=0.2),
        monitoring.estimate_prior(one, SCORES, draws=20, a=2.0, b=5.0, **own),
        monitoring.labels_needed(P, saving_width=1, error_width=0.1, threshold=0.5, random_state=0),
        monitoring.estimate_shares(several, CLASSES + 0.02, random_state=0)]}  # fmt: skip
    own = {"reference": (SCORES, Y), "random_state": 0}
    for k, (source, both) in enumerate(((P, (CLUSTERS, CLUSTERS)), (one, None), (one, None))):
        watch = monitoring.DriftMonitor(one, draws=20 + k, alpha=0.2)
        watch.update(SCORES, (special.expit(SCORES - 2.0 * k) > UNIFORM).astype(int))
        seen = monitoring.foresee(source, SCORES - 2.0 * k, clusters=both, **own)
        found[f"{k}"] = [seen, seen.to_frame(), seen.text, watch.alarm_, watch.log_bayes_factors_]
    return found | {"alarm": [watch.alarm_.text, watch.bayes_factors_]}
