"""The page beside other packages: its tables from known losses, and one trial of each kind."""

import numpy as np
import pandas as pd
import pytest

from benchmarks import peers

COLUMNS = ["package", "method", "problem", "n", "loss", "seconds"]


def rows(*losses):
    """Return rows of ours, with a loss of 1 in two problems, and of a peer with given losses."""
    ours = [("bayescal", "ours", k, 10, 1.0, 0.5) for k in range(2)]
    other = [("peer", "theirs", k, 10, loss, 0.1) for k, loss in enumerate(losses)]
    return pd.DataFrame(ours + other, columns=COLUMNS)


def test_losses_are_relative_to_ours_problem_by_problem():
    mean, error = peers.against(rows(np.exp(0.1), np.exp(0.3)))
    assert mean["peer", "theirs", 10] == pytest.approx(20.0)
    assert error["peer", "theirs", 10] == pytest.approx(10.0)
    assert "| peer | theirs | +20.0 ± 10.0 | 0.1 |" in peers.table(
        rows(np.exp(0.1), np.exp(0.3)), [""]
    )


def test_better_and_level_peers_are_named():
    worse, level, lower = (rows(*np.exp(k)) for k in ([0.1, 0.2], [-0.1, 0.1], [-0.1, -0.11]))
    found = peers.better_and_level((worse, "a"), (level, "b"))
    assert found == ("none", "peer, theirs (b, 10)")
    assert peers.better_and_level((lower, "two classes")) == (
        "peer, theirs (two classes, 10)",
        "none",
    )


def test_a_missing_package_is_left_out():
    def method():
        raise ModuleNotFoundError("no module named x")

    assert peers.timed(method)[0] is None
    with pytest.raises(ValueError, match="wrong"):
        peers.timed(lambda: (_ for _ in ()).throw(ValueError("wrong")))


def test_log_loss_is_in_bits_of_the_class():
    assert peers.log_loss([0.5, 0.25], np.array([1, 0])) == pytest.approx((1 - np.log2(0.75)) / 2)
    three = [[0.5, 0.25, 0.25], [0.0, 0.5, 0.5]]
    assert peers.log_loss(three, np.array([0, 0])) == pytest.approx(
        (1 - np.log2(peers.CLIP / (1 + peers.CLIP))) / 2
    )


def test_every_kind_yields_the_packages_that_are_installed(monkeypatch):
    monkeypatch.setattr(peers, "SIZES", (10,))
    monkeypatch.setattr(peers, "CLASSIFIERS", ("linear_svm",))
    two = pd.DataFrame(peers.two_classes(1, ("corn",)), columns=COLUMNS)
    assert {"bayescal", "scikit-learn", "betacal", "venn-abers"} <= set(two["package"])
    assert two["loss"].between(0.0, 0.2).all()
    ratios = pd.DataFrame(peers.comparisons(1), columns=COLUMNS)
    assert ratios["loss"].between(0.0, 1.0).all()
    (held,) = list(peers.rates(1))[:1]
    assert held[0] == "bayescal"
    assert 0.0 < held[4] < 0.2


@pytest.mark.slow
def test_ten_classes_have_a_lower_loss_than_uniform_probabilities():
    ten = pd.DataFrame(peers.ten_classes(1), columns=COLUMNS)
    assert set(ten["problem"]) == {"LinearSVC", "GaussianNB"}
    assert ten["loss"].max() < np.log2(10)
