"""TopicCalibrator(inference="nuts"): the same tree, so everything reads it as the fast engine's."""

import numpy as np
import pytest
import scipy.stats as st
from sklearn.base import clone

from bayescal import NUTS, TopicCalibrator
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from tests.sizes import size

pytestmark = [
    pytest.mark.slow,
    # PyMC's energy of a trajectory that diverges while step sizes are still tuned.
    pytest.mark.filterwarnings("ignore:overflow encountered in:RuntimeWarning"),
    # So few draws are not to be trusted, and every reader says so.
    pytest.mark.filterwarnings("ignore:the posterior draws are not:UserWarning"),
    # pytest.warns gives the warning that pyproject.toml ignores another module.
    pytest.mark.filterwarnings("ignore:PyTensor could not link to a BLAS:UserWarning"),
]
NAMES = ["corn", "crude", "earn", "empty", "one-sided"]
DRAWS, CHAINS = 150, 2
SETTINGS = {"draws": DRAWS, "chains": CHAINS, "random_state": 0}
NEW = np.array([-2.0, 0.0, 1.0, 4.0])


def documents():
    """Return scores, labels and topics: one topic without labels, one without positives."""
    rng = np.random.default_rng(0)
    topic = np.repeat(NAMES, [40, 12, 30, 3, 10])
    label = np.where(np.arange(topic.size) % 4 == 0, 1.0, 0.0)
    label[topic == "one-sided"] = 0.0
    score = 10.0 + rng.laplace(3.0 * label, 1.0)
    label[topic == "empty"] = np.nan
    return score, label, topic


def sampled(family):
    calibrator = TopicCalibrator(
        parts=family, inference=NUTS(sampler_options={"tune": 300}), **SETTINGS
    )
    # Fewer draws than an effective sample size should have.
    with pytest.warns(ConvergenceWarning, match="effective sample size of .* raise draws"):
        return calibrator.fit(*documents())


@pytest.fixture(scope="module", params=size(["gaussian"], ["gaussian", "asymmetric_laplace"]))
def pair(request):
    """Return the calibrator by NUTS and by the fast engine."""
    fast = TopicCalibrator(parts=request.param, **SETTINGS).fit(*documents())
    return sampled(request.param), fast


def test_the_tree_has_the_fast_engines_form(pair):
    by_nuts, fast = (each.posterior_ for each in pair)
    assert set(by_nuts.children) - set(fast.children) == {"sample_stats"}
    for name, group in fast.children.items():
        one, other = by_nuts[name].to_dataset(), group.to_dataset()
        assert one.sizes == other.sizes
        assert {k: v.dims for k, v in one.items()} == {k: v.dims for k, v in other.items()}
        # NUTS weighs no proposals; topics without documents have nothing of their own.
        for variable in set(one) - {"pareto_k", "proposal_pareto_k"}:
            assert (np.isfinite(one[variable]) | ~np.isfinite(other[variable])).all()


def test_predictions_are_the_fast_engines_within_their_bands(pair):
    by_nuts, few = pair
    # Draws of the fast engine cost little: what is left is the error of NUTS.
    fast = clone(few).set_params(draws=1000).fit(*documents())
    for topic in [*NAMES, "new"]:
        topics = [topic] * NEW.size
        one, other = (each.predict_proba(10.0 + NEW, topics)[:, 1] for each in (by_nuts, fast))
        np.testing.assert_allclose(one, other, atol=0.12)
        lower, upper = by_nuts.predict_interval(10.0 + NEW, topics).T
        assert np.all((lower - 0.02 < other) & (other < upper + 0.02))


def test_topics_without_documents_are_draws_from_the_population(pair):
    posterior, population = (
        pair[0].posterior_[name].to_dataset() for name in ("posterior", "population/posterior")
    )
    for topic, klass in (("empty", "negative"), ("empty", "positive"), ("one-sided", "positive")):
        own = posterior["theta"].sel(topic=topic, klass=klass).values.ravel()
        of_all = population["theta"].sel(klass=klass).values.ravel()
        assert st.kstest(own[::5], of_all[::5]).pvalue > 1e-3
    rate = posterior["prior"].sel(topic="empty").values.ravel()
    assert st.kstest(rate[::5], population["prior"].values.ravel()[::5]).pvalue > 1e-3
    # The negative: a topic with documents is not.
    rate = posterior["prior"].sel(topic="corn").values.ravel()
    assert st.kstest(rate, population["prior"].values.ravel()).pvalue < 1e-3


def test_it_is_saved_and_takes_further_topics(pair, tmp_path):
    by_nuts = pair[0]
    loaded = TopicCalibrator.load(by_nuts.save(tmp_path / "topics.nc"))
    assert loaded.inference == NUTS(sampler_options={"tune": 300})
    assert loaded.diagnostics_ == by_nuts.diagnostics_
    np.testing.assert_array_equal(
        loaded.predict_proba(NEW, ["corn"] * 4), by_nuts.predict_proba(NEW, ["corn"] * 4)
    )
    score, label, _ = documents()
    more = loaded.add_topics(score[:40], label[:40], np.full(40, "more"))
    assert more.topics_.tolist() == [*NAMES, "more"]
    assert "sample_stats" in more.posterior_
    one, other = (more.predict_proba(10.0 + NEW, [name] * 4)[:, 1] for name in ("more", "corn"))
    np.testing.assert_allclose(one, other, atol=0.1)


def test_summary_and_diagnostics(pair):
    by_nuts, fast = pair
    table = by_nuts.summary()
    assert table.index.equals(fast.summary().index)
    assert np.all((table["lower"] < table["upper"]).to_numpy())
    assert by_nuts.diagnostics_.draws == DRAWS * CHAINS
    assert by_nuts.diagnostics_.rhat > 1.0
    assert fast.diagnostics_.ok
    assert fast.diagnostics_.rhat is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"inference": "map"}, "inference must be one of .*'nuts', got 'map'"),
        ({"inference": "nuts", "pooling": "none"}, "without a population .* is exact"),
        ({"inference": "nuts", "parts": "average"}, "parts must be one of"),
        ({"inference": "nuts", "parts": "combined"}, "parts must be 'densities' .* no draws of"),
    ],
)
def test_what_there_is_not(settings, message):
    with pytest.raises(ValueError, match=message):
        TopicCalibrator(**settings).fit(*documents())
