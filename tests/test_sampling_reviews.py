"""Plans of samples, and recall by four intervals; wrong inputs one by one."""

import functools
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats
from sklearn.metrics import cohen_kappa_score

from bayescal.decisions.thresholds import recall_by_rank
from bayescal.sampling import (
    compare_reviewers,
    count_limits,
    estimate_precision,
    estimate_prevalence,
    estimate_recall,
    inclusion_of,
    learn_hidden,
    plan_sample,
    read_plan,
)
from bayescal.sampling.design import SamplingUnits, StratifiedDraw
from bayescal.sampling.estimates import _note_of_ties
from bayescal.sampling.hidden import (
    KNOTS,
    LEARNED,
    HiddenCurves,
    RankedCollection,
    count_positives,
    fit_posterior,
    group_weights,
    shared_limits,
    simultaneous_level,
)
from bayescal.sampling.planning import allocate, strata_of
from bayescal.sampling.plans import draw_of_plans, stratum_of
from bayescal.support.intervals import Interval
from bayescal.support.score_checks import ScoresWarning
from bayescal.text.reuters_scores import load_reuters_scores
from tests.sizes import size

N, AT = 3_000, 1.6


@functools.cache
def collection(seed=0, hidden=0.0, share=0.04, n=N):
    """Return scores and labels of Gaussian classes 2.5 apart, a share of positives hidden."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    visible = positive & (rng.random(n) >= hidden)
    return rng.normal(size=n) + 2.5 * visible, positive


def labelled(positive, *plans):
    labels = np.full(positive.size, np.nan)
    for plan in plans:
        labels[plan.documents] = positive[plan.documents]
    return labels


@functools.cache
def review(seed=0, hidden=0.0, first=80, second=220):
    """Return scores, truth, labels and plans of two rounds."""
    scores, positive = collection(seed, hidden)
    one = plan_sample(scores, first, threshold=AT, random_state=seed)
    labels = labelled(positive, one)
    two = plan_sample(
        scores, second, threshold=AT, labels=labels, inclusion=one, random_state=seed + 1
    )
    return scores, positive, labelled(positive, one, two), (one, two)


def drawn_once(n, size=N, share=0.04, **options):
    """Return scores, truth, labels and the plan of one round."""
    scores, positive = collection(n=size, share=share)
    plan = plan_sample(scores, n, random_state=0, **options)
    return scores, positive, labelled(positive, plan), plan


@functools.cache
def found_of_review():
    """Return the estimate of the usual review."""
    scores, _, labels, plans = review()
    return estimate_recall(scores, labels, AT, design=plans)


def test_each_round_draws_what_it_says():
    scores, _, labels, (one, two) = review()
    assert one.documents.size == 80
    assert two.documents.size == 220
    assert not set(one.documents) & set(two.documents)
    assert (one.round, two.round) == (1, 2)
    assert one.inclusion.sum() == pytest.approx(80)
    unlabelled = np.ones(N, dtype=bool)
    unlabelled[one.documents] = False
    assert two.inclusion[unlabelled].sum() == pytest.approx(220)
    assert np.count_nonzero(~np.isnan(labels)) == 300
    assert np.isnan(one.expected_width)
    assert 0.05 < two.expected_width < 1.0
    for plan in (one, two):
        drawn = np.bincount(plan.stratum[plan.documents])
        assert drawn.tolist() == [each.sampled for each in plan.strata]
        assert min(drawn) >= 5
    either = 1 - (1 - one.inclusion) * (1 - two.inclusion)
    np.testing.assert_allclose(inclusion_of((one, two), scores), either)
    with pytest.raises(ValueError, match="at least one plan"):
        inclusion_of((), scores)


def test_documents_are_drawn_as_often_as_they_should_be():
    scores, _ = collection(n=400)
    plans = [plan_sample(scores, 60, threshold=AT, random_state=seed) for seed in range(300)]
    drawn = np.bincount(np.concatenate([plan.documents for plan in plans]), minlength=400)
    p = plans[0].inclusion
    z = (drawn - 300 * p) / np.sqrt(300 * p * (1 - p))
    assert np.abs(z).max() < stats.norm.ppf(1 - 1e-3 / 800)
    assert plans[0].seed != plans[1].seed
    drawn = plan_sample(scores, 60, threshold=AT, random_state=np.random.default_rng(0))
    again = plan_sample(scores, 60, threshold=AT, random_state=drawn.seed)
    np.testing.assert_array_equal(again.documents, drawn.documents)


def test_rounds_with_one_seed_are_independent():
    scores, _, labels, one = drawn_once(40, 400, purpose="control")
    options = {"purpose": "control", "random_state": 0, "labels": labels}
    two = plan_sample(scores, 40, inclusion=one, **options)
    unknown = plan_sample(scores, 40, **options)
    assert (two.round, unknown.round) == (2, 1)
    assert set(two.documents) != set(unknown.documents)
    assert two.seed == one.seed == 0


def test_allocation_is_proportional_within_bounds():
    documents = np.array([10, 100, 1_000])
    given = allocate(np.array([0.5, 0.3, 0.2]), documents, 60)
    assert given.sum() == 60
    assert given[0] == 10  # all of a stratum that would get more
    assert allocate(np.array([1.0, 0.0, 0.0]), documents, 60).tolist() == [10, 25, 25]
    assert allocate(np.ones(3), documents, 1_110).tolist() == [10, 100, 1_000]
    # Five each, and 42.5, 25.5 and 17 of the others.
    assert allocate(np.array([5.0, 3.0, 2.0]), np.full(3, 900), 100).tolist() == [48, 30, 22]
    assert allocate(np.array([0.5, 0.5]), np.array([3, 900]), 8).tolist() == [3, 5]
    assert allocate(np.array([0.9, 0.1]), np.array([900, 900]), 4).tolist() == [2, 2]


@pytest.mark.parametrize(
    ("documents", "above", "labels", "ends"),
    [
        (20_000, 2_000, 300, [60, 600, 2_000]),
        (20_000, None, 300, [60, 600]),
        (20_000, 500, 300, [60, 500]),  # 600 is too close to the threshold
        (20_000, 100, 300, [100, 600]),
        (20_000, 2_000, 19, [2_000]),  # too few labels for four strata
        (20_000, 2_000, 1, []),
        (1_000, 300, 300, [30, 300]),  # three documents are too few
        (1_000, 0, 300, [30]),
    ],
)
def test_strata_end_at_the_threshold_and_at_shares_of_the_ranking(documents, above, labels, ends):
    scores = np.random.default_rng(0).permutation(documents).astype(float)
    threshold = None if above is None else float(documents - above)
    lowest = strata_of(scores, threshold, labels)
    assert lowest == [documents - end for end in ends] + [0.0]
    stratum = stratum_of(scores, lowest)
    for h, low in enumerate(lowest):
        assert scores[stratum == h].min() == low
        assert (scores[stratum < h] > low).all()
    plan = plan_sample(scores, labels, threshold=threshold, random_state=0)
    assert [each.lowest for each in plan.strata] == [lowest[h] for h in np.unique(plan.stratum)]
    assert sum(each.sampled for each in plan.strata) == labels


def test_a_first_round_has_a_third_of_its_labels_by_size():
    scores = np.random.default_rng(0).permutation(20_000).astype(float)
    plan = plan_sample(scores, 300, threshold=18_000.0, random_state=0)
    # Five each, and of the other 280 .3 N_h / N + .7 / 4: 54.25, 56.27, 59.88 and 129.60.
    assert [each.sampled for each in plan.strata] == [54, 56, 60, 130]
    assert [each.documents for each in plan.strata] == [60, 540, 1_400, 18_000]


@pytest.mark.parametrize("purpose", ["recall", "precision", "prevalence", "calibration"])
def test_a_later_round_is_allocated_by_neyman_s_rule(purpose):
    scores, _, labels, (one, _) = review()
    labels = np.where(np.isin(np.arange(N), one.documents), labels, np.nan)
    plan = plan_sample(
        scores, 300, purpose=purpose, threshold=AT, labels=labels, inclusion=one, random_state=0
    )
    collection = RankedCollection.of(scores)
    drawn = fit_posterior(collection, labels, "vague", 0).probabilities()[:, collection.code]
    p, above, open_ = drawn.mean(axis=0), scores >= AT, np.isnan(labels)
    recall = p[above].sum() / p.sum()
    weight = {
        "recall": np.where(above, 1.0 - recall, recall),
        "precision": above.astype(float),
    }.get(purpose, np.ones(N))
    spread, size = [], []
    for h in range(len(plan.strata)):
        own = open_ & (plan.stratum == h)
        size.append(own.sum())
        spread.append(np.sqrt(size[-1] * (weight**2 * p * (1.0 - p))[own].sum()))
    spread, size = np.array(spread), np.array(size)
    share = 0.9 * spread / spread.sum() + 0.1 * (0.3 * size / size.sum() + 0.7 / size.size)
    wanted = [each.sampled for each in plan.strata]
    assert [each.documents for each in plan.strata] == size.tolist()
    assert wanted == allocate(share, size, 300).tolist()
    # The width that is expected is that of labels drawn with the posterior mean probabilities.
    sampled = np.isin(np.arange(N), plan.documents)
    of = "prevalence" if purpose == "calibration" else purpose
    rng, widths = np.random.default_rng(1), []
    for _ in range(30):
        units = SamplingUnits.of(scores, np.where(open_, rng.random(N) < p, labels), None)
        mine = StratifiedDraw(units, plan.stratum, sampled, ~open_)
        widths.append(mine.limits(of, above, 0.9).width)
    assert plan.expected_width == pytest.approx(np.mean(widths), rel=0.03)


def test_a_first_plan_for_prevalence_is_a_simple_random_sample():
    scores, _ = collection()
    one, other = (
        plan_sample(scores, 100, purpose=each, random_state=0) for each in ("prevalence", "control")
    )
    np.testing.assert_array_equal(one.documents, other.documents)
    assert len(one.strata) == 1


@pytest.mark.parametrize(("share", "better"), [(0.7, "control"), (0.02, "calibration")])
def test_a_later_plan_for_prevalence_is_the_better_of_two(share, better):
    scores, positive = collection(share=share)
    one = plan_sample(scores, 200, purpose="calibration", random_state=0)
    options = {"labels": labelled(positive, one), "inclusion": one, "random_state": 1}
    plan, simple, by_score = (
        plan_sample(scores, 100, purpose=each, **options)
        for each in ("prevalence", "control", "calibration")
    )
    assert plan.checksum == {"control": simple, "calibration": by_score}[better].checksum
    assert (plan.expected_width < by_score.expected_width) == (better == "control")


def test_a_document_without_a_label_may_be_drawn_again():
    scores, positive, labels, one = drawn_once(80, threshold=AT)
    unsure = one.documents[:3]
    labels[unsure] = np.nan
    two = plan_sample(scores, N, threshold=AT, labels=labels, inclusion=one)  # all that are left
    units = SamplingUnits.of(scores, labelled(positive, one, two), None)
    before = draw_of_plans(units, (one, two)).before
    assert before.sum() == 77
    assert not before[unsure].any()


def test_a_plan_survives_its_file(tmp_path):
    scores, _, _, (_, two) = review()
    path = two.to_csv(tmp_path / "round2.csv")
    again = read_plan(path, scores)
    np.testing.assert_array_equal(again.documents, two.documents)
    np.testing.assert_array_equal(again.inclusion, two.inclusion)
    assert (again.strata, again.seed, again.round) == (two.strata, two.seed, two.round)
    assert again.threshold == AT
    large = plan_sample(scores, 60, random_state=2**62 + 1)
    assert read_plan(large.to_csv(tmp_path / "large.csv"), scores).seed == 2**62 + 1
    changed = np.array(scores)
    changed[0] += 1e-9
    with pytest.raises(ValueError, match="inclusion probabilities are of other scores"):
        read_plan(path, changed)
    (tmp_path / "other.csv").write_text("document,label\n1,0\n")
    with pytest.raises(ValueError, match="must be a plan with the columns"):
        read_plan(tmp_path / "other.csv", scores)


def test_a_damaged_plan_is_refused(tmp_path):
    """One character changed: the plan is read as it was, or its file is named."""
    scores, _, _, (one, _) = review()
    path = one.to_csv(tmp_path / "plan.csv")
    text, rng = path.read_text(), np.random.default_rng(0)
    refused = 0
    for _ in range(100):
        at = rng.integers(text.index("\n"), len(text) - 1)
        path.write_text(text[:at] + str(rng.choice(list("09,.-ex\n"))) + text[at + 1 :])
        try:
            again = read_plan(path, scores)
        except ValueError as error:
            assert "plan.csv" in str(error)  # noqa: PT017
            refused += 1
        else:
            assert sorted(again.documents) == sorted(one.documents)
            np.testing.assert_array_equal(again.inclusion, one.inclusion)
    assert refused > 20
    rows = text.splitlines(keepends=True)
    for changed in (rows[:-1], rows[:5] + rows[6:]):
        path.write_text("".join(changed))
        with pytest.raises(ValueError, match=r"plan\.csv must hold"):
            read_plan(path, scores)


@pytest.mark.parametrize("name", ["seed", "round", "threshold", "size", "stratum 0", "stratum 2"])
def test_a_plan_is_checked_against_itself(name, tmp_path):
    """A stratum without its rows, or another value in all rows, leaves no row that is wrong."""
    scores, _, _, (_, two) = review()
    path = two.to_csv(tmp_path / "plan.csv")
    table = pd.read_csv(path, dtype=str)
    column, _, lost = name.partition(" ")
    if lost:
        table = table[table["stratum"] != lost]
        table["stratum"] = (table["stratum"].astype(int) - (table["stratum"] > lost)).astype(str)
    else:
        before = table[column].astype(float)
        table[column] = before + 2
        if column == "size":
            table["inclusion"] = table["inclusion"].astype(float) * before / (before + 2)
    table.to_csv(path, index=False)
    with pytest.raises(ValueError, match=r"plan\.csv must hold all rows of the plan, unchanged"):
        read_plan(path, scores)
    if not lost:
        table.loc[0, column] = 7
        table.to_csv(path, index=False)
        with pytest.raises(ValueError, match=r"plan\.csv must hold"):
            read_plan(path, scores)


def test_a_spreadsheet_may_round_mark_and_space_out_a_plan(tmp_path):
    scores, _, _, (one, _) = review()
    path, rounded = one.to_csv(tmp_path / "plan.csv"), tmp_path / "rounded.csv"
    pd.read_csv(path).to_csv(rounded, index=False, float_format="%.10g")
    np.testing.assert_array_equal(read_plan(rounded, scores).inclusion, one.inclusion)
    head, first, second, *rest = path.read_text().splitlines()
    marked = "\ufeff" + "\n".join([head, first, "", ",,", second, *rest])
    path.write_text(marked, encoding="utf-8")
    np.testing.assert_array_equal(read_plan(path, scores).documents, one.documents)
    damaged = marked.replace(second, f"x{second}")
    path.write_text(damaged, encoding="utf-8")
    with pytest.raises(ValueError, match=r"column row, got 'x.*' in row 5 of the file"):
        read_plan(path, scores)


def test_four_intervals_side_by_side():
    scores, positive, labels, plans = review()
    found = found_of_review()
    truth = np.mean(scores[positive] >= AT)
    assert found.method == "design"
    assert (found.lower, found.upper) == (found.design_based.lower, found.design_based.upper)
    assert found.lower < truth < found.upper
    ends = found.without_hidden, found.with_hidden
    assert found.robust.lower >= min(each.lower for each in ends)
    assert found.robust.upper <= max(each.upper for each in ends)
    assert found.robust.width >= max(each.width for each in ends) - 0.01
    assert found.robust.width < found.design_based.width
    assert found.found == np.nansum(labels)
    assert found.positives.lower >= found.found
    assert found.missed.lower >= np.nansum(labels[scores < AT])
    assert found.notes == ()
    precision = estimate_precision(scores, labels, AT, design=plans)
    assert precision.lower < positive[scores >= AT].mean() < precision.upper
    assert vars(found.precision) == vars(precision.design_based)
    assert found.elusion.lower < positive[scores < AT].mean() < found.elusion.upper
    assert precision.elusion is None
    prevalence = estimate_prevalence(scores, labels, design=plans)
    assert prevalence.lower < positive.mean() < prevalence.upper
    assert prevalence.threshold is None


def test_the_interval_from_the_draw_is_that_of_the_largest_plan():
    scores, positive, _, (one, two) = review()
    found = found_of_review().design_based
    known = labelled(positive, one) == 1
    counts = []
    for above in (True, False):
        mine = (scores >= AT) == above
        total = np.count_nonzero(known & mine)
        for h, each in enumerate(two.strata):
            drawn = two.documents[(two.stratum[two.documents] == h) & mine[two.documents]]
            if drawn.size:
                total += positive[drawn].sum() * each.documents / drawn.size
        counts.append(total)
    assert found.value == pytest.approx(counts[0] / sum(counts))


def test_all_labels_leave_nothing_open():
    scores, positive, labels, plan = drawn_once(200, 200, 0.2, threshold=AT)
    found = estimate_recall(scores, labels, AT, design=plan)
    truth = np.mean(scores[positive] >= AT)
    for limits in (found.design_based, found.robust, found.with_hidden):
        assert (limits.value, limits.lower, limits.upper) == pytest.approx((truth,) * 3)
    free = estimate_recall(scores, labels, AT)  # by curves
    for each in (found, free):
        for limits, mine in ((each.precision, scores >= AT), (each.elusion, scores < AT)):
            ends = (limits.value, limits.lower, limits.upper)
            assert ends == pytest.approx((positive[mine].mean(),) * 3)
    everything = estimate_recall(scores, labels, scores.min(), design=plan)
    assert everything.elusion is None


@pytest.mark.slow
def test_hidden_positives_are_noticed():
    share, conflict = [], []
    for hidden in (0.0, 0.5):
        scores, _, labels, plans = review(2, hidden, 200, 1_000)
        found = estimate_recall(scores, labels, AT, design=plans)
        share.append(found.hidden.value)
        conflict.append(found.conflict)
    assert share[0] < 0.2 < share[1]
    assert conflict[1] < 0.05 < conflict[0]
    assert any("rely on the design-based interval" in note for note in found.notes)


def test_the_curve_ignores_all_but_ranks_and_how_documents_were_chosen():
    scores, _, labels, _ = review()
    one = found_of_review()
    other = estimate_recall(scores, labels, AT)
    assert other.method == "hull"
    assert other.design_based is None
    assert (one.robust, one.hidden) == (other.robust, other.hidden)
    assert estimate_recall(np.exp(scores), labels, np.exp(AT)).robust == one.robust


@functools.cache
def held(seeds, hidden):
    inside = []
    for seed in range(seeds):
        scores, positive, labels, plans = review(seed, hidden)
        found = estimate_recall(scores, labels, AT, design=plans)
        truth = np.mean(scores[positive] >= AT)
        of_each = (found.design_based, found.robust, found.without_hidden)
        inside.append([each.lower <= truth <= each.upper for each in of_each])
    return np.mean(inside, axis=0)


@pytest.mark.slow
def test_intervals_hold_and_a_curve_without_hidden_positives_does_not():
    seeds = size(12, 200)
    error = np.sqrt(0.9 * 0.1 / seeds)
    for hidden in (0.0, 0.3):
        design, hull, _ = held(seeds, hidden)
        assert min(design, hull) > 0.9 - 3 * error
    assert held(seeds, 0.3)[2] < held(seeds, 0.3)[1]


@pytest.mark.slow
def test_a_design_may_be_inclusion_probabilities():
    scores, _, labels, plan = drawn_once(300, threshold=AT)
    one = estimate_recall(scores, labels, AT, design=plan)
    other = estimate_recall(scores, labels, AT, design=plan.inclusion.tolist())
    assert other.design_based == one.design_based
    assert other.robust == one.robust
    with pytest.raises(ValueError, match="few different inclusion probabilities, got 3,000"):
        estimate_recall(scores, labels, AT, design=np.linspace(0.05, 0.2, N))
    certain = np.where(scores > AT, 1.0, 0.1)
    with pytest.raises(ValueError, match="whose inclusion probability is 1"):
        estimate_recall(scores, labels, AT, design=certain)
    with pytest.raises(ValueError, match="one inclusion probability for all documents of a group"):
        estimate_recall(scores, labels, AT, design=plan.inclusion, groups=np.arange(N) // 2)


@pytest.mark.slow
def test_errors_of_reviewers_move_the_counts():
    scores, positive, labels, plans = review(0, 0.0, 200, 1_000)
    rng = np.random.default_rng(3)
    missed = (labels == 1) & (rng.random(N) < 0.4) & (scores < AT)
    mistaken = (labels == 0) & (rng.random(N) < 0.03)
    wrong = np.where(missed, 0.0, np.where(mistaken, 1.0, labels))
    blind, error = (
        estimate_recall(scores, wrong, AT, design=plans, reviewer_error=each)
        for each in ((0.0, 0.0), (0.0, 0.03))
    )
    truth = np.mean(scores[positive] >= AT)
    assert blind.design_based.upper < truth  # mistaken labels look like positives below
    assert error.design_based.lower < truth < error.design_based.upper
    assert error.robust.lower < truth < error.robust.upper
    assert error.reviewer_error == (0.0, 0.03)
    more = estimate_recall(scores, labels, AT, design=plans, reviewer_error=(0.3, 0.0))
    none = estimate_recall(scores, labels, AT, design=plans)
    assert more.positives.value == pytest.approx(none.positives.value / 0.7, rel=0.15)


def bands_held(simultaneous, seeds, level=0.5):
    """Return how often limits hold at all of several thresholds at once."""
    scores, positive = collection(5)
    held = []
    for seed in range(seeds):
        plan = plan_sample(scores, 800, threshold=AT, random_state=seed)
        units = SamplingUnits.of(scores, labelled(positive, plan), None)
        drawn = draw_of_plans(units, (plan,))
        inside = True
        for at in np.linspace(-0.5, 2.8, 10):
            if simultaneous:
                own = drawn.simultaneous_limits("recall", at, level, (0.0, 0.0), (AT,))
            else:
                own = drawn.limits("recall", scores >= at, level)
            inside &= own.lower <= np.mean(scores[positive] >= at) <= own.upper
            if not inside:
                break
        held.append(inside)
    return np.mean(held)


@pytest.mark.slow
def test_simultaneous_limits_hold_at_all_thresholds_and_others_do_not():
    seeds = size(25, 200)
    error = np.sqrt(0.25 / seeds)
    assert bands_held(True, seeds) >= 0.5 - 3 * error
    assert bands_held(False, seeds) < 0.5


def two_reviewers(n, seed, missed=(0.2, 0.1), mistaken=(0.05, 0.02)):
    """Return scores, and the labels of two reviewers who err independently."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.3
    labels = [
        np.where(positive, rng.random(n) >= a, rng.random(n) < b) * 1.0
        for a, b in zip(missed, mistaken, strict=True)
    ]
    return 2.0 * positive + rng.normal(size=n), *labels


