"""Build a program's PyMC model for given data, with weights as powers of the likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bayescal.engines.data import BinaryScores
from bayescal.programs import Program, blamed_on_program
from bayescal.validation import Floats


def build_model(
    program: Program, data: BinaryScores, hyperparameters: Mapping[str, float] | None = None
) -> Any:
    """
    Return the program's pymc.Model for the data.

    Parameters
    ----------
    program : Program
        Its `model` is called with scores, labels (0 negative, 1 positive) and hyperparameters.
    data : BinaryScores
        Documents of weight 0 are left out; other weights raise a document's likelihood to that
        power, so that a weight of 2 equals repeating it.
    hyperparameters : mapping of str to float, optional
        Keyword arguments of `model`. `centre` and `spread` default to the robust ones of the data
        where the program takes them.

    Raises
    ------
    ValueError
        If a hyperparameter is none of the program's, if `model` raises anything (the message names
        the file and the line), or does not return a pymc.Model that observes "score" and "label".
    """
    if data.weight is not None and not data.weight.all():
        keep = data.weight > 0.0
        data = BinaryScores(
            data.score[keep], data.positive[keep], data.weight[keep], units=data.units
        )
    arguments = resolve_hyperparameters(program, data, hyperparameters)
    with blamed_on_program(program.path):
        model = program.model(data.score, data.positive.astype(np.int64), **arguments)
    _check_model(program, model)
    if data.weight is not None and not np.all(data.weight == 1.0):
        _raise_likelihood(model, data.weight)
    return model


def resolve_hyperparameters(
    program: Program, data: BinaryScores, hyperparameters: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the keyword arguments for the program's `model`: defaults, data, the user's."""
    arguments = program.hyperparameters()
    given = dict(hyperparameters or {})
    unknown = sorted(set(given) - set(arguments))
    if unknown:
        raise ValueError(
            f"hyperparameters of program {program.name!r} are {', '.join(arguments) or 'none'};"
            f" got {', '.join(map(repr, unknown))}."
        )
    from_data = zip(("centre", "spread"), data.centre_and_spread, strict=True)
    return arguments | {name: value for name, value in from_data if name in arguments} | given


def _check_model(program: Program, model: Any) -> None:
    import pymc as pm

    if not isinstance(model, pm.Model):
        raise ValueError(
            f"model(score, label) of program {program.path} must return a pymc.Model,"
            f" got {type(model).__name__}."
        )
    observed = {variable.name for variable in model.observed_RVs}
    if not {"score", "label"} <= observed:
        raise ValueError(
            f"program {program.path} must observe variables named 'score' and 'label',"
            f" it observes {', '.join(sorted(observed)) or 'none'}."
        )


def _raise_likelihood(model: Any, weight: Floats) -> None:
    import pymc as pm

    observed = [model["label"], model["score"]]
    with model:
        terms = model.logp(vars=observed, sum=False)
        pm.Potential("weight", sum(((weight - 1.0) * term).sum() for term in terms))
