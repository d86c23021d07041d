"""Checks of arguments, numerics, words and files that know nothing about calibration."""

import datetime
import io
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from bayescal.support import files, mathml, numerics, palette, parallel, score_checks, validation
from tests.same_numbers.plain import answer_of

RNG = np.random.default_rng(61)
X = RNG.normal(size=31).round(1)
POSITIVE = RNG.random(31) < 0.3
WEIGHT = RNG.integers(0, 4, 31).astype(float)
MASKED = np.ma.masked_equal([1.0, 2.0, 3.0], 2.0)


def _each(function, values, *more, **options):
    """Return what a function answers for each of several values."""
    return [answer_of(function, each, *more, **options) for each in values]


def checks_of_numbers():
    """Return what checks of scores, weights and inclusion probabilities answer."""
    check = validation
    scores = [
        [1, 2], [[1.0], [2.0]], [[1.0, 2.0]], [[1.0, 2.0, 3.0]], 1.0, [], [np.nan, 1.0, np.inf],
        ["a"], [1j], [1e150, -1e150], [1.1e150, 0.0], [0.0, -2e150], MASKED, [None, 1.0],
        [datetime.date(2020, 1, 1)], ["a" * 80], [pd.NA], np.array(["1"]), [True, False],
    ]  # fmt: skip
    weights = [None, 2.0, [1, 2, 3], [1, 2], [-1, 1, 1], [0, 0, 0], [0, 0, 1], [np.inf, 1, 1]]
    inclusion = [0.5, [1.0, 1e-9, 0.3], [0.0, 1.0, 1.0], [1.01, 1.0, 1.0], [5.0, 2.0, 9.0],
                 [np.nan, 1.0, 1.0], [0.5, 0.5], 1e-12, 9e-13, 1.0]  # fmt: skip
    flags = [True, np.True_, 1, None]
    counts = [1, np.int64(3), 0, -1, True, 1.0, "1"]
    fractions = [0.5, 1e-9, 0.0, 1.0, "0.5", np.float32(0.25), None, True]
    return {
        "scores": _each(check.as_scores, scores),
        "weights": _each(check.as_weights, weights, 3),
        "inclusion": _each(check.as_inclusion, inclusion, 3),
        "flags": [answer_of(check.check_flag, name=each) for each in flags],
        "counts": [answer_of(check.check_count, "n", each) for each in counts],
        "fractions": [answer_of(check.check_fraction, f=each) for each in fractions],
        "shares": [answer_of(check.check_share, f=each) for each in fractions],
        "positive": [answer_of(check.check_positive, a=each)
                     for each in (1.0, [1.0, 0.0], np.inf, -1.0, np.nan)],
        "choices": _each(partial(check.check_choice, "c"), ["a", "c", 1], ("a", "b")),
        "lengths": [answer_of(check.check_same_length, "a", n, "b", 2) for n in (2, 3)],
        "first": [check.first_of(range(n)) for n in (0, 5, 6)],
        "first few": check.first_of("abc", 2),
        "generators": [check.generator(each).integers(1000, size=2) for each in
                       (3, np.random.RandomState(3), np.random.SeedSequence(3))],
        "no generators": _each(check.generator, [-1, "a", 1.5]),
    }  # fmt: skip


def probabilities_and_scores():
    """Return scores that are probabilities as log-odds, and the ends that stand for 0 and 1."""
    rows = [
        [0.0, 0.1, 0.75, 1.0], [0.1, 0.75, 1.0], [0.0, 0.3], [0.2, 0.4], [0.0, 1.0], [0.0, 0.0],
        [1.0, 1e-20, 0.0],
    ]  # fmt: skip
    read = partial(score_checks.read_scores, scores_are="probabilities")
    tables = [pd.Series([1.0], name="x"), pd.Series([1.0], name=3), pd.DataFrame({"y": [1]}),
              pd.DataFrame({"y": [1], "z": [2]}), [1.0], pd.Series([1.0], name="")]  # fmt: skip
    return {
        "ends": [validation.probability_ends(np.array(each), "probabilities") for each in rows],
        "ends of scores": validation.probability_ends(np.array(rows[0]), "scores"),
        "log-odds": _each(validation.as_scores_of, [*rows, [1.1], [-0.1]], "probabilities"),
        "within ends": validation.as_scores_of(rows[0], "probabilities", ends=(0.05, 0.9)),
        "scores": validation.as_scores_of([3.0, -1.0], "scores"),
        "guessed": _each(read, [rows[0], [1.2, 0.4, -0.3], [0.5, -1.0]], guessed=True),
        "stated": _each(read, [rows[0], [1.2, 0.4]], guessed=False),
        "names": [validation.name_of(each) for each in tables],
        "columns": [validation.column_names(each) for each in tables[2:4]],
    }


