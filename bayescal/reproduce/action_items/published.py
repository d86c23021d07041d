"""Action items as published: Table 10.7 of Bennett's dissertation, means over ten folds."""

from __future__ import annotations

MEASURES = ("F1", "error", "C(1,10)", "C(10,1)", "ROC", "ROC[0,.1]")

_NONE = (None, None)
DOCUMENT_WORDS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7398, 0.2244, 0.5593, 0.3856, 0.8423, 0.4974),
    "unigram": (0.6905, 0.3091, 0.5513, 0.4300, 0.7537, 0.1729),
    "naive Bayes": (0.6729, 0.2688, 0.5432, 0.4692, 0.7745, 0.2773),
    "SVM": (0.6918, 0.2472, 0.5392, 0.3507, 0.8367, 0.4959),
    "kNN": (0.6695, 0.3467, 0.5660, 0.4166, 0.7669, 0.2822),
}
"""By the whole e-mail's words."""

DOCUMENT_NGRAMS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7412, 0.2110, 0.6228, 0.4005, 0.8473, 0.5458),
    "unigram": (0.7361, 0.2729, 0.5581, 0.4719, 0.8114, 0.2787),
    "naive Bayes": (0.7534, 0.1896, 0.5405, 0.4424, 0.8537, 0.5069),
    "SVM": (0.7392, 0.2124, 0.5780, 0.3361, 0.8640, 0.5503),
    "kNN": (0.7021, 0.2539, 0.5251, 0.4452, 0.8244, 0.4607),
}
"""By the whole e-mail's n-grams."""

SENTENCE_WORDS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7793, 0.1894, 0.5227, 0.3308, 0.8885, 0.6164),
    "unigram": (0.7731, 0.2136, 0.5815, 0.4746, 0.8645, 0.4637),
    "naive Bayes": (0.7888, 0.1893, 0.5653, 0.4353, 0.8699, 0.4869),
    "SVM": (0.6985, 0.1988, 0.5496, 0.4031, 0.8548, 0.5822),
    "kNN": (0.6328, 0.3803, 0.5629, 0.4098, 0.6823, 0.2065),
}
"""By the scores of an e-mail's sentences, of their words."""

SENTENCE_NGRAMS: dict[str, tuple[float, ...]] = {
    "decision tree": (0.7521, 0.1841, 0.5335, 0.3577, 0.8723, 0.5974),
    "unigram": (0.8012, 0.1868, 0.6126, 0.4503, 0.8723, 0.5362),
    "naive Bayes": (0.8010, 0.1747, 0.5857, 0.4018, 0.8777, 0.5413),
    "SVM": (0.7842, 0.1693, 0.5768, 0.4073, 0.8620, 0.5963),
    "kNN": (0.6811, 0.2647, 0.5615, 0.3872, 0.8078, 0.4424),
}
"""By the scores of an e-mail's sentences, of their n-grams."""

COMBINED: dict[str, tuple[float | None, ...]] = {
    "Majority": (0.8038, 0.1761, 0.5511, 0.3844, *_NONE),
    "Best By Class": (0.8006, 0.1734, 0.6235, 0.3535, *_NONE),
    "Stack-D (norm)": (0.7885, 0.1828, 0.6046, 0.3644, 0.8752, 0.5444),
    "Stack-S (norm)": (0.7765, 0.1814, 0.4797, 0.2970, 0.8996, 0.6400),
    "STRIVE-D (norm)": (0.7718, 0.1949, 0.5512, 0.3724, 0.8724, 0.5333),
    "STRIVE-S (norm)": (0.7813, 0.1868, 0.5056, 0.3134, 0.9145, 0.6436),
    "BestSelect": (0.9894, 0.0134, 0.2486, 0.1411, *_NONE),
}
"""All twenty classifiers combined."""

PUBLISHED: dict[str, tuple[float | None, ...]] = {
    **{f"{algorithm}, words of e-mails": row for algorithm, row in DOCUMENT_WORDS.items()},
    **{f"{algorithm}, n-grams of e-mails": row for algorithm, row in DOCUMENT_NGRAMS.items()},
    **{f"{algorithm}, words": row for algorithm, row in SENTENCE_WORDS.items()},
    **{f"{algorithm}, n-grams": row for algorithm, row in SENTENCE_NGRAMS.items()},
    **COMBINED,
}
"""All of them; by sentences, and of combinations, by the names that methods have here."""
