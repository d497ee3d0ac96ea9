"""Rubin's rules: one estimate and its interval from the estimates of several imputations."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from c2rf._utils.types import Floats, not_masked
from c2rf.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Pooled:
    """What several imputations say together; numbers, or arrays of the shape of one estimate.

    Parameters
    ----------
    estimate : float or ndarray
        The mean of the estimates.
    standard_error : float or ndarray
        Square root of the total variance: within and between imputations.
    low, high : float or ndarray
        Ends of the interval.
    df : float or ndarray
        Degrees of freedom of the t distribution that the interval is from.
    missing_information : float or ndarray
        Fraction of the information that is missing because labels are.
    level : float
        How often such an interval should cover the truth.
    """

    estimate: Any
    standard_error: Any
    low: Any
    high: Any
    df: Any
    missing_information: Any
    level: float


def pool(
    estimates: ArrayLike,
    variances: ArrayLike | None = None,
    *,
    level: float = 0.95,
    df: ArrayLike | None = None,
) -> Pooled:
    """Pool the estimates of several imputations by Rubin's rules.

    Parameters
    ----------
    estimates : array-like of shape (n_imputations, ...)
        The same figure (or array of figures) computed from each imputation.
    variances : array-like of the shape of estimates, optional
        The squared standard error of each. Leave it out for a figure of the whole population that
        was labeled, such as a share: without missing labels there would be no error.
    level : float, default=0.95
        How often the interval should cover the truth.
    df : float or array-like, optional
        Degrees of freedom that the estimate would have without missing labels, such as n - 2
        for a slope. Without, they count as infinite.

    Returns
    -------
    Pooled
        With ``estimate``, ``standard_error``, ``low``, ``high``, ``df`` and
        ``missing_information``.

    Notes
    -----
    With m imputations, mean variance U and variance B of the estimates, the total variance is
    T = U + (1 + 1/m) B. Degrees of freedom are those of Barnard and Rubin (1999) [1]_, which
    are never more than ``df``.

    References
    ----------
    .. [1] J. Barnard and D. B. Rubin, "Small-sample degrees of freedom with multiple imputation",
       Biometrika 86 (1999), 948-955.

    Examples
    --------
    >>> from c2rf import pool
    >>> shares = [0.31, 0.28, 0.30, 0.33, 0.29]  # of a class, by each of five imputations
    >>> pooled = pool(shares)
    >>> round(pooled.estimate, 3), round(pooled.low, 3), round(pooled.high, 3)
    (0.302, 0.243, 0.361)
    >>> pool([[1.0, 2.0], [3.0, 2.0]], [[1.0, 1.0], [1.0, 1.0]]).estimate
    array([2., 2.])
    """
    values = _checked("estimates", estimates)
    m = len(values)
    within = np.zeros_like(values) if variances is None else _checked("variances", variances)
    if within.shape != values.shape:
        raise InputError(
            f"variances must have the shape of estimates, {values.shape}; found {within.shape}"
        )
    if (within < 0).any():
        raise InputError(f"variances must not be negative; found {within.min():g}")
    if not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise InputError(f"level must be a number between 0 and 1; found {level!r}")
    complete = _degrees(df, values.shape[1:])

    # T = U + (1 + 1/m) B
    mean, U = values.mean(axis=0), within.mean(axis=0)
    B = values.var(axis=0, ddof=1) * (1 + 1 / m)
    T = U + B
    share = np.divide(B, T, out=np.zeros_like(T), where=T > 0)
    found = _barnard_rubin(share, m, complete)
    if ((found < _FEWEST) & (share > _NEARLY_ALL)).any():
        warnings.warn(
            "variances are so small next to the differences between imputations that the interval "
            f"has {found.min():.2g} degrees of freedom and says nothing; leave out variances and "
            "df if the figure is one of all rows, which has no sampling error",
            UserWarning,
            stacklevel=2,
        )
    half = stats.t.ppf((1 + level) / 2, found) * np.sqrt(T)
    # (r + 2 / (df + 3)) / (r + 1) with r = B / U, written so that U may be zero.
    missing = np.divide(B + U * 2 / (found + 3), T, out=np.zeros_like(T), where=B > 0)
    return Pooled(
        _plain(mean), _plain(np.sqrt(T)), _plain(mean - half), _plain(mean + half), _plain(found),
        _plain(np.minimum(missing, 1.0)), float(level),
    )  # fmt: skip


# With fewer degrees of freedom an interval has hardly any ends; such a share of the variance being
# between imputations is the reason.
_FEWEST, _NEARLY_ALL = 1.0, 0.95


def _barnard_rubin(share: Floats, m: int, complete: Floats) -> Floats:
    """Return degrees of freedom, given the share of the variance that is between."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # (v + 1) / (v + 3) * v * (1 - share), which is infinite if v is
        ratio = np.where(np.isinf(complete), 1.0, (complete + 1) / (complete + 3))
        observed = np.where(share < 1, ratio * complete * (1 - share), np.inf)
        found = 1 / (share**2 / (m - 1) + 1 / observed)
    # With nothing but variance between, only the number of imputations counts.
    return np.where(share < 1, found, np.minimum(float(m - 1), complete))


def _checked(name: str, given: ArrayLike) -> Floats:
    try:
        values = np.asarray(not_masked(given), dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must be numbers, as many from each imputation; found {type(given).__name__}: "
            f"{error}"
        ) from error
    if values.ndim == 0 or len(values) < 2:
        n_found = 1 if values.ndim == 0 else len(values)
        raise InputError(
            f"{name} must be from at least 2 imputations, one row each; found {n_found}: how much "
            "imputations differ cannot be seen in fewer"
        )
    if not np.isfinite(values).all():
        place = tuple(int(k) for k in np.argwhere(~np.isfinite(values))[0])
        raise InputError(
            f"{name} must be finite numbers; found {values[place]} in imputation {place[0]} "
            "(counted from 0); a figure that one imputation does not have cannot be pooled"
        )
    return values


def _degrees(df: ArrayLike | None, shape: tuple[int, ...]) -> Floats:
    if df is None:
        return np.full(shape, np.inf)
    try:
        complete = np.broadcast_to(np.asarray(df, dtype=float), shape)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"df must be a number, or one for each figure of an estimate; found {df!r}"
        ) from error
    if np.isnan(complete).any() or (complete <= 0).any():
        raise InputError(f"df must be above 0; found {complete.min():g}")
    return complete


def _plain(figure: Floats) -> Any:
    return float(figure) if figure.ndim == 0 else figure
