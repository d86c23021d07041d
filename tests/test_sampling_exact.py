"""Limits without a model: coverage by enumeration, published numbers, sequential looks."""

import functools
import math

import numpy as np
import pytest
from scipy import stats

from bayescal.metrics import Interval
from bayescal.sampling import count_limits, elusion, elusion_size, share_limits, sum_limits
from bayescal.sampling.exact import check_counts


def coverage(documents, sampled, level):
    """Return the coverage and both errors at every true count, by enumeration."""
    limits = [count_limits(k, sampled, documents, level) for k in range(sampled + 1)]
    low, high = (np.array([getattr(each, end) for each in limits]) for end in ("lower", "upper"))
    for count in range(documents + 1):
        p = stats.hypergeom.pmf(np.arange(sampled + 1), documents, count, sampled)
        yield p @ ((low <= count) & (count <= high)), p @ (low > count), p @ (high < count)


@pytest.mark.parametrize(
    ("documents", "sampled"), [(1, 1), (7, 3), (20, 20), (50, 11), (120, 30), (200, 25), (200, 150)]
)
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_limits_of_counts_cover_at_every_count(documents, sampled, level):
    for covered, low, high in coverage(documents, sampled, level):
        assert covered >= level - 1e-9
        assert max(low, high) <= (1.0 - level) / 2.0 + 1e-9


def test_limits_are_the_narrowest_that_cover():
    # One count less at either end would be left a tail of more than (1 - level)/2.
    found = count_limits(3, 40, 200, 0.9)
    assert stats.hypergeom.sf(2, 200, int(found.lower), 40) > 0.05
    assert stats.hypergeom.sf(2, 200, int(found.lower) - 1, 40) <= 0.05
    assert stats.hypergeom.cdf(3, 200, int(found.upper), 40) > 0.05
    assert stats.hypergeom.cdf(3, 200, int(found.upper) + 1, 40) <= 0.05


def test_limits_of_large_collections_are_those_of_clopper_and_pearson():
    found = count_limits(4, 60, 10**7, 0.9)
    ends = stats.binomtest(4, 60).proportion_ci(0.9, method="exact")
    assert found.lower / 10**7 == pytest.approx(ends.low, rel=1e-4)
    assert found.upper / 10**7 == pytest.approx(ends.high, rel=1e-4)


def test_ends_of_counts():
    assert count_limits(0, 0, 9) == Interval(4.5, 0.0, 9.0, 0.9)
    assert count_limits(3, 9, 9) == Interval(3.0, 3.0, 3.0, 0.9)
    assert count_limits(0, 5, 9).lower == 0.0
    assert count_limits(5, 5, 9).upper == 9.0


limits_of = functools.cache(count_limits)


def missed_by_peeking(sequential, seed):
    """Return whether limits exclude the truth after any label of a growing sample."""
    labels = np.random.default_rng(seed).permutation(np.repeat([1, 0], [15, 285]))
    positives = np.cumsum(labels)
    for n in range(10, 300, 10):
        found = limits_of(int(positives[n - 1]), n, 300, 0.8, sequential=sequential)
        if not found.lower <= 15 <= found.upper:
            return True
    return False


def test_sequential_limits_of_a_large_collection_need_no_memory():
    # As for infinitely many documents: the beta-binomial ratio (n + 1) C(n, k) p^k (1-p)^(n-k).
    found = count_limits(3, 200, 10**9, 0.9, sequential=True)
    ends = np.array([found.lower, found.upper]) / 1e9
    ratio = 201.0 * stats.binom.pmf(3, 200, ends)
    np.testing.assert_allclose(ratio, 0.1, rtol=1e-3)


@pytest.mark.slow
def test_sequential_limits_hold_at_all_looks_and_others_do_not():
    # Standard errors are .037; the coverage of sequential limits is far above the bound.
    wrong, peeked = (
        np.mean([missed_by_peeking(sequential, seed) for seed in range(200)])
        for sequential in (True, False)
    )
    assert wrong <= 0.2 + 0.03
    assert peeked > 0.2 + 0.1