def test_errors_of_reviewers_follow_from_their_conflicts():
    scores, first, second = two_reviewers(20_000, 1)
    found = compare_reviewers(scores, first, second)
    # Four standard errors.
    assert found.missed.value == pytest.approx(0.2, abs=0.03)
    assert found.mistaken.value == pytest.approx(0.05, abs=0.01)
    assert found.kappa == pytest.approx(cohen_kappa_score(first, second))
    np.testing.assert_array_equal(found.conflicts, np.flatnonzero(first != second))
    other = compare_reviewers(scores, second, first)
    assert other.missed.value == pytest.approx(0.1, abs=0.03)
    first[:10_000] = np.nan
    assert compare_reviewers(scores, first, second).both == 10_000
    same = compare_reviewers(scores, second, second)
    assert (same.kappa, same.conflicts.size) == (1.0, 0)
    assert same.missed.value == pytest.approx(0.0, abs=1e-3)
    few = compare_reviewers(scores[:40], second[:40], second[:40])
    assert few.missed.upper > 0.02 < few.mistaken.upper
    with pytest.raises(ValueError, match="must share 20 labelled documents or more, got 19"):
        compare_reviewers(scores[:19], second[:19], second[:19])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "missed", "mistaken"), [(1_000, (0.2, 0.1), (0.05, 0.02)), (100, [0.03] * 2, [0.02] * 2)]
)
def test_intervals_of_the_errors_of_reviewers_hold(n, missed, mistaken):
    held = np.zeros(2)
    for seed in range(60):
        found = compare_reviewers(*two_reviewers(n, seed, missed, mistaken))
        held += [
            limits.lower <= truth <= limits.upper
            for limits, truth in ((found.missed, missed[0]), (found.mistaken, mistaken[0]))
        ]
    # With a coverage of 0.87 fewer than 45 have a probability of 0.3 %.
    assert (held >= 45).all(), held


