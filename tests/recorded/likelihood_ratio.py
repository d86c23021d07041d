"""Likelihood ratios, their bounds, and their validation by sources."""

import numpy as np

from bayescal import ScoreCalibrator
from bayescal import likelihood_ratio as lr
from tests.recorded.metrics import CLUSTERS, P


def ratios():
    first, second = np.arange(60) * 7 % 12, np.arange(60) * 7 % 12 // (2 - np.arange(60) % 2)
    same, new, own = first == second, [-6.0, -1.5, 0.1, 0.4, 0.9, 9.0], {"sources": (first, second)}
    stated, found = np.round(2.0 * P - 1.2 + 0.9 * same, 1), {}
    certain = np.where(abs(stated) > 1.3, np.inf * (stated + 0.01), 2.0 * np.round(stated - 0.1))
    for each in (lr.min_cllr, lr.devpav, lr.elub, lr.invariance_bounds, lr.empirical_cross_entropy):
        found[each.__name__] = [each(same, x) for x in (stated, certain, -stated, 3.0 * stated)]
    for k, options in enumerate(({"level": 0.8}, own, {"clusters": CLUSTERS}, {})):
        one = lr.validate(same, stated if options else certain, **options)
        found[f"{k}"] = [one, one.table, one.text]
    one, two = (ScoreCalibrator(name, draws=60, random_state=0) for name in ("auto", "gaussian"))
    test = lr.diagnostic_ratios(one.fit(stated, same), 0.6, level=0.8)
    for k, each in enumerate((lr.cross_validated(one, stated, same, folds=2, rng=0),
        lr.likelihood_ratios(one, new, 0.8, bounds="invariance", support={1: "a", 30: "b"}),
        lr.likelihood_ratios(two.fit(stated, same), new, bounds="sources", force=True),
        lr.likelihood_ratios(one, new, bounds=(-0.5, 0.9), support=None))):  # fmt: skip
        found[f"{k} ratios"] = [each, each.sentences, each.posterior_odds(0.2)]
    found["test"] = [test, test.text, test.post_test(0.15), lr.source_weights(same, first, second)]
    return found
