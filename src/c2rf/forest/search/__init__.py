"""Search over the weights themselves, for those whose count is closest to the wished one.

Where the wished number of positives can be attained, finding weights that attain it is the
whole proof, and searching for them is far quicker than any solver.
"""

from __future__ import annotations

from c2rf.forest.search.lattice import odd_lattice_point
from c2rf.forest.search.searcher import Searcher

__all__ = ["Searcher", "odd_lattice_point"]
