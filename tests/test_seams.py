"""What is wrong with the draws of any part, or with how they were made, every reader notices.

The parts are those of the registry: a part that is added, and that nobody checks, fails here.
"""

from html import unescape

import numpy as np
import pytest
import xarray as xr

from bayescal import ScoreCalibrator
from bayescal.comparison import leave_one_out
from bayescal.engines.parts import PARTS, parts_of
from bayescal.results.diagnostics import ConvergenceWarning, diagnose
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
STORED = [part for part in PARTS.values() if part.draws]
LABELS = np.repeat([0, 1], 30)
SCORES = np.random.default_rng(0).normal(1.5 * LABELS)

each_part = pytest.mark.parametrize("part", STORED, ids=lambda part: part.name)


@pytest.fixture(scope="module")
def whole():
    """Return a fit of every part that there is."""
    settings = {"draws": 100, "chains": 2, "random_state": 0}
    return ScoreCalibrator(scores_are="log_odds", **settings).fit(SCORES, LABELS)


def test_nothing_is_wrong_with_a_fit_of_every_part(whole, tmp_path):
    assert [part.name for part in parts_of(whole.results_)] == list(PARTS)
    assert whole.diagnostics_.ok
    whole.summary()  # a warning would be an error here
    leave_one_out(whole)
    assert "no problem found" in verdict(whole, tmp_path)


def verdict(calibrator, folder):
    page = calibrator.report(folder / "report.html").read_text()
    return unescape(page.split('id="verdict"')[1].split("</p>")[0])


def told(calibrator, folder):
    """Return what each reader tells of what is wrong."""
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
        tree = with_bad_evidence(whole.results_, part.evidence)
    else:
        (group,) = part.draws
        tree = with_spoilt_draws(whole.results_, group, all_the_same)
    texts = told(reread(whole, tree), tmp_path)
    for reader, text in texts.items():
        assert named(part) in text, reader
        assert not any(named(other) in text for other in STORED if other != part), reader


@each_part
def test_draws_that_are_not_finite_are_refused(whole, part):
    (group,) = part.draws
    tree = with_spoilt_draws(whole.results_, group, one_nan)
    (problem,) = diagnose(tree).problems
    assert f"{named(part)} hold values that are not finite" in problem
    with pytest.raises(ValueError, match=f"{named(part)} hold values that are not finite"):
        reread(whole, tree)


@pytest.mark.parametrize("family", ["average", "monotone", "logistic", "recalibrated"])
def test_models_of_fewer_parts(family):
    fitted = ScoreCalibrator(family, draws=50, chains=1, random_state=0).fit(SCORES, LABELS)
    for part in parts_of(fitted.results_):
        (problem,) = diagnose(with_bad_evidence(fitted.results_, part.evidence)).problems
        assert named(part) in problem


@pytest.mark.parametrize(
    ("variable", "value"), [("pareto_k", 9.0), ("pareto_k", np.nan), ("efficiency", 0.01)]
)
@pytest.mark.parametrize("name", ["monotone", "logistic", "recalibrated"])
def test_each_number_of_the_evidence_counts(whole, name, variable, value):
    tree, group = whole.results_.copy(), PARTS[name].evidence
    tree[group] = xr.DataTree(tree[group].to_dataset().assign({variable: value}))
    (problem,) = diagnose(tree).problems
    assert named(PARTS[name]) in problem
