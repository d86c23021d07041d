"""A prior learned from other problems: in the engine, in files, and in calibrators."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats
from sklearn.base import clone

from bayescal import ScoreCalibrator, load
from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.engine import (
    LaplaceFits,
    LogOddsPopulation,
    fit_around,
    log_evidence_around,
)
from bayescal.fitting.learned_prior import (
    SHIPPED,
    learn_population,
    read_populations,
    shipped_populations,
    write_populations,
)
from bayescal.fitting.parts.combination import VAGUE, compare_populations
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import ScoreParameters, read_options

GRID = np.linspace(-3.0, 3.0, 13)
FEW = {"draws": 100, "random_state": 0}


def one_line(intercept=0.0, slope=1.0, scores_are=("scores",), name="one"):
    """Return a population of straight lines, in raw scores, with a standard deviation of 0.3."""
    prior = Prior(intercept, 0.3, float(np.log(slope)), 0.3)
    return LogOddsPopulation(name, scores_are, 0.0, 1.0, np.inf, Pieces(np.empty(0), 0.0), prior)


def documents(n=60, intercept=0.0, slope=1.0, seed=0):
    rng = np.random.default_rng(seed)
    score = rng.normal(0.0, 2.0, n)
    return BinaryScores(score, rng.random(n) < special.expit(intercept + slope * score))


def fit_to(data, *populations, draws=4000, seed=0):
    return fit_around(
        LaplaceFits(data), np.random.default_rng(seed), draws=draws, populations=populations
    )


def likely(data, *populations):
    """Return the names of the populations that the labels favour over the vague prior."""
    options = replace(read_options(ScoreParameters()), populations=populations)
    return [each.name for each in compare_populations(LaplaceFits(data), options)[0].populations]


def by_quadrature(data, population):
    """Return the log evidence, and the mean of P(+) at GRID, of a population of straight lines."""
    prior = population.prior
    a = prior.intercept_location + prior.intercept_scale * np.linspace(-8.0, 8.0, 161)
    log_b = prior.slope_location + prior.slope_scale * np.linspace(-8.0, 8.0, 161)
    weight = stats.norm.pdf(a, prior.intercept_location, prior.intercept_scale)[:, None]
    weight = weight * stats.norm.pdf(log_b, prior.slope_location, prior.slope_scale)
    weight *= (a[1] - a[0]) * (log_b[1] - log_b[0])

    def chance(score):
        return special.expit(a[:, None, None] + np.exp(log_b)[None, :, None] * score)

    p = chance(data.score)
    joint = weight * np.where(data.positive, p, 1.0 - p).prod(axis=-1)
    evidence = joint.sum()
    return np.log(evidence), (joint[..., None] * chance(GRID)).sum(axis=(0, 1)) / evidence


class TestEngine:
    def test_evidence_and_curve_are_those_of_quadrature(self):
        data, own, other = documents(), one_line(), one_line(-4.0, 3.0)
        found = fit_to(data, own)
        evidence, curve = by_quadrature(data, own)
        assert found.log_evidence == pytest.approx([evidence], abs=0.02)
        assert log_evidence_around(LaplaceFits(data), [own]) == pytest.approx([evidence], abs=0.1)
        drawn = special.expit(found.source.log_odds(GRID)).mean(axis=0)
        np.testing.assert_allclose(drawn, curve, atol=0.006)
        # The negative: another population has another evidence and another curve.
        assert abs(by_quadrature(data, other)[0] - evidence) > 5.0
        assert np.abs(by_quadrature(data, other)[1] - curve).max() > 0.1

    def test_the_likeliest_population_is_kept(self):
        data = documents(200, slope=1.5)
        steep, flat, right = one_line(slope=20.0), one_line(slope=0.1), one_line(slope=1.5)
        assert fit_to(data, steep, right, flat).prior == right.prior
        assert log_evidence_around(LaplaceFits(data), [steep, right, flat]).argmax() == 1
        # The negative: without the right one another is kept.
        assert fit_to(data, steep, flat).prior != right.prior

    def test_scores_like_none_have_none(self):
        data, right, wrong = documents(90), one_line(name="right"), one_line(-30.0, 1e3)
        assert likely(data, right, wrong) == ["right"]
        assert likely(data, wrong) == likely(data) == []
        # Better than none, but far behind the likeliest.
        second = one_line(0.3, 1.15, name="second")
        assert likely(data, second) == ["second"]
        assert likely(data, right, second) == ["right"]

    def test_fifty_documents_of_each_class_know_enough(self):
        data, right = documents(110), one_line(name="right")
        assert 50 <= min(data.total(True), data.total(False)) < 60
        assert likely(data, right) == []
        assert likely(documents(90), right) == ["right"]

    def test_its_probability_is_that_of_bayes_rule(self):
        data, near, far = documents(12), one_line(1.2), one_line(-1.0, 3.0)
        options = replace(read_options(ScoreParameters()), populations=(near, far))
        likeliest, groups = compare_populations(LaplaceFits(data), options)
        evidence = groups["populations"]["log_evidence"].values
        probability = float(groups["populations"]["probability"])
        *around, vague = np.exp(evidence - evidence.max())
        like_one = 0.1 * np.mean(around)
        assert probability == pytest.approx(like_one / (like_one + 0.9 * vague), rel=1e-9)
        assert 0.05 < probability < 0.9
        assert likeliest.like_populations == probability
        # Of many populations each is less probable beforehand.
        others = [one_line(-30.0, 1e3)] * 400
        options = replace(options, populations=(near, *others))
        none, groups = compare_populations(LaplaceFits(data), options)
        assert 0.0 < float(groups["populations"]["probability"]) < 0.02
        assert none.populations == ()
        assert none.like_populations == 0.0

    def test_labels_left_out_are_those_of_the_population(self):
        data, own = documents(40), one_line()
        rng = np.random.default_rng(0)
        left_out = special.expit(fit_to(data, own).leave_one_out(np.arange(40), rng)[0])
        for k in (0, 7, 39):
            rest = np.delete(np.arange(40), k)
            without = replace(data, score=data.score[rest], positive=data.positive[rest])
            curve = by_quadrature(without, own)[1]
            assert left_out[k] == pytest.approx(np.interp(data.score[k], GRID, curve), abs=0.02)


class TestLearning:
    def problems(self, intercept=-1.0, spread=0.3, slope=2.0, count=40):
        rng = np.random.default_rng(0)
        out = []
        for _ in range(count):
            a, b = rng.normal(intercept, spread), slope * np.exp(rng.normal(0.0, spread))
            score = rng.normal(0.0, 1.5, 300)
            out.append((score, rng.random(300) < special.expit(a + b * score)))
        return out

    @pytest.mark.slow
    def test_what_problems_have_in_common_is_found(self):
        found = learn_population("made", self.problems(), random_state=0)
        at = found.reference_score
        assert found.prior.intercept_location == pytest.approx(-1.0 + 2.0 * at, abs=0.35)
        assert found.usual_slope == pytest.approx(2.0, rel=0.2)
        assert found.prior.slope_scale < 0.6
        # The negative: problems that differ more have a wider population.
        wide = learn_population("made", self.problems(spread=1.0), random_state=0)
        assert wide.prior.slope_scale > 1.3 * found.prior.slope_scale
        assert wide.prior.intercept_scale > 1.3 * found.prior.intercept_scale

    def test_bad_input_is_named(self):
        with pytest.raises(ValueError, match=r"problems must be at least 5.*got 4"):
            learn_population("few", self.problems(count=4))
        with pytest.raises(ValueError, match="scores_are must be"):
            learn_population("odd", self.problems(count=5), scores_are="ranks")


class TestFiles:
    def test_a_file_holds_all_of_it(self, tmp_path):
        given = [one_line(name="a"), *shipped_populations()]
        found = read_populations(write_populations(given, tmp_path / "all.json", {"by": "hand"}))
        assert [each.name for each in found] == [each.name for each in given]
        for one, other in zip(given[1:], found[1:], strict=True):
            np.testing.assert_array_equal(one.pieces.knots, other.pieces.knots)
            assert replace(one, pieces=None) == replace(other, pieces=None)
        assert json.loads((tmp_path / "all.json").read_text())["provenance"] == {"by": "hand"}

    def test_other_files_are_refused(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="no such file"):
            read_populations(tmp_path / "none.json")
        for text in ("nothing", "[]", '{"format": "x"}'):
            (tmp_path / "bad.json").write_text(text)
            with pytest.raises(ValueError, match="does not hold bayescal populations"):
                read_populations(tmp_path / "bad.json")
        content = json.loads(SHIPPED.read_text()) | {"version": 99}
        (tmp_path / "new.json").write_text(json.dumps(content))
        with pytest.raises(ValueError, match=r"version 99; expected .*version 1"):
            read_populations(tmp_path / "new.json")

    def test_a_changed_digit_is_refused(self, tmp_path):
        text = SHIPPED.read_text()
        (tmp_path / "bad.json").write_text(text.replace("3.71031", "3.71032"))
        with pytest.raises(ValueError, match=r"bad\.json is damaged: its populations do not"):
            read_populations(tmp_path / "bad.json")

    def test_what_is_shipped_is_small_and_says_where_it_is_from(self):
        assert SHIPPED.stat().st_size < 20_000
        provenance = json.loads(SHIPPED.read_text())["provenance"]
        assert len(provenance["data sets"]) == 18
        names = [each.name for each in shipped_populations()]
        assert set(provenance["classifiers"]) == set(names)
        # Logistic regression and boosting say log-odds: so their scores turn out to be.
        (log_odds,) = (each for each in shipped_populations() if each.name == "log-odds")
        assert log_odds.usual_slope == pytest.approx(1.0, rel=0.1)
        assert log_odds.prior.intercept_location == pytest.approx(log_odds.reference_score, abs=0.5)


@pytest.fixture(scope="module")
def margins():
    """Scores as an SVM's: log-odds of -3.3 at a margin of -0.85, that rise by 7 a unit there."""
    rng = np.random.default_rng(3)
    score = rng.normal(-1.0, 0.35, 200)
    return score, rng.random(200) < special.expit(-3.3 + 7.0 * (score + 0.85))


