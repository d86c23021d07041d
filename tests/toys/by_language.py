"""A calibrator of another kind: documents of each language are calibrated by themselves."""

from dataclasses import replace

import numpy as np
import xarray as xr

from bayescal import ScoreCalibrator
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.results import storage
from bayescal.fitting.results.tree import ESTIMATOR

NAME = "ByLanguage"


class ByLanguage:
    def fit(self, scores, labels, languages):
        self.calibrators_ = {
            name: ScoreCalibrator(draws=100, random_state=0).fit(
                scores[languages == name], labels[languages == name]
            )
            for name in np.unique(languages).tolist()
        }
        return self

    def fitted_problems(self):
        names = list(self.calibrators_)

        def read(position):
            problem = self.calibrators_[names[position]].fitted_problems()[""]
            return replace(problem, name=names[position])

        return Problems(names, read, by_topic=True)

    def save(self, path):
        trees = {name: each.results_ for name, each in self.calibrators_.items()}
        tree = xr.DataTree(children=trees)
        tree.attrs[ESTIMATOR] = NAME
        return storage.write_tree(tree, path)

    @classmethod
    def from_results(cls, results):
        calibrator = cls()
        calibrator.calibrators_ = {
            name: ScoreCalibrator.from_results(node.copy())
            for name, node in results.children.items()
        }
        return calibrator
