"""Files of weighted forests: votes, solutions, certificates, and proofs for other checkers.

Votes are CSV files, or arrays of numpy. Certificates are JSON files, a row or a node on each line.
A solution is a JSON file with everything that is needed to verify it later, on another machine:
floats are written in the shortest form that reads back as the same float, labels are one character
a row, ``+`` or ``-``, in the order of the votes.
"""

from __future__ import annotations

import csv
import hashlib
import json
import platform
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TextIO, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from c2rf._utils.text import all_of, short
from c2rf.data.atomic import atomic_output
from c2rf.data.dialect import SEPARATORS
from c2rf.data.formats import naming_source
from c2rf.data.numerals import readings
from c2rf.exceptions import InfeasibleError, InputError, InputTypeError, VerificationError
from c2rf.forest.problem import Solution, Status, check_offset, check_total, make_statement
from c2rf.forest.verify import verify
from c2rf.forest.vipr import vipr_text
from c2rf.forest.votes import PatternTable, check_votes, pack

ZEROS = "votes are 0 and 1; 0 is taken as -1"
"""The remark on votes without -1."""


def read_votes(
    path: Path, rows_at_once: int = 1 << 16, *, say: Callable[[str], None] | None = None
) -> NDArray[np.int8]:
    r"""Read a file of votes, -1 or +1 or else 0 or 1, a line per row to label, a column per tree.

    The first line of a CSV file may be a header: names, or the numbers from 0 that pandas writes.
    Arrays of numpy (.npy, or .npz with one array) are read, too.

    Parameters
    ----------
    path : Path
        The file.
    rows_at_once : int
        How many rows of a CSV file are looked at together.
    say : callable, optional
        Is called with what was found out about the votes.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "votes.csv"
    >>> _ = path.write_text("a,b\n1,-1\n1,0\n")
    >>> read_votes(path)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    c2rf.exceptions.InputError: ... found '0' in data row 2, column 2 ('b')
    >>> _ = path.write_text("a,b\n1,0\n1,1\n")
    >>> read_votes(path, say=print).tolist()
    votes are 0 and 1; 0 is taken as -1
    [[1, -1], [1, 1]]
    """
    with naming_source(path), path.open("rb") as file:
        start = file.read(6)
    if start == b"\x93NUMPY" or start.startswith(b"PK"):
        return _checked(_array(path), path, say)
    with naming_source(path), path.open(encoding="utf-8-sig", newline="") as text:
        try:
            return _read_text(text, path, rows_at_once, say)
        except pd.errors.EmptyDataError as error:
            raise InputError(f"{path} is empty or has a header but no rows") from error
        except pd.errors.ParserError as error:
            reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
            raise InputError(f"{path} is not a table of votes: {reason}") from error


def _read_text(
    text: TextIO, path: Path, rows_at_once: int, say: Callable[[str], None] | None
) -> NDArray[np.int8]:
    separator, header = _take_header(text)
    options: dict[str, Any] = {"header": None, "na_filter": False, "low_memory": False}
    blocks, values = list[NDArray[np.int8]](), set[float]()
    for chunk in pd.read_csv(text, sep=separator, chunksize=rows_at_once, **options):
        numbers = chunk.apply(pd.to_numeric, errors="coerce")
        found = values | set(pd.unique(numbers.to_numpy().ravel()))
        if not (found <= {-1, 1} or found <= {0, 1}):
            allowed = {0, 1} if 0 in values or -1 not in found else {-1, 1}
            raise InputError(f"{path}: {_first_bad_vote(chunk, numbers.isin(allowed), header)}")
        blocks.append(numbers.to_numpy(np.int8))
        values = found
    votes = np.concatenate(blocks)
    if header and len(header) != votes.shape[1]:
        raise InputError(
            f"{path}: the header names {len(header)} columns; found rows of {votes.shape[1]} votes"
        )
    return _checked(votes, path, say)