def fitted(data, prior_knowledge="learned", **settings):
    return ScoreCalibrator(prior_knowledge=prior_knowledge, **FEW | settings).fit(*data)


def picked(calibrator):
    group = calibrator.results_["populations"]
    assert group["population"].values[-1] == VAGUE
    if "learned" not in calibrator.combination_.index:
        return VAGUE
    return str(group["population"].values[group["log_evidence"].values.argmax()])


class TestCalibrator:
    @pytest.mark.parametrize("beforehand", [0.1, 0.9])
    def test_belief_in_it_goes_by_its_probability(self, margins, monkeypatch, beforehand):
        score, label = margins
        few = np.r_[np.flatnonzero(label)[:1], np.flatnonzero(~label)[:1]]
        monkeypatch.setattr(
            "bayescal.fitting.parts.combination.LIKE_NONE", (1.0 - beforehand) / beforehand
        )
        calibrator = fitted((score[few], label[few]))
        known = float(calibrator.results_["populations"]["probability"])
        # Two labels hold little information on populations and, left out, on the parts.
        assert known == pytest.approx(beforehand, abs=0.05)
        belief = {"learned": 2.75 * known, "logistic": 1.0 - known}
        found = calibrator.combination_["weight"]
        for name, documents_worth in belief.items():
            expected = documents_worth / (1.75 + sum(belief.values()))
            assert found[name] == pytest.approx(expected, abs=0.1), name

    def test_vague_priors_leave_it_out(self, margins):
        vague = fitted(margins, "vague")
        assert "learned" not in vague.combination_.index
        assert "populations" not in vague.results_.children

    def test_parts_that_are_named_have_all_their_belief(self, margins):
        score, label = margins
        few = np.r_[np.flatnonzero(label)[:1], np.flatnonzero(~label)[:1]]
        both = fitted((score[few], label[few]), parts=("logistic", "learned")).combination_
        assert both["weight"]["learned"] == pytest.approx(2.75 / 3.75, abs=0.1)

    def test_it_knows_scores_by_their_units(self, margins):
        score, label = margins
        assert picked(fitted(margins)) == "margins"
        # The same in other units is like no classifier's: nothing is known of it.
        moved = (1e4 * score + 5e6, label)
        assert picked(fitted(moved)) == VAGUE
        np.testing.assert_array_equal(
            fitted(moved).predict_interval(moved[0][:50]),
            fitted(moved, "vague").predict_interval(moved[0][:50]),
        )

    def test_scores_without_a_population_leave_it_out(self, tmp_path, margins):
        path = write_populations([one_line(scores_are=("probabilities",))], tmp_path / "p.json")
        assert "learned" not in fitted(margins, path).combination_.index
        with pytest.raises(ValueError, match=r"needs prior_knowledge='learned'.*'scores'"):
            fitted(margins, path, parts="learned")

    def test_a_file_of_ones_own_is_used(self, tmp_path, margins):
        path = write_populations([one_line(2.6, 7.0, name="mine")], tmp_path / "mine.json")
        assert picked(fitted(margins, path)) == picked(fitted(margins, str(path))) == "mine"

    @pytest.mark.slow
    def test_it_is_kept_copied_updated_and_shown(self, tmp_path, margins):
        score, label = margins
        whole = fitted(margins)
        expected = whole.predict_interval(GRID)
        assert clone(whole).prior_knowledge == "learned"
        again = pickle.loads(pickle.dumps(whole))
        np.testing.assert_array_equal(again.predict_interval(GRID), expected)
        kept = load(whole.save(tmp_path / "kept.nc"))
        np.testing.assert_array_equal(kept.predict_interval(GRID), expected)
        half = fitted((score[:100], label[:100])).update(score[100:], label[100:])
        assert picked(half) == "margins"
        page = whole.report(tmp_path / "report.html").read_text()
        assert "margins, log-odds of" in page

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"parts": "densities"}, "ask for parts='combined'"),
            ({"parts": "gaussian"}, "ask for parts='combined'"),
            ({"inference": "mle"}, "ask for parts='combined'"),
        ],
    )
    def test_a_file_that_no_part_reads_is_refused(self, tmp_path, margins, settings, message):
        path = write_populations([one_line()], tmp_path / "mine.json")
        with pytest.raises(ValueError, match=message):
            fitted(margins, path, **settings)
        fitted(margins, **settings)  # the default is for those parts that read it

    def test_the_part_alone_needs_something_to_know(self, margins):
        with pytest.raises(ValueError, match="needs prior_knowledge='learned'"):
            fitted(margins, "vague", parts="learned")