def test_simultaneous_precision_holds_between_its_neighbours():
    scores, positive, labels, plans = review()
    for at in (1.1, scores.max()):
        found = estimate_precision(scores, labels, at, design=plans, simultaneous=True)
        assert found.lower <= positive[scores >= at].mean() <= found.upper


def test_a_simultaneous_level_is_that_of_independent_intervals():
    draws = np.random.default_rng(0).normal(size=(20_000, 4))
    assert simultaneous_level(draws, 0.9) == pytest.approx(0.9**0.25, abs=0.005)
    assert simultaneous_level(np.repeat(draws[:, :1], 4, axis=1), 0.9) == pytest.approx(
        0.9, abs=1e-3
    )


@pytest.mark.parametrize("estimate", [estimate_recall, estimate_precision])
def test_simultaneous_limits_of_curves_have_the_level_that_holds_at_every_score(estimate):
    scores, _, labels, plan = drawn_once(120, 300, 0.2, threshold=AT)
    found = estimate(scores, labels, AT, design=plan, simultaneous=True)
    curves = HiddenCurves.of(
        scores, labels, labels, scores >= AT, "vague", (0.0, 0.0), np.random.default_rng(0)
    )
    taken = np.cumsum(curves.collection.size)
    for name, (above, below), bins in zip(
        ("without_hidden", "with_hidden"),
        (curves.without_hidden, curves.with_hidden),
        curves.in_bins,
        strict=True,
    ):
        reached, total = bins.cumsum(axis=1), bins.sum(axis=1, keepdims=True)
        recall = estimate is estimate_recall
        level = simultaneous_level(reached / total if recall else reached / taken, 0.9)
        draws = above / (above + below) if recall else above / np.count_nonzero(scores >= AT)
        ends = np.quantile(draws, [0.5 - level / 2.0, 0.5 + level / 2.0])
        limits = getattr(found, name)
        assert (limits.lower, limits.upper) == pytest.approx(tuple(ends))
        assert limits.value == pytest.approx(draws.mean())
    above, below = curves.with_hidden
    assert found.positives.value == pytest.approx(np.mean(above + below))
    assert found.missed.value == pytest.approx(np.mean(below))
    assert found.hidden.value == pytest.approx(curves.share_hidden.mean())


