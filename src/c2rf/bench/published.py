"""What the paper printed: its four tables, to compare with."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import pandas as pd

TIME_LIMIT = 7200
"""The paper's limit in seconds, one core, Gurobi with MIPFocus=3."""


@cache
def _table(name: str) -> pd.DataFrame:
    with (files("c2rf.bench") / "paper" / f"{name}.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file, index_col="id")


def data_sets() -> pd.DataFrame:
    """Return Table 1: name, number of rows and features, whether rescaled; by ID.

    Examples
    --------
    >>> data_sets().loc[1, "name"], int(data_sets().loc[1, "n_points"])
    ('phoneme', 5349)
    """
    return _table("datasets").astype({"rescaled": bool})


def ids() -> dict[str, int]:
    """Return the paper's ID of each data set by its name.

    Examples
    --------
    >>> ids()["clean2"]
    13
    """
    names = data_sets()["name"]
    return dict(zip(names.tolist(), names.index.tolist(), strict=True))


def run_times() -> pd.DataFrame:
    """Return Table 2: median seconds by method (NaN for "---"), by ID.

    Examples
    --------
    >>> run_times().columns.tolist()
    ['rf', 'c2rf', 'p-c2rf', 'only-pp', 'only-br']
    """
    return _table("median_runtime_seconds").rename(columns=lambda name: name.replace("_", "-"))


def quality(protocol: str) -> pd.DataFrame:
    """Return Table 3 ("biased") or 4 ("simple"), by ID.

    The columns are pairs of metric and method; the metric "mcc" is 100 (1 + MCC) / 2.

    Examples
    --------
    >>> quality("biased").loc[1, ("accuracy", "p-c2rf")].item()
    72.51
    """
    table = _table(f"median_quality_{protocol}")
    pairs = [tuple(name.replace("_", " ", 1).replace("_", "-").split()) for name in table.columns]
    return table.set_axis(pd.MultiIndex.from_tuples(pairs), axis="columns")
