"""What a metaclassifier is: from documents of many tasks to log-odds in each of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from bayescal.tasks.task_data import TaskData
from bayescal.validation import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd


WITH_POSTERIOR = "use metaclassifier 'weights', or 'tree' with specialise='pooled'"


class TaskModel(ABC):
    """A metaclassifier fitted to all tasks, and specialised to each."""

    @abstractmethod
    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """
        Return log-odds of documents, shape (n,).

        Parameters
        ----------
        columns : array of shape (n, columns)
            Normalised within their tasks.
        task : array of shape (n,) of int
            Their tasks; `POPULATION` for tasks that were not fitted.
        """

    def sample(self, columns: Floats, task: Integers) -> Floats:
        """
        Return log-odds of posterior draws, shape (draws, n).

        Raises
        ------
        ValueError
            If there is no posterior.
        """
        raise ValueError(f"this metaclassifier has no posterior: {WITH_POSTERIOR}.")

    def population(self, names: list[str], level: float) -> pd.DataFrame:
        """
        Return the posterior of what tasks have in common; names are the columns'.

        Raises
        ------
        ValueError
            If there is no population.
        """
        raise ValueError(f"this metaclassifier has no population: {WITH_POSTERIOR}.")


class Metaclassifier(ABC):
    """A way to learn from documents of many tasks."""

    @abstractmethod
    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return the model of all tasks."""

    def held_out(
        self, data: TaskData, fold: Integers, model: TaskModel, rng: np.random.Generator
    ) -> Floats:
        """
        Return log-odds of the documents fitted, by models of the other folds.

        Parameters
        ----------
        data : TaskData
            What `model` was fitted to.
        fold : array of shape (n,) of int
            In which fold each document is held out.
        model : TaskModel
            Of all documents.
        rng : numpy.random.Generator
            For the fits.

        Raises
        ------
        ValueError
            If all documents of a class are in one fold.
        """
        out = np.empty(data.positive.size)
        for held in np.unique(fold):
            rows = fold == held
            others = data.take(~rows)
            if others.positive.all() or not others.positive.any():
                raise ValueError(
                    "y must have at least two documents of each class over all tasks: thresholds"
                    " are learnt from documents held out, by models of the others."
                )
            without = self.fit(others, rng)
            out[rows] = without.log_odds(data.columns[rows], data.task[rows])
        return out