def test_recall_by_depth_is_the_hull_at_the_threshold_that_takes_as_many():
    scores, _, labels, plans = review()
    by_depth = found_of_review().by_depth
    assert by_depth[scores.size] == Interval(1.0, 1.0, 1.0, 0.9)
    values = [each.value for _, each in sorted(by_depth.items())]
    assert values == sorted(values)
    for depth in sorted(by_depth)[20:50:10]:
        threshold = np.sort(scores)[-depth]
        one = estimate_recall(scores, labels, threshold, design=plans, random_state=1).robust
        ends = [(each.lower, each.value, each.upper) for each in (by_depth[depth], one)]
        np.testing.assert_allclose(*ends, atol=0.02)  # each from 4,000 draws of its own


def test_shared_limits_hold_in_both_posteriors():
    draws = np.random.default_rng(0).normal(size=20_000)
    same = shared_limits(draws, draws, 0.9)
    assert (same.lower, same.upper) == pytest.approx(np.quantile(draws, [0.05, 0.95]))
    # Far apart, each can miss at one end only: the limits are those of 80 %.
    apart = shared_limits(draws, draws + 20.0, 0.9)
    assert apart.lower == pytest.approx(np.quantile(draws, 0.1))
    assert apart.upper == pytest.approx(20.0 + np.quantile(draws, 0.9))
    assert apart.value == pytest.approx(20.0, abs=0.05)
    # Too few draws for any of these levels: the widest interval, of the level in each posterior.
    few = shared_limits(np.arange(2.0), np.arange(2.0), 0.9)
    assert (few.lower, few.upper) == pytest.approx((0.05, 0.95))


