"""What tables of a report call things: words first, the symbols of formulas after them."""

from __future__ import annotations

PEAK = "score at which the density of this class peaks"
STEEPNESS = "how steeply the density of this class falls"
DEVIATION = "standard deviation of the bell-shaped"

PARAMETERS = {
    "theta": PEAK,
    "mu": PEAK,
    "mode": PEAK,
    "left": "typical distance from the peak of the scores below it",
    "right": "typical distance from the peak of the scores above it",
    "left_width": "distance below the peak that 37 % (1/e) of the scores on that side lie beyond",
    "right_width": "distance above the peak that 37 % (1/e) of the scores on that side lie beyond",
    "beta": f"{STEEPNESS} from its peak towards lower scores",
    "gamma": f"{STEEPNESS} from its peak towards higher scores",
    "rate": f"{STEEPNESS} on the side that faces the other class",
    "sigma": f"{DEVIATION} part of the density",
    "sigma_left": f"{DEVIATION} side below the peak",
    "sigma_right": f"{DEVIATION} side above the peak",
    "prior": "base rate: the share of positives among all documents",
}
PARTS = {
    "combined": "all parts, weighed",
    "densities": "densities of the scores of each class",
    "monotone": "log-odds that rise with the score in straight pieces",
    "logistic": "log-odds that rise along one straight line, as in Platt scaling",
    "recalibrated": "the densities, corrected by the labels",
    "identity": "the scores themselves, taken for probabilities",
    "learned": "log-odds that rise as they were found to on other data sets",
    "asymmetric_laplace": "densities of each class, exponential on both sides of a peak",
    "gaussian": "densities of each class, bell-shaped",
}
GUARDS = {
    "scale_floor": "a least width",
    "add_one": "one document more of each class",
}
COLUMNS = {
    "mle": "maximum likelihood",
    "guard": "maximum likelihood, kept from extremes by",
    "median": "posterior, middle (median)",
    "lower": "interval from",
    "upper": "interval to",
    "map": "posterior, likeliest (mode)",
    "rhat": "agreement of chains (R-hat; 1 is best)",
    "ess_bulk": "draws that count (bulk ESS)",
    "unpooled": "this topic by itself, maximum likelihood",
    "pooled": "with the help of the other topics, posterior mean",
    "population": "typical topic, median",
    "weight": "weight in the probability",
    "elpd": "log score on labels left out (elpd; higher is better)",
    "se": "standard error of how far that is below the best",
}
DIAGNOSTICS = {
    "independent_draws": "independent draws from the posterior",
    "draws": "draws from the posterior",
    "ess_bulk": "draws that count, of the parameter with fewest (bulk ESS)",
    "divergences": "draws at which the sampler went astray (divergences)",
    "rhat": "largest disagreement of chains (R-hat; 1 is best)",
    "efficiency": "share of proposed draws that were kept (efficiency; 1 is best)",
    "pareto_k": "unevenness of the draws' weights (Pareto k; good below 0.7)",
}


def page_words() -> dict[str, dict[str, str]]:
    """
    Return, for each kind of name, what it is in words.

    Examples
    --------
    >>> page_words()["parameters"]["theta"]
    'score at which the density of this class peaks'
    """
    return {
        "parameters": PARAMETERS,
        "parts": PARTS,
        "guards": GUARDS,
        "columns": COLUMNS,
        "diagnostics": DIAGNOSTICS,
    }
