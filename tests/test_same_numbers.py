"""Results are those of the version before, but for rounding."""

import pytest

from tests.same_numbers import FOLDER, PROCESSOR, ROOMS, cases_of, references_of, results_of
from tests.same_numbers.plain import differences
from tests.same_numbers.steady import DECIDED_BY_ROUNDING, rounding_of_processor

pytestmark = [pytest.mark.one_era, pytest.mark.filterwarnings("ignore::UserWarning")]
# Searches of modes of many topics magnify what processors round.
ROUNDING = {"topics": 1e-4, "topic_answers": 1e-4, "topic_fits": 1e-4}
REFERENCES = {room: references_of(room) for room in ROOMS}
IS_SAME_PROCESSOR = rounding_of_processor() == PROCESSOR.read_text().strip()
NAMES = [(room, name) for room in ROOMS for name in cases_of(room)]


@pytest.mark.parametrize(("room", "name"), NAMES)
def test_results_are_those_of_the_version_before(room, name):
    if room in DECIDED_BY_ROUNDING and not IS_SAME_PROCESSOR:
        pytest.skip("this processor rounds differently: compare on that of the references")
    said = results_of(room, name)
    assert not differences(said, REFERENCES[room][name], ROUNDING.get(room, 1e-6))


def test_every_reference_has_its_case():
    assert {path.stem for path in FOLDER.glob("*.json")} == set(ROOMS)
    assert set(ROOMS) > DECIDED_BY_ROUNDING
    assert all(REFERENCES[room].keys() == cases_of(room).keys() for room in ROOMS)


def test_another_seed_says_something_else(monkeypatch):
    from tests.same_numbers import models

    monkeypatch.setitem(models.SMALL, "random_state", 1)
    said = results_of("models", "combined")
    assert differences(said, REFERENCES["models"]["combined"], 1e-4)
