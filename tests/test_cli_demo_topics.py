"""The demo's ten topics: its sample of few positives."""

import numpy as np
import pytest

from bayescal.cli.commands.demo import sample
from bayescal.text.reuters_scores import load_reuters_scores

pytestmark = pytest.mark.one_era


def test_negatives_come_in_proportion():
    calibration = load_reuters_scores("linear_svm", "corn", "calibration")
    few = sample(calibration, np.random.default_rng(0))
    assert few["label"].sum() == 5
    share = calibration["label"].mean()
    assert few["label"].mean() == pytest.approx(share, rel=0.02)
    assert not few.index.has_duplicates
