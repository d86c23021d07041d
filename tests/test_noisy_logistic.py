"""The program of logistic regression with mislabelled documents, against scipy and counting."""

import numpy as np
import pytest
import scipy.stats as st
from scipy import special

from bayescal.distributions import programs
from tests.uncompiled import UNCOMPILED

RNG = np.random.default_rng(12)
SCORE = np.concatenate([RNG.normal(-1, 1, 9), RNG.normal(1, 1, 5)])
LABEL = np.repeat([0, 1], [9, 5])
PROGRAM = programs.load("noisy_logistic")


def log_density(model, **point):
    return float(model.compile_logp(mode=UNCOMPILED)(point))


@pytest.mark.parametrize(("centre", "spread"), [(0.0, 1.0), (3.0, 0.5)])
@pytest.mark.parametrize("noise", [{}, {"missed": 0.2, "false": 0.01}])
def test_a_name_is_bound_to_its_log_density(centre, spread, noise):
    model = PROGRAM.model(
        SCORE, LABEL, centre=centre, spread=spread, slope_location=0.5, slope_scale=2.0, **noise
    )
    missed, false = noise.get("missed", 1 / 7), noise.get("false", 1 / 11)
    for _ in range(3):
        intercept, level = RNG.normal(), RNG.normal(0.0, 0.5)
        lines = [st.norm(0, 5).logpdf(intercept), st.norm(0.5, 2).logpdf(level)]
        lines.extend(st.t(4, centre, spread).logpdf(SCORE))
        for s, k in zip(SCORE, LABEL, strict=True):
            true = special.expit(intercept + np.exp(level) * (s - centre) / spread)
            seen = true * (1 - missed) + (1 - true) * false
            lines.append(np.log(seen if k else 1 - seen))
        found = log_density(model, intercept=intercept, level=level)
        assert found == pytest.approx(np.sum(lines), abs=1e-7)


def test_without_noise_it_is_the_logistic_program():
    noisy = PROGRAM.model(SCORE, LABEL, missed=0.0, false=0.0)
    plain = programs.load("logistic").model(SCORE, LABEL, reference=0.0)
    for point in ({"intercept": 0.3, "level": 0.2}, {"intercept": -1.0, "level": 0.5}):
        expected = log_density(plain, **point)
        assert log_density(noisy, **point) == pytest.approx(expected, abs=1e-9)
        assert log_density(PROGRAM.model(SCORE, LABEL), **point) != pytest.approx(expected)


@pytest.mark.parametrize("draws", [None, 1, 3])
def test_simulate_mislabels_so_many(draws):
    truth = PROGRAM.simulate(
        4000, np.random.default_rng(3), draws=draws, missed=0.3, false=0.02, intercept_scale=0.5
    )
    lead = () if draws is None else (draws,)
    assert truth["score"].shape == truth["label"].shape == (*lead, 4000)
    assert truth["intercept"].shape == truth["slope"].shape == lead
    first = {key: value if draws is None else value[0] for key, value in truth.items()}
    true = special.expit(first["intercept"] + first["slope"] * first["score"])

    def excess(missed, false):
        p = true * (1 - missed) + (1 - true) * false
        return (first["label"] - p).sum() / np.sqrt((p * (1 - p)).sum())

    assert abs(excess(0.3, 0.02)) < 4
    assert abs(excess(0.0, 0.0)) > 4


def test_one_wrong_label_costs_less_than_without_noise():
    """An outlier pulls the plain curve flat; where labels may be wrong it is explained away."""
    score = np.r_[np.linspace(-3, -1, 30), np.linspace(1, 3, 30), 30.0]
    label = np.r_[np.repeat([0, 1], 30), 0]
    steep, flat = {"intercept": 0.0, "level": 1.5}, {"intercept": 0.0, "level": -1.5}
    noisy = PROGRAM.model(score, label)
    plain = PROGRAM.model(score, label, missed=0.0, false=1e-12)
    assert log_density(noisy, **steep) > log_density(noisy, **flat)
    assert log_density(plain, **steep) < log_density(plain, **flat)
