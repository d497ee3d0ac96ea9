"""How a run looks: a live table on a terminal, a line per record elsewhere."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.live import Live
from rich.table import Table

from c2rf.bench.records import Key, Record


class Screen:
    """Watches a run and shows it on standard error.

    Use it as a context manager.

    Parameters
    ----------
    jobs : int
        Number of methods at work at the same time.
    quiet : bool
        Show nothing, only remember how it went.
    """

    def __init__(self, jobs: int = 1, quiet: bool = False) -> None:
        self.skipped: Counter[str] = Counter()
        self.others = 0
        self.statuses: Counter[str] = Counter()
        self.total, self.there = 0, 0
        self._jobs, self._quiet = jobs, quiet
        self._console = Console(stderr=True, highlight=False, quiet=quiet)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._working: dict[Key, float] = {}
        self._open: Counter[str] = Counter()
        self._caps: dict[str, float | None] = {}
        self._done: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()

    def __enter__(self) -> Screen:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    # What the runner tells

    def planned(self, missing: Sequence[Key], there: int) -> None:
        """Note which records have to be made and how many are there."""
        self.total, self.there = len(missing) + there, there
        self._open.update(key.method for key in missing)
        self._caps.update((key.method, key.time_limit) for key in missing)
        self._say(f"{self.total} records wanted, {there} there already")

    def started(self, key: Key) -> None:
        """Note that a method has started."""
        self._working[key] = time.monotonic()
        self.tick()

    def finished(self, record: Record) -> None:
        """Note that a method is done."""
        del self._working[record.key]
        self._open[record.method] -= 1
        self._done[record.method] += 1
        self._seconds[record.method] += record.seconds["total"]
        self.statuses[record.status] += 1
        self._say(_line(record) + f"   {self._progress()}")
        self.tick()

    def unavailable(self, key: Key, reason: str) -> None:
        """Note that a data set cannot be had, and say so once."""
        self._open[key.method] -= 1
        if reason not in self.skipped:
            self._say(f"skipped: {reason}")
        self.skipped[reason] += 1

    def elsewhere(self, key: Key) -> None:
        """Note that another process makes a record."""
        self._open[key.method] -= 1
        self.others += 1

    def tick(self) -> None:
        """Renew the live table."""
        if self._live.is_started:
            self._live.update(self.table(), refresh=True)

    # What is shown

    def table(self) -> Table:
        """Return the live table: what runs, what is done, time left."""
        table = Table("protocol", "data set", "sample", "method", "seconds", title=self._progress())
        now = time.monotonic()
        for key, since in self._working.items():
            cap = "" if key.time_limit is None else f" of {key.time_limit:g}"
            at = (key.protocol.title, key.data, str(key.sample), key.method)
            table.add_row(*at, f"{now - since:.0f}{cap}")
        done = ", ".join(f"{name} {n}" for name, n in self._done.items())
        table.caption = f"done: {done or 'nothing yet'}"
        return table

    def seconds_left(self) -> float | None:
        """Return a guess of the time left: methods go on taking what they took on average.

        One that was not seen yet takes all the time it may.
        """
        n_done = self._done.total()
        if n_done == 0:
            return None
        expected = 0.0
        for name, n in self._open.items():
            unseen = self._caps[name] or self._seconds.total() / n_done
            seen = self._done[name]
            expected += n * (self._seconds[name] / seen if seen else unseen)
        return expected / self._jobs

    def _progress(self) -> str:
        done = self.there + self._done.total()
        left = self.seconds_left()
        guess = "" if left is None else f", about {_duration(left)} left"
        return f"{done} of {self.total}{guess}"

    def _say(self, line: str) -> None:
        self._console.print(line, markup=False, soft_wrap=True)


def _line(record: Record) -> str:
    """Return a record as one line."""
    where = f"{record.protocol.title} {record.data} {record.sample}"
    what = record.method if record.backend is None else f"{record.method}/{record.backend}"
    eta = "-" if record.eta is None else record.eta
    accuracy = "-" if record.accuracy is None else f"{100 * record.accuracy:.2f}"
    return (
        f"{where:<28} {what:<16} {record.status:<9} eta {eta:<6} AC {accuracy:<6} "
        f"{record.seconds['total']:7.2f} s"
    )


def _duration(seconds: float) -> str:
    """Return seconds as people say them.

    Examples
    --------
    >>> _duration(40), _duration(170), _duration(7000)
    ('40 s', '3 min', '1.9 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
