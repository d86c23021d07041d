"""Arrays that are appended to in place, against numpy's own joining, whoever appends to what."""

import pickle

import numpy as np
import pytest

from bayescal.results.room import append


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_many_appended_one_after_the_other_are_those_joined(rng, axis):
    shapes = [[3 if k != axis else n for k in range(3)] for n in (2, 1, 5, 0, 1, 1, 7)]
    pieces = [rng.normal(size=shape) for shape in shapes]
    joined = pieces[0]
    for piece in pieces[1:]:
        joined = append(joined, piece, axis)
    np.testing.assert_array_equal(joined, np.concatenate(pieces, axis))


def test_what_there_is_is_copied_now_and_then_only(rng):
    joined, copies = rng.normal(size=(2, 3)), 0
    for _ in range(1000):
        longer = append(joined, rng.normal(size=(2, 1)), 1)
        copies += not np.shares_memory(longer, joined)
        joined = longer
    assert copies <= np.log2(1000)


def test_two_that_continue_one_array_do_not_see_each_other(rng):
    first = append(rng.normal(size=4), rng.normal(size=1), 0)
    kept = first.copy()
    pieces = rng.normal(size=(2, 1))
    both = [append(first, piece, 0) for piece in pieces]
    for found, piece in zip(both, pieces, strict=True):
        np.testing.assert_array_equal(found, [*kept, *piece])
    np.testing.assert_array_equal(first, kept)
    assert np.shares_memory(first, both[0])
    assert not np.shares_memory(first, both[1])


@pytest.mark.parametrize(
    "view",
    [
        pytest.param(lambda a: a[:2], id="shorter"),
        pytest.param(lambda a: a[1:], id="from the second on"),
        pytest.param(lambda a: a[::-1], id="backwards"),
        pytest.param(lambda a: a.T, id="transposed"),
        pytest.param(lambda a: a[:, :1], id="narrower"),
        pytest.param(np.copy, id="a copy"),
        pytest.param(lambda a: pickle.loads(pickle.dumps(a)), id="of a file"),
    ],
)
def test_parts_and_copies_of_an_array_are_continued_elsewhere(rng, view):
    whole = append(rng.normal(size=(2, 3)), rng.normal(size=(1, 3)), 0)
    kept, part = whole.copy(), view(whole)
    more = np.ones((1, part.shape[1]))
    found = append(part, more, 0)
    np.testing.assert_array_equal(found, np.concatenate([part, more]))
    assert not np.shares_memory(found, whole)
    np.testing.assert_array_equal(append(whole, np.zeros((1, 3)), 0)[:3], kept)


def test_the_type_holds_both():
    whole = append(np.array([1, 2]), np.array([3]), 0)
    assert whole.dtype == int
    mixed = append(whole, np.array([0.5]), 0)
    assert mixed.tolist() == [1.0, 2.0, 3.0, 0.5]
    assert append(np.array(["a"]), np.array(["longer"]), 0).tolist() == ["a", "longer"]


def test_memory_stays_while_any_array_of_it_is_left(rng):
    whole = append(rng.normal(size=(500, 1000)), rng.normal(size=(1, 1000)), 0)
    kept, row = whole[7].copy(), whole[7]
    del whole
    rng.normal(size=(1001, 1000))
    np.testing.assert_array_equal(row, kept)
