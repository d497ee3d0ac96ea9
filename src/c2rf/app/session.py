"""A session of the web page: one user's uploaded files, and a run in the background.

Uploaded files are kept in a temporary folder. When the session ends, that folder is removed and the
run is stopped. :func:`tables_in` and :func:`file_in` give access to one more folder, but to no file
outside of it; :func:`write_example` writes example data.
"""

from __future__ import annotations

import re
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from c2rf._utils.text import for_command_line
from c2rf.app.inputs import NAMES_ON_PAGE
from c2rf.data.dialect import plain_name
from c2rf.data.formats import TEXT, format_by_name
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.exceptions import C2RFError, InputError
from c2rf.progress import Event, phase_text, progress_callback

MOST_REMEMBERED = 30
"""Number of results that a session caches; the oldest are dropped first."""


_LONGEST = 60  # characters of a name


class StoppedError(Exception):
    """The user has stopped the run."""


class Job:
    """A function that runs in the background and reports its progress.

    Parameters
    ----------
    work : callable
        The function; what it returns becomes ``result``.

    Examples
    --------
    >>> job = Job(lambda: 6 * 7)
    >>> job.wait()
    >>> job.result, job.error
    (42, None)
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self.result: Any = None
        self.error: str | None = None
        self.event = Event("starting")
        self.start = self._reported = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the function is still running."""
        return self._thread.is_alive()

    @property
    def is_stopping(self) -> bool:
        """Whether it was asked to stop but is still running."""
        return self._stop.is_set() and self.is_running

    @property
    def text(self) -> str:
        """The current step, the time since the start, and the time left if it can be told."""
        now = time.monotonic()
        left = (self.event.seconds_left or 0.0) - (now - self._reported)
        rest = f", about {left:.0f} s left for this step" if left > 0 else ""
        doing = "stopping after this step" if self.is_stopping else phase_text(self.event)
        return f"{doing} ({now - self.start:.0f} s so far{rest})"

    def stop(self) -> None:
        """Ask it to stop; it stops when it next reports progress."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done."""
        self._thread.join(timeout)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            with for_command_line(NAMES_ON_PAGE), progress_callback(self._report):
                result = work()
                self._report(Event("done"))
            self.result = result
        except StoppedError:
            self.error = "stopped; nothing was written"
        except C2RFError as error:
            self.error = str(error)
        except Exception as error:  # a bug in c2rf: the page shows it and keeps working
            self.error = f"unexpected {type(error).__name__}: {error} (please report it)"

    def _report(self, event: Event) -> None:
        if self._stop.is_set():
            raise StoppedError
        self.event, self._reported = event, time.monotonic()


