"""Schedulers that do not answer, and clusters that are lost: said clearly, and in finite time."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import AbstractContextManager, contextmanager, nullcontext
from importlib.util import find_spec
from typing import Any

from c2rf.exceptions import ClusterError, InputError

ANSWER_SECONDS = 30.0
"""A scheduler that is silent for so long is taken for dead."""


@contextmanager
def connected(address: str | None, seconds: float | None = None) -> Iterator[None]:
    """Compute on the cluster of the scheduler at this address; None means threads of our own.

    Parameters
    ----------
    address : str or None
        Such as ``tcp://10.0.0.1:8786``.
    seconds : float, optional
        How long to wait for the scheduler, and for a first worker; else ``ANSWER_SECONDS``.

    Examples
    --------
    >>> with connected("tcp://127.0.0.1:9", seconds=0.2):
    ...     pass
    Traceback (most recent call last):
    ...
    c2rf.exceptions.ClusterError: the scheduler tcp://127.0.0.1:9 does not answer within 0.2 \
seconds; check the address, and that it is running
    """
    need_dask()
    if address is None:
        yield
        return
    from distributed import Client

    seconds = ANSWER_SECONDS if seconds is None else seconds
    try:
        asyncio.run(asyncio.wait_for(_greet(address, seconds), seconds))
    except (OSError, ValueError, TimeoutError) as error:
        raise _silent(address, seconds) from error
    with Client(address, timeout=seconds) as client:
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError as error:
            raise ClusterError(
                f"the scheduler {address} has no workers, and none came within {seconds:g} "
                "seconds; start one with: dask worker " + address
            ) from error
        yield


def using_threads(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let Dask use this number of threads where it has no cluster; -1 is one per processor."""
    if n_jobs is None:
        return nullcontext()
    from dask import config
    from joblib import effective_n_jobs

    return config.set(num_workers=effective_n_jobs(n_jobs))


@contextmanager
def naming_cluster() -> Iterator[None]:
    """Turn what Dask says of a lost cluster into one error, and see first that it answers."""
    try:
        with _large_models(_answering_client()):
            yield
    except Exception as error:
        if not _is_of_cluster(error):
            raise
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ClusterError(f"the Dask cluster was lost during the work: {reason}") from error


def need_dask() -> None:
    """Refuse to go on without Dask, and say how to get it."""
    if find_spec("dask") is None or find_spec("distributed") is None:
        raise InputError('Dask is not installed; pip install "c2rf[dask]"')


async def _greet(address: str, seconds: float) -> None:
    """Shake hands with a scheduler; a Client would wait forever for one that never says a word."""
    from distributed import Security
    from distributed.comm.core import connect

    comm = await connect(address, timeout=seconds, **Security().get_connection_args("client"))
    await comm.close()


def _answering_client() -> Any:
    """Return the client that would get the work, if there is one; it must show a sign of life."""
    client = _current_client()
    if client is not None:
        try:
            client.sync(client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
        except (OSError, TimeoutError) as error:
            raise _silent(client.scheduler.address, ANSWER_SECONDS) from error
    return client


def _large_models(client: Any) -> Any:
    """Let a forest of many megabytes be sent without a warning: it is sent once."""
    if client is None:
        return nullcontext()
    from dask import config

    return config.set({"distributed.admin.large-graph-warning-threshold": "10GB"})


def _current_client() -> Any:
    """Return the client that Dask computes with, or None where it uses threads of our own."""
    if "distributed" not in sys.modules:
        return None
    from distributed import Client

    try:
        client = Client.current()
    except ValueError:
        return None
    is_open = client.status == "running" and client.scheduler is not None
    return client if is_open and not client.asynchronous else None


def _is_of_cluster(error: Exception) -> bool:
    is_lost = isinstance(error, CancelledError)
    return is_lost or type(error).__module__.partition(".")[0] == "distributed"


def _silent(address: str, seconds: float) -> ClusterError:
    return ClusterError(
        f"the scheduler {address} does not answer within {seconds:g} seconds; check the address, "
        "and that it is running"
    )
