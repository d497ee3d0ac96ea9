"""Weighted trees: votes, patterns, weights that meet a total, and proofs of how close any get."""