def test_draws_are_the_prior_weighted_by_the_likelihood():
    scores, positive = collection(n=300, share=0.2)
    labels = np.where(np.random.default_rng(1).random(300) < 0.1, positive, np.nan)
    found = fit_posterior(RankedCollection.of(scores), labels, "vague", 0)
    assert found.pareto_k < 0.7
    x = np.random.default_rng(2).normal(size=(100_000, found.model.dimension))
    weight = special.softmax(found.model.log_likelihood(x))
    assert 1.0 / (weight @ weight) > 1_000
    for drawn, of_prior in (
        (found.probabilities() @ found.model.size, found.model.probabilities(x) @ found.model.size),
        (found.share_hidden(), found.model.share_hidden(x)),
        (found.drawn[:, 2], x[:, 2]),
    ):
        mean = weight @ of_prior
        deviation = np.sqrt(weight @ (of_prior - mean) ** 2)
        assert drawn.mean() == pytest.approx(mean, abs=0.15 * deviation)
        assert drawn.std() == pytest.approx(deviation, rel=0.15)


@pytest.mark.parametrize("error", [(0.0, 0.0), (0.2, 0.03)])
def test_the_curve_is_the_integral_of_its_slopes_and_a_floor_of_hidden_positives(error):
    rng = np.random.default_rng(0)
    scores, positive = collection(n=500, share=0.2)
    labels = np.where(rng.random(500) < 0.3, positive, np.nan)
    units = RankedCollection.of(scores)
    model = fit_posterior(units, labels, (2.0, 3.0), 0, error).model
    x = rng.normal(size=model.dimension)
    walk = 0.5 * stats.halfnorm.ppf(stats.norm.cdf(x[2])) * np.cumsum(x[4:12])
    slopes = np.exp(np.log(2.0) + 0.7 * x[1] + walk - walk[4])
    slopes[-3:] *= 1.0 + 1.5 * x[12:]
    # Trapezoids between the knots, from the anchor: the normal score of 99 % of the documents.
    grid = np.union1d(np.linspace(-4.0, 4.0, 4_001), KNOTS)
    steps = np.diff(grid) * slopes[np.searchsorted(KNOTS, (grid[1:] + grid[:-1]) / 2.0)]
    eta = np.r_[0.0, np.cumsum(steps)]
    anchor = np.interp(stats.norm.ppf(0.99), grid, eta)
    eta = 2.5 * x[0] + np.interp(units.z, grid, eta) - anchor
    rho = stats.beta(2.0, 3.0).ppf(stats.norm.cdf(x[3]))
    visible = special.expit(eta) @ units.size
    odds = np.exp(eta) + rho / (1.0 - rho) * visible / 500
    p = odds / (1.0 + odds)
    np.testing.assert_allclose(model.probabilities(x[None])[0], p, rtol=1e-6)
    assert model.share_hidden(x[None])[0] == pytest.approx(rho)
    missed, mistaken = error
    of_label = (p * (1.0 - missed) + (1.0 - p) * mistaken)[units.code]
    known = ~np.isnan(labels)
    expected = stats.bernoulli.logpmf(labels[known], of_label[known]).sum()
    assert model.log_likelihood(x[None])[0] == pytest.approx(expected)


