"""Numbers, names and messages in words, the same on the screen and in reports."""

from __future__ import annotations

import csv
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from c2rf.exceptions import InputError

if TYPE_CHECKING:
    from c2rf.forest.problem import Solution


# How options are called: None as in Python, else as on the command line but for some.
_words: ContextVar[Mapping[str, str] | None] = ContextVar("words", default=None)
_OPTION = re.compile(r"--[a-z-]+")


def percent(share: float) -> str:
    """Write a share as people read it.

    Examples
    --------
    >>> percent(0.5), percent(0.0012), percent(1.0)
    ('50.0 %', '0.12 %', '100.0 %')
    """
    return f"{100 * share:.2f} %" if 0 < share < 0.01 else f"{100 * share:.1f} %"


def span(low: int, high: int, most: int) -> str:
    """Write what is known about a number that is from 0 to ``most``.

    Examples
    --------
    >>> span(3, 3, 9), span(1, 4, 9), span(0, 4, 9), span(0, 9, 9)
    ('3', '1 to 4', 'at most 4', 'not known')
    """
    if low == high:
        return f"{low:,}"
    if low == 0 and high >= most:
        return "not known"
    return f"at most {high:,}" if low == 0 else f"{low:,} to {high:,}"


def printable(text: str) -> str:
    r"""Return text without signs that a terminal would obey.

    Examples
    --------
    >>> print(printable("\x1b[2Jpeople.csv"))
    \x1b[2Jpeople.csv
    """
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", lambda sign: repr(sign[0])[1:-1], text)


def short(text: str, most: int = 40) -> str:
    r"""Cut a text of any length and make it one line; signs that cannot be seen are dropped.

    Examples
    --------
    >>> short("a\nb\x00"), short("x" * 50, 5)
    ('a b', 'xxxx…')
    """
    line = " ".join(text[: 4 * most].split())  # a cell may hold a book
    line = "".join(sign for sign in line if unicodedata.category(sign) not in ("Cc", "Cs"))
    return line if len(line) <= most else line[: most - 1] + "…"


def quoted(text: str) -> str:
    r"""Return a short form of a text in quotes that keeps its direction to itself.

    Examples
    --------
    >>> quoted("no")
    "\u2068'no'\u2069"
    """
    return f"\N{FIRST STRONG ISOLATE}'{short(text)}'\N{POP DIRECTIONAL ISOLATE}"


