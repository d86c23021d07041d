"""Large data: many pieces where importance sampling serves them, fewer where it does not."""

from dataclasses import replace

import numpy as np
import pytest

from bayescal.fitting.engines.monotone import engine
from bayescal.fitting.engines.monotone.engine import LaplaceFits
from bayescal.fitting.scores import BinaryScores


def test_pieces_are_given_up_before_trust_is(monkeypatch):
    rng = np.random.default_rng(0)
    positive = np.arange(600) < 300
    data = BinaryScores(rng.normal(2.0 * positive), positive)
    tried = []
    draw = engine.draw_within

    def distrusted(laplace_fit, *arguments):
        tried.append(laplace_fit.density.pieces.segments)
        found = draw(laplace_fit, *arguments)
        return replace(found, problem="uneven") if tried[-1] > 9 else found

    monkeypatch.setattr(engine, "draw_within", distrusted)
    found = engine.fit_monotone(LaplaceFits(data), rng, draws=50, asinh_scales=(np.inf,))
    assert tried == [13, 9]
    assert found.posterior.pieces.segments == 9


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_positives_leave_nothing_to_warn_of(seed):
    rng = np.random.default_rng(seed)
    positive = np.arange(6000) < 1000
    data = BinaryScores(rng.standard_t(2, 6000) + 3.0 * positive, positive)
    found = engine.fit_monotone(LaplaceFits(data), rng, draws=1000, asinh_scales=(np.inf, 1.0))
    assert found.source.problem == ""
