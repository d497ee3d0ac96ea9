"""Several sets of labels that all add up to the known totals, and what may be computed from them.

A set is drawn from the probability of every label, given that all totals hold.
"""