def count(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "tree"), count(12345, "tree")
    ('1 tree', '12,345 trees')
    """
    return f"{number:,} {noun if number == 1 else noun + 's'}"


def proof(solution: Solution, asked: Any) -> str:
    """Say what is proven about all weightings of the trees.

    Parameters
    ----------
    solution : Solution
        What was found.
    asked : object
        Its ``lower``, ``upper`` and ``offset`` are the box that the claim is about.
    """
    trees = f"weighting of these {count(len(solution.weights), 'tree')}"
    if solution.eta == 0:
        return f"this {trees} meets the total: none can do better"
    box = f"weights in {interval(asked.lower, asked.upper)}"
    if asked.offset is not None:
        box += f" and an offset in {interval(*asked.offset)}"
    if solution.status == "optimal":
        return f"no {trees} with {box} comes closer than {solution.eta:,}"
    return (
        f"not proven optimal: off by {solution.eta:,}, and the best possible with {box} is at "
        f"least {solution.bound:,}; more time may close the gap"
    )


def interval(low: float, high: float) -> str:
    """Write an interval with its ends as they are.

    Examples
    --------
    >>> interval(1.0, 100), interval(0.1, 2.5)
    ('[1, 100]', '[0.1, 2.5]')
    """
    ends = (str(int(end)) if float(end).is_integer() else repr(float(end)) for end in (low, high))
    return f"[{', '.join(ends)}]"


def reached(n_reached: int, target: int) -> str:
    """Say how many positives there are and how many there should be.

    Examples
    --------
    >>> reached(1234, 1234)
    '1,234 positive, exactly the known total'
    >>> reached(1240, 1234)
    '1,240 positive, 6 more than the known total of 1,234'
    """
    if n_reached == target:
        return f"{n_reached:,} positive, exactly the known total"
    more = "more" if n_reached > target else "fewer"
    apart = abs(n_reached - target)
    return f"{n_reached:,} positive, {apart:,} {more} than the known total of {target:,}"


def listed(values: Sequence[Any] | Any, most: int = 10) -> str:
    """Write values for a message, only the first of them if there are many.

    Examples
    --------
    >>> print(listed(["no", "yes"]), "|", listed([1, 2, 3], most=2))
    'no', 'yes' | 1, 2, ...
    """
    plain = values.tolist() if hasattr(values, "tolist") else list(values)
    return ", ".join([repr(value) for value in plain[:most]] + ["..."] * (len(plain) > most))


def all_of(values: Sequence[Any] | Any) -> str:
    """Write all values for a message, however many there are.

    Examples
    --------
    >>> print(all_of(["no", "yes"]))
    'no', 'yes'
    """
    return listed(values, most=len(values))


def listed_names(names: Sequence[str], most: int = 10) -> str:
    """Join names for a sentence, only the first of them if there are many.

    Examples
    --------
    >>> listed_names(["a", "b"]), listed_names(["a", "b", "c"], most=2)
    ('a, b', 'a, b, …')
    """
    return ", ".join(names[:most]) + ", …" * (len(names) > most)


def split_names(given: Sequence[str] | None) -> list[str]:
    """Return the columns of an option that takes several, by commas or by being repeated.

    Examples
    --------
    >>> split_names(["id,name", '"a, b"']), split_names(None)
    (['id', 'name', 'a, b'], [])
    """
    return [name for part in csv.reader(given or [], skipinitialspace=True) for name in part]


def nearest(name: Any, known: Sequence[Any] | Any, cutoff: float = 0.6) -> str:
    """Return a question that names the nearest known spelling, nothing if none is near.

    ``cutoff`` is how much of the characters must agree, as :mod:`difflib` counts.

    Examples
    --------
    >>> nearest("Yes", ["no", "yes"]), nearest("blue", ["no", "yes"])
    ("; did you mean 'yes'?", '')
    """
    spelled = {str(value).casefold(): value for value in known}
    found = get_close_matches(str(name).casefold(), list(spelled), n=1, cutoff=cutoff)
    return f"; did you mean {spelled[found[0]]!r}?" if found else ""


def check_choice(name: str, value: Any, allowed: Iterable[str]) -> None:
    """Refuse a value that is not one of those allowed; ``name`` is what Python calls the option.

    Examples
    --------
    >>> check_choice("engine", "dusk", ["memory", "chunks", "dask"])
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: engine must be memory, chunks or dask; found 'dusk'; did you mean \
'dask'?
    """
    names = list(allowed)
    if not isinstance(value, str) or value not in names:
        *first, last = names
        wanted = f"{', '.join(first)} or {last}" if first else last
        raise InputError(
            f"{option_name(name)} must be {wanted}; found {value!r}{nearest(value, names)}"
        )


def option_name(name: str) -> str:
    """Return what the user calls an option.

    Examples
    --------
    >>> option_name("time_limit")
    'time_limit'
    >>> with for_command_line():
    ...     option_name("time_limit")
    '--time-limit'
    """
    return for_user(name, f"--{name.replace('_', '-')}")


@contextmanager
def for_command_line(words: Mapping[str, str] | None = None) -> Iterator[None]:
    """Write messages in the words of the command line while the block runs.

    Parameters
    ----------
    words : mapping of str to str, optional
        What options are called where there is no command line, as on a page.
    """
    token = _words.set(words or {})
    try:
        yield
    finally:
        _words.reset(token)


def for_user(python: str, command: str) -> str:
    """Return the words that the user knows: Python's, or those of the command line or a page.

    Examples
    --------
    >>> for_user('totals_policy="scale"', "--totals-policy scale")
    'totals_policy="scale"'
    >>> with for_command_line():
    ...     for_user('totals_policy="scale"', "--totals-policy scale")
    '--totals-policy scale'
    >>> with for_command_line({"--sep": "the choice below"}):
    ...     for_user("sep", "--sep ';'")
    'the choice below'
    """
    words = _words.get()
    if words is None:
        return python
    option = _OPTION.search(command)
    return words.get(option[0], command) if option else command
