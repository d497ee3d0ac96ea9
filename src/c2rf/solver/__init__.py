"""Weights for votes, and proofs of how close any weights could come."""