def _array(path: Path) -> NDArray[Any]:
    """Return the array of a file of numpy, which must not hold objects."""
    try:
        with path.open("rb") as file:  # numpy leaves what it opens open where it fails
            found = np.load(file, allow_pickle=False)
            if isinstance(found, np.ndarray):
                return found
            if len(found.files) != 1:
                raise InputError(f"{path} must hold one array; it holds {all_of(found.files)}")
            return np.asarray(found[found.files[0]])
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is not a complete file of numpy's numbers: {error}") from error


def _checked(
    votes: NDArray[Any], path: Path, say: Callable[[str], None] | None
) -> NDArray[np.int8]:
    """Return votes of -1 and +1; a file without -1 may have 0 for it."""
    try:
        if votes.dtype == bool:
            votes = votes.astype(np.int8)
        if votes.size and np.issubdtype(votes.dtype, np.number):
            values = np.unique(votes)
            if values[0] == 0 and values[-1] <= 1:
                votes = votes.astype(np.result_type(votes, np.int8))  # some types have no -1
                votes[votes == 0] = -1
                if say is not None:
                    say(ZEROS)
        return check_votes(votes)
    except (InputError, InputTypeError) as error:
        raise InputError(f"{path}: {error}") from error


def _take_header(file: TextIO) -> tuple[str, list[str]]:
    """Return the separator and the names in the first line, and stay behind it if it has any."""
    for line in file:
        if line.strip():
            separator = max(SEPARATORS, key=lambda sign: (line.count(sign), sign == ","))
            cells = [cell.strip() for cell in next(csv.reader([line], delimiter=separator))]
            numbered = len(cells) > 1 and cells == [str(k) for k in range(len(cells))]
            numbered = numbered and cells != ["0", "1"]  # which may be votes
            # A line with some numbers is a row with a mistake: never drop it as a header.
            if numbered or not any(cell == "" or readings(cell) for cell in cells):
                return separator, cells
            break
    else:
        separator = ","
    file.seek(0)
    return separator, []


def _first_bad_vote(chunk: pd.DataFrame, are_votes: pd.DataFrame, header: Sequence[str]) -> str:
    """Say which cell of a chunk of the file is the first that is no vote."""
    row, column = (int(k) for k in np.argwhere(~are_votes.to_numpy())[0])
    name = f" ({header[column]!r})" if column < len(header) else ""
    return (
        f"votes must be -1 or +1, or else all 0 or 1; found {str(chunk.iat[row, column])!r} "
        f"in data row {int(chunk.index[row]) + 1}, column {column + 1}{name}"
    )


def certificate_text(certificate: dict[str, Any]) -> str:
    """Return a certificate as text.

    Examples
    --------
    >>> print(certificate_text({"bound": 1, "tree": [["steps"], ["add", 1]]}), end="")
    {
    "bound": 1,
    "tree": [
    ["steps"],
    ["add",1]
    ]
    }
    """
    entries = []
    for key, value in certificate.items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(line, separators=(",", ":")) for line in value)
            entries.append(f'"{key}": [\n{lines}\n]')
        else:
            entries.append(f'"{key}": {json.dumps(value)}')
    return "{\n" + ",\n".join(entries) + "\n}\n"


def read_certificate(path: Path) -> Any:
    """Read a certificate; whether it is right is for the checker to say."""
    return _read_json(path, "a certificate")


def _read_json(path: Path, what: str) -> Any:
    """Read JSON in which no key is there twice, and all numbers are finite."""
    with naming_source(path):
        text = path.read_text(encoding="utf-8")
    try:
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:  # no JSON, or numbers that are too long
        raise InputError(f"{path} is not {what}: {error}") from error


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {short(repeated)!r} is there more than once")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


FORMAT = "c2rf-solution"
FORMAT_VERSION = 2
"""Format 1 had neither the digest of the votes nor the range of an offset; it is still read."""
_ENTRIES: dict[str, type] = {
    "n_positive": int, "lower": float, "upper": float, "status": str, "eta": int, "bound": int,
    "weights": list, "offset": float, "runtime": float, "stats": dict, "labels": str,
}  # fmt: skip


