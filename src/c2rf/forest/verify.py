"""The check of a solution's claims, in exact arithmetic where it matters.

Float weights are rational numbers, so every score has an exact value. A float score is off by at
most a bound that is easy to state; only where that bound leaves the answer open is the exact
value computed. The lower bound is checked where the solution has its certificate.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.text import short
from c2rf._utils.types import Floats, is_number, is_whole
from c2rf.exceptions import InfeasibleError, InputTypeError, VerificationError
from c2rf.forest.certificate import TOLERANCE, CertificateError, check_certificate
from c2rf.forest.problem import (
    Solution,
    check_box,
    check_offset,
    check_time_limit,
    check_total,
    make_statement,
    scores,
)
from c2rf.forest.votes import PatternTable, check_table, check_votes


def verify(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    solution: Solution | InfeasibleError,
    lower: float = 1.0,
    upper: float = 100.0,
    *,
    offset: tuple[float, float] | None = None,
    time_limit: float | None = None,
) -> None:
    """Check everything a solution claims that can be recomputed from its weights.

    Weights within the box and margins of at least one (both to within 1e-9), labels, eta, and
    the status against the bound. Where the solution has its certificate, the bound is checked as
    well, in whole numbers and without a solver; without one, the bound is only a claim.

    Parameters
    ----------
    votes : array-like of shape (n_rows, n_trees) or PatternTable
        What was solved.
    n_positive : int or float
        The known number of positives, or their rate.
    solution : Solution or InfeasibleError
        What is claimed. The error claims that there are no weights, and its certificate is checked.
    lower, upper : float
        The box of the weights.
    offset : (lo, hi) or None
        The range of the shift; without it the shift must be zero.
    time_limit : float or None
        Seconds for the certificate; a check that takes longer fails.

    Raises
    ------
    VerificationError
        Naming the first claim that does not hold.

    Examples
    --------
    >>> import c2rf
    >>> votes = [[1, 1, -1], [-1, 1, -1], [-1, 1, 1]]
    >>> c2rf.verify(votes, 1, c2rf.solve(votes, 1))
    """
    if isinstance(solution, InfeasibleError):
        proven = proven_bound(
            votes, n_positive, solution.certificate, lower, upper, offset, time_limit
        )
        if proven is not None:
            raise VerificationError(
                f"that there are no weights is claimed; the certificate is for the bound {proven}"
            )
        return
    if not isinstance(solution, Solution):
        raise InputTypeError(
            "solution must be what c2rf.solve returns, or the InfeasibleError it raises; found one "
            f"of type {type(solution).__name__}"
        )
    if isinstance(votes, PatternTable):
        check_table(votes)
        rows, counts = votes.patterns, votes.counts
    else:
        rows = check_votes(votes)
        counts = np.ones(len(rows), dtype=np.int64)
    check_box(lower, upper)
    target = check_total(n_positive, int(counts.sum()))
    weights = _numbers("weights", solution.weights).astype(float)
    if not is_number(solution.offset):
        raise VerificationError(
            f"the offset must be a number; found {short(repr(solution.offset))}"
        )
    shift = float(_numbers("the offset", solution.offset))
    if weights.shape != (rows.shape[1],):
        raise VerificationError(
            f"there must be one weight per tree, {rows.shape[1]}; found shape {weights.shape}"
        )
    for tree, weight in enumerate(weights.tolist()):
        _check_within(f"the weight of tree {tree}", weight, lower, upper)
    if offset is not None:
        _check_within("the offset", shift, *check_offset(offset))
    elif shift != 0:
        raise VerificationError(f"the offset is {shift!r}; without offset=(lo, hi) it is 0.0")
    signs = certain_signs(rows, weights, shift)
    _check_labels(_numbers("labels", solution.labels), signs)
    eta = abs(int(counts[signs > 0].sum()) - target)
    if not is_whole(solution.eta) or solution.eta != eta:
        raise VerificationError(f"eta is claimed to be {solution.eta!r}; recounted it is {eta}")
    _check_status(solution)
    if solution.certificate is not None:
        proven = proven_bound(votes, target, solution.certificate, lower, upper, offset, time_limit)
        if proven != solution.bound:
            raise VerificationError(
                f"the bound is claimed to be {solution.bound}; its certificate is for {proven}"
            )


def proven_bound(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    certificate: Any,
    lower: float,
    upper: float,
    offset: tuple[float, float] | None = None,
    time_limit: float | None = None,
) -> int | None:
    """Return the bound that a certificate proves, None for "no weights at all".

    It is checked in whole numbers and without a solver. The parameters are those of
    :func:`verify`.
    """
    table = votes if isinstance(votes, PatternTable) else PatternTable.from_votes(votes)
    check_time_limit(time_limit)
    check_box(lower, upper)
    check_table(table)
    total = check_total(n_positive, table.n_points)
    statement = make_statement(
        table, total, lower, upper, None if offset is None else check_offset(offset)
    )
    try:
        return check_certificate(statement, certificate, time_limit)
    except CertificateError as error:
        raise VerificationError(str(error)) from error


def certain_signs(rows: NDArray[np.int8], weights: Floats, shift: float = 0.0) -> NDArray[np.int8]:
    """Return the sign of every score, or raise if a margin is below one.

    Examples
    --------
    >>> certain_signs(np.array([[1, -1], [-1, -1]], dtype=np.int8), np.array([3.0, 1.0]))
    array([ 1, -1], dtype=int8)
    """
    terms = np.append(weights, shift)
    with np.errstate(over="ignore", invalid="ignore"):  # what overflows is left open
        score = scores(rows, weights) + shift
        # A float sum of n terms is off by less than n * eps * sum |terms|.
        error = len(terms) * np.finfo(float).eps * np.abs(terms).sum()
        open_ = np.flatnonzero(~(np.abs(score) - error >= 1))
    signs = np.where(score > 0, 1, -1).astype(np.int8)
    if len(open_):
        signs[open_] = _exact_signs(rows, weights, shift, open_)
    return signs


def _exact_signs(
    rows: NDArray[np.int8], weights: Floats, shift: float, which: NDArray[np.int64]
) -> NDArray[np.int8]:
    """Compute the scores in question in whole numbers over one power of two."""
    table = PatternTable.from_votes(rows[which], inverse=True)
    numerators, denominator = _common_denominator([*weights, shift])
    exact = table.patterns.astype(object) @ numerators[:-1] + numerators[-1]
    least = (1 - TOLERANCE) * denominator
    assert table.inverse is not None
    for pattern, value in enumerate(exact):
        if abs(value) < least:
            point = which[int(np.argmax(table.inverse == pattern))]
            raise VerificationError(
                f"the margin of row {point} is {float(abs(Fraction(int(value), denominator)))!r}; "
                f"it must be at least 1 (to within 1e-9)"
            )
    return np.where(exact > 0, 1, -1).astype(np.int8)[table.inverse]


def _common_denominator(values: list[float]) -> tuple[NDArray[np.object_], int]:
    """Return floats as whole numbers over one common denominator, exactly."""
    ratios = [float(value).as_integer_ratio() for value in values]
    denominator = max(below for _, below in ratios)  # all are powers of two
    return np.array(
        [above * (denominator // below) for above, below in ratios], object
    ), denominator


def _numbers(name: str, values: Any) -> NDArray[Any]:
    """Return an array of floats or integers, or refuse what holds anything else."""
    try:
        array = np.asarray(values)
        if array.dtype == object and all(map(is_number, array.flat)):
            array = array.astype(float)
    except (TypeError, ValueError, OverflowError) as error:
        raise VerificationError(f"{name} must be numbers; {error}") from error
    if np.ma.is_masked(values):
        raise VerificationError(f"{name} must be numbers; some are missing (masked)")
    if array.dtype.kind not in "iuf":
        found = f"{short(repr(values))} of type {array.dtype}"
        raise VerificationError(f"{name} must be numbers; found {found}")
    return array


def _check_within(name: str, value: float, low: float, high: float) -> None:
    least, most = Fraction(float(low)) - TOLERANCE, Fraction(float(high)) + TOLERANCE
    if not np.isfinite(value) or not least <= Fraction(value) <= most:
        raise VerificationError(f"{name} is {value!r}, outside [{low}, {high}]")


def _check_labels(labels: NDArray[np.int8], signs: NDArray[np.int8]) -> None:
    if labels.shape != signs.shape:
        raise VerificationError(
            f"there must be {len(signs)} labels, one a row; found shape {labels.shape}"
        )
    wrong = np.flatnonzero(labels != signs)
    if len(wrong):
        row = int(wrong[0])
        raise VerificationError(
            f"the label of row {row} is {labels[row]}, its weighted vote says {signs[row]} "
            f"({len(wrong)} labels are wrong)"
        )


def _check_status(solution: Solution) -> None:
    if not is_whole(solution.bound):
        raise VerificationError(f"the bound must be a whole number; found {solution.bound!r}")
    if not 0 <= solution.bound <= solution.eta:
        raise VerificationError(
            f"the bound must lie between 0 and eta = {solution.eta}; found {solution.bound}"
        )
    right = "optimal" if solution.bound == solution.eta else "feasible"
    if not isinstance(solution.status, str) or solution.status != right:
        raise VerificationError(
            f"the status of eta {solution.eta} with bound {solution.bound} is {right!r}; "
            f"found {solution.status!r}"
        )
