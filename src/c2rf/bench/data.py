"""The data sets, prepared as the paper does, and what the paper printed about them.

Thirteen come from PMLB. ``made-twonorm-500``, ``made-ringnorm-500``, ``made-waveform-500`` (any
number of rows) come from the generators of :mod:`c2rf.datasets` and need no file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from c2rf._utils.types import Floats
from c2rf.datasets import iter_chunks
from c2rf.exceptions import InputError

TIME_LIMIT = 7200
"""The paper's limit in seconds, one core, Gurobi with MIPFocus=3."""


@cache
def _published(name: str) -> pd.DataFrame:
    """Return a table of the paper by the name of the data set."""
    folder = files("c2rf.bench") / "published"
    with (folder / "datasets.csv").open() as numbers, (folder / f"{name}.csv").open() as file:
        names = pd.read_csv(numbers, index_col="id")["name"]
        return pd.read_csv(file).set_index(pd.Index(names, name="data set"))


def data_sets() -> pd.DataFrame:
    """Return Table 1: ID, number of rows and features, whether rescaled.

    Examples
    --------
    >>> data_sets().loc["phoneme", ["id", "n_points"]].tolist()
    [1, 5349]
    """
    return _published("datasets").drop(columns="name").astype({"rescaled": bool})


def run_times() -> pd.DataFrame:
    """Return Table 2: median seconds by method (NaN for "---").

    Examples
    --------
    >>> run_times().columns.tolist()
    ['rf', 'c2rf', 'p-c2rf', 'only-pp', 'only-br']
    """
    table = _published("median_runtime_seconds").drop(columns="id")
    return table.rename(columns=lambda name: name.replace("_", "-"))


def quality(protocol: str, metric: str) -> pd.DataFrame:
    """Return the accuracy or MCC of Table 3 ("biased") or 4 ("simple") by method.

    The metric "mcc" is 100 (1 + MCC) / 2.

    Examples
    --------
    >>> quality("biased", "accuracy").loc["phoneme", "p-c2rf"].item()
    72.51
    """
    table = _published(f"median_quality_{protocol}").filter(like=f"{metric}_")
    return table.rename(columns=lambda name: name.removeprefix(f"{metric}_").replace("_", "-"))


NAMES: tuple[str, ...] = tuple(data_sets().index)
"""The paper's data sets, in the order of its tables."""

LARGE = 100.0
"""A shifted column that leaves [-LARGE, LARGE] is rescaled to it."""

_MADE = re.compile(r"made-(twonorm|ringnorm|waveform)-([1-9]\d*)")


@dataclass(frozen=True, eq=False)
class DataSet:
    """A prepared data set: features, labels of ±1, and how many columns were rescaled."""

    name: str
    X: Floats
    y: NDArray[np.int8]
    rescaled: int


def check_name(name: str) -> None:
    """Refuse a name that is neither a data set of the paper nor one to be made.

    Examples
    --------
    >>> check_name("iris")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: unknown data set 'iris'; known are phoneme, magic, adult, churn, \
ring, twonorm, waveform_21, ann_thyroid, agaricus_lepiota, waveform_40, connect_4, coil2000, \
clean2, and made-twonorm-N, made-ringnorm-N, made-waveform-N for N generated rows
    """
    if name not in NAMES and not _MADE.fullmatch(name):
        raise InputError(
            f"unknown data set {name!r}; known are {', '.join(NAMES)}, and made-twonorm-N, "
            "made-ringnorm-N, made-waveform-N for N generated rows"
        )


def load(name: str, folder: Path | None = None) -> DataSet:
    """Read (or make) a data set and prepare it.

    Parameters
    ----------
    name : str
        One of :data:`NAMES`, or ``made-<generator>-<rows>``.
    folder : Path or None
        PMLB's cache: read if the data set is there, else downloaded to. None: downloaded.

    Returns
    -------
    DataSet

    Raises
    ------
    InputError
        If the data cannot be had or is not what Table 1 of the paper says.

    Examples
    --------
    >>> data = load("made-waveform-500")
    >>> data.X.shape, np.unique(data.y)
    ((500, 21), array([-1,  1], dtype=int8))
    """
    check_name(name)
    if made := _MADE.fullmatch(name):
        return prepare(name, _make(made[1], int(made[2])))
    data = prepare(name, _fetch(name, folder))
    _check_against_paper(data)
    return data


def prepare(name: str, frame: pd.DataFrame) -> DataSet:
    """Drop duplicate and incomplete rows, make label 1 positive and others negative, rescale.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [1.0, 1.0, 3.0, None], "target": [1, 1, 2, 0]})
    >>> data = prepare("example", frame)
    >>> data.X.tolist(), data.y
    ([[-1.0], [1.0]], array([ 1, -1], dtype=int8))
    """
    if "target" not in frame:
        raise InputError(f"data set {name} has no column 'target'")
    clean = frame.drop_duplicates().dropna()
    y = np.where(clean["target"] == 1, 1, -1).astype(np.int8)
    X, rescaled = rescale(clean.drop(columns="target").to_numpy(dtype=float))
    return DataSet(name, X, y, rescaled)


def rescale(X: Floats) -> tuple[Floats, int]:
    """Centre every column's range at 0, and shrink columns that are still large.

    Returns the new columns and how many were shrunk.

    Examples
    --------
    >>> X, shrunk = rescale(np.array([[0.0, 0.0, 7.0], [4.0, 1000.0, 7.0], [1.0, 250.0, 7.0]]))
    >>> X.T.tolist(), shrunk
    ([[-2.0, 2.0, -1.0], [-100.0, 100.0, -50.0], [0.0, 0.0, 0.0]], 1)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    half = (high - low) / 2
    # x - m_j; the paper's formula for large columns, with + v_lower in place of + v_upper,
    # is this times 100 / half the range.
    shifted = X - (low + half)
    large = half > LARGE
    return shifted * np.where(large, LARGE / np.where(large, half, 1.0), 1.0), int(large.sum())


def _make(generator: str, n_points: int) -> pd.DataFrame:
    options = {"binary": True} if generator == "waveform" else {}
    parts = list(iter_chunks(generator, n_points, random_state=0, **options))
    frame = pd.DataFrame(np.concatenate([X for X, _ in parts]))
    frame["target"] = np.concatenate([y for _, y in parts])
    return frame


def _fetch(name: str, folder: Path | None) -> pd.DataFrame:
    if find_spec("pmlb") is None:
        raise InputError('reading PMLB data needs the package pmlb; pip install "c2rf[bench]"')
    import pmlb

    where = None if folder is None else str(folder)
    try:
        return pmlb.fetch_data(name, local_cache_dir=where, dropna=False)
    except Exception as error:  # a broken file, no network, no permission: all the same to us
        source = "downloaded" if folder is None else f"read from {folder} or downloaded to it"
        reason = f"{type(error).__name__}: {error}"
        raise InputError(f"data set {name} cannot be {source} ({reason})") from error


def _check_against_paper(data: DataSet) -> None:
    expected = tuple(data_sets().loc[data.name, ["n_points", "n_features"]])
    if data.X.shape != expected:
        raise InputError(
            f"data set {data.name} has N = {data.X.shape[0]} rows and p = {data.X.shape[1]} "
            f"features after cleaning; Table 1 of the paper says N = {expected[0]}, "
            f"p = {expected[1]}: get the version that PMLB has"
        )
