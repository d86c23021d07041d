"""Fits of one problem as plots and reports see them; updates, files, comparisons."""

import json
import tempfile
import zlib
from functools import partial
from pathlib import Path

import numpy as np

from bayescal import ScoreCalibrator, load
from bayescal.calibrators.comparison import compare_calibrators, leave_one_out
from bayescal.calibrators.estimates import compare_estimates
from tests.same_numbers.plain import every_group, outcome
from tests.same_numbers.score_answers import SHOWN, shown_at
from tests.same_numbers.score_fits import FITS, LABELS, SCORES, SMALL, WEIGHTS, fitted


def problem_of(name):
    """Return all that plots and reports may ask of a fit."""
    problem = next(iter(fitted(name).fitted_problems().values()))
    draws = problem.draws
    return {
        "model": problem.model,
        "problems": problem.problems,
        "diagnostics": problem.diagnostics,
        "parts": problem.parts,
        "parameters": problem.parameters(0.8),
        "described": [_checksum(problem.describe(several=each)) for each in (False, True)],
        "moved": problem.prior_moved,
        "scale": problem.scale,
        "attrs": problem.attrs,
        "has": [problem.has_posterior, problem.has_mle, draws is not None],
        "grid": problem.grid(points=7),
        "own grid": problem.grid(shown_at(name)[::-1]),
        "counts": [problem.documents.count(k) for k in (False, True)],
        "sample": None if draws is None else problem.sample(3, np.random.default_rng(1)).size,
        "counted": problem.counts,
    }


def _checksum(blocks):
    return zlib.crc32(repr(blocks).encode())


def updated():
    """Return a fit before and after two updates, one of which forgets."""
    calibrator = ScoreCalibrator(**SMALL, parts="average").fit(SCORES[::2], LABELS[::2])
    calibrator.update(SCORES[1::4], LABELS[1::4])
    calibrator.update(SCORES[3::4], LABELS[3::4], WEIGHTS[3::4], forgetting=0.8)
    return {
        "groups": every_group(calibrator.results_),
        "prequential": calibrator.prequential_,
        "proba": calibrator.predict_proba(SHOWN)[:, 1],
        "refused": outcome(calibrator.update, SCORES[:3], LABELS[:3], forgetting=1.2),
    }


def saved():
    """Return what a fit answers that was saved and loaded, and digests of both."""
    calibrator = fitted("combined")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.nc"
        calibrator.save(path)
        loaded = load(path)
        again = ScoreCalibrator.load(path)
        missing = outcome(load, Path(folder) / "none.nc")["error"].replace(folder, "")
    return {
        "proba": loaded.predict_proba(SHOWN)[:, 1],
        "again": again.predict_interval(SHOWN, kind="simultaneous"),
        "parameters": json.dumps(loaded.get_params(), default=str, sort_keys=True),
        "groups": every_group(loaded.results_) == every_group(calibrator.results_),
        "missing": missing.partition(":")[0],
    }


def compared():
    """Return leave-one-out comparisons and tables of estimates."""
    kept = {name: fitted(name) for name in ("combined", "gaussian", "logistic", "units")}
    elpd = {name: leave_one_out(each, draws=25) for name, each in kept.items()}
    numbers = ("elpd", "se", "p", "n_samples", "n_data_points", "good_k")
    return {
        **{
            name: {n: float(getattr(each, n)) for n in numbers if hasattr(each, n)}
            for name, each in elpd.items()
        },
        "pareto": {name: np.asarray(each.pareto_k) for name, each in elpd.items()},
        "table": compare_calibrators(kept, draws=25).round(6),  # weights are searched for
        "estimates": compare_estimates({"a": fitted("gaussian"), "b": fitted("mle")}, level=0.7),
        "weighted": outcome(leave_one_out, fitted("weighted")),
        "one": outcome(compare_calibrators, {"a": fitted("combined")}),
        "others": outcome(compare_calibrators, {"a": fitted("combined"), "b": fitted("few")}),
        "of mle": outcome(leave_one_out, fitted("mle")),
    }


def for_arviz(name):
    """Return the groups that ArviZ asks for."""
    tree = fitted(name).to_arviz(draws=20, random_state=3)
    return {n: v for n, v in every_group(tree).items() if not n.startswith("parts")}


def described():
    """Return the words and formulas that describe a fit with parts of each kind."""
    problem = next(iter(fitted("monotone").fitted_problems().values()))
    return [str(block) for block in problem.describe(several=False)]


CASES = {
    **{name: partial(problem_of, name) for name in FITS},
    **{f"{n}, arviz": partial(for_arviz, n) for n in ("combined", "logistic", "probabilities")},
    "described": described,
    "updated": updated,
    "saved": saved,
    "compared": compared,
}
