"""Every reader notices a fault in the draws of any part, or in their diagnostics.

The parts are those of the registry: a part that is added, and that nobody checks, fails here.
"""

from html import unescape

import numpy as np
import pytest
import xarray as xr

from bayescal import ScoreCalibrator
from bayescal.calibrators import leave_one_out
from bayescal.fitting.parts.combination import PARTS
from bayescal.fitting.parts.part import all_paths, flat
from bayescal.fitting.results.diagnostics import ConvergenceWarning, diagnose
from tests.spoiling import (
    all_the_same,
    named,
    one_nan,
    reread,
    with_bad_evidence,
    with_spoilt_draws,
)

# arviz-stats warns of documents that sway much, which is not what is wrong here.
pytestmark = pytest.mark.filterwarnings("ignore:Estimated shape parameter:UserWarning")
# All but the one that nothing is fitted for.
STORED = [name for name in PARTS if name != "identity"]
LABELS = np.repeat([0, 1], 30)
SCORES = np.random.default_rng(0).normal(1.5 * LABELS)

each_part = pytest.mark.parametrize("part", STORED)


def paths(tree, part):
    """Return where a tree keeps a part."""
    return next(each for each in all_paths(flat(tree)) if each.name == part)


@pytest.fixture(scope="module")
def whole():
    """Return a fit of every part that there is."""
    settings = {"draws": 100, "chains": 2, "random_state": 0}
    return ScoreCalibrator(parts=tuple(PARTS), scores_are="log_odds", **settings).fit(
        SCORES, LABELS
    )


def test_nothing_is_wrong_with_a_fit_of_every_part(whole, tmp_path):
    assert [each.name for each in all_paths(flat(whole.results_))] == list(PARTS)
    assert whole.diagnostics_.ok
    whole.summary()  # a warning would be an error here
    leave_one_out(whole)
    assert "No problem was found" in verdict(whole, tmp_path)


def verdict(calibrator, folder):
    page = calibrator.report(folder / "report.html").read_text()
    return unescape(page.split('id="verdict"')[1].split("</p>")[0])


def told(calibrator, folder):
    """Return each reader's message about the fault."""
    out = {"diagnostics": " ".join(calibrator.diagnostics_.problems)}
    for name, read in (
        ("summary", calibrator.summary),
        ("leave-one-out", lambda: leave_one_out(calibrator)),
    ):
        with pytest.warns(ConvergenceWarning) as warned:
            read()
        out[name] = str(warned[0].message)
    out["notebook"] = unescape(calibrator._repr_html_())
    return out | {"report": verdict(calibrator, folder)}


@each_part
@pytest.mark.parametrize("wrong", ["evidence", "draws"])
def test_every_reader_notices(whole, part, wrong, tmp_path):
    if wrong == "evidence":
        tree = with_bad_evidence(whole.results_, paths(whole.results_, part).evidence)
    else:
        (group,) = paths(whole.results_, part).draws
        tree = with_spoilt_draws(whole.results_, group, all_the_same)
    texts = told(reread(whole, tree), tmp_path)
    for reader, text in texts.items():
        assert named(part) in text, reader
        assert not any(named(other) in text for other in STORED if other != part), reader


@each_part
def test_draws_that_are_not_finite_are_refused(whole, part):
    (group,) = paths(whole.results_, part).draws
    tree = with_spoilt_draws(whole.results_, group, one_nan)
    (problem,) = diagnose(flat(tree)).problems
    assert f"{named(part)} hold values that are not finite" in problem
    with pytest.raises(ValueError, match=f"{named(part)} hold values that are not finite"):
        reread(whole, tree)


@pytest.mark.parametrize("parts", [*STORED, ("monotone", "logistic")])
def test_models_of_fewer_parts(parts):
    settings = {"draws": 50, "chains": 1, "random_state": 0}
    fitted = ScoreCalibrator(parts=parts, **settings).fit(SCORES, LABELS)
    for each in all_paths(flat(fitted.results_)):
        (problem,) = diagnose(flat(with_bad_evidence(fitted.results_, each.evidence))).problems
        assert named(each.name) in problem


@pytest.mark.parametrize(
    ("variable", "value"), [("pareto_k", 9.0), ("pareto_k", np.nan), ("efficiency", 0.01)]
)
@pytest.mark.parametrize("name", ["monotone", "logistic", "recalibrated"])
def test_each_number_of_the_evidence_counts(whole, name, variable, value):
    tree, group = whole.results_.copy(), paths(whole.results_, name).evidence
    tree[group] = xr.DataTree(tree[group].to_dataset().assign({variable: value}))
    (problem,) = diagnose(flat(tree)).problems
    assert named(name) in problem
