"""Labels of documents: the positive class, also by its name, and the class of each document."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation

LABELS = str | bytes | bool | np.bool_ | Number | validation.DATES
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


def encode_labels(
    labels: ArrayLike,
    weight: validation.Floats | None = None,
    name: str = "y",
    positive: Any = None,
    scores: validation.Floats | None = None,
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the negative and the positive class, and the mask of positive labels."""
    classes, codes = sorted_labels(labels, name)
    larger = 1
    if scores is not None and scores.shape == codes.shape:
        rank = scores.argsort().argsort()
        larger = int(rank[codes == 1].mean() > rank[codes == 0].mean())
    second = position_of_positive(positive, classes, name, larger)
    is_positive: NDArray[np.bool_] = codes == second
    classes = classes[[1 - second, second]]
    for which, label in zip((~is_positive, is_positive), classes.tolist(), strict=True):
        if weight is not None and not weight[which].any():
            raise ValueError(
                f"sample_weight must leave both classes some weight, class {label!r} has none."
            )
    return classes, is_positive


def sorted_labels(labels: ArrayLike, name: str = "y") -> tuple[NDArray[Any], validation.Integers]:
    """Return two classes in scikit-learn's order, and each label's position among them."""
    classes, codes = np.unique(as_column(labels, name), return_inverse=True)
    _check_two(classes, name)
    check_kept(classes, name)
    return classes, codes


def check_no_dates(labels: NDArray[Any], name: str) -> None:
    """Raise ValueError if labels are dates or time spans: to numpy 1 second equals 1."""
    if labels.dtype.kind in "mM":
        raise ValueError(
            f"{name} must hold text, numbers or booleans, got {labels.dtype}: give them as text."
        )


def check_kept(classes: NDArray[Any], name: str) -> None:
    """Raise ValueError if files cannot store the classes, such as dates and bytes."""
    for label in classes.tolist():
        if not isinstance(label, str | int | float):
            raise ValueError(
                f"{name} must hold text, numbers or booleans, got {type(label).__name__}: give them"
                " as text."
            )


def match_labels(labels: ArrayLike, classes: NDArray[Any], name: str = "y") -> NDArray[np.bool_]:
    """Return the mask of positive labels for two known classes; either may be absent."""
    return np.asarray(of_each_class(as_column(labels, name), classes, name)[1])


def negative_and_positive(calibrator: Any) -> NDArray[Any]:
    """Return the two classes of a fitted estimator, the positive one second."""
    return np.asarray(next(iter(calibrator.fitted_problems().values())).labels)


def of_each_class(
    labels: NDArray[Any], classes: NDArray[Any], name: str = "y", advice: str = ""
) -> NDArray[np.bool_]:
    """Return the masks of known classes, shape (classes, n); raise ValueError for other labels."""
    members: NDArray[np.bool_] = labels == classes[:, None]
    strange = ~members.any(axis=0)
    if strange.any():
        expected = ", ".join(map(repr, classes.tolist()))
        first = labels[strange].tolist()[0]
        raise ValueError(f"{name} must hold {expected} only, got {first!r}{advice}.")
    return members


def as_labels(labels: Any, name: str, without: str = "unlabelled documents") -> NDArray[Any]:
    """Return labels of one type as an array; raise ValueError if some are masked or missing."""
    values = validation.as_array(labels, name)
    if values.dtype.kind == "f":
        blank, wanted = np.flatnonzero(~np.isfinite(values)), "not hold nan or infinity"
    else:
        blank, wanted = np.flatnonzero(validation.missing(values)), "hold labels of one type"
    if blank.size:
        raise ValueError(
            f"{name} must {wanted}, got {values.ravel()[blank[0]]} at position {blank[0]}: leave"
            f" {without} out."
        )
    if values.dtype.kind == "V":
        raise ValueError(
            f"{name} must hold text, numbers or booleans, got records: pass one field."
        )
    if values.dtype.kind == "O":
        types = {type(value) for value in values.flat}
        came = ", ".join(sorted(each.__name__ for each in types))
        if not all(issubclass(each, LABELS) for each in types):
            raise ValueError(
                f"{name} must hold text, numbers or booleans, got values of type {came}: give"
                " them as text."
            )
        if len({issubclass(each, str) for each in types}) > 1:
            raise ValueError(f"{name} must hold labels of one type, got {came}.")
        if all(issubclass(each, bool | np.bool_ | Number) for each in types):
            values = np.array(values.tolist()).reshape(values.shape)
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: {name} must hold text, real numbers or booleans, got"
            f" {values.flat[0]!r}. Give complex ones as text."
        )
    if values.dtype.kind in "OU":
        validation.check_names(labels, name)
    return values


def names_of_columns(classes: ArrayLike | None, columns: int, of: str) -> NDArray[Any]:
    """Return the classes of columns, by default their positions."""
    names = np.arange(columns)
    if classes is not None:
        names = as_labels(classes, "classes", "columns without a class")
    if names.shape != (columns,):
        raise ValueError(
            f"classes must name the {columns} columns of {of}, got {names.size} of shape"
            f" {names.shape}."
        )
    if np.unique(names).size < columns:
        raise ValueError("classes must name every class once, got a name twice.")
    return names


