"""Labels in words: which of two is the positive one, and names that differ in spelling only."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

# Words for the negative and for the positive class of a question, separated by commas.
QUESTIONS = (
    ("no, n, 0, 0.0, -1, -1.0, -, false, f, neg, negative, nein, nee, non, falsch, falso, faux,"
     " onwaar, negativ, negativo, négatif, negatief",
     "yes, y, 1, 1.0, +1, +, true, t, pos, positive, ja, j, oui, si, sí, sì, wahr, vrai, vero,"
     " verdadero, waar, positiv, positivo, positif, positief"),
    ("survived, alive, survivor, living, lived", "died, dead, death, deceased"),
    ("event free, censored", "event"),
    ("different, different source, different author, different speaker, ds",
     "same, same source, same author, same speaker, ss"),
    ("mismatch", "match"),
    ("h2, h0, hd", "h1, hp"),
    ("impostor, imposter", "genuine, mated"),
    ("irrelevant", "relevant"),
    ("unresponsive", "responsive"),
    ("ham", "spam"),
    ("legitimate, legit, genuine", "fraud, fraudulent"),
    ("benign", "malignant, malicious, malware"),
    ("healthy, control, controls", "diseased, disease, sick, ill, patient, case, cases"),
    ("normal", "abnormal, anomaly, anomalous"),
    ("uninfected", "infected"),
    ("absent", "present"),
    ("inactive", "active"),
    ("incorrect, wrong", "correct, right"),
)  # fmt: skip
# One of these before a label makes its negative, as in "not relevant" and "nontarget".
NEGATIONS = ("no ", "not ", "non ", "non", "without ", "kein ", "keine ", "nicht ", "pas ", "geen ")

PAIRS = tuple((frozenset(no.split(", ")), frozenset(yes.split(", "))) for no, yes in QUESTIONS)
NO, YES = PAIRS[0]
UNSURE = frozenset({"unsure", "not sure", "uncertain", "undecided", "unclear", "?"})


def plain(label: Any) -> str:
    """Return a label as text without capitals, blanks at its ends, and hyphens between words."""
    return re.sub(r"(?<=\w)[-_\s]+(?=\w)", " ", str(label).strip().casefold())


def position_by_words(labels: Sequence[Any]) -> int | None:
    """Return which of two labels is the positive one by its words, None for unknown words."""
    first, second = map(plain, labels)
    for position, no, yes in ((1, first, second), (0, second, first)):
        if any(no in negatives and yes in positives for negatives, positives in PAIRS):
            return position
        if any(no == f"{negation}{yes}" for negation in NEGATIONS):
            return position
    return None


def meanings_of(words: Iterable[str]) -> dict[str, bool] | None:
    """Return True for words that mean yes to one question, False for no; None if unclear."""
    known = list(words)
    found = []
    for no, yes in PAIRS:
        positives = yes | YES
        negatives = no | NO | {negation + word for negation in NEGATIONS for word in positives}
        if all(word in negatives or word in positives for word in known):
            found.append({word: word in positives for word in known})
    return found[0] if found and all(each == found[0] for each in found) else None


def one_spelling(names: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """Return one spelling of names that differ in capitals and blanks: known, or commonest."""
    counted = Counter(names).most_common()  # ties in order of appearance
    spellings = Counter(_alike(name) for name, _ in counted)
    chosen = {_alike(name): name for name in known}
    for name, _ in counted:
        own = _alike(name)
        chosen.setdefault(own, name if spellings[own] == 1 else name.strip())
    return {name: chosen[_alike(name)] for name, _ in counted}


def _alike(name: str) -> str:
    return " ".join(name.split()).casefold()
