"""What online combiners lose online: on training documents, before each label is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayescal.experts import best_mixture, exponentiated_gradient_loss, weighted_majority_loss
from bayescal.experts.advice import squared_error
from bayescal.experts.online_combiner import OnlineCombiner
from bayescal.reproduce.online import ONLINE, probabilities
from bayescal.reproduce.strive import BASE, TopicInputs

if TYPE_CHECKING:
    import pandas as pd


def rounds_table(inputs: Sequence[TopicInputs]) -> pd.DataFrame:
    """
    Return the losses of each rule in one pass, sums over the training documents of all topics.

    Parameters
    ----------
    inputs : sequence of TopicInputs
        Of every topic; its documents are rounds in their order.

    Returns
    -------
    pandas.DataFrame
        Columns method, squared error, mistakes, bound. First the best classifier and the best
        mixture of each topic, told in hindsight; then the rules. The bound is on the squared error,
        of those rules for which it is over all rounds.
    """
    import pandas as pd

    rows = pd.concat([_of_topic(each) for each in inputs])
    totals = rows.groupby("method", sort=False).sum(min_count=len(inputs))
    return totals.reset_index()


def _of_topic(inputs: TopicInputs) -> pd.DataFrame:
    import pandas as pd

    columns, y = inputs.labelled.inputs.matrix, inputs.labelled.positive.astype(np.int64)
    said = probabilities(columns[:, : len(BASE)])
    best = best_mixture(said, y)
    losses = squared_error(said[np.arange(y.size), :, y]).sum(axis=0)
    wrong = (said.argmax(axis=2) != y[:, None]).sum(axis=0)
    told = [
        ("best classifier", losses.min(), wrong[losses.argmin()], np.nan),
        ("best mixture", best.loss, np.nan, np.nan),
    ]
    for name, row in ONLINE.items():
        if row.combiner.passes == 1 and not row.combiner.calibrated:
            combiner = row.combiner.fit(columns, y).combiner_
            bound = _bound(name, combiner, best.loss)
            told.append((name, combiner.loss_, combiner.mistakes_, bound))
    return pd.DataFrame(told, columns=["method", "squared error", "mistakes", "bound"])


def _bound(name: str, combiner: OnlineCombiner, of_mixture: float) -> float:
    if name == "WMA":
        return weighted_majority_loss(combiner.expert_losses_, combiner.beta)
    if name == "EG":
        n_experts = combiner.expert_losses_.size
        return exponentiated_gradient_loss(of_mixture, n_experts, combiner.beta)
    return np.nan
