"""Every error c2rf raises on purpose, each a built-in error too.

Messages say what was found, what is allowed and what to do.
"""

from __future__ import annotations

from typing import Any


class C2RFError(Exception):
    """Base class of all errors raised on purpose."""


class InputError(C2RFError, ValueError):
    """A value that cannot be used: wrong range, shape or content."""


class InputTypeError(C2RFError, TypeError):
    """A value of a type that cannot be used."""


class VerificationError(C2RFError, ValueError):
    """A solution claims something its own weights do not support."""


class InfeasibleError(C2RFError, ValueError):
    """No weights in the box give every pattern a margin of at least one.

    ``certificate`` is the proof, in the format of :func:`c2rf.solve`'s certificates.
    """

    def __init__(self, message: str, certificate: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.certificate = certificate


class NoSolutionError(C2RFError, RuntimeError):
    """A limit ended the work before any feasible weights were known."""


class BackendError(C2RFError, RuntimeError):
    """A solver failed, refused the model or returned nothing usable."""


class BackendNotInstalledError(BackendError):
    """The solver's Python package is missing."""


class ClusterError(C2RFError, RuntimeError):
    """A Dask scheduler or a Spark master does not answer, or a cluster was lost during the work."""
