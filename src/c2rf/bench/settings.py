"""Settings of the experiment as they are typed: names, fractions, weights, errors of totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from itertools import product
from math import isfinite

from c2rf.bench.protocol import Protocol
from c2rf.exceptions import InputError


def split_names(text: str) -> list[str]:
    """Return the names in a list with commas or blanks, each once.

    Examples
    --------
    >>> split_names("rf, auto,rf")
    ['rf', 'auto']
    """
    names = list(dict.fromkeys(text.replace(",", " ").split()))
    if not names:
        raise InputError(f"at least one name must be given; found {text!r}")
    return names


def every_setting(
    protocols: list[Protocol], fractions: str, weights: str, errors: str, few_labels: str = ""
) -> Iterator[Protocol]:
    """Yield every protocol in every setting."""
    labeled = _parts(fractions, "--fraction", above=0, below=1)
    wrong = _parts(errors, "--total-error", above=-1, below=float("inf"))
    for protocol in protocols:
        drawn = [protocol.positive_weight]
        if weights:
            drawn = _parts(weights, "--positive-weight", above=0, below=1)
        for fraction, weight, error, few in product(labeled, drawn, wrong, _counts(few_labels)):
            yield replace(
                protocol,
                fraction=fraction,
                positive_weight=weight,
                total_error=error,
                few_labels=few,
            )


def _counts(text: str) -> list[int | None]:
    """Return the whole numbers in a list; of an empty one, that there is no limit.

    Examples
    --------
    >>> _counts("1, 2"), _counts("")
    ([1, 2], [None])
    """
    if not text:
        return [None]
    words = split_names(text)
    for word in words:
        if not word.isdecimal() or int(word) < 1:
            raise InputError(
                f"--few-labels must be whole numbers above 0, with commas; found {word!r}"
            )
    return [int(word) for word in words]


def _parts(text: str, option: str, above: float, below: float) -> list[float]:
    """Return the numbers in a list, each as 0.05 or as 5%.

    Examples
    --------
    >>> _parts("-20%, 0, +0.05", "--total-error", above=-1, below=1)
    [-0.2, 0.0, 0.05]
    """
    values = []
    for word in split_names(text):
        try:  # decimal, so that 0.7% and 0.007 are the same number
            value = float(Decimal(word.removesuffix("%")) / (100 if word.endswith("%") else 1))
        except ArithmeticError:
            value = float("nan")
        if not above < value < below:
            allowed = f"above {above:g}" + (f" and below {below:g}" if isfinite(below) else "")
            raise InputError(f"{option} must be {allowed}, as 0.05 or 5%; found {word!r}")
        values.append(value + 0.0)  # no -0.0
    return list(dict.fromkeys(values))
