"""Tables of probabilities with their bands, and of the parameters of several fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.engines.program import ProgramInference
from bayescal.fitting.parts.configured import OwnPart
from bayescal.fitting.problems.problem import check_named, problems_of
from bayescal.fitting.scores import read_binary_scores
from bayescal.support import validation
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.calibrators.score_calibrator import ScoreCalibrator


def probability_table(
    calibrator: Any, scores: Any, *, level: float = 0.9, **arguments: Any
) -> pd.DataFrame:
    """Return probabilities and their bands as a table with the index of the scores.

    Parameters
    ----------
    calibrator : estimator
        A fitted calibrator, calibrated or combined classifier.
    scores : array-like, Series or DataFrame
        What its `predict_proba` takes; an index of identifiers is kept.
    level : float
        Posterior probability of the equal-tailed bands.
    **arguments
        Further arguments of `predict_proba` and `predict_interval`, such as `topics` or `prior`.

    Returns
    -------
    pandas.DataFrame
        Of two classes the columns probability (of the positive class), lower and upper; of several
        classes or labels P(class), lower(class) and upper(class) for each; of grades the same of
        ">= grade". Labels without names are numbered from 0.

    Raises
    ------
    ValueError
        If scores are a Dask collection, whose methods answer block by block; and as the two methods
        do.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(100) < 0.5
    >>> fitted = ScoreCalibrator(random_state=0).fit(rng.normal(2.0 * y), y)
    >>> new = pd.Series([0.0, 3.0], index=["DOC-007", "DOC-012"])
    >>> probability_table(fitted, new).round(1)
             probability  lower  upper
    DOC-007          0.1    0.0    0.2
    DOC-012          1.0    0.9    1.0
    """
    import pandas as pd

    if validation.is_lazy(scores):
        raise ValueError(
            "scores must be in memory, got a Dask collection: use predict_proba and"
            " predict_interval, which answer block by block."
        )
    index = scores.index if isinstance(scores, pd.Series | pd.DataFrame) else None
    bands = np.asarray(calibrator.predict_interval(scores, level=level, **arguments))
    if bands.ndim == 2:
        problem, *_ = calibrator.fitted_problems().values()
        column = calibrator.classes_.tolist().index(problem.labels[1])
        p = np.asarray(calibrator.predict_proba(scores, **arguments))[:, column]
        columns = {"probability": p, "lower": bands[:, 0], "upper": bands[:, 1]}
        return pd.DataFrame(columns, index=index)
    grades, names = hasattr(calibrator, "exceedance"), calibrator.classes_
    if grades:
        names = [f">= {grade}" for grade in names[1:]]
    elif isinstance(names, list):  # of several labels, each with its classes
        names = range(len(names))
    probabilities = calibrator.exceedance if grades else calibrator.predict_proba
    p = np.asarray(probabilities(scores, **arguments))
    kinds = {"P": p, "lower": bands[..., 0], "upper": bands[..., 1]}
    columns = {
        f"{kind}({name})": values[:, k]
        for kind, values in kinds.items()
        for k, name in enumerate(names)
    }
    return pd.DataFrame(columns, index=index)


def compare_estimates(
    calibrators: Mapping[str, ScoreCalibrator], *, level: float = 0.9
) -> pd.DataFrame:
    """Return the parameters of several fits side by side: MLE, MAP, NUTS, exact, or others.

    Parameters
    ----------
    calibrators : mapping of str to ScoreCalibrator
        Fitted calibrators, whose parameters are in raw score units. Those of a `Density` without a
        location and a scale, such as Gamma, are of standardised scores and have rows that say so.
    level : float
        Posterior probability of the equal-tailed intervals.

    Returns
    -------
    pandas.DataFrame
        A row for each class and parameter. Each calibrator has a column estimate (maximum
        likelihood, posterior mode or posterior median), and with a posterior lower and upper. A
        parameter that a fit does not have is nan.

    Raises
    ------
    TypeError
        If they have no names, or one of them is no calibrator.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(100) < 0.5
    >>> s = rng.normal(2.0 * y)
    >>> fits = {
    ...     "MLE": ScoreCalibrator("gaussian", "mle").fit(s, y),
    ...     "exact": ScoreCalibrator("gaussian", random_state=0).fit(s, y),
    ... }
    >>> table = compare_estimates(fits)
    >>> float(table.loc[("True", "mu"), ("MLE", "estimate")].round(1))
    2.0
    """
    import pandas as pd

    check_named(calibrators)
    tables = {}
    for name, each in calibrators.items():
        problems_of(each)  # raises TypeError unless it is a calibrator of one score
        summary = each.summary(level)
        estimate = next(column for column in ("median", "map", "mle") if column in summary)
        ends = [column for column in ("lower", "upper") if column in summary]
        tables[name] = summary[[estimate, *ends]].rename(columns={estimate: "estimate"})
    table: pd.DataFrame = pd.concat(tables, axis=1)
    return table


def compare_with_closed_form(
    program: OwnPart,
    closed_form: Callable[[Floats], Mapping[str, float]],
    scores: ArrayLike,
    y: ArrayLike,
    *,
    random_state: Any = 0,
) -> pd.DataFrame:
    """Return the posterior mode of a program under flat priors beside a closed form, by class.

    Under flat priors, over the support of the program's own priors, the mode is maximum likelihood.
    PyMC searches for it without the closed form: differences beyond the search's accuracy, about
    1e-4 of the scores' spread, reveal a mistake in the density, the closed form, or the meaning of
    a parameter, or a maximum that is not unique, such as the median of two scores.

    Parameters
    ----------
    program : Program or Density
        A model with `log_density` and parameters by class (dims "klass").
    closed_form : callable
        Maps the scores of one class, (n,), in the program's units, to the maximum likelihood
        estimates by parameter name. A `Density` has the units (score - m)/S, with the robust centre
        m and spread S of all scores.
    scores, y : array-like of shape (n,)
        As for `ScoreCalibrator.fit`.
    random_state : int, Generator, RandomState or None
        Chooses where the searches start.

    Returns
    -------
    pandas.DataFrame
        A row for each class and parameter: map, closed_form and their difference.

    Raises
    ------
    ValueError
        If an argument is not as described, or the closed form has a parameter that the program
        does not have by class.

    Examples
    --------
    >>> from bayescal import Program
    >>> def normal(x):
    ...     return {"mu": x.mean(), "sigma": x.std()}
    >>> s, y = [-3.0, -2.0, -1.0, 0.5, 1.0, 2.0], [0, 0, 0, 1, 0, 1]
    >>> table = compare_with_closed_form(Program("gaussian"), normal, s, y)
    >>> bool((table["difference"].abs() < 1e-4).all())
    True
    """
    import pandas as pd

    if not isinstance(program, OwnPart):
        raise ValueError(f"program must be a Program or a Density, got {program!r}.")
    record = program.record()
    if record.program().log_density is None:
        raise ValueError(f"program must define log_density, which {program!r} does not.")
    data, classes = read_binary_scores(scores, y, None)
    run = ProgramInference(record, program.given_hyperparameters(), draws=1, chains=1)
    mode = run.maximum_likelihood(data, validation.generator(random_state)).values
    by_class = {name: value for name, value in mode.items() if np.shape(value) == (2,)}
    centre, spread = data.centre_and_spread if record.program().standardised else (0.0, 1.0)
    rows = {}
    for k, label in enumerate(map(str, classes)):
        own = closed_form((data.score[data.positive == bool(k)] - centre) / spread)
        for name, value in own.items():
            if name not in by_class:
                raise ValueError(
                    f"closed_form returned {name!r}, which {program!r} does not have by class;"
                    f" it has {', '.join(by_class)}."
                )
            rows[label, name] = {"map": float(by_class[name][k]), "closed_form": float(value)}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["class", "parameter"])
    return table.assign(difference=table["map"] - table["closed_form"])
