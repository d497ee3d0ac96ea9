"""Threads: as many as ``n_jobs`` says, and no more that libraries start on their own.

Small problems are solved many at a time. A library that takes all cores for each of them makes all
of them wait for each other, so inside of :func:`owned_threads` it gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from c2rf.progress import Countdown


@contextmanager
def owned_threads() -> Iterator[None]:
    """Keep libraries (BLAS, OpenMP) to one thread each while the block runs."""
    with _libraries().limit(limits=1):
        yield


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that start threads, looked up once: that takes milliseconds."""
    return ThreadpoolController()


def in_threads(
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    n_jobs: int | None,
    what: str | None = None,
) -> list[Any]:
    """Return the results of calls, in their order; after an error no more calls are begun.

    Parameters
    ----------
    function : callable
        What is called; it should release the interpreter lock for most of its time.
    calls : sequence of tuple
        The arguments of each call.
    n_jobs : int or None
        Number of threads as scikit-learn counts them: None is one unless a surrounding
        ``joblib.parallel_config`` says otherwise, -1 is one per core.
    what : str, optional
        What is being done, to report after each call how many are left.

    Examples
    --------
    >>> in_threads(max, [(1, 2), (4, 3)], n_jobs=2)
    [2, 4]
    """
    n_threads = min(effective_n_jobs(n_jobs), len(calls))
    countdown = None if what is None else Countdown(what, len(calls))
    found = []
    pool = ThreadPoolExecutor(n_threads) if n_threads > 1 else None
    try:
        futures = [pool.submit(function, *call) for call in calls] if pool else []
        for k, call in enumerate(calls):
            found.append(futures[k].result() if pool else function(*call))
            if countdown is not None:
                countdown.done(1)
    finally:
        if pool:
            pool.shutdown(cancel_futures=True)
    return found


def in_row_parts(
    function: Callable[[slice], Any], n_rows: int, rows_per_part: int, n_jobs: int | None
) -> list[Any]:
    """Return the results of a function of parts of rows, at least one part.

    The parts are the same for any number of threads, and so is what is rounded.

    Examples
    --------
    >>> in_row_parts(lambda rows: (rows.start, rows.stop), 5, 2, n_jobs=2)
    [(0, 2), (2, 4), (4, 6)]
    """
    starts = range(0, max(n_rows, 1), rows_per_part)
    return in_threads(function, [(slice(s, s + rows_per_part),) for s in starts], n_jobs)