def write_vipr(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    solution: Solution | InfeasibleError,
    path: str | Path,
    lower: float = 1.0,
    upper: float = 100.0,
    *,
    offset: tuple[float, float] | None = None,
    force: bool = False,
) -> None:
    """Write weights and the proof of their bound as VIPR 1.0, which other checkers read.

    Everything is verified first, so nothing is written that :func:`c2rf.verify` would refuse.

    Parameters
    ----------
    votes, n_positive, lower, upper, offset
        What was solved, as for :func:`c2rf.solve`.
    solution : Solution or InfeasibleError
        With its certificate: ``solve(..., certificate=True)``. The error that says that there are
        no weights has one, too, and the file then proves just that.
    path : str or Path
        The file, usually with the ending ``.vipr``.
    force : bool
        Whether to overwrite a file.

    Examples
    --------
    >>> import tempfile
    >>> import c2rf
    >>> votes = [[1, 1, 1], [1, 1, 1], [-1, -1, -1]]
    >>> solution = c2rf.solve(votes, 1, certificate=True)
    >>> path = Path(tempfile.mkdtemp()) / "proof.vipr"
    >>> c2rf.write_vipr(votes, 1, solution, path)
    >>> path.read_text().split("RTP ")[1].splitlines()[0]
    'range 1 1'
    """
    text = verified_vipr(votes, n_positive, solution, lower, upper, offset)
    with atomic_output(Path(path), force=force) as temporary:
        temporary.write_text(text, encoding="ascii")


def verified_vipr(
    votes: ArrayLike | PatternTable,
    n_positive: int | float,
    solution: Solution | InfeasibleError,
    lower: float,
    upper: float,
    offset: tuple[float, float] | None = None,
) -> str:
    """Return what :func:`write_vipr` writes."""
    if getattr(solution, "certificate", False) is None:
        raise InputError(
            "a proof in VIPR is made from a certificate, and this solution has none; solve with "
            "certificate=True"
        )
    verify(votes, n_positive, solution, lower, upper, offset=offset)
    table = votes if isinstance(votes, PatternTable) else PatternTable.from_votes(votes)
    total = check_total(n_positive, table.n_points)
    statement = make_statement(table, total, lower, upper, offset)
    weights = None
    if isinstance(solution, Solution):
        weights = [*map(float, solution.weights), *([solution.offset] if offset else [])]
    return vipr_text(statement, solution.certificate, weights)


