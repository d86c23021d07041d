"""All topics of a report together: their counts, their held-out predictions, a hash."""

from __future__ import annotations

from typing import Any

import numpy as np

from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem
from bayescal.report.held_out import HeldOut, join
from bayescal.report.provenance import DataHash

NAMES = {"point": "posterior", "mle": "maximum likelihood"}


class Totals:
    """What has been seen of all topics, one added after the other."""

    def __init__(self) -> None:
        self._fitted, self._tested = DataHash(), DataHash()
        self._counts: list[tuple[float, float]] = []
        self._ends: list[tuple[float, float]] = []
        self._held_out: list[HeldOut] = []

    def add(self, problem: FittedProblem, test: Documents | None, found: HeldOut | None) -> None:
        """Take in a topic, with its held-out documents and what it says of them."""
        self._fitted.add(problem.name, problem.documents)
        self._tested.add(problem.name, test)
        self._counts.append(problem.counts)
        if problem.documents.known:
            score = problem.documents.score
            self._ends.append((float(score.min()), float(score.max())))
        if found is not None:
            self._held_out.append(found)

    def reliability(self, level: float) -> dict[str, Any] | None:
        """Return how all held-out predictions fared together."""
        return join(self._held_out).reliability(level) if self._held_out else None

    def facts(self, classes: list[str], tested: dict[str, Any] | None) -> dict[str, str]:
        """Return what the data are, in words."""
        negatives, positives = np.sum(self._counts, axis=0)
        rarest = min(count for _, count in self._counts)
        out = {
            "Topics": f"{len(self._counts):,}",
            "Scores fitted": f"{negatives + positives:,.6g}",
            f"Positives (class {classes[1]})": f"{positives:,.6g}",
            f"Negatives (class {classes[0]})": f"{negatives:,.6g}",
        }
        if len(self._counts) > 1:
            out["Fewest positives of a topic"] = f"{rarest:,.6g}"
        else:
            del out["Topics"]
        if self._ends:
            low, high = np.array(self._ends).T
            out["Scores from, to"] = f"{low.min():.4g}, {high.max():.4g}".replace(
                "-", "\N{MINUS SIGN}"
            )
        held_out = sum(each.positive.size for each in self._held_out)
        out["Scores held out"] = f"{held_out:,}" if held_out else "none given"
        for name, found in (tested or {}).items():
            out[f"Log-loss per held-out document, {NAMES[name]}"] = f"{found['log_loss']:.4g} bits"
        return out

    def hashes(self) -> dict[str, str]:
        """Return the hashes of the documents fitted and held out."""
        return {"Scores fitted": self._fitted.text(), "Scores held out": self._tested.text()}
