"""Make results comparable between processors, which round sums differently."""

import hashlib

import numpy as np

from bayescal.inference.hamiltonian import Chains

# Rooms in which rounding decides: long chains of samplers, ties, digits that are printed. They are
# compared on processors that round as the one did that wrote the references.
DECIDED_BY_ROUNDING = {
    "ranking",
    "reviews",
    "shell_answers",
    "shell_audits",
    "shell_files",
    "shell_fits",
    "verdicts",
}


def rounding_of_processor():
    """Return a text that differs between processors whose linear algebra rounds differently."""
    x = np.random.default_rng(0).normal(size=(60, 60))
    square = x @ x.T + np.eye(60)
    parts = (square, np.linalg.cholesky(square), np.linalg.solve(square, x), np.exp(x), x.sum())
    return hashlib.sha256(b"".join(np.asarray(each).tobytes() for each in parts)).hexdigest()


def drawn_nearby(density, start, centre, root, *, warmup, draws, rng, redraw=None):
    """
    Draw parameters of several classes from their normal approximation.

    It stands for the sampler, whose trajectories magnify the smallest difference.
    """
    points = centre + rng.normal(size=(len(start), draws, centre.size)) @ (0.5 * root).T
    return Chains(points, 0.9)
