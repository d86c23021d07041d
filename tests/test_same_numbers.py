"""Results are those of the version before, but for rounding."""

import pytest

from tests.same_numbers import FOLDER, ROOMS, cases_of, references_of
from tests.same_numbers.plain import differences, plain

pytestmark = [pytest.mark.one_era, pytest.mark.filterwarnings("ignore::UserWarning")]
# Processors round sums differently; searches of modes of many topics magnify that: 1e-7 was seen.
ROUNDING = {"topics": 1e-6}
REFERENCES = {room: references_of(room) for room in ROOMS}


@pytest.mark.parametrize(("room", "name"), [(r, name) for r in ROOMS for name in cases_of(r)])
def test_results_are_those_of_the_version_before(room, name):
    said = plain(cases_of(room)[name]())
    assert not differences(said, REFERENCES[room][name], ROUNDING.get(room, 1e-10))


def test_every_reference_has_its_case():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ROOMS)
    assert all(REFERENCES[room].keys() == cases_of(room).keys() for room in ROOMS)


def test_another_seed_says_something_else(monkeypatch):
    from tests.same_numbers import models

    monkeypatch.setitem(models.SMALL, "random_state", 1)
    said = plain(cases_of("models")["combined"]())
    assert differences(said, REFERENCES["models"]["combined"], 1e-4)