def test_positives_are_those_that_labels_of_erring_reviewers_stand_for():
    scores, positive = collection(n=600, share=0.3)
    labels = np.where(np.random.default_rng(0).random(600) < 0.5, positive, np.nan)
    units, (missed, mistaken) = RankedCollection.of(scores), (0.3, 0.1)
    posterior = fit_posterior(units, labels, "vague", 0, (missed, mistaken))
    some = scores > 0.0
    drawn = count_positives(posterior, units, labels, some, np.random.default_rng(0))
    p = posterior.probabilities()[:, units.code]
    labelled = p * (1.0 - missed) + (1.0 - p) * mistaken
    of_document = np.select(
        [labels == 1.0, labels == 0.0],
        [p * (1.0 - missed) / labelled, p * missed / (1.0 - labelled)],
        p,
    )
    expected = np.array([(of_document * some)[:, units.code == k].sum(axis=1) for k in units.code])
    # Per bin and draw of the curve: a mean of 1,600, to four of its standard errors.
    error = np.sqrt(drawn.var(axis=0).max() / len(drawn))
    np.testing.assert_allclose(
        drawn.mean(axis=0)[units.code], expected.mean(axis=1), atol=4.0 * error
    )


@pytest.mark.slow
def test_the_share_hidden_is_learned_from_earlier_reviews():
    reviews = [collection(seed, hidden=0.3, share=0.06) for seed in range(4)]
    a, b = learn_hidden(reviews)
    assert a == 1.0
    assert 0.2 < 1.0 / (1.0 + b) < 0.4
    tables = load_reuters_scores(split="calibration").groupby(["classifier", "topic"])
    _, b = learn_hidden((each["score"], each["label"]) for _, each in tables)
    assert b == pytest.approx(LEARNED[1], rel=0.15)
    with pytest.raises(ValueError, match="at least one review"):
        learn_hidden([])


def test_learned_is_the_beta_that_is_kept():
    scores, _, labels, plans = review()
    one, other = (
        estimate_recall(scores, labels, AT, design=plans, hidden=hidden)
        for hidden in ("learned", LEARNED)
    )
    assert one == other
    assert one.hidden.upper < found_of_review().hidden.upper


def test_documents_of_one_score_share_a_bin():
    scores = np.r_[np.zeros(500), np.ones(20), np.arange(2, 40)]
    found = RankedCollection.of(scores.astype(float))
    assert np.unique(found.code[:500]).size == np.unique(found.code[500:520]).size == 1
    assert found.size.sum() == scores.size
    assert (np.diff(found.z) < 0).all()


@pytest.mark.slow
def test_planned_documents_without_a_label():
    scores, _, labels, plans = review()
    partial = np.array(labels)
    partial[plans[1].documents[:7]] = np.nan
    with pytest.raises(ValueError, match="7 of 300 have none"):
        estimate_recall(scores, partial, AT, design=plans)
    bounds = estimate_recall(scores, partial, AT, design=plans, missing="bounds")
    filled = np.where(np.isin(np.arange(N), plans[1].documents[:7]), 1.0, partial)
    one = estimate_recall(scores, filled, AT, design=plans)
    assert bounds.design_based.lower <= one.design_based.lower
    assert bounds.design_based.upper >= one.design_based.upper
    assert bounds.design_based.width > found_of_review().design_based.width
    # Values are those with all missing labels positive.
    for name in ("with_hidden", "without_hidden", "positives", "missed", "hidden"):
        hull, own = getattr(bounds, name), getattr(one, name)
        assert hull.lower <= own.lower <= hull.value == own.value <= own.upper <= hull.upper
    assert "7 planned documents have no label" in bounds.notes[-1]
    options = {"inclusion": plans, "random_state": 0}
    note = "7 of 220 documents of round 2 have no label"
    assert note in plan_sample(scores, 50, labels=partial, **options).notes[0]
    with pytest.raises(ValueError, match="round 1, none of its 80 documents has one"):
        plan_sample(scores, 50, labels=np.full(N, np.nan), **options)


def test_labels_of_no_plan_are_known_and_fit_no_curve():
    scores, positive, labels, plans = review()
    more = np.array(labels)
    found_by_keyword = np.flatnonzero(positive & np.isnan(labels))[:5]
    more[found_by_keyword] = 1.0
    one = found_of_review()
    other = estimate_recall(scores, more, AT, design=plans)
    assert other.found == one.found + 5
    assert any("5 labels are in no plan" in note for note in other.notes)
    assert other.hidden == one.hidden  # the curve is the same


