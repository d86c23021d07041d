"""The dissertation's pseudocode, one number after the other, with weights and not logarithms.

Algorithms 9.4.1 to 9.4.7, 9.4.5 with its sum of weights mended. A label is the place of its class;
said[t][e] is the list of an expert's probabilities.
"""

import math


def predict(weights, indicators, said, awake):
    """Return shares of the experts and the mixture."""
    experts = range(len(weights))
    own = [
        awake[e] * sum(i * w for i, w in zip(indicators, weights[e], strict=True)) for e in experts
    ]
    shares = [w / sum(own) for w in own]
    classes = range(len(said[0]))
    return shares, [sum(shares[e] * said[e][c] for e in experts if awake[e]) for c in classes]


def wma(weights, t, beta):
    for e, said in enumerate(t.said):
        weights[e][0] *= beta ** ((said[t.label] - 1.0) ** 2)


def winnow(weights, t, beta):
    if t.mixture.index(max(t.mixture)) == t.label:
        return
    experts = [e for e in range(len(weights)) if t.awake[e]]
    before = sum(weights[e][0] for e in experts)
    for e in experts:
        wrong = t.said[e].index(max(t.said[e])) != t.label
        weights[e][0] *= beta ** (2 * wrong - 1)
    after = sum(weights[e][0] for e in experts)
    for e in experts:
        weights[e][0] *= before / after


def bmx(weights, t, beta, *, modified=False, margin=math.inf):
    right = t.mixture[t.label]
    log_odds = math.inf if right == 1.0 else math.log(right / (1.0 - right)) if right else -math.inf
    if log_odds >= margin:
        return
    losses = [(1.0 - said[t.label]) ** 2 for said in t.said]
    indicators = t.indicators
    if modified:
        indicators = [i / sum(indicators) for i in indicators]
        loss = (1.0 - right) ** 2
    else:
        loss = sum(p * own for p, own in zip(t.shares, losses, strict=True))
    for e, own in enumerate(losses):
        for k, i in enumerate(indicators):
            weights[e][k] *= beta ** (i * (own - beta * loss))


def bmxmod(weights, t, beta):
    bmx(weights, t, beta, modified=True)


def winbmx(weights, t, beta):
    bmx(weights, t, beta, margin=1.0)


def winbmxmod(weights, t, beta):
    bmx(weights, t, beta, modified=True, margin=1.0)


def eg(weights, t, beta, step=1e-6):
    """The slope of the mixture's squared error is a difference; no formula for it is used."""
    total = sum(t.indicators)

    def error(moved):
        mixture = sum(
            i / total * moved[e][k] * t.said[e][t.label]
            for k, i in enumerate(t.indicators)
            for e in range(len(moved))
        )
        return (1.0 - mixture) ** 2

    sums = [sum(row[k] for row in weights) for k in range(len(t.indicators))]
    at = [[w / s for w, s in zip(row, sums, strict=True)] for row in weights]
    slopes = []
    for e, row in enumerate(at):
        slopes.append([])
        for k in range(len(row)):
            ends = []
            for sign in (1.0, -1.0):
                moved = [list(each) for each in at]
                moved[e][k] += sign * step
                ends.append(error(moved))
            slopes[e].append((ends[0] - ends[1]) / (2.0 * step))
    for k in range(len(t.indicators)):
        moved = [row[k] * beta ** slope[k] for row, slope in zip(at, slopes, strict=True)]
        for e, w in enumerate(moved):
            weights[e][k] = w / sum(moved)


class Round:
    def __init__(self, said, label, awake, indicators, shares, mixture):
        self.said, self.label, self.awake = said, label, awake
        self.indicators, self.shares, self.mixture = indicators, shares, mixture


def play(update, said, labels, beta, *, awake=None, indicators=None):
    """Return the final weights, and the mixtures before each label was known."""
    n_experts = len(said[0])
    size = len(indicators[0]) if indicators is not None else 1
    weights = [[1.0] * size for _ in range(n_experts)]
    mixtures = []
    for t, label in enumerate(labels):
        up = [1] * n_experts if awake is None else [int(a) for a in awake[t]]
        on = [1.0] if indicators is None else list(indicators[t])
        shares, mixture = predict(weights, on, said[t], up)
        mixtures.append(mixture)
        update(weights, Round(said[t], label, up, on, shares, mixture), beta)
    return weights, mixtures
