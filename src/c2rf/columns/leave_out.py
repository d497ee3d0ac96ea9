"""Columns that nothing can be learned from, and numbers that look like codes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from c2rf.columns.kinds import FEW_LEVELS
from c2rf.files.cells import as_numbers, as_text

NEARLY_ALL = 0.9
"""A column of text in which this share of the rows differs names the rows."""

_DATE = re.compile(r"\d{1,4}[-./]\d{1,2}[-./]\d{1,4}.*")
_ID = re.compile(r"(?:.*[\W_])?(?:id|ids|nr|no|key|index|number|nummer|uuid)", re.IGNORECASE)
_CODE = re.compile(
    r".*(?:plz|postleitzahl|zip|postal|post_?code|nuts|fips|ags|gemeindekennziffer|icd|isco|nace|code)"
    r".*",
    re.IGNORECASE,
)


def why_left_out(labeled: pd.Series[Any], unlabeled: pd.Series[Any]) -> str | None:
    """Say why nothing can be learned from a column, None if something can.

    Parameters
    ----------
    labeled, unlabeled : Series
        Its cells; of the unlabeled rows some are enough.

    Examples
    --------
    >>> cells = pd.Series([f"P{k}" for k in range(50)], name="person")
    >>> why_left_out(cells, cells + "x")
    'differs in nearly every row'
    >>> why_left_out(pd.Series(["DE"] * 50), pd.Series(["DE"]))
    'is the same in all labeled rows'
    """
    texts = as_text(labeled)
    given = texts.dropna()
    if not len(given):
        return "is empty in all labeled rows"
    n_values = given.nunique()
    if n_values == 1 and len(given) == len(texts):
        return "is the same in all labeled rows"
    if n_values <= FEW_LEVELS or n_values < NEARLY_ALL * len(given):
        return None
    both = pd.concat([given, as_text(unlabeled).dropna()])
    if both.nunique() < NEARLY_ALL * len(both):
        return None
    if all(map(_DATE.fullmatch, given)):
        return None
    numbers = as_numbers(labeled)
    if int(numbers.notna().sum()) < len(given):
        return "differs in nearly every row"
    if _are_ids(str(labeled.name), numbers.dropna(), as_numbers(unlabeled).dropna()):
        return "numbers the rows"
    return None


def _are_ids(name: str, labeled: pd.Series[float], unlabeled: pd.Series[float]) -> bool:
    """Whether whole numbers, all different, name the rows: by their name or by their order."""
    both = np.concatenate([labeled, unlabeled])
    if len(np.unique(both)) < len(both) or (both != np.floor(both)).any():
        return False
    in_order = bool((np.diff(labeled) > 0).all() and (np.diff(unlabeled) > 0).all())
    return in_order or _ID.fullmatch(name) is not None


def look_like_codes(labeled: pd.Series[Any]) -> bool:
    """Whether numbers are likely names of something, like postal codes.

    Examples
    --------
    >>> look_like_codes(pd.Series(["01067", "70173", "80331"], name="town"))
    True
    >>> look_like_codes(pd.Series(["41", "14"], name="age"))
    False
    """
    texts = as_text(labeled).dropna()
    if not len(texts) or not texts.str.fullmatch(r"\d+").all():
        return False
    widths = texts.str.len()
    same_width = bool(widths.nunique() == 1 and widths.iloc[0] >= 4)
    has_zero = bool((texts.str.startswith("0") & (widths > 1)).any())
    many = texts.nunique() > FEW_LEVELS
    named = _CODE.fullmatch(str(labeled.name)) is not None and bool((widths >= 2).all())
    return has_zero or named or (same_width and many and bool(widths.iloc[0] >= 5))