def votes_digest(votes: NDArray[np.int8]) -> str:
    """Return a fingerprint of votes in their order.

    Examples
    --------
    >>> votes_digest(np.array([[1, -1]], dtype=np.int8))[:8]
    '41bb2c70'
    """
    shape = " ".join(map(str, votes.shape))
    packed = pack(votes).astype("<u8").tobytes()
    return hashlib.sha256(f"c2rf-votes {shape}\n".encode() + packed).hexdigest()


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """A solution together with the question it answers.

    ``offset`` is the range of the shift, ``votes`` the digest of the votes and ``shape`` their
    numbers of rows and trees, if they are known.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "solution.json"
    >>> labels = np.array([1, -1], dtype=np.int8)
    >>> solution = Solution(np.array([0.1 + 0.2]), 0.0, labels, 0, 0, "optimal", 0.5)
    >>> StoredSolution(solution, n_positive=1, lower=0.1, upper=1.0).write(path)
    >>> StoredSolution.read(path).solution.weights.tolist()
    [0.30000000000000004]
    """

    solution: Solution
    n_positive: int
    lower: float
    upper: float
    offset: tuple[float, float] | None = None
    votes: str | None = None
    shape: tuple[int, int] | None = None

    def check_votes(self, votes: NDArray[np.int8]) -> None:
        """Raise if these are other votes than those that were solved."""
        shape = self.shape or (len(self.solution.labels), len(self.solution.weights))
        other_shape = self.shape is not None and shape != votes.shape
        if other_shape or (self.votes is not None and self.votes != votes_digest(votes)):
            raise VerificationError(
                "these are not the votes of this solution, which was found for {} rows of {} "
                "votes; found {} rows of {}{}".format(
                    *shape, *votes.shape, "" if other_shape else ", with another digest"
                )
            )

    def write(self, path: Path, *, force: bool = False) -> None:
        """Write the file; an existing one is overwritten only by force."""
        with atomic_output(path, force=force) as temporary:
            temporary.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return what the file holds."""
        solution = self.solution
        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "n_points": len(solution.labels),
            "n_trees": len(solution.weights),
            "n_positive": self.n_positive,
            "lower": float(self.lower),
            "upper": float(self.upper),
            "offset_range": None if self.offset is None else [*map(float, self.offset)],
            "votes_sha256": self.votes,
            "status": solution.status,
            "eta": int(solution.eta),
            "bound": int(solution.bound),
            "weights": solution.weights.tolist(),
            "offset": float(solution.offset),
            "runtime": float(solution.runtime),
            "stats": _plain(solution.stats),
            "versions": {name: version(name) for name in ("c2rf", "numpy", "scipy")}
            | {"python": platform.python_version()},
            "labels": np.where(solution.labels > 0, b"+", b"-").tobytes().decode(),
        }
        return json.dumps(document, indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> StoredSolution:
        """Read a file, or say why it is not one."""
        document = _read_json(path, "JSON")
        try:
            return cls._from_document(document)
        except (InputError, InputTypeError) as error:
            raise InputError(f"{path}: {error}") from error

    @classmethod
    def _from_document(cls, document: Any) -> StoredSolution:
        """Undo :meth:`text`, but for reading JSON."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(f'not a solution: it must hold "format": "{FORMAT}"')
        if not 1 <= _entry(document, "format_version", int) <= FORMAT_VERSION:
            raise InputError(
                f"its format_version is {document['format_version']}, this c2rf reads 1 to "
                f"{FORMAT_VERSION}; use the c2rf that wrote it"
            )
        entries = {key: _entry(document, key, kind) for key, kind in _ENTRIES.items()}
        if entries["status"] not in get_args(Status):
            raise InputError(
                f"'status' must be one of {get_args(Status)}; found {entries['status']!r}"
            )
        entries["weights"] = np.array(_numbers("weights", entries["weights"]))
        entries["labels"] = _text_to_labels(entries["labels"])
        question = {key: entries.pop(key) for key in ("n_positive", "lower", "upper")}
        question["shape"] = tuple(_entry(document, key, int) for key in ("n_points", "n_trees"))
        if document.get("offset_range") is not None:
            question["offset"] = check_offset(
                _numbers("offset_range", _entry(document, "offset_range", list))
            )
        if document["format_version"] > 1 and "votes_sha256" not in document:
            raise InputError("'votes_sha256' is missing")
        if document.get("votes_sha256") is not None:
            question["votes"] = _entry(document, "votes_sha256", str)
        return cls(Solution(**entries), **question)


def _numbers(key: str, values: list[Any]) -> list[float]:
    """Return the numbers of a list as floats."""
    return [_checked_entry(key, "numbers", value, float) for value in values]


def _text_to_labels(text: str) -> NDArray[np.int8]:
    """Read labels from + and -."""
    if other := set(text) - set("+-"):
        raise InputError(f"'labels' must consist of + and -; found {min(other)!r}")
    signs = np.frombuffer(text.encode(), dtype=np.uint8)
    return np.where(signs == ord("+"), 1, -1).astype(np.int8)


def _plain(value: Any) -> Any:
    """Return a value JSON can hold: numpy unwrapped, numbers that are not finite as null."""

    def unwrapped(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

    text = json.dumps(value, default=unwrapped)
    return json.loads(text, parse_constant=lambda name: None)


def _entry(document: dict[str, Any], key: str, kind: type) -> Any:
    """Return an entry, which must be of this type; a float may be written as an integer."""
    if key not in document:
        raise InputError(f"{key!r} is missing")
    allowed = "int or float" if kind is float else kind.__name__
    return _checked_entry(key, allowed, document[key], kind)


def _checked_entry(key: str, allowed: str, value: Any, kind: type) -> Any:
    """Return a value of a type; true and false are not numbers, as they are in Python."""
    kinds = (int, float) if kind is float else kind
    try:
        if isinstance(value, kinds) and not isinstance(value, bool):
            return kind(value)
    except OverflowError:  # an integer beyond floats
        pass
    raise InputError(f"{key!r} must be {allowed}; found {value!r:.40}")
