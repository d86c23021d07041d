"""Indicators of classifiers against all that their perturbations can do, one at a time."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.indicators.neighbours import largest_shifts
from tests.indicator_data import COUNTS, LABELS, NEW, fitted, model_of, values_of

VALUES = values_of(fitted(), NEW)
BOTH = (("Positive", 1), ("Negative", 0))


def alone(classifier, features=COUNTS):
    """Return the indicators of one classifier on features as they are."""
    return ReliabilityIndicators([("it", classifier)], text=False).fit(features, LABELS)


class TestUnigram:
    """Delta deletes each word in turn."""

    @staticmethod
    def smoothed():
        """Return scikit-learn's model with the dissertation's smoothing, and what it sees."""
        _, see = model_of(fitted(), "naive_bayes")
        seen = see(COUNTS)
        model = MultinomialNB(alpha=seen.sum(0) / seen.sum())
        return model.fit(seen, LABELS), see(NEW)

    @staticmethod
    def deletions(document):
        """Yield the document without each of its words, as often as it occurs."""
        for word in np.flatnonzero(document):
            shorter = document.copy()
            shorter[word] -= 1.0
            yield from [shorter] * int(document[word])

    def test_moments_of_deletion(self):
        model, documents = self.smoothed()
        for k, document in enumerate(documents):
            if not document.any():
                continue
            joint = model.predict_joint_log_proba(document[None])
            changes = joint - model.predict_joint_log_proba(np.stack([*self.deletions(document)]))
            odds = changes[:, 1] - changes[:, 0]
            assert VALUES["UnigramMeanShift"][k] == pytest.approx(odds.mean(), abs=1e-12)
            assert VALUES["UnigramStdDeviation"][k] == pytest.approx(odds.std(), abs=1e-6)
            for name, row in BOTH:
                mean = VALUES[f"UnigramMeanLogOfStrengthGiven{name}"][k]
                deviation = VALUES[f"UnigramStdDeviationLogOfStrengthGiven{name}"][k]
                assert mean == pytest.approx(changes[:, row].mean(), abs=1e-12)
                assert deviation == pytest.approx(changes[:, row].std(), abs=1e-6)

    def test_the_mean_is_what_words_add_to_the_prior(self):
        model, see = model_of(fitted(), "naive_bayes")
        documents = see(NEW)
        length = documents.sum(axis=1)
        added = model.decision_function(documents) - model.intercept_
        assert VALUES["UnigramMeanShift"] * length == pytest.approx(added, abs=1e-12)
        # The negative: the mean over different words, whatever they are repeated.
        different = documents > 0
        wrong = different @ model.log_ratios_ / np.maximum(different.sum(axis=1), 1)
        assert VALUES["UnigramMeanShift"] != pytest.approx(wrong, abs=1e-3)

    def test_without_words_all_is_0(self):
        for name, values in VALUES.items():
            if name.startswith("Unigram"):
                assert values[[3, 4]].tolist() == [0.0, 0.0]

    def test_of_scikit_learns_model(self):
        model = MultinomialNB().fit(COUNTS, LABELS)
        found = values_of(alone(MultinomialNB()), NEW)
        document = NEW[0]
        joint = model.predict_joint_log_proba(document[None])
        changes = joint - model.predict_joint_log_proba(np.stack([*self.deletions(document)]))
        expected = (changes[:, 1] - changes[:, 0]).std()
        assert found["UnigramStdDeviation"][0] == pytest.approx(expected, abs=1e-6)


class TestBernoulli:
    """Delta flips the presence of each word in turn."""

    @staticmethod
    def flips(document):
        present = np.tile(document > 0, (document.size, 1)).astype(float)
        diagonal = np.arange(document.size)
        present[diagonal, diagonal] = 1.0 - present[diagonal, diagonal]
        return present

    def test_moments_of_flips(self):
        model, see = model_of(fitted(), "bernoulli_naive_bayes")
        for k, document in enumerate(see(NEW)):
            own = model.decision_function(document[None])
            changes = own - model.decision_function(self.flips(document))
            assert VALUES["NaiveBayesMeanShift"][k] == pytest.approx(changes.mean(), abs=1e-12)
            assert VALUES["NaiveBayesStdDeviation"][k] == pytest.approx(changes.std(), abs=1e-9)

    @pytest.mark.parametrize(("name", "row"), BOTH)
    def test_moments_of_each_class(self, name, row):
        """ln P(w(d)|c)/P(w'(d)|c) with the smoothing of equation 6.13, word by word."""
        _, see = model_of(fitted(), "bernoulli_naive_bayes")
        seen, members = see(COUNTS) > 0, row == LABELS
        for k, document in enumerate(see(NEW)):
            strengths = []
            for w, present in enumerate(document > 0):
                own, other = (
                    ((seen[members, w] == v).sum() + (seen[:, w] == v).mean())
                    / (members.sum() + 1.0)
                    for v in (present, not present)
                )
                strengths.append(np.log(own / other))
            mean = VALUES[f"NaiveBayesMeanLogOfStrengthGiven{name}"][k]
            deviation = VALUES[f"NaiveBayesStdDeviationLogOfStrengthGiven{name}"][k]
            assert mean == pytest.approx(np.mean(strengths), abs=1e-12)
            assert deviation == pytest.approx(np.std(strengths), abs=1e-9)

    def test_of_scikit_learns_model(self):
        model = BernoulliNB().fit(COUNTS, LABELS)
        found = values_of(alone(BernoulliNB()), NEW)
        for k, document in enumerate(NEW):
            joint = model.predict_joint_log_proba(document[None])
            changes = joint - model.predict_joint_log_proba(self.flips(document))
            mean = found["NaiveBayesMeanLogOfStrengthGivenPositive"][k]
            assert mean == pytest.approx(changes[:, 1].mean(), abs=1e-12)
            odds = changes[:, 1] - changes[:, 0]
            assert found["NaiveBayesStdDeviation"][k] == pytest.approx(odds.std(), abs=1e-9)

    def test_of_numbers_that_scikit_learns_model_turns_into_bits(self):
        model = BernoulliNB(binarize=1.0)
        found = values_of(alone(model), NEW)
        bits = values_of(alone(BernoulliNB(), COUNTS > 1), NEW > 1)
        for name, values in bits.items():
            assert found[name] == pytest.approx(values, abs=1e-12)

    def test_words_that_say_nothing_are_not_counted(self):
        """A word that all training documents have, and one that none has, change nothing."""
        from bayescal.text import BernoulliNaiveBayes

        more, new = (np.hstack([x[:, :5], np.ones((len(x), 1)), x[:, -1:]]) for x in (COUNTS, NEW))
        found = values_of(alone(BernoulliNaiveBayes(), more), new)
        plain = values_of(alone(BernoulliNaiveBayes(), COUNTS[:, :5]), NEW[:, :5])
        for name in plain:
            assert found[name] == pytest.approx(plain[name], abs=1e-12)


def unit(rows):
    """Return rows of length 1; an empty one gets a direction of its own."""
    rows = np.hstack([rows, np.zeros((len(rows), 1))])
    rows[~rows.any(axis=1), -1] = 1.0
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def bisect(document, target, others):
    """Return the largest move that leaves a document nearest to its origin."""

    def stays(share):
        there = document + share * (target - document)
        to_others = np.linalg.norm(others - there, axis=1)
        return np.linalg.norm(there - document) <= to_others.min() + 1e-12

    low, high = 0.0, 0.5
    if stays(high):
        return high
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if stays(middle) else (low, middle)
    return low


@pytest.fixture(scope="module")
def cases():
    model, see = model_of(fitted(), "nearest_neighbours")
    training = unit(see(COUNTS) * model.idf_)
    signs, k = np.where(LABELS, 1.0, -1.0), model.neighbours_
    found = {}
    for row, document in enumerate(see(NEW) * model.idf_):
        if not document.any():
            continue
        document = unit(document[None])[0]
        order = np.argsort(-(training @ document).round(12), kind="stable")[: 2 * k]
        found[row] = document, training[order], signs[order], k
    assert len(found) >= 10
    return found


class TestNeighbours:
    """Delta moves the document towards each neighbour in turn, by bisection."""

    @staticmethod
    def scores(cosines, signs, k):
        order = np.argsort(-cosines, kind="stable")[:k]
        return (cosines[order] * signs[order]).sum()

    def by_hand(self, document, near, signs, k):
        """Return s(d) and s(d_i) of all shifts, among the 2k nearest documents."""
        own = self.scores(near @ document, signs, k)
        shifted = []
        for target in near[:k]:
            there = document + bisect(document, target, near) * (target - document)
            shifted.append(self.scores(near @ there / np.linalg.norm(there), signs, k))
        return own, np.array(shifted)

    def test_distances(self, cases):
        for row, (document, near, signs, k) in cases.items():
            apart = np.linalg.norm(near[:k] - document, axis=1)
            assert VALUES["NeighborhoodRadius"][row] == pytest.approx(apart.max(), abs=1e-7)
            assert VALUES["MeanNeighborDistance"][row] == pytest.approx(apart.mean(), abs=1e-7)
            assert VALUES["SigmaNeighborDistance"][row] == pytest.approx(apart.std(), abs=1e-7)
            for name, sign in (("Positive", 1.0), ("Negative", -1.0)):
                own = apart[signs[:k] == sign]
                mean, sigma = (own.mean(), own.std()) if own.size else (apart.max(), 0.0)
                assert VALUES[f"Mean{name}NeighborDistance"][row] == pytest.approx(mean, abs=1e-7)
                assert VALUES[f"Sigma{name}NeighborDistance"][row] == pytest.approx(sigma, abs=1e-7)

    def test_shifts(self, cases):
        halves, short = [], 0
        for row, (document, near, signs, k) in cases.items():
            own, shifted = self.by_hand(document, near, signs, k)
            positive = (np.r_[own, shifted] >= 0.0).mean()
            assert VALUES["kNNShiftMeanPred"][row] == pytest.approx(positive, abs=1e-12)
            difference = (shifted - own).mean()
            assert VALUES["kNNShiftMeanConfDiff"][row] == pytest.approx(difference, abs=1e-6)
            deviation = VALUES["kNNShiftStdDevConfDiff"][row]
            assert deviation == pytest.approx(shifted.std(), abs=1e-6)
            middle = (document + near[:k]) / 2.0
            middle /= np.linalg.norm(middle, axis=1, keepdims=True)
            short += sum(bisect(document, target, near) < 0.45 for target in near[:k])
            halves.append(np.mean([self.scores(near @ each, signs, k) for each in middle]) - own)
        assert short >= 5
        # The wrong rule: half the way to every neighbour, even if another one is in between.
        assert VALUES["kNNShiftMeanConfDiff"][[*cases]] != pytest.approx(halves, abs=1e-3)

    def test_the_published_example(self):
        """Table 5.1: shifts towards six points of the plane, printed to two digits."""
        # Rows: the point moved towards each neighbour. Columns: alpha, and the distances from
        # there to the point, to neighbour 5, and from neighbour 5's shift to the neighbour.
        alpha = np.array([0.27, 0.19, 0.20, 0.50, 0.50, 0.50])
        moved = np.array([0.36, 0.35, 0.38, 0.71, 0.28, 0.32])
        from_shift_5 = np.array([1.13, 1.61, 1.67, 1.53, 0.28, 0.92])
        length = moved / alpha
        # |v_i - v_5/2|^2 = |v_i|^2 - v_i.v_5 + |v_5|^2/4.
        product = length**2 + length[4] ** 2 / 4.0 - from_shift_5**2
        found = largest_shifts(length[None, [4]] ** 2, product[None, :, None])[0]
        assert found == pytest.approx(alpha, abs=0.03)
        assert found[3:].tolist() == [0.5, 0.5, 0.5]

    def test_documents_that_have_no_word_in_common_with_others_stay(self):
        for row in (3, 4):
            found = {name: values[row] for name, values in VALUES.items() if "Neighbor" in name}
            for name, value in found.items():
                expected = 0.0 if name.startswith("Sigma") else np.sqrt(2.0)
                assert value == pytest.approx(expected, abs=1e-12)
            assert VALUES["kNNShiftMeanConfDiff"][row] == 0.0
            assert VALUES["kNNShiftStdDevConfDiff"][row] == 0.0
            assert VALUES["kNNShiftMeanPred"][row] == 1.0  # s(+) = 0 is not below 0

    def test_of_documents_that_may_be_opposite(self):
        """Features below 0 have negative cosines: the nearest neighbour may be the opposite."""
        features = np.r_[np.full(8, -1.0), 2.0, 3.0][:, None]
        labels = np.arange(10) % 2 == 0
        knn = ReliabilityIndicators([("knn", KNeighborsClassifier(9, metric="cosine"))], text=False)
        found = values_of(knn.fit(features, labels), np.array([[1.0], [-1.0]]))
        assert found["NeighborhoodRadius"] == pytest.approx(np.full(2, 2.0))
        assert np.isfinite([*found.values()]).all()

    def test_of_scikit_learns_model(self, cases):
        """With cosines, tf idf and k the same it has the same neighbours, and votes otherwise."""
        model, see = model_of(fitted(), "nearest_neighbours")
        peer = KNeighborsClassifier(model.neighbours_, metric="cosine")
        found = values_of(alone(peer, see(COUNTS) * model.idf_), see(NEW) * model.idf_)
        rows = [*cases]
        for name, values in found.items():
            if not name.startswith("Percent"):
                assert values[rows] == pytest.approx(VALUES[name][rows], abs=1e-7), name


class TestEuclideanNeighbours:
    """Delta moves the point towards each neighbour; every neighbour has one vote."""

    RNG = np.random.default_rng(6)
    POINTS = RNG.normal(0.0, [1.0, 1.0, 0.2], (80, 3))
    LABELS = POINTS[:, 0] + RNG.normal(0.0, 0.7, 80) > 0.2
    NEW = np.vstack([RNG.normal(0.0, [1.0, 1.0, 0.2], (12, 3)), POINTS[:2]])

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_shifts_by_bisection(self, form):
        k = 5
        model = ReliabilityIndicators([("knn", KNeighborsClassifier(k))], text=False)
        found = values_of(model.fit(form(self.POINTS), self.LABELS), form(self.NEW))
        short = 0
        for row, query in enumerate(self.NEW):
            apart = np.linalg.norm(self.POINTS - query, axis=1)
            order = np.argsort(apart)[: 2 * k]
            near, sign = self.POINTS[order], np.where(self.LABELS[order], 1.0, -1.0)
            own = sign[:k].sum()
            shifted = []
            for target in near[:k]:
                share = bisect(query, target, near[apart[order] > 0])
                short += share < 0.45
                there = query + share * (target - query)
                closest = np.argsort(np.linalg.norm(near - there, axis=1))[:k]
                shifted.append(sign[closest].sum())
            assert found["NeighborhoodRadius"][row] == pytest.approx(np.sort(apart)[k - 1])
            assert found["kNNShiftMeanConfDiff"][row] == pytest.approx(np.mean(shifted) - own)
            assert found["kNNShiftStdDevConfDiff"][row] == pytest.approx(np.std(shifted))
            positive = (np.r_[own, shifted] >= 0).mean()
            assert found["kNNShiftMeanPred"][row] == pytest.approx(positive)
        assert short > 5


class TestSupportVectors:
    """Delta moves the document towards each support vector in turn."""

    @staticmethod
    def by_hand(document, model, vectors, signs):
        """Return the change of score of a document of length 1, by scoring the moved document."""

        def score(rows):
            return model.decision_function(rows[:, :-1])  # without what `unit` adds

        apart = np.linalg.norm(vectors - document, axis=1)
        step = apart.min() / 2.0
        chance = np.exp(-apart) / np.exp(-apart).sum()
        moved = document + (step / apart)[:, None] * (vectors - document)
        assert np.linalg.norm(moved - document, axis=1) == pytest.approx(step)
        change = score(moved) - score(document[None])
        goodness = signs * step / apart * score(vectors)
        mean, good = chance @ change, chance @ goodness
        return {
            "SVMShiftMeanConfDiff": mean,
            "SVMShiftStdDevConfDiff": np.sqrt(chance @ (change - mean) ** 2),
            "meanGoodSVProximity": good,
            "stdDevGoodSVProximity": np.sqrt(chance @ (goodness - good) ** 2),
            "signedNNSV": signs[apart.argmin()] * np.exp(-apart.min()),
        }

    def test_moments_of_shifts(self):
        model, see = model_of(fitted(), "linear_svm")
        training, signs = see(COUNTS), np.where(LABELS, 1.0, -1.0)
        inside = signs * model.decision_function(training) <= 1.001
        assert 10 < inside.sum() < 140
        tried = 0
        for k, document in enumerate(see(NEW)):
            if not document.any():
                continue
            document = unit(document[None])[0]
            vectors = unit(training[inside])
            if np.linalg.norm(vectors - document, axis=1).min() < 1e-9:
                continue
            expected = self.by_hand(document, model, vectors, signs[inside])
            assert {name: VALUES[name][k] for name in expected} == pytest.approx(expected, abs=1e-7)
            tried += 1
        assert tried >= 5

    def test_of_a_support_vector_all_is_0(self):
        model, see = model_of(fitted(), "linear_svm")
        signs = np.where(LABELS, 1.0, -1.0)
        inside = signs * model.decision_function(see(COUNTS)) <= 1.001
        found = values_of(fitted(), COUNTS[inside & see(COUNTS).any(axis=1)])
        for name in found:
            if "SV" in name:
                assert not found[name].any()

    def test_documents_are_compared_at_length_1_and_scored_as_they_are(self):
        """Footnote 10: a longer document has the same distances, and another score."""
        peer = LinearSVC(random_state=0)
        found = values_of(alone(peer), np.vstack([NEW[:1], 2.0 * NEW[:1]]))
        assert found["signedNNSV"][0] == found["signedNNSV"][1] != 0.0
        assert found["SVMShiftMeanConfDiff"][0] != found["SVMShiftMeanConfDiff"][1]

    def test_no_document_inside_the_margin(self):
        features = np.eye(4).repeat(10, axis=0)
        model = LinearSVC(C=1000.0, random_state=0)
        labels = np.repeat([0, 1, 0, 1], 10)
        indicators = ReliabilityIndicators([("svm", model)], text=False).fit(100 * features, labels)
        found = values_of(indicators, 100 * features)
        assert np.isfinite([*found.values()]).all()

    def test_svc_is_a_linear_svm_too(self):
        peer = make_pipeline(Normalizer(), SVC(kernel="linear"))
        found = values_of(alone(peer), NEW)
        model = make_pipeline(Normalizer(), SVC(kernel="linear")).fit(COUNTS, LABELS)
        # The solver's own support vectors, where the package finds them by their margins.
        inside, signs = model[-1].support_, np.where(LABELS, 1.0, -1.0)
        training = Normalizer().transform(COUNTS)
        expected = self.by_hand(unit(NEW[:1])[0], model[-1], unit(training[inside]), signs[inside])
        assert {name: found[name][0] for name in expected} == pytest.approx(expected, abs=1e-7)
        kernel = alone(SVC()).get_feature_names_out()
        assert not any("SV" in name for name in kernel)


class TestTree:
    """Delta takes each branch that a document does not take."""

    @staticmethod
    def walk(nodes, document):
        """Return the nodes that a document comes by."""
        path = [0]
        while nodes.children_left[path[-1]] >= 0:
            node = path[-1]
            left = np.float32(document[nodes.feature[node]]) <= nodes.threshold[node]
            path.append(int((nodes.children_left if left else nodes.children_right)[node]))
        return path

    def by_hand(self, nodes, document, training, positive):
        """Return the mean and the standard deviation of the change, leaf by leaf."""
        paths = [self.walk(nodes, each) for each in training]
        length = np.linalg.norm(training, axis=1, keepdims=True)
        unit_training = training / np.where(length > 0, length, 1.0)
        unit_document = document / max(np.linalg.norm(document), 1e-300)

        def log_odds(leaf):
            ends = np.array([path[-1] == leaf for path in paths])
            return np.log((positive[ends].sum() + 1.0) / ((~positive[ends]).sum() + 1.0))

        path = self.walk(nodes, document)
        leaves, chances = [], []
        for node in path[:-1]:
            (untaken,) = {nodes.children_left[node], nodes.children_right[node]} - {*path}
            there = np.array([untaken in each for each in paths])
            centroid = unit_training[there].mean(axis=0)
            chance = np.exp(-np.linalg.norm(unit_document - centroid))
            for k in np.flatnonzero(there):
                leaves.append(log_odds(paths[k][-1]))
                chances.append(chance / there.sum())
        chances = np.array(chances) / np.sum(chances)
        change = np.array(leaves) - log_odds(path[-1])
        mean = chances @ change
        return mean, np.sqrt(chances @ (change - mean) ** 2)

    def test_moments_of_detours(self):
        model, see = model_of(fitted(), "decision_tree")
        nodes = model.tree_.tree_
        assert nodes.node_count >= 5
        for k, document in enumerate(see(NEW)):
            mean, deviation = self.by_hand(nodes, document, see(COUNTS), LABELS)
            assert VALUES["DTreeShiftMeanConfDiff"][k] == pytest.approx(mean, abs=1e-9)
            assert VALUES["DTreeShiftStdDevConfDiff"][k] == pytest.approx(deviation, abs=1e-6)

    def test_of_scikit_learns_model(self):
        peer = DecisionTreeClassifier(random_state=0, max_depth=4)
        found = values_of(alone(peer), NEW)
        nodes = DecisionTreeClassifier(random_state=0, max_depth=4).fit(COUNTS, LABELS).tree_
        for k in (0, 3):
            mean, deviation = self.by_hand(nodes, NEW[k], COUNTS, LABELS)
            assert found["DTreeShiftMeanConfDiff"][k] == pytest.approx(mean, abs=1e-9)
            assert found["DTreeShiftStdDevConfDiff"][k] == pytest.approx(deviation, abs=1e-6)

    def test_a_tree_of_one_leaf_says_0(self):
        found = values_of(alone(DecisionTreeClassifier(min_samples_leaf=120)), NEW)
        assert not found["DTreeShiftMeanConfDiff"].any()
        assert not found["DTreeShiftStdDevConfDiff"].any()

    def test_branches_without_training_documents_are_not_taken(self):
        """The tree was grown on other documents than those that the indicators are fitted to."""
        tree = DecisionTreeClassifier(random_state=0).fit(COUNTS, LABELS)
        indicators = ReliabilityIndicators([("tree", tree)], text=False, prefit=True)
        found = indicators.fit(COUNTS[:6], [0, 1, 0, 1, 0, 1]).transform(NEW)
        assert np.isfinite(found).all()


def test_sparse_and_dense_documents_have_the_same_values():
    for form in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        found = values_of(fitted(), form(NEW))
        for name, values in VALUES.items():
            assert found[name] == pytest.approx(values, abs=1e-12), name
