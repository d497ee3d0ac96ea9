"""Measurements, each a command: ``python -m benchmarks.race --help``.

They are commands and not tests because times depend on the machine. What is compared is compared
within one run, and given as a ratio.
"""