def test_no_positive_is_labelled_or_none_below_the_threshold():
    scores, positive, _, plans = review()
    labels = labelled(np.zeros(N, dtype=bool), *plans)
    found = estimate_recall(scores, labels, AT, design=plans)
    assert (found.lower, found.upper) == (0.0, 1.0)
    assert found.robust.width > 0.6
    assert any("No positive is labelled" in note for note in found.notes)
    found = estimate_recall(scores, labelled(positive & (scores >= AT), *plans), AT, design=plans)
    assert found.lower < 0.97 < found.upper == 1.0
    assert found.with_hidden.lower < found.with_hidden.upper


@pytest.mark.slow
def test_a_threshold_chosen_after_the_labels():
    scores, _, labels, plans = review()
    other = estimate_recall(scores, labels, 1.2, design=plans)
    assert any("ask for simultaneous intervals" in note for note in other.notes)
    for at, one in ((AT, found_of_review()), (1.2, other)):
        several = estimate_recall(scores, labels, at, design=plans, simultaneous=True)
        assert not several.notes
        for name in ("design_based", "robust", "without_hidden", "with_hidden"):
            assert getattr(several, name).width > getattr(one, name).width


def test_more_labels_than_documents_are_left():
    scores, positive, labels, one = drawn_once(250, 300, threshold=AT)
    rest = plan_sample(scores, 100, labels=labels, inclusion=one, random_state=0)
    assert rest.documents.size == 50
    assert (rest.inclusion[np.isnan(labels)] == 1.0).all()
    assert "all 50 are to be labelled" in rest.notes[0]
    with pytest.raises(ValueError, match="all have a label"):
        plan_sample(scores, 1, labels=positive.astype(float))


def test_ties_stay_together_and_equal_scores_are_a_simple_sample():
    scores = np.round(collection()[0])
    plan = plan_sample(scores, 100, threshold=2.0, random_state=0)
    for value in np.unique(scores):
        assert np.unique(plan.stratum[scores == value]).size == 1
    same = plan_sample(np.ones(500), 50, random_state=0)
    assert len(same.strata) == 1
    assert "simple random sample" in same.notes[0]
    labels = labelled(collection(n=500)[1], same)
    found = estimate_recall(np.ones(500), labels, 1.0, design=same)
    assert found.upper == 1.0


def test_a_simple_sample_has_the_limits_of_clopper_and_pearson():
    scores, positive, labels, plan = drawn_once(400, purpose="control")
    found = estimate_recall(scores, labels, AT, design=plan).design_based
    own = scores[plan.documents][positive[plan.documents]] >= AT
    ends = stats.binomtest(int(own.sum()), own.size).proportion_ci(0.9, method="exact")
    assert (found.lower, found.upper) == pytest.approx((ends.low, ends.high))


def test_scores_that_rise_with_negatives_are_warned_of():
    scores, positive = collection()
    plan = plan_sample(-scores, 400, purpose="control", random_state=0)
    labels = labelled(positive, plan)
    with pytest.warns(ScoresWarning, match="positives have lower scores"):
        found = estimate_recall(-scores, labels, 0.0, design=plan)
    assert found.lower <= np.mean(-scores[positive] >= 0.0) <= found.upper


def test_groups_are_drawn_and_counted_whole():
    groups = np.arange(900) // 3
    scores, positive, labels, plan = drawn_once(80, 900, threshold=AT, groups=groups)
    assert np.unique(groups[plan.documents]).size == 80
    assert plan.documents.size == 240
    found = estimate_recall(scores, labels, AT, design=plan, groups=groups, of="groups")
    highest = scores.reshape(300, 3).max(axis=1)
    of_group = positive.reshape(300, 3).any(axis=1)
    assert found.lower <= np.mean(highest[of_group] >= AT) <= found.upper
    assert (found.unit, found.found) == ("groups", np.unique(groups[labels == 1]).size)
    found = estimate_recall(scores, labels, AT, design=plan, groups=groups)
    assert found.lower <= np.mean(scores[positive] >= AT) <= found.upper
    assert (found.unit, found.found) == ("documents", np.nansum(labels))
    labels[plan.documents[0]] = np.nan
    with pytest.raises(ValueError, match="labels must hold all documents of a group or none, 1 gr"):
        estimate_recall(scores, labels, AT, design=np.full(900, 0.25), groups=groups)


def draw_of_groups(scores, labels, groups, plan):
    """Return the draw of groups, and the same with their documents as units."""
    drawn = draw_of_plans(SamplingUnits.of(scores, labels, groups), (plan,))
    return drawn, drawn.by_document(SamplingUnits.of(scores, labels, None))


@pytest.mark.parametrize("of", ["recall", "precision", "prevalence"])
def test_copies_count_as_one(of):
    scores, positive = (np.repeat(each, 3) for each in collection(n=900, share=0.1))
    groups = np.arange(2_700) // 3
    plan = plan_sample(scores, 200, threshold=AT, groups=groups, random_state=0)
    assert "200 groups hold 600 documents, in such draws 600 on average" in plan.notes[0]
    of_groups, of_documents = draw_of_groups(scores, labelled(positive, plan), groups, plan)
    one = of_groups.limits(of, of_groups.units.scores >= AT, 0.9)
    other = of_documents.limits(of, scores >= AT, 0.9)
    for end in ("value", "lower", "upper"):
        assert getattr(other, end) == pytest.approx(getattr(one, end))
    alone = replace(of_documents, group=None).limits(of, scores >= AT, 0.9)
    assert alone.width < 0.8 * other.width


