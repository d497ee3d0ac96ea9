"""Search over the weights themselves, for those whose count is closest to the target.

Where the target can be met, finding weights that meet it is the whole proof, and the search is far
quicker than any solver.
"""
