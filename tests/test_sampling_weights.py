"""Sampling weights: documents drawn with unequal probabilities, by score and by class."""

import numpy as np
import pytest

from bayescal.support.weights import effective_weights

pytestmark = pytest.mark.one_era


@pytest.mark.parametrize(
    ("weight", "warns"),
    [
        (np.full(300, 66.7), True),
        (np.full(300, 67), True),
        (np.repeat([1, 100], [100, 200]), True),
        (1.0 / np.random.default_rng(0).uniform(0.01, 1.0, 300), True),
        (np.random.default_rng(0).poisson(2.0, 300), False),
        (np.random.default_rng(0).geometric(0.01, 300), False),
        (np.repeat([5 / 3, 5 / 7], [90, 210]), False),  # class_weight="balanced"
        (np.random.default_rng(0).uniform(0.0, 1.0, 300), False),  # confidence in each label
        (np.ones(300), False),
        (np.repeat([1, 2], 150), False),
        ([40, 60], False),
    ],
)
def test_weights_that_do_not_look_like_counts_are_warned_of(weight, warns):
    n = len(weight)
    if warns:
        with pytest.warns(UserWarning, match="pass them as sampling_weight"):
            effective_weights(weight, None, n)
    else:
        assert effective_weights(weight, None, n).tolist() == np.asarray(weight).tolist()


def test_sampling_weights_sum_to_the_effective_size_at_any_scale():
    weight = np.array([1.0, 1.0, 1.0, 7.0])
    expected = weight * weight.sum() / (weight @ weight)
    for scale in (1.0, 1e-140, 1e140):
        assert effective_weights(None, scale * weight, 4) == pytest.approx(expected)
    assert effective_weights(None, np.full(5, 80.0), 5) == pytest.approx(np.ones(5))


def test_only_one_kind_of_weights():
    with pytest.raises(ValueError, match="either sample_weight or sampling_weight must be None"):
        effective_weights([1, 1], [1, 1], 2)
    with pytest.raises(ValueError, match="sampling_weight must have shape"):
        effective_weights(None, [1, 1, 1], 2)
    assert effective_weights(None, None, 2) is None
