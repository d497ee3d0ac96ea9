from __future__ import annotations

import signal

from hypothesis import settings

# Same examples on every run and machine: a failure can be repeated by running the test again.
settings.register_profile(
    "repeatable", max_examples=50, deadline=None, derandomize=True, database=None
)
settings.load_profile("repeatable")


def pytest_configure() -> None:
    """Listen to Ctrl-C, which some tests press: a process in the background may have been deaf."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
