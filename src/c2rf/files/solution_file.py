"""A solution as a JSON file: everything needed to verify it later, on another machine.

Floats are written in the shortest form that reads back as the same float. Labels are one
character a row, ``+`` or ``-``, in the order of the votes.
"""

from __future__ import annotations

import json
import math
import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from c2rf.core.problem import Solution, Status
from c2rf.exceptions import InputError
from c2rf.files.all_or_nothing import atomic_output
from c2rf.files.reading_errors import reading

FORMAT = "c2rf-solution"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False)
class StoredSolution:
    """A solution together with the question it answers.

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

    def write(self, path: Path, *, force: bool = False) -> None:
        """Write the file; an existing one is overwritten only by force."""
        with atomic_output(path, force=force) as temporary:
            temporary.write_text(self.text(), encoding="utf-8")

    def text(self) -> str:
        """Return what the file holds."""
        return json.dumps(self._document(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> StoredSolution:
        """Read a file, or say why it is not one."""
        with reading(path):
            text = path.read_text(encoding="utf-8")
        try:
            document = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError(f"{path} is not JSON: {error}") from error
        try:
            return cls._from_document(document)
        except InputError as error:
            raise InputError(f"{path}: {error}") from error

    def _document(self) -> dict[str, Any]:
        """Return what is written."""
        solution = self.solution
        return {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "n_points": len(solution.labels),
            "n_trees": len(solution.weights),
            "n_positive": self.n_positive,
            "lower": float(self.lower),
            "upper": float(self.upper),
            "status": solution.status,
            "eta": int(solution.eta),
            "bound": int(solution.bound),
            "weights": solution.weights.tolist(),
            "offset": float(solution.offset),
            "runtime": float(solution.runtime),
            "stats": _plain(solution.stats),
            "versions": {name: version(name) for name in ("c2rf", "numpy", "scipy")}
            | {"python": platform.python_version()},
            "labels": _labels_to_text(solution.labels),
        }

    @classmethod
    def _from_document(cls, document: Any) -> StoredSolution:
        """Undo :meth:`_document`."""
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(f'not a solution: it must hold "format": "{FORMAT}"')
        if _entry(document, "format_version", int) != FORMAT_VERSION:
            raise InputError(
                f"its format_version is {document['format_version']}, this c2rf reads "
                f"{FORMAT_VERSION}; use the c2rf that wrote it"
            )
        status = _entry(document, "status", str)
        if status not in get_args(Status):
            raise InputError(f"'status' must be one of {get_args(Status)}; found {status!r}")
        solution = Solution(
            weights=_weights(document),
            offset=float(_entry(document, "offset", int, float)),
            labels=_text_to_labels(_entry(document, "labels", str)),
            eta=_entry(document, "eta", int),
            bound=_entry(document, "bound", int),
            status=status,
            runtime=float(_entry(document, "runtime", int, float)),
            stats=_entry(document, "stats", dict),
        )
        return cls(
            solution,
            n_positive=_entry(document, "n_positive", int),
            lower=float(_entry(document, "lower", int, float)),
            upper=float(_entry(document, "upper", int, float)),
        )


def _labels_to_text(labels: NDArray[np.int8]) -> str:
    """Write labels as + and -."""
    return np.where(labels > 0, ord("+"), ord("-")).astype(np.uint8).tobytes().decode()


def _text_to_labels(text: str) -> NDArray[np.int8]:
    """Read labels from + and -."""
    if other := set(text) - set("+-"):
        raise InputError(f"'labels' must consist of + and -; found {min(other)!r}")
    signs = np.frombuffer(text.encode(), dtype=np.uint8)
    return np.where(signs == ord("+"), 1, -1).astype(np.int8)


def _plain(value: Any) -> Any:
    """Return a value JSON can hold: numpy unwrapped, numbers that are not finite as null."""
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, bool | int | None) else str(value)


def _entry(document: dict[str, Any], key: str, *kinds: type) -> Any:
    """Return an entry that is of one of these types."""
    if key not in document:
        raise InputError(f"{key!r} is missing")
    value = document[key]
    if not _is_one_of(value, kinds):
        wished = " or ".join(kind.__name__ for kind in kinds)
        raise InputError(f"{key!r} must be {wished}; found {value!r:.40}")
    return value


def _is_one_of(value: Any, kinds: tuple[type, ...]) -> bool:
    """Whether a value is of these types; true and false are not numbers, as they are in Python."""
    return isinstance(value, kinds) and not isinstance(value, bool)


def _weights(document: dict[str, Any]) -> NDArray[np.float64]:
    """Return the list of weights."""
    weights = _entry(document, "weights", list)
    for value in weights:
        if not _is_one_of(value, (int, float)):
            raise InputError(f"'weights' must be numbers; found {value!r:.40}")
    return np.array(weights, dtype=float)
