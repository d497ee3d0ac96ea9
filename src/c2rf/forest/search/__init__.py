"""Search over the weights themselves, for those whose count is closest to the target.

Where the target can be met, finding weights that meet it is the whole proof, and the search is far
quicker than any solver.
"""

from __future__ import annotations

from c2rf.forest.search.lattice import odd_lattice_point
from c2rf.forest.search.searcher import Searcher

__all__ = ["Searcher", "odd_lattice_point"]
