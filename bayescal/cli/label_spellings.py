"""Labels of held-out rows, which may be spelled otherwise than those that were fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# What means the same, once blanks around it and capitals are left out.
NO = frozenset({"0", "0.0", "-1", "-", "false", "f", "no", "n", "neg", "negative"})
YES = frozenset({"1", "1.0", "+1", "+", "true", "t", "yes", "y", "pos", "positive"})


def spelled(values: NDArray[Any], classes: NDArray[Any]) -> dict[Any, bool] | None:
    """
    Return of each label that occurs whether it means the positive class; None if one means neither.

    Labels mean a class if they are it but for blanks and capitals; or, where the two classes are
    a word for no and one for yes, if they are another such word.

    Parameters
    ----------
    values : array of shape (n,)
        Labels.
    classes : array of shape (2,)
        The negative and the positive class that were fitted.

    Examples
    --------
    >>> spelled(np.array(["Yes", "no", "no"]), np.array([0, 1]))
    {'Yes': True, 'no': False}
    >>> spelled(np.array(["Spam", "eggs"]), np.array(["ham", "spam"]))
    """
    negative, positive = (_plain(label) for label in classes.tolist())
    meanings = {negative: False, positive: True}
    for no, yes, of_no in ((negative, positive, False), (positive, negative, True)):
        if no in NO and yes in YES:
            meanings |= dict.fromkeys(NO, of_no) | dict.fromkeys(YES, not of_no)
    labels = np.unique(values).tolist()
    if negative == positive or any(_plain(label) not in meanings for label in labels):
        return None
    return {label: meanings[_plain(label)] for label in labels}


def _plain(label: Any) -> str:
    return str(label).strip().casefold()