def labels_and_classes():
    """Return labels in classes, and how wrong ones are refused."""
    check = validation
    labels = [
        [0, 1, 1], ["n", "p", "n"], [True, False, True], [[0], [1], [1]], [0, 1, 2], [1, 1, 1], [],
        ["a", "A", "b "], ["a", "A", "a "], list(range(9)), np.linspace(0, 1, 12), [0, np.nan, 1],
        [None, 1, 0], [0, "a", 1], [b"a", b"b", b"a"], [[0, 1], [1, 0]], [pd.NA, 0, 1], MASKED,
        [datetime.date(2020, 1, k) for k in (1, 2, 1)], np.array([0, True, 1.0], object),
        [np.inf, 0.0, 1.0], [0, 1, 2, 3, 4],
    ]  # fmt: skip
    encode = check.encode_labels
    scores = np.array([0.3, 2.0, 1.0])
    mixed = np.array(["b", "a", "a"])
    return {
        "encoded": _each(encode, labels),
        "positive": [answer_of(encode, mixed, positive=each) for each in ("a", "b", "c")],
        "codes": [answer_of(encode, y, positive="a", scores=scores) for y in ([0, 1, 1], [1, 0, 0])]
        + [answer_of(encode, [1, 0, 0], positive="a"), answer_of(encode, [1, 2, 2], positive=0)],
        "weighted": [answer_of(encode, [0, 1, 1], np.array(each)) for each in
                     ([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 2.0])],
        "matched": [answer_of(check.match_labels, each, np.array(["a", "b"]))
                    for each in (["a", "b"], ["b", "c"], ["a"], [["a"], ["b"]])],
        "missing": [check.missing(np.array(each)) for each in ([1.0, np.nan], ["a", "b"])]
        + [check.missing(np.array([None, pd.NA, pd.NaT, np.nan, "a"], object))],
        "names": _each(check.names_of_columns, [None, ["a", "b"], ["a"], [None, "a"]], 2, "p"),
        "groups": [answer_of(check.read_groups, each, "groups", "group", 3, "scores")
                   for each in (["b", "a", "b"], [1, 2], [[1, 2, 3]], [None, 1, 2])],
        "kept": [answer_of(check.check_kept, np.array(each, object), "y")
                 for each in (["a", 1.0, True], [b"a"])],
    }  # fmt: skip


def tables_of_documents():
    """Return tables as scikit-learn reads them, and values that it cannot read by name."""
    table = pd.DataFrame({"a": [1.0, 2.0], "b": ["1", "x"]})
    calls = [
        ([[1.0, 2.0]], []), (table, []), ([[1.0, pd.NA]], []),
        ([[1.0], [2.0]], [["a", "b"]]), ([[1.0], [2.0]], [["a", pd.NA]]),
        ([[datetime.date(2020, 1, 1)]], []), ([[1.0], [2.0]], [None]), (MASKED[None], []),
    ]  # fmt: skip
    return [answer_of(validation.validated, BaseEstimator(), x, *y) for x, y in calls] + [
        answer_of(validation.validated, BaseEstimator(), [[1.0]], y, y_numeric=True)
        for y in (["1"], ["a"], [2.0])
    ]


