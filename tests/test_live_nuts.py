"""A short run of NUTS of every program finds what its long run had found: no program was edited."""

import numpy as np
import pytest

from bayescal.distributions import programs
from tests.nuts_cases import CASES
from tests.nuts_reference import from_chains, stored

# Few positives: there priors are seen as well as likelihoods.
LIVE = {
    "asymmetric_gaussian": "asymmetric_gaussian, 3 positives",
    "asymmetric_laplace": "asymmetric_laplace, 3 positives",
    "classifier_weights": "classifier_weights, moderators",
    "gaussian": "gaussian, 3 positives",
    "hybrid": "hybrid, 3 positives",
    "laplace": "laplace, 3 positives",
    "logistic": "logistic, three positives",
    "monotone_log_odds": "monotone_log_odds, three positives",
    "noisy_logistic": "noisy_logistic",
    "topics": "topics, laplace, class 1",
}
# Chains take other ways on other machines, so that chance has its say in every run. Of 800 normal
# numbers one passes 6.5 once in fifteen million runs.
LIMIT = 6.5
DRAWS, TUNE = 300, 400
# What these need of PyMC, the others need too.
ONE_ERA = {"asymmetric_gaussian", "hybrid", "laplace", "classifier_weights", "noisy_logistic"}

pytestmark = [
    # Short runs: what is wrong with their draws is in the errors they are given.
    pytest.mark.filterwarnings("ignore:the posterior draws are not:UserWarning"),
    # PyMC's energy of a trajectory that diverges while step sizes are still tuned.
    pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning"),
]


def apart(name, **options):
    """Return the largest distance of a short run from the long one, in standard errors."""
    sample, *_ = CASES[LIVE[name]]
    chains, _ = sample(draws=DRAWS, tune=TUNE, seed=3, **options)
    return np.abs(from_chains(chains, stored(LIVE[name]))).max()


def test_every_program_is_sampled():
    # That of several classes is compared with its engine, in test_multiclass_program.py.
    assert {*LIVE, "joint_multiclass"} == set(programs.available())


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.one_era] if name in ONE_ERA else [])
        for name in sorted(LIVE)
    ],
)
def test_a_short_run_is_the_long_one(name):
    assert apart(name) < LIMIT


@pytest.mark.slow
def test_an_edited_program_is_rejected(tmp_path):
    source = programs.load("gaussian").path.read_text(encoding="utf-8")
    edited = tmp_path / "gaussian.py"
    edited.write_text(source.replace("theta_scale: float = 2.0", "theta_scale: float = 0.7"))
    assert edited.read_text() != source
    assert apart("gaussian", program=edited) > LIMIT