def named_columns(table: Any) -> list[Any] | None:
    """Return the names of the columns of a table or a DataArray; None without any."""
    if hasattr(table, "columns"):
        return validation.column_names(table)
    dims: tuple[str, ...] = getattr(table, "dims", ())
    named = len(dims) == 2 and dims[1] in table.coords
    return table.coords[dims[1]].values.tolist() if named else None


def in_order(values: Any, table: Any, classes: NDArray[Any], of: str) -> Any:
    """Return columns of a table in the order of the classes, if these are their names."""
    names = named_columns(table) or []
    wanted, texts = classes.tolist(), [str(name) for name in names]
    named = values.ndim == 2 and sorted(map(str, wanted)) == sorted(texts)
    order = [texts.index(str(name)) for name in wanted] if named else []
    # Columns 0 to K - 1 may have no names but positions.
    unclear = named and names == list(range(len(names))) and order != names
    if unclear or (not named and any(isinstance(name, str) and name in wanted for name in names)):
        raise ValueError(
            f"columns of {of} must be named {validation.first_of(wanted)}, got"
            f" {validation.first_of(names)}: rename them, or pass an array in this order."
        )
    return values[:, order] if named else values


def shares_in_order(prior: Mapping[Any, Any], names: list[Any]) -> list[Any]:
    """Return class priors by name in the order of the names."""
    if set(prior) != set(names):
        raise ValueError(
            "prior must give a share to each class or label, one value for each of"
            f" {validation.first_of(names)}, by name; got {validation.first_of(list(prior))}."
        )
    return [prior[name] for name in names]


def read_groups(
    values: ArrayLike, name: str, group: str, documents: int, other: str
) -> tuple[NDArray[Any], validation.Integers]:
    """Return the sorted names of groups, and the position of each document's group."""
    names = as_labels(values, name, f"documents without a {group}")
    if names.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), one {group} a document, got {names.shape}.")
    validation.check_same_length(name, names.size, other, documents)
    groups, code = np.unique(names, return_inverse=True)
    return groups, code


def as_positions(y_true: ArrayLike, n: int, other: str, columns: int) -> validation.Integers:
    """Return labels that are positions of columns, one for each of n documents."""
    label = as_labels(y_true, "y_true")
    if label.ndim != 1:
        raise ValueError(f"y_true must have shape (n,), one label a document, got {label.shape}.")
    validation.check_same_length("y_true", label.size, other, n)
    if label.dtype.kind not in "iu" or label.min() < 0 or label.max() >= columns:
        raise ValueError(
            f"y_true must hold positions of columns, 0 to {columns - 1}: pass"
            " numpy.searchsorted(classes, y)."
        )
    return label.astype(np.intp)


def as_column(labels: ArrayLike, name: str) -> NDArray[Any]:
    """Return one label a document as an array of shape (n,)."""
    values = as_labels(labels, name)
    check_no_dates(values, name)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), one label a document, got {values.shape}.")
    return values


def position_of_positive(positive: Any, classes: NDArray[Any], name: str, larger: int = 1) -> int:
    """Return the index of the positive one of two sorted classes, by default by their words."""
    known: list[Any] = classes.tolist()
    if positive is None:
        by_words = position_by_words(known)
        return 1 if by_words is None else by_words
    if positive not in known and known == [0, 1] and classes.dtype.kind in "iu":
        validation.warn_user(
            f"positive={positive!r} is no label of {name}, which holds 0 and 1, as if"
            f" scikit-learn passed codes for labels: {larger} is taken for positive. Set it to"
            f" {larger} if the labels are yours."
        )
        return larger
    if positive not in known:
        expected = " or ".join(map(repr, known))
        raise ValueError(f"positive must be a label of {name}, {expected}, got {positive!r}.")
    return known.index(positive)


def _check_two(classes: NDArray[Any], name: str) -> None:
    if classes.size == 1:
        raise ValueError(
            f"{name} must hold both classes: a calibrator can't be fit when only one class is"
            f" present, got only {classes.tolist()[0]!r}."
        )
    if classes.size == 0:
        raise ValueError(f"{name} must hold at least one label of each class, got none.")
    if classes.size > 2:
        came = ", ".join(repr(value) for value in classes[:4].tolist())
        came += ", ..." if classes.size > 4 else ""
        kind = "continuous values" if classes.dtype.kind == "f" and classes.size > 10 else "classes"
        alike = {plain(label) for label in classes.tolist()}
        several = ""
        if kind == "classes" and len(alike) > 2:
            several = (
                "; MulticlassCalibrator (in a shell --classes) calibrates several classes, each"
                " with a score of its own, and OrdinalCalibrator (--grades) grades of one score"
            )
        hint = " Some differ in capitals or blanks only: spell them alike." * (len(alike) == 2)
        raise ValueError(
            f"Only binary classification is supported: {name} must hold two classes, got"
            f" {classes.size} {kind} ({came}).{hint} Leave out documents of other classes, and"
            f" those without a label (in a file, leave the cell empty){several}."
        )


def plain(label: Any) -> str:
    """Return a label as text without capitals, blanks at its ends, and hyphens between words."""
    return re.sub(r"(?<=\w)[-_\s]+(?=\w)", " ", str(label).strip().casefold())


def position_by_words(labels: Sequence[Any]) -> int | None:
    """Return the position of the label whose words mean positive; None for unknown words."""
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
