"""Weighted trees: votes, patterns, weights that meet a total, and proofs of how close any get.

- ``paper``: the integer program and all propositions of the paper, by their numbers;
- ``solve``: the entry; ``search`` finds weights, ``bounds`` proves and writes certificates;
- ``certificate``: checks a certificate in whole numbers, and imports nothing of ours;
- ``verify``: checks a solution and its certificate; ``vipr`` writes one for other checkers.
"""