def weights_of_documents():
    """Return weights and inclusion probabilities as weights, and warnings of wrong ones."""
    check = validation
    rows = np.arange(1.0, 41.0)
    many = np.where(np.arange(120) < 90, 1.0, 50.0)
    either = partial(check.either_weights, n=4, as_evidence=True)
    weights = [
        [1, 2, 0, 3], [0.5, 1.5, 0.5, 1.5], [9.5, 9.5, 1.0, 2.0], [1.5, 1.5, 1.5, 1.5],
        [1e12, 3e12, 0, 1e3], [1e30] * 4, [1e-30] * 4, None,
    ]  # fmt: skip
    return {
        "either": _each(either, weights, None),
        "sampled": answer_of(either, None, [0.5, 1.0, 0.25, 1.0]),
        "both": answer_of(either, [1] * 4, [1.0] * 4),
        "effective": [
            answer_of(check.effective_weights, *each, 4)
            for each in ((weights[0], None), (None, [0.5, 1.0, 0.25, 0.1]), (None, None))
        ],
        "size": [check.effective_size(each) for each in (rows, many, 1e300 * rows)],
        "scaled": check.scaled_to_effective_size(rows),
        "ratio": [
            check.ratio_of_weights(WEIGHT + 1.0, POSITIVE, X),
            check.ratio_of_weights(WEIGHT, ~POSITIVE, X),
            check.ratio_of_weights(WEIGHT + 1.0, POSITIVE | True, X),
        ],
        "counts": [
            check.look_like_counts(np.array(each))
            for each in (
                1.5 * rows, [1.5, 2.5], [1.5, 2.6], [0.5, 0.5], [1.5, 2.5, 0.0],
                *(np.resize(values, size) for size in (19, 20, 21)
                  for values in ([1.0, 9.0], [1.0, 10.0], [1.0, 2.0, 11.0], [1, 2, 3, 12])),
            )
        ],
        "bounded": [check.bounded_weights(np.array(each)) for each in
                    ([1e20, 3e20, 0.0], [4e11, 6e11], [5e11, 6e11], [1.0, 2.0])],
    }  # fmt: skip


def bayes_and_means():
    """Return probabilities of log-odds, their mixtures, and the smoothed prior."""
    odds = np.array([-800.0, -40.0, -1.2, 0.0, 0.4, 3.0, 50.0, 900.0])
    rows = np.stack([odds, 0.5 * odds, 0.3 * odds])
    weight = np.array([0.2, 0.5, 0.3])
    into = np.empty(8)
    return {
        "prior": [numerics.class_prior(*each) for each in ((0.0, 0.0), (3.0, 11.0), (2.5, 2.5))],
        "log-odds": numerics.log_odds(0.3, [-1.0, -2.0], [-2.0, -0.5]),
        "probability": [numerics.probability(odds), numerics.probability(odds, into), into],
        "both": numerics.probabilities(odds),
        "both, many": numerics.probabilities(np.linspace(-4.0, 3.0, numerics.IN_CACHE + 3)),
        "logs": numerics.log_probabilities(odds),
        "mixture": numerics.log_odds_of_mixture(rows, weight),
        "sums": [numerics.log_sum_exp(np.array(each), axis) for axis in (0, 1)
                 for each in ([[0.0, 1.0], [-np.inf, 3.0]], [[-np.inf] * 2] * 2)],
    }  # fmt: skip


def centres_and_spreads():
    """Return medians, spreads and units of scores, also where most of them tie."""
    tied = np.where(np.arange(31) < 20, 1.0, X)
    equal = np.full(31, -3.0)
    every = {"uneven": X, "tied": tied, "equal": equal, "zero": 0.0 * equal, "tiny": 1e-290 * X,
             "rounded": 1.0 + 1e-16 * np.arange(31), "near": 1.0 + 1e-13 * X}  # fmt: skip
    return {
        name: [
            [numerics.centre_and_spread(x, w), numerics.units_of(x, POSITIVE, w),
             numerics.median(x, w), numerics.bulk_width(x, w)]
            for w in (None, WEIGHT, 1.0 + WEIGHT)
        ]
        for name, x in every.items()
    } | {
        "one class": numerics.units_of(X, POSITIVE | True, None),
        "no weight": numerics.units_of(X, POSITIVE, np.where(POSITIVE, 0.0, 1.0)),
        "even": [numerics.median(np.array([4.0, 1.0, 3.0, 2.0]), w)
                 for w in (None, np.ones(4), np.array([1.0, 1.0, 2.0, 2.0]))],
        "many": numerics.bulk_width(np.sin(np.arange(45_000.0)) ** 3),
        "rounding": numerics.rounding(3.0),
        "root": numerics.root_of_inverse(
            np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
        ),
    }  # fmt: skip


