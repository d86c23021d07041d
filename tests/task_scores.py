"""Made tasks: inputs on another scale in each, and labels that depend on them alike."""

import numpy as np


def made_tasks(tasks=6, n=120, seed=0, differ=0.0, rare=0.15):
    """
    Return inputs, labels and task names.

    Two scores of a latent number, which positives have more of, and a column of noise; each task
    has scales and levels of its own. With `differ` the tasks' weights differ, too.
    """
    rng = np.random.default_rng(seed)
    inputs, labels, names = [], [], []
    for k in range(tasks):
        positive = np.arange(n) < max(3, int(rare * n))
        weights = 1.0 + differ * rng.normal(size=2)
        scores = positive[:, None] * 2.0 * weights + rng.normal(size=(n, 2))
        columns = np.column_stack([scores, rng.normal(size=n)])
        inputs.append(columns * np.exp(rng.normal(size=3)) + 3.0 * rng.normal(size=3))
        labels.append(positive)
        names += [f"task {k}"] * n
    return np.concatenate(inputs), np.concatenate(labels), np.array(names)
