from __future__ import annotations

from hypothesis import settings

# Same examples on every run and machine: a failure can be repeated by running the test again.
settings.register_profile(
    "repeatable", max_examples=50, deadline=None, derandomize=True, database=None
)
settings.load_profile("repeatable")
