"""Fits that the cases of estimators do not reach: programs, files, populations, Dask."""

import contextlib
import tempfile
import warnings
from unittest import mock

import dask.array as da
import numpy as np
import pandas as pd
import pymc as pm
import pytensor
import xarray as xr

import bayescal as bc
from bayescal.calibrators import compare_with_closed_form
from bayescal.fitting.engines import program
from bayescal.fitting.engines.classifier_weights import engine, model
from bayescal.fitting.engines.pooled import engine as pooled
from bayescal.fitting.learned_prior import shipped_populations, write_populations
from bayescal.fitting.program_check import ProgramCheck
from tests.recorded.calibrators import ASKED, HISTORY, LOGITS, SMALL, THIRD, S, Y, _answers

GROUPS = "log_likelihood", "posterior_predictive", "prior"


def _draws_of_prior(model, rng, *, draws, chains, **options):
    names = [each.name for each in (*model.free_RVs, *model.deterministics)]
    drawn = pm.draw([model[name] for name in names], draws * chains, random_seed=1)
    variables = {
        name: (
            ["chain", "draw", *model.named_vars_to_dims.get(name, ())],
            values.reshape(chains, draws, *values.shape[1:]),
        )
        for name, values in zip(names, drawn, strict=True)
    }
    prior = xr.Dataset(variables, {name: [*each] for name, each in model.coords.items()})
    return {"posterior": prior, "sample_stats": xr.Dataset({"diverging": prior.draw % 2 == 1})}


@contextlib.contextmanager
def _without_chains():
    """Take draws of the prior for those of chains, which need a compiler and are chaotic."""
    with (
        mock.patch.object(program, "draw_posterior", _draws_of_prior),
        mock.patch.object(pooled, "draw_posterior", _draws_of_prior),
        pytensor.config.change_flags(mode="FAST_COMPILE"),
        warnings.catch_warnings(action="ignore"),
    ):
        yield


@_without_chains()
def programs():
    parts = bc.Density("StudentT", nu=4), ["logistic", bc.Program("noisy_logistic")]
    fits = [bc.ScoreCalibrator(each, **SMALL) for each in (*parts, bc.Program("logistic"), "auto")]
    fits = [each.fit(S, Y) for each in (*fits, bc.ScoreCalibrator("gaussian", "nuts", **SMALL))]
    sites = bc.ScoreCalibrator(bc.Program("sites"), **SMALL)
    sites.fit(S, Y, covariates={"site": [*"abc"] * 20})
    sites.update(S[:9], Y[:9], covariates={"site": [*"abcdabcda"]})
    asked = {"covariates": {"site": [*"abeda"]}, "prior": 0.3, "kinds": ["hdi"]}
    arviz = [each.to_arviz(GROUPS, draws=7, random_state=2) for each in fits]
    topics = bc.TopicCalibrator(parts="gaussian", inference="nuts", **SMALL).fit(**HISTORY)
    return {
        "fits": [_answers(each, prior=0.3) for each in fits],
        "arviz": [each[name] for each in arviz for name in GROUPS],
        "others": [_answers(sites, **asked), _answers(topics, **ASKED)],
    }


def checks():
    ranks = pd.DataFrame({"a": np.arange(40) % 20, "b": np.arange(40) % 3, "c": np.full(40, 19)})
    given = ("a", 0.0), ("ab", 0.0), ("c", 0.0), ("a", 0.1)
    each = [ProgramCheck(ranks[[*own]], 19, 50, ranks, far) for own, far in given]
    closed = lambda x: {"mu": x.mean(), "sigma": x.std()}  # noqa: E731
    return {
        "programs": [[str(one), one.quantities, one.passed] for one in each],
        "normal": compare_with_closed_form(bc.Density("Normal"), closed, S, Y),
    }


def files():
    with tempfile.TemporaryDirectory() as folder:
        path = write_populations(shipped_populations()[:1], f"{folder}/own.json")
        own = _answers(bc.ScoreCalibrator(prior_knowledge=path, **SMALL).fit(2.0 * S, Y))
        saved = bc.TopicCalibrator(**SMALL).fit(**HISTORY).save(f"{folder}/b.nc")
        population = bc.Population(saved)
    return {"own": own, "population": [repr(population), population.draws, population.units]}


def others():
    columns = np.c_[np.ones(60), 0.3 * S, LOGITS[:, 2], S % 1.0]
    designs = [model.Design(columns, 0.1 * S, k == THIRD, 1.0 + THIRD) for k in range(2)]
    modes = engine.fit_modes(designs, np.array([0.6, 0.4]), model.WeightHyperparameters())
    fitted = bc.TopicCalibrator("none", **SMALL).fit(**HISTORY)
    wide = fitted.predict_proba(da.from_array(S[:20].reshape(5, 4), chunks=(2, 2)), [*"acnu"])
    return {
        "weights": [modes.likeliest, engine.draw_weights(modes, 30, np.random.default_rng(1))],
        "wide": wide.compute(),
    }
