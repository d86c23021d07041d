"""Indicators of a calibration's posterior against its draws, and against its parameters."""

import numpy as np
import pytest
from scipy import special

from bayescal import Densities, ScoreCalibrator, TopicCalibrator
from bayescal.combining.indicators import ScorePosterior, conflict, conflicts, posterior_indicators

pytestmark = pytest.mark.one_era

NEW = np.array([-4.0, -2.5, -0.4, 0.1, 0.7, 2.5, 4.0])


def make_scores(n, seed=0):
    """Return scores of which the classes' modes are -1 and 1.5."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    return np.where(y, rng.laplace(1.5, 0.8, n), rng.laplace(-1.0, 0.5, n)), y


def fit(n=150, seed=0, **settings):
    return ScoreCalibrator(draws=100, chains=2, random_state=seed, **settings).fit(
        *make_scores(n, seed)
    )


class TestPosteriorIndicators:
    @pytest.mark.parametrize("settings", [{}, {"parts": "monotone"}, {"parts": "gaussian"}])
    def test_are_moments_of_the_draws(self, settings):
        calibrator = fit(**settings)
        scores = NEW[1:5]  # beyond, probabilities of single draws round to 1
        found = posterior_indicators(calibrator, scores)
        draws = special.logit(calibrator.sample_proba(scores))
        assert found["PosteriorMeanLogOdds"] == pytest.approx(draws.mean(axis=0), rel=1e-6)
        assert found["PosteriorStdDevLogOdds"] == pytest.approx(draws.std(axis=0), rel=1e-6)
        assert found["PosteriorProbabilityAbove"] == pytest.approx((draws > 0).mean(axis=0))
        p = special.expit(draws.mean(axis=0))
        entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
        assert found["PosteriorEntropy"] == pytest.approx(entropy, rel=1e-4)
        assert all(np.isfinite(values).all() for values in found.values())

    def test_slopes_are_those_of_the_three_regions(self):
        """Straight log-odds: their slopes follow from the rates of both classes' sides."""
        calibrator = fit(parts=Densities("asymmetric_laplace", warp="none"))
        draws = calibrator.posterior_["posterior"]
        beta, gamma = (draws[name].to_numpy().reshape(-1, 2) for name in ("beta", "gamma"))
        found = posterior_indicators(calibrator, [-4.0, 0.2, 4.0])
        expected = [
            (beta[:, 1] - beta[:, 0]).mean(),
            (beta[:, 1] + gamma[:, 0]).mean(),
            (gamma[:, 0] - gamma[:, 1]).mean(),
        ]
        assert found["PosteriorSlope"] == pytest.approx(expected, rel=1e-6)
        assert found["PosteriorRegion"].tolist() == [-1.0, 0.0, 1.0]

    def test_regions_end_at_the_modes(self):
        calibrator = fit()
        low, high = (
            calibrator.mle_.negative.parameters["theta"],
            calibrator.mle_.positive.parameters["theta"],
        )
        near = np.array([low - 1e-6, low, high, high + 1e-6])
        assert posterior_indicators(calibrator, near)["PosteriorRegion"].tolist() == [-1, 0, 0, 1]

    def test_many_labels_leave_less_open(self):
        few, many = (posterior_indicators(fit(n), NEW) for n in (40, 2000))
        # In between, where neither says that the probability is all but 0 or 1.
        middle = slice(2, 5)
        ratio = few["PosteriorStdDevLogOdds"][middle] / many["PosteriorStdDevLogOdds"][middle]
        assert (ratio > 2.0).all()

    def test_of_probabilities_and_of_many_draws(self):
        scores, y = make_scores(150)
        calibrator = ScoreCalibrator(scores_are="log_odds", draws=1500, random_state=0)
        calibrator.fit(scores, y)
        found = posterior_indicators(calibrator, NEW)
        draws = special.logit(calibrator.sample_proba(NEW))
        # A thousand of six thousand draws: within four standard errors.
        error = 4.0 * draws.std(axis=0) / np.sqrt(1000.0)
        assert (np.abs(found["PosteriorMeanLogOdds"] - draws.mean(axis=0)) < error).all()

    def test_of_a_topic(self):
        parts = [make_scores(60, seed) for seed in range(3)]
        scores, y = (np.concatenate(part) for part in zip(*parts, strict=True))
        topics = np.repeat(["corn", "oil", "gold"], 60)
        calibrator = TopicCalibrator(draws=100, chains=2, random_state=0).fit(scores, y, topics)
        found = posterior_indicators(calibrator, NEW, topic="oil")
        draws = special.logit(calibrator.sample_proba(NEW, ["oil"] * NEW.size))
        assert found["PosteriorStdDevLogOdds"] == pytest.approx(draws.std(axis=0), rel=1e-6)

    def test_refuses_calibrators_without_draws(self):
        with pytest.raises(ValueError, match="got a calibrator of inference='mle': fit it with"):
            posterior_indicators(fit(inference="mle"), NEW)


class TestConflict:
    def test_is_a_difference_in_standard_deviations(self):
        first, second = (ScorePosterior.of(fit(seed=seed), NEW) for seed in (0, 1))
        found = conflict(first, second)
        for k in range(NEW.size):
            spread = (first.deviation[k] ** 2 + second.deviation[k] ** 2) ** 0.5
            assert found[k] == pytest.approx((first.mean[k] - second.mean[k]) / spread)
        assert conflict(second, first).tolist() == (-found).tolist()
        assert not conflict(first, first).any()

    def test_is_large_where_one_score_is_for_the_class_and_the_other_against(self):
        calibrator = fit()
        agreeing = conflict(*(ScorePosterior.of(calibrator, [s]) for s in (2.0, 2.1)))
        opposed = conflict(*(ScorePosterior.of(calibrator, [s]) for s in (2.0, -2.0)))
        assert abs(agreeing[0]) < 0.5
        assert opposed[0] > 3.0

    def test_of_every_pair(self):
        posteriors = [ScorePosterior.of(fit(seed=seed), NEW) for seed in range(3)]
        found = conflicts(posteriors)
        assert found.shape == (NEW.size, 3)
        assert found[:, 1].tolist() == conflict(posteriors[0], posteriors[2]).tolist()

    def test_refuses_other_documents(self):
        first, second = (ScorePosterior.of(fit(), scores) for scores in (NEW, NEW[:2]))
        with pytest.raises(ValueError, match="first and second must have the same length"):
            conflict(first, second)