def test_a_later_plan_of_groups_expects_widths_of_documents():
    """Documents of a group have one label; as many single documents would say far more."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(500), rng.integers(1, 15, 500))
    positive = (rng.random(500) < 0.3)[groups]
    scores = 2.0 * positive + rng.normal(size=groups.size)
    one = plan_sample(scores, 60, threshold=AT, groups=groups, random_state=0)
    options = {"labels": labelled(positive, one), "inclusion": one, "random_state": 1}
    two = plan_sample(scores, 120, threshold=AT, groups=groups, **options)
    labels = labelled(positive, one, two)
    drawn = draw_of_plans(SamplingUnits.of(scores, labels, groups), (one, two))
    found = drawn.by_document(SamplingUnits.of(scores, labels, None))
    width = two.expected_width
    assert width == pytest.approx(found.limits("recall", scores >= AT, 0.9).width, rel=0.35)
    single, own = re.search(r"expected width (.*), these of (.*)\.$", two.notes[-1]).groups()
    assert own == f"{width:.2f}"
    assert float(single) < 0.6 * width


def test_groups_of_one_document_change_nothing():
    scores, _, labels, plan = drawn_once(200, 900, purpose="control")
    drawn, same = draw_of_groups(scores, labels, np.arange(900), plan)
    assert same.limits("recall", scores >= AT, 0.9) == drawn.limits("recall", scores >= AT, 0.9)


def test_groups_without_a_positive_count_once():
    scores, groups = np.random.default_rng(0).normal(size=2_700), np.arange(2_700) // 3
    plan = plan_sample(scores, 300, purpose="control", groups=groups, random_state=0)
    labels = labelled(np.zeros(2_700, dtype=bool), plan)
    _, drawn = draw_of_groups(scores, labels, groups, plan)
    found = drawn.limits("prevalence", np.ones(2_700, dtype=bool), 0.9)
    assert found.upper == pytest.approx(count_limits(0, 300, 900).upper / 900)


def test_curves_count_groups_by_their_design_effect_and_probability():
    scores, positive = (np.repeat(each, 3) for each in collection(n=400, share=0.3))
    ranked, rng = RankedCollection.of(scores), np.random.default_rng(0)
    labels = np.where(np.arange(1_200) < 300, positive, np.nan)
    inclusion = np.where(np.arange(1_200) < 150, 0.5, 0.1)
    group = np.arange(1_200) // 3
    copies, single = (
        group_weights(ranked, labels, rng, (0.0, 0.0), inclusion, each)
        for each in (group, np.arange(1_200))
    )
    # Kish's size of 150 weights of 2 and 150 of 10, a third of it for copies.
    assert single.sum() == pytest.approx(300 * 12**2 / 4 / (2**2 / 2 + 10**2 / 2))
    assert 2.9 < single.sum() / copies.sum() < 4.5  # the correlation has its standard error added
    assert single[200] == pytest.approx(5.0 * single[0])
    assert not single[300:].any()


def test_near_duplicates_without_groups_are_noted():
    scores, positive = collection(n=900)
    twins = np.r_[scores, scores[:60]]
    for groups, count in ((None, 1), (np.r_[np.arange(900), np.arange(60)], 0)):
        plan = plan_sample(twins, 80, threshold=AT, groups=groups, random_state=0)
        labels = labelled(np.r_[positive, positive[:60]], plan)
        found = estimate_recall(twins, labels, AT, design=plan, groups=groups)
        notes = [note for note in found.notes if "near duplicates" in note]
        assert len(notes) == count
        assert all("60 of 960 documents have the same score as another" in each for each in notes)


def test_rounded_scores_are_no_near_duplicates():
    scores, _ = collection()
    assert _note_of_ties(scores) == _note_of_ties(np.round(scores, 3)) == []
    assert _note_of_ties(np.round(scores, 1)) == _note_of_ties(np.ones(5)) == []


def test_labels_that_trained_the_classifier_fit_no_curve():
    scores, _, labels, plans = review()
    found = estimate_recall(scores, labels, AT, design=plans, out_of_sample=False)
    assert found.robust.width > 0.6
    assert found.design_based == found_of_review().design_based
    assert np.isnan(found.conflict)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": "known"}, "hidden must be 'vague', 'learned', 0"),
        ({"hidden": (1.0, -2.0)}, "hidden must be 'vague', 'learned', 0"),
        ({"missing": "drop"}, "missing must be"),
        ({"reviewer_error": 0.1}, "reviewer_error must be the share of positives"),
        ({"reviewer_error": (0.6, 0.4)}, "reviewer_error must be the share of positives"),
        ({"reviewer_error": (0.1, np.nan)}, "reviewer_error must be the share of positives"),
        ({"design": [1]}, "design must be what plan_sample or read_plan returned"),
        ({"design": [review()[3][0], 1]}, "plans must be SamplePlan"),
        ({"design": np.zeros(N)}, "above 0 and at most 1, got 0"),
        ({"design": np.full(N, 10.0)}, "inclusion=1 / weights"),
    ],
)
def test_wrong_options(options, message):
    scores, _, labels, _ = review()
    with pytest.raises(ValueError, match=message):
        estimate_recall(scores, labels, AT, **options)


def test_wrong_plans_labels_and_thresholds():
    scores, _, labels, plans = review()
    recall = functools.partial(estimate_recall, scores)
    for call, message in (
        (lambda: recall(labels, np.nan), "threshold must be a finite"),
        (lambda: recall(labels, None), "threshold must"),
        (lambda: estimate_precision(scores, labels, 1e9), "threshold must take a document"),
        (lambda: plan_sample(scores, 0), "n must be"),
        (lambda: plan_sample(scores, 10, purpose="fun"), "purpose must be"),
        (
            lambda: estimate_recall(scores + 1.0, labels, AT, design=plans),
            "scores must be those of the plan of round 1",
        ),
        (lambda: recall(np.zeros((N, 2)), AT), "two reviewers of a document have to agree"),
        (lambda: recall(np.full(N, np.nan), AT), "must hold at least one label, got none"),
        (lambda: recall(labels[1:], AT), "give the scores of the whole collection"),
        (lambda: recall(np.full(N, 0.5), AT), r"or nan where there is none, got 0\.5"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_recall_by_rank_of_steps_is_that_of_documents():
    relevant = np.array([[1, 0, 1, 1], [0, 0, 0, 0]])
    assert recall_by_rank(relevant)[0] == pytest.approx([1 / 3, 1 / 3, 2 / 3, 1.0])
    assert recall_by_rank(relevant.reshape(2, 2, 2).sum(axis=2))[0] == pytest.approx([1 / 3, 1.0])
    assert recall_by_rank(relevant)[1].tolist() == [1.0] * 4