@pytest.mark.parametrize(("documents", "sampled"), [(40, 12), (25, 5), (60, 31)])
def test_sequential_limits_are_a_ratio_of_posterior_to_prior(documents, sampled):
    counts = np.arange(documents + 1)
    for positives in range(sampled + 1):
        posterior = stats.hypergeom.pmf(positives, documents, counts, sampled)
        posterior /= posterior.sum()
        inside = counts[posterior * (documents + 1) > 0.1]
        found = count_limits(positives, sampled, documents, 0.9, sequential=True)
        assert (found.lower, found.upper) == (inside[0], inside[-1])


def covered_by_share(a, b, sampled, sizes, level=0.9):
    """Return the coverage of recall a/(a + b) from two strata, by enumeration."""
    covered = 0.0
    p = [
        stats.hypergeom.pmf(np.arange(n + 1), size, k, n)
        for size, k, n in zip(sizes, (a, b), sampled, strict=True)
    ]
    limits = [
        [count_limits(k, n, size, level) for k in range(n + 1)]
        for n, size in zip(sampled, sizes, strict=True)
    ]
    for j, above in enumerate(limits[0]):
        for k, below in enumerate(limits[1]):
            if p[0][j] * p[1][k] > 1e-9:
                found = share_limits(above, below)
                covered += p[0][j] * p[1][k] * (found.lower <= a / (a + b) <= found.upper)
    return covered


@pytest.mark.parametrize(("a", "b"), [(12, 3), (18, 2), (8, 8), (20, 15), (3, 0), (10, 1)])
def test_recall_from_two_strata_covers(a, b):
    assert covered_by_share(a, b, (12, 30), (30, 170)) >= 0.9


def test_shares_and_sums_of_known_counts():
    one, other = Interval(30.0, 30.0, 30.0), Interval(10.0, 10.0, 10.0)
    assert share_limits(one, other).value == 0.75
    assert share_limits(one, other).lower == pytest.approx(0.75)
    assert share_limits(one, other).upper == pytest.approx(0.75)
    assert share_limits(Interval(0, 0, 0), Interval(0, 0, 0)).upper == 1.0
    assert math.isnan(share_limits(Interval(0, 0, 0), Interval(0, 0, 0)).value)
    # Known ends, whose share is rounded in either direction.
    for a in range(1, 40):
        found = share_limits(Interval(a, a - 0.5, a), Interval(7.0, 7.0, 9.0))
        assert found.upper == pytest.approx(a / (a + 7))
    # Of one uncertain count MOVER gives its own limits, transformed.
    found = share_limits(one, Interval(10.0, 5.0, 20.0))
    assert (found.lower, found.upper) == pytest.approx((30 / 50, 30 / 35))
    assert sum_limits([Interval(10.0, 7.0, 14.0), Interval(10.0, 6.0, 13.0)]) == Interval(
        20.0, 15.0, 25.0
    )


def test_limits_of_shares_are_where_those_of_their_definition_change_sign():
    rng, q = np.random.default_rng(0), np.linspace(0.0, 1.0, 100_001)
    for _ in range(20):
        parts = rng.integers(0, 12, (2, 3)).cumsum(axis=1).astype(float)
        if rng.random() < 0.3:
            parts[rng.integers(2), :2] = 0.0  # an estimate and a lower limit of none
        a, b = (Interval(value, lower, upper) for lower, value, upper in parts)
        if a.value + b.value == 0.0:
            continue
        found, zero = share_limits(a, b), (1.0 - q) * a.value - q * b.value
        low = zero - np.hypot((1.0 - q) * (a.value - a.lower), q * (b.upper - b.value))
        high = zero + np.hypot((1.0 - q) * (a.upper - a.value), q * (b.value - b.lower))
        assert found.value == a.value / (a.value + b.value)
        assert found.lower == pytest.approx(q[low > 0.0].max(initial=0.0), abs=2e-5)
        assert found.upper == pytest.approx(q[high < 0.0].min(initial=1.0), abs=2e-5)


