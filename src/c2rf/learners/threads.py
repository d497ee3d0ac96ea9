"""Threads: as many as ``n_jobs`` says, and no more that libraries start on their own.

Small problems are solved many at a time. A library that takes all cores for each of them makes all
of them wait for each other, so inside of :func:`owned_threads` it gets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from threading import Thread
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
    """Return the results of calls, in their order.

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
    work = _Work(function, calls)
    n_threads = min(effective_n_jobs(n_jobs), len(calls))
    # The calling thread works, too: that is a thread less to start.
    helpers = [Thread(target=work.run, daemon=True) for _ in range(n_threads - 1)]
    countdown = None if what is None else Countdown(what, len(calls))
    try:
        for helper in helpers:
            helper.start()
        work.run(countdown)
    finally:
        work.turns = iter(())
        for helper in helpers:
            if helper.ident is not None:  # it was started
                helper.join()
    return work.results(countdown)


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


class _Work:
    """Calls that several threads make in turn.

    Parameters
    ----------
    function : callable
        What is called.
    calls : sequence of tuple
        The arguments of each call.
    """

    def __init__(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> None:
        self._function, self._calls = function, calls
        self._found: dict[int, Any] = {}
        self._failed: dict[int, BaseException] = {}
        self._n_reported = 0
        self.turns = iter(range(len(calls)))  # the interpreter hands out each number once

    def run(self, countdown: Countdown | None = None) -> None:
        """Make calls until none is left; report how many all threads have made."""
        for turn in iter(lambda: next(self.turns, None), None):
            try:
                self._found[turn] = self._function(*self._calls[turn])
            except BaseException as error:
                self._failed[turn] = error
                self.turns = iter(())
            self._report(countdown)

    def results(self, countdown: Countdown | None) -> list[Any]:
        """Return what was found, in the order of the calls, or raise the first error."""
        if self._failed:
            # A Ctrl-C is not to be lost among errors.
            stops = [turn for turn, e in self._failed.items() if not isinstance(e, Exception)]
            raise self._failed[min(stops or self._failed)]
        self._report(countdown)
        return [self._found[turn] for turn in range(len(self._calls))]

    def _report(self, countdown: Countdown | None) -> None:
        """Report how many calls were made since the last time, if any."""
        made = len(self._found) - self._n_reported
        if countdown is not None and made:
            countdown.done(made)
            self._n_reported += made
