"""A classification in the background: what it is doing, and how to stop it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from c2rf.exceptions import C2RFError
from c2rf.progress import progress_callback


class StoppedError(Exception):
    """The visitor has stopped the run."""


class Job:
    """Work in a thread that reports its progress.

    Parameters
    ----------
    work : callable
        What is to be done; its result is kept.

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
        self.doing = "starting"
        self.start = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(work,), daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether it is not done."""
        return self._thread.is_alive()

    @property
    def seconds(self) -> float:
        """How long it has been going on."""
        return time.monotonic() - self.start

    def stop(self) -> None:
        """Ask it to stop; it does so at its next step."""
        self._stop.set()

    def wait(self, timeout: float | None = None) -> None:
        """Wait until it is done."""
        self._thread.join(timeout)

    def _run(self, work: Callable[[], Any]) -> None:
        try:
            with progress_callback(self._hear):
                result = work()
            self._hear("done")
            self.result = result
        except StoppedError:
            self.error = "stopped; nothing was written"
        except C2RFError as error:
            self.error = str(error)
        except Exception as error:  # a mistake in c2rf: the page must say so and live on
            self.error = f"unexpected {type(error).__name__}: {error} (please report it)"

    def _hear(self, message: str) -> None:
        if self._stop.is_set():
            raise StoppedError
        self.doing = message