class Session:
    """The temporary folder, the cached results and the run of one user.

    The folder is removed by ``end()``, or when the session is garbage-collected.

    Examples
    --------
    >>> session = Session()
    >>> path = session.keep("labeled", "../people.csv", b"a,b")
    >>> path.name, path.read_bytes(), path.is_relative_to(session.folder)
    ('people.csv', b'a,b', True)
    >>> session.remember(("rows", path), lambda: 7), session.remember(("rows", path), lambda: 8)
    (7, 7)
    >>> del session
    >>> path.exists()
    False
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="c2rf-"))
        self.job: Job | None = None
        self._stops: list[Callable[[], None]] = []
        self._remembered: dict[Hashable, Any] = {}
        self.end = weakref.finalize(self, _end, self.folder, self._stops)

    def keep(self, place: str, name: str, content: Any) -> Path:
        """Write a file to the subfolder ``place``; folders in its name are ignored."""
        last = re.sub(r'[\x00-\x1f<>:"|?*\ud800-\udfff]', "_", name.replace("\\", "/"))
        last = last.rpartition("/")[2][-_LONGEST:]
        path = self.folder / place / (last if last.strip(".") else "table")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    def start(self, work: Callable[[], Any]) -> None:
        """Start a run, which is stopped when the session ends."""
        self.job = Job(work)
        self._stops[:] = [self.job.stop]

    def remember(self, key: Hashable, find: Callable[[], Any]) -> Any:
        """Return the cached result for a key; if there is none, call ``find`` and cache it."""
        if key not in self._remembered:
            self._remembered[key] = find()
            while len(self._remembered) > MOST_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]
        return self._remembered[key]


def _end(folder: Path, stops: list[Callable[[], None]]) -> None:
    for stop in stops:
        stop()
    shutil.rmtree(folder, ignore_errors=True)


def end_when_closed(
    session: Session, is_open: Callable[[], bool], patience: float = 150.0, every: float = 10.0
) -> threading.Thread:
    """End a session when its page has been closed for ``patience`` seconds.

    Parameters
    ----------
    session : Session
        The session.
    is_open : callable
        Tells whether the page is open.
    patience, every : float
        Seconds that the page may be closed, and seconds between two checks.
    """
    reference = weakref.ref(session)

    def watch() -> None:
        last_open = time.monotonic()
        while (found := reference()) is not None:
            if is_open():
                last_open = time.monotonic()
            elif time.monotonic() - last_open > patience:
                found.end()
                return
            del found
            time.sleep(every)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    return watcher


def tables_in(folder: Path) -> list[str]:
    """Return the table files in a folder and its subfolders, sorted and without hidden ones.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "people.csv").touch()
    >>> (folder / "notes.pdf").touch()
    >>> tables_in(folder)
    ['people.csv']
    """
    found = [path for path in folder.rglob("*") if path.is_file() and _is_table(path)]
    names = [path.relative_to(folder) for path in found if _is_inside(path, folder)]
    return sorted(str(name) for name in names if not any(p.startswith(".") for p in name.parts))


def file_in(folder: Path, name: str) -> Path:
    """Return the path of a file in a folder; refuse names and links that lead out of the folder.

    Examples
    --------
    >>> file_in(Path("data"), "../secret.csv")
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: '../secret.csv' is not a file of the folder data
    """
    path = folder / name
    if not _is_inside(path, folder) or not path.is_file():
        raise InputError(f"{name!r} is not a file of the folder {folder}")
    return path


def _is_inside(path: Path, folder: Path) -> bool:
    return path.resolve().is_relative_to(folder.resolve())


def _is_table(path: Path) -> bool:
    is_text = format_by_name(plain_name(path)) is TEXT
    return is_text or format_by_name(path) is not None


EXAMPLE_ID = "person"
_N_PEOPLE = 600
_COLUMNS = {
    "age": (45, 11, 18, 0), "schooling": (11, 1.5, 8, 0), "income": (2400, 500, 400, 2),
    "distance": (15, 5, 0, 1), "hours": (20, 6, 0, 1),
}  # fmt: skip
"""Mean, standard deviation, least value and decimal places of each column."""


def write_example(folder: Path) -> tuple[Path, Path, dict[str, str]]:
    """Write example data, labeled and unlabeled people; return both files and the known totals."""
    X, y = make_twonorm(_N_PEOPLE, random_state=0)
    labeled, unlabeled = biased_sample(y, 0.15, random_state=0)
    people = pd.DataFrame(
        {
            name: (mean + deviation * X[:, k]).clip(least).round(places)
            for k, (name, (mean, deviation, least, places)) in enumerate(_COLUMNS.items())
        }
    )
    people.insert(0, EXAMPLE_ID, [f"P{k:04d}" for k in range(_N_PEOPLE)])
    people["region"] = np.array(["north", "south", "west"])[np.arange(_N_PEOPLE) % 3]
    classes = np.where(y == 1, "yes", "no")
    folder.mkdir(exist_ok=True)
    paths = folder / "example-labeled.csv", folder / "example-unlabeled.csv"
    people.iloc[labeled].assign(employed=classes[labeled]).to_csv(paths[0], index=False)
    people.iloc[unlabeled].to_csv(paths[1], index=False)
    return *paths, {"yes": str(int((classes[unlabeled] == "yes").sum()))}