def maxima():
    """Return maxima by Newton's method: near, far, not reached, and within brackets."""

    def value(x):
        return float(-np.sqrt(1.0 + (x - 2.0) ** 2).sum())

    def newton(x):
        away = x - 2.0
        root = np.sqrt(1.0 + away**2)
        step = -away * root**2
        return step, float((-away / root) @ step)

    def derivatives(x):
        away = x - np.array([3.0, -250.0, 0.5])
        return -np.tanh(away), 1.0 / np.cosh(np.clip(away, -300.0, 300.0)) ** 2

    start = np.array([0.5, 4.0])
    low, high = np.full(3, -700.0), np.full(3, 700.0)
    within = partial(numerics.climb_within, np.zeros(3), low, high, derivatives, flattest=1e-12)
    return {
        "climbed": [
            numerics.climb(start, value, newton, tolerance=1e-12),
            numerics.climb(start, value, newton, tolerance=1e-12, rise=0.0),
            numerics.climb(start, value, newton, tolerance=1e-12, steps=1),
            numerics.climb(start, value, newton, tolerance=1e-12, steps=2, rise=0.3),
            numerics.climb(start, value, newton, tolerance=100.0),
            numerics.climb(start, value, newton, tolerance=1e-12, smallest=0.3),
            numerics.climb(start, value, newton, tolerance=0.0, steps=3, rise=2.0),
        ],
        "within": [within(tolerance=1e-9), within(tolerance=1e-9, steps=4)],
        "coarse": within(tolerance=0.5),
    }


def directions_of_scores():
    """Return whether scores separate classes, and what is wrong with them in words."""
    scores = {
        "good": X + 2.0 * POSITIVE, "reversed": X - 3.0 * POSITIVE, "equal": np.full(31, 2.5),
        "inside": 1.0 / (1.0 + np.exp(-X)), "ends": (X > 0.0) * 1.0,
    }  # fmt: skip
    rng = np.random.default_rng(8)
    nothing, many = rng.normal(size=900).round(1), rng.random(900) < 0.4
    found = {name: score_checks.direction(each, POSITIVE) for name, each in scores.items()}
    found["weighted"] = score_checks.direction(scores["good"], POSITIVE, WEIGHT)
    found["nothing"] = score_checks.direction(nothing, many)
    every = [each for each in found.values() if each is not None]
    problems = {
        f"{name}, {stated}, {taken}, {slope}": score_checks.score_problems(
            score, truth, None, classes=["n", "p"], stated=stated, taken=taken,
            log_odds=lambda x, slope=slope: slope * x,
        )
        for name, score, truth in (*((k, v, POSITIVE) for k, v in scores.items()),
                                   ("nothing", nothing, many))
        for stated, taken in ((True, "scores"), (False, "scores"), (False, "probabilities"))
        for slope in (0.1, 3.0)
    }  # fmt: skip
    topics = [found["good"], found["reversed"], None, found["nothing"]]
    said = score_checks.topic_problems
    return {
        "found": found,
        "below": [each.probability_below for each in every],
        "near half": [each.probability_near_half(0.1) for each in every],
        "pooled": [score_checks.pooled_direction(each) for each in (every, [])],
        "none": [score_checks.direction(X, POSITIVE | True),
                 score_checks.direction(X[:2], np.array([True, False]), np.array([0.5, 0.5])),
                 score_checks.direction(X[:2], np.array([True, False]), np.array([0.5, 0.6]))],
        "problems": {name: each for name, each in problems.items() if each},
        "topics": [said("abcd", topics, ["n", "p"]), said("ab", topics[1:3], ["n", "p"]),
                   said("c", [None], ["n", "p"])],
        "thinned": [score_checks._thinned(np.arange(n) < 30_000).size for n in (60_000, 49_999)],
        "warned": [answer_of(score_checks.warn_of_scores, each) for each in ((), ("a", "b"))],
    }  # fmt: skip


