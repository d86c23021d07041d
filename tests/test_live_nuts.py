"""A short run of NUTS finds what its long run had found, of every kind of program."""

import numpy as np
import pytest

from bayescal.distributions import programs
from tests.nuts_cases import CASES
from tests.nuts_reference import from_chains, stored

# Few positives: there priors are seen as well as likelihoods.
LIVE = {
    "asymmetric_laplace": "asymmetric_laplace, 3 positives",
    "gaussian": "gaussian, 3 positives",
    "logistic": "logistic, three positives",
    "noisy_logistic": "noisy_logistic",
}
# These files compare the programs' log densities with scipy's or their engine's, number by number:
# they notice an edit. test_distributions_composition.py and test_topics_nuts.py sample with NUTS.
BY_LOG_DENSITY = {
    "asymmetric_gaussian": "test_exact_priors.py",
    "classifier_weights": "test_classifier_weights.py",
    "joint_multiclass": "test_class_programs.py",
    "laplace": "test_exact_priors.py",
    "monotone_log_odds": "test_monotone_programs.py",
    "ordinal": "test_class_programs.py",
    "topics": "test_pooled_program.py",
    **dict.fromkeys(["gaussian_process", "length", "sites"], "test_programs.py"),
}
# Chains take other ways on other machines, so that chance has its say in every run. Of 800 normal
# numbers one passes 6.5 once in fifteen million runs.
LIMIT = 6.5
DRAWS, TUNE = 300, 400
# What this needs of PyMC, the others need too.
ONE_ERA = {"noisy_logistic"}

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


def test_every_program_is_compared():
    assert sorted([*LIVE, *BY_LOG_DENSITY]) == programs.available()


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
