"""Error messages of online combiners, which learn nothing from refused input."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from bayescal.combining.online.online_combiner import OnlineCombiner
from bayescal.combining.online.rules import RULES

RNG = np.random.default_rng(0)
P = RNG.random((20, 3))
Y = RNG.integers(2, size=20)
ON = RNG.random((20, 4))
NAN = np.where(np.arange(60).reshape(20, 3) == 7, np.nan, P)


def with_one(array, value):
    """Return a copy of which one entry of the third document is another."""
    out = array.copy()
    out[2, 1] = value
    return out


def fitted(rule):
    indicators = ON if RULES[rule].takes_indicators else None
    return OnlineCombiner(rule).partial_fit(P, Y, classes=[0, 1], indicators=indicators)


def bad(message, rule="wma", probabilities=P, y=Y, **given):
    """Return a rule, its arguments, and the message of their error."""
    return rule, (probabilities, y), given, message


BAD = [
    bad(r"y must hold 0, 1 only, got 2", "bmx", y=Y + 1, indicators=ON),
    bad("y must hold 0, 1 only", y=Y.astype(str)),
    bad("y must hold 0, 1 only, got nan", y=np.full(20, np.nan)),
    bad(r"y must have shape \(n,\)", y=Y[:, None]),
    bad("P and y must have the same length, got 20 and 19", y=Y[:-1]),
    bad(r"classes must stay \[0, 1\]", classes=[0, 1, 2]),
    bad("as many experts as before, 3, got 6: fit anew for others", probabilities=np.c_[P, P]),
    bad("as many indicators as before, 4, got 3", "bmx", indicators=ON[:, 1:]),
    bad("as many indicators as before, 4, got 0", "eg"),
    bad("rule 'winnow' takes no indicators", "winnow", indicators=ON),
    bad("P and indicators must have the same length", "bmx", indicators=ON[1:]),
    bad(r"indicators must have shape \(n, indicators\), got \(20,\)", "bmx", indicators=ON[:, 0]),
    bad(
        "indicators must not be nan, got one for document 2, indicator 1",
        "winbmx",
        indicators=with_one(ON, np.nan),
    ),
    bad(
        r"indicators must lie between 0 and 1, got 7.5 for document 2: .*MinMaxScaler",
        "winbmxmod",
        indicators=with_one(ON, 7.5),
    ),
    bad(
        "must have an indicator above 0, got none for document 5",
        "eg",
        indicators=np.where(np.arange(20)[:, None] == 5, 0.0, ON),
    ),
    bad(
        r"P must lie between 0 and 1, got 1.5 for document 2: .*ScoreCalibrator",
        probabilities=with_one(P, 1.5),
    ),
    bad("P must lie between 0 and 1", probabilities=with_one(P, -3.0)),
    bad(
        "in P must sum to 1, or all be nan, got a sum of .* for document 0, expert 0",
        probabilities=np.stack([P, P], axis=2),
    ),
    bad(
        "must sum to 1, or all be nan, got a sum of nan for document 2, expert 1",
        "winnow",
        probabilities=np.stack([1.0 - P, NAN], axis=2),
    ),
    bad(r"P must have shape \(n, experts\) or .*got \(20,\)", probabilities=P[:, 0]),
    bad("at least one document and expert", probabilities=P[:0], y=Y[:0]),
    bad("P must be real numbers, got ", probabilities=[["a", "b", "c"]], y=Y[:1]),
    bad("P must be real numbers, got ", probabilities=P.astype(str)),
    bad("indicators must be real numbers, got ", "eg", indicators=ON.astype(str)),
    bad(
        "rule 'bmx' needs all experts awake, but for document 2 expert 1 sleeps: take 'winnow'",
        "bmx",
        probabilities=NAN,
        indicators=ON,
    ),
    bad(
        "awake must give probabilities, got nan for document 2, expert 1",
        "winnow",
        probabilities=NAN,
        awake=np.ones(P.shape, dtype=bool),
    ),
    bad(
        r"awake must be bool, of shape \(n, experts\) = \(20, 3\), got bool of shape \(20,\)",
        "winnow",
        awake=np.ones(20, dtype=bool),
    ),
    bad("awake must be bool", "winnow", awake=np.ones(P.shape)),
]


@pytest.mark.parametrize(("rule", "arguments", "keywords", "message"), BAD)
def test_refused_and_nothing_learnt(rule, arguments, keywords, message):
    combiner = fitted(rule)
    before = copy.deepcopy(vars(combiner))
    with pytest.raises(ValueError, match=message):
        combiner.partial_fit(*arguments, **keywords)
    np.testing.assert_equal(vars(combiner), before)
    new = OnlineCombiner(rule)
    if "as before" not in message and "stay" not in message:
        with pytest.raises(ValueError, match=message):
            new.partial_fit(*arguments, **{"classes": [0, 1], **keywords})
        with pytest.raises(ValueError, match=message):
            combiner.fit(*arguments, **{"classes": [0, 1], **keywords})
        assert not any(name.endswith("_") for name in vars(new))
        np.testing.assert_equal(vars(combiner), before)


NOT_OF_LABELS = [case for case in BAD if "y must" not in case[-1] and "classes" not in case[2]]


@pytest.mark.parametrize(("rule", "arguments", "keywords", "message"), NOT_OF_LABELS)
def test_refused_when_predicting(rule, arguments, keywords, message):
    with pytest.raises(ValueError, match=message):
        fitted(rule).predict_proba(arguments[0], **keywords)


def test_all_experts_asleep():
    silent = np.where(np.arange(20)[:, None] == 4, np.nan, P)
    alone = OnlineCombiner("winnow", constant_experts=False)
    with pytest.raises(ValueError, match="all sleep for document 4: leave it out, or set constant"):
        alone.partial_fit(silent, Y, classes=[0, 1])
    # A constant expert is always awake.
    found = OnlineCombiner("winnow").partial_fit(silent, Y, classes=[0, 1])
    assert found.predict_proba(silent)[4].tolist() == [0.0, 1.0]


def test_a_first_call_must_name_the_classes():
    with pytest.raises(ValueError, match="classes must name all classes at the first call"):
        OnlineCombiner().partial_fit(P, Y)
    with pytest.raises(ValueError, match="at least two classes, got"):
        OnlineCombiner().fit(P, np.zeros(20))
    with pytest.raises(ValueError, match="y must not be nan"):
        OnlineCombiner().fit(P, np.where(Y == 0, np.nan, 1.0))
    with pytest.raises(ValueError, match="must be labels of one type"):
        OnlineCombiner().fit(P, np.array([None, "in"], dtype=object)[Y])
    later = OnlineCombiner("wma").partial_fit(P, np.zeros(20), classes=[0.0, 1.0])
    assert later.partial_fit(P, Y, classes=[1, 0]).n_rounds_ == 40


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"rule": "hedge"}, "rule must be one of 'wma', 'winnow'"),
        ({"beta": 1.0}, "beta must lie between 0 and 1"),
        ({"beta": 1e-200}, "beta must be at least 1e-100"),
        ({"eta": 0.0}, "eta must lie between 0 and 1"),
        ({"passes": 0}, "passes must be a positive whole number"),
    ],
)
def test_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        OnlineCombiner(**params).fit(P, Y)


def test_constant_experts_cannot_come_later():
    combiner = fitted("wma").set_params(constant_experts=False)
    with pytest.raises(ValueError, match="as many experts with constant ones as before, 4, got 3"):
        combiner.partial_fit(P, Y)


@pytest.mark.parametrize("rule", RULES)
def test_the_smallest_beta(rule):
    assert np.isfinite(OnlineCombiner(rule, beta=1e-100).fit(P, Y).predict_proba(P)).all()


NAMED = pd.DataFrame(P, columns=["nb", "lr", "svm"])
REFUSED = {
    "another order": (NAMED[["lr", "nb", "svm"]], "must be in the same order"),
    "another name": (NAMED.rename(columns={"nb": "tree"}), "unseen at fit time:\n- tree"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_experts_keep_their_names(case):
    other, message = REFUSED[case]
    combiner = OnlineCombiner("wma").partial_fit(NAMED, Y, classes=[0, 1])
    assert combiner.feature_names_in_.tolist() == ["nb", "lr", "svm"]
    before = copy.deepcopy(vars(combiner))
    with pytest.raises(ValueError, match=message):
        combiner.predict_proba(other)
    with pytest.raises(ValueError, match=message):
        combiner.partial_fit(other, Y)
    np.testing.assert_equal(vars(combiner), before)
    combiner.partial_fit(NAMED, Y)
    # Fitted anew, it takes whatever names there are.
    assert combiner.fit(other, Y).feature_names_in_.tolist() == other.columns.tolist()
    assert not hasattr(combiner.fit(P, Y), "feature_names_in_")


@pytest.mark.parametrize("rule", RULES)
def test_a_pickled_combiner_goes_on_as_it_would_have(rule):
    combiner = fitted(rule)
    again = pickle.loads(pickle.dumps(combiner))
    indicators = ON if RULES[rule].takes_indicators else None
    for each in (combiner, again):
        each.partial_fit(P, 1 - Y, indicators=indicators)
    np.testing.assert_array_equal(
        again.predict_proba(P, indicators=indicators),
        combiner.predict_proba(P, indicators=indicators),
    )
