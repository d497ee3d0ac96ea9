"""What the commands say when they are done, in words."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from c2rf.words import count as count

if TYPE_CHECKING:
    from c2rf.problem import Solution


LINE_SECONDS = 10.0
"""Where nobody looks at a terminal, there is a line of progress at most so often."""


def console(quiet: bool = False) -> Console:
    """Return where results go."""
    return Console(highlight=False, quiet=quiet)


def say(rows: Sequence[tuple[str, str]], *, quiet: bool = False) -> None:
    """Print names and what there is to say about them; the terminal breaks long lines, not we."""
    width = max(len(name) for name, _ in rows)
    for name, sentence in rows:
        line = Text.assemble((f"{name:<{width}}", "dim"), "  ", sentence)
        console(quiet).print(line, soft_wrap=True)


def reached(n_reached: int, wished: int) -> str:
    """Say how many positives there are and how many there should be.

    Examples
    --------
    >>> reached(1234, 1234)
    '1,234 positive, exactly the known total'
    >>> reached(1240, 1234)
    '1,240 positive, 6 more than the known total of 1,234'
    """
    if n_reached == wished:
        return f"{n_reached:,} positive, exactly the known total"
    more = "more" if n_reached > wished else "fewer"
    apart = abs(n_reached - wished)
    return f"{n_reached:,} positive, {apart:,} {more} than the known total of {wished:,}"


def proof(solution: Solution) -> str:
    """Say what is proven about all weightings of the trees."""
    trees = f"weighting of these {count(len(solution.weights), 'tree')}"
    if solution.eta == 0:
        return f"this {trees} meets the total: none can do better"
    if solution.status == "optimal":
        return f"no {trees} comes closer than {solution.eta:,}"
    return (
        f"no {trees} comes closer than {solution.bound:,}; between that and {solution.eta:,} "
        "more time may find a better one"
    )


def shows_progress(quiet: bool = False) -> bool:
    """Whether somebody is there to look at progress."""
    return not quiet and sys.stderr.isatty()


@contextmanager
def waiting(for_what: str, quiet: bool = False) -> Iterator[None]:
    """Show what is going on: a live line on a terminal, now and then a plain line elsewhere."""
    from c2rf.progress import hearing

    start = time.monotonic()
    if quiet:
        yield
    elif shows_progress():
        with Console(stderr=True).status(for_what) as status:

            def update(what: str) -> None:
                seconds = time.monotonic() - start
                status.update(f"{for_what}: {what} ({seconds:.0f} s)")

            with hearing(update):
                yield
    else:
        with hearing(_now_and_then(for_what, start)):
            yield


def _now_and_then(for_what: str, start: float) -> Callable[[str], None]:
    last = start

    def say_line(what: str) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= LINE_SECONDS:
            last = now
            print(f"{for_what}: {what} ({now - start:.0f} s)", file=sys.stderr, flush=True)

    return say_line