def test_sizes_of_elusion_samples_are_those_of_the_tables():
    # 28,000 unread documents, recall .8 with .95: by (1 - n/N)^(K + 1) <= .05, exactly.
    for found, size in ((50, 5_762), (100, 3_046), (240, 1_341), (500, 657)):
        assert elusion_size(28_000, found, 0.8).sampled == size
    asked = elusion_size(28_000, 240, 0.8, expected=20)
    worst = stats.hypergeom.cdf(asked.allowed, 28_000, asked.most_missed + 1, asked.sampled)
    assert worst <= 0.05
    assert stats.hypergeom.cdf(asked.allowed, 28_000, 20, asked.sampled) >= 0.8
    with pytest.raises(ValueError, match="expected must be at most 60"):
        elusion_size(28_000, 240, 0.8, expected=61)
    with pytest.raises(ValueError, match="the recall is reached whatever"):
        elusion_size(50, 240, 0.8)


def test_elusion_turns_counts_into_recall():
    found = elusion(28_000, 600, 2, 240)
    assert found.rate.upper == found.missed.upper / 28_000
    assert found.recall.lower == 240 / (240 + found.missed.upper)
    assert found.recall.upper == 240 / (240 + found.missed.lower)
    nothing = elusion(100, 100, 0, 0)
    assert (nothing.recall.lower, nothing.recall.upper) == (0.0, 1.0)


def test_counts_that_do_not_fit():
    for call, message in (
        (lambda: count_limits(3, 2, 10), "sampled at most documents"),
        (lambda: elusion(0, 0, 0, 3), "documents must be positive"),
        (lambda: elusion(10, 5, 0, -3), "found must be"),
        (lambda: elusion_size(100, 1.5, 0.5), "found must be a whole number from 0 to"),
        (lambda: elusion_size(100, 50, 0.5, expected=-4), "expected must be a whole number from"),
        (lambda: elusion_size(100, 50, 1.0), "recall must"),
        (lambda: elusion_size(100, 50, 0.5, assurance=1.0), "assurance must"),
        (lambda: elusion_size(100, 50, 0.5, expected=4, power=1.0), "power must"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


ERROR = (0.3, 0.05)


def labelled_positive(documents, sampled, count, missed, mistaken):
    """Return the probabilities of 0, 1, ... positive labels, by adding one document at a time."""
    total = np.zeros(sampled + 1)
    for drawn in range(sampled + 1):
        p = np.array([stats.hypergeom.pmf(drawn, documents, count, sampled)])
        for k in range(sampled):
            q = 1.0 - missed if k < drawn else mistaken
            p = np.convolve(p, [1.0 - q, q])
        total += p
    return total


@pytest.mark.parametrize(("documents", "sampled"), [(30, 8), (25, 25)])
def test_limits_of_erring_reviewers_cover_the_true_count(documents, sampled):
    limits, blind = (
        [count_limits(k, sampled, documents, 0.9, reviewer_error=e) for k in range(sampled + 1)]
        for e in (ERROR, (0.0, 0.0))
    )
    worst = 1.0
    for count in range(documents + 1):
        p = labelled_positive(documents, sampled, count, *ERROR)
        assert p.sum() == pytest.approx(1.0)
        held, ignoring = (
            p @ [each.lower <= count <= each.upper for each in own] for own in (limits, blind)
        )
        assert held >= 0.9 - 1e-9
        worst = min(worst, ignoring)
    assert worst < 0.7  # limits that take labels for true do not cover


def test_errors_of_reviewers_are_two_shares():
    assert count_limits(3, 40, 200, reviewer_error=(0.0, 0.0)) == count_limits(3, 40, 200)
    # All documents labelled: half of the positives were missed, and no label is mistaken.
    assert count_limits(20, 200, 200, reviewer_error=(0.5, 0.0)).value == 40.0
    with pytest.raises(ValueError, match="sequential limits need labels without error"):
        count_limits(3, 40, 200, sequential=True, reviewer_error=ERROR)


@pytest.mark.parametrize("name", ["positives", "sampled", "documents"])
@pytest.mark.parametrize("wrong", [2.0, True, -1, "3", None, 10**12])
def test_every_count_is_a_whole_number(name, wrong):
    counts = {"positives": 1, "sampled": 3, "documents": 9} | {name: wrong}
    with pytest.raises(ValueError, match=f"{name} must be a whole number from 0 to "):
        check_counts(**counts)
    check_counts(positives=0, sampled=0, documents=np.int64(0))
    for unordered in ({"positives": 4}, {"sampled": 10}):
        with pytest.raises(ValueError, match="positives must be at most sampled"):
            check_counts(**{"positives": 1, "sampled": 3, "documents": 9} | unordered)
