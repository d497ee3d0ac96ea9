"""Votes and their patterns, the problem and its solution, and the exact check of a solution."""
