from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# The tests' processes use all cores. Threads for the algebra of each would stand in line, and burn
# time while they do; this must be said before NumPy is imported, and reaches all processes.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Spark lives for seconds here: code that is compiled well would not pay.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# Same examples on every run and machine: a failure can be repeated by running the test again.
settings.register_profile(
    "repeatable", max_examples=50, deadline=None, derandomize=True, database=None
)
settings.load_profile("repeatable")


def pytest_configure(config: pytest.Config) -> None:
    """Set up what all tests need."""
    listen_to_ctrl_c()
    if getattr(config.option, "numprocesses", None):  # here the tests' processes are started
        subprocess.run([sys.executable, Path(__file__).with_name("compile_first.py")], check=True)


def listen_to_ctrl_c() -> None:
    """Some tests press it, and a process in the background may have been deaf."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