def words_and_formulas():
    """Return texts made safe, formulas, colours and numbers in words."""
    stream = io.StringIO()
    files.PrintableStream(stream).write("a\x1b[31m\tb\n\x85")
    pieces = ["alpha", "x_1", "log", "-1.5e-3", "sum", "<=", "~", "lambda", "word", "12", "two x"]
    return {
        "printable": [files.printable(each) for each in ("plain", "a\x07b\r\n\t", "\x7f\x9f\xa0")],
        "stream": [stream.getvalue(), files.PrintableStream(stream).writable()],
        "rows": [files.file_row(k) for k in (0, 7)],
        "digest": [files.digest([b"ab", b"c"]), files.digest([b"a", b"bc"])],
        "formulas": [
            str(each) for each in (
                mathml.formula(*pieces), mathml.formula("x", block=False),
                mathml.frac("a", mathml.root("b")), mathml.sub("x", "i"), mathml.sup("x", "2"),
                mathml.both("x", "i", "2"), mathml.words(" if <x> "),
                mathml.cases(("1", "x"), ("0", mathml.words("else"))),
                mathml.distributed("mu", "Normal", "0", mathml.sup("sigma", "2")),
            )
        ],
        "letters": [mathml.letter(each) for each in ("alpha", "lambda")],
        "short": [mathml.short(each) for each in (0.0, 1e-320, 1234.5, -0.000123456, 2.0)],
        "in text": [mathml.in_text(*each) for each in ((-1.23456,), (None, "b"), (1e9,))],
        "colours": [dict(palette.OKABE_ITO), palette.CLASS_COLOURS, palette.POSTERIOR_COLOUR,
                    palette.MLE_COLOUR, palette.DATA_COLOUR, palette.FAINT_COLOUR],
    }  # fmt: skip


def files_and_runs():
    """Return what happens to files that are written, and to runs that are resumed."""

    def written(path, *, fail=False):
        with files.whole_file(path) as temporary:
            temporary.write_text("new")
            if fail:
                raise ValueError("no")
        return path.read_text()

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = folder / "a.txt"
        said = [answer_of(written, target), answer_of(written, target, fail=True)]
        said.append(sorted(path.name for path in folder.iterdir()))
        for path in (folder, folder / "none" / "b.txt"):
            try:
                files.check_target(path)
            except OSError as refused:
                said.append(f"{type(refused).__name__}: {refused}".replace(name, ""))
        run, record = folder / "run", {"a": 1, "b": "x" * 50}
        runs = [
            answer_of(files.begin, run, each, resume=resume)
            for each, resume in ((record, True), (record, False), (record, True),
                                 ({"a": 2, "c": 3, "b": "x" * 40}, True), ({"a": 2}, False))
        ]  # fmt: skip
        read = [files.read_record(run), files.read_record(folder)]
        kept = parallel.keeps_nothing(folder)
        (run / "output.pkl").touch()
        said = [*said, runs, read, kept, parallel.keeps_nothing(folder)]
        return [
            [text.replace(name, "") if isinstance(text, str) else text for text in each]
            if isinstance(each, list) else each
            for each in said
        ]  # fmt: skip


def work_in_parallel():
    """Return what work in parallel gives, and the progress that it reports."""
    told = []

    def run(sizes=None, **options):
        with parallel.workers(1, **options), parallel.reporting(lambda *done: told.append(done)):
            return list(parallel.in_parallel(abs, [-3, 2, -1], sizes))

    return {
        "results": [run(), run([5, 1, 2])],
        "told": told,
        "blocks": [[(each.start, each.stop) for each in parallel.blocks_of(*sizes)]
                   for sizes in ((3, 8), (4, 8), (9, 8), (2, 0))],
    }  # fmt: skip


CASES = {
    "numbers": checks_of_numbers,
    "probabilities": probabilities_and_scores,
    "labels": labels_and_classes,
    "tables": tables_of_documents,
    "weights": weights_of_documents,
    "bayes": bayes_and_means,
    "centres and spreads": centres_and_spreads,
    "maxima": maxima,
    "directions": directions_of_scores,
    "words and formulas": words_and_formulas,
    "files and runs": files_and_runs,
    "work in parallel": work_in_parallel,
}
