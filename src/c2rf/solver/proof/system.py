"""All that is known about the signs of a problem: rows, the relaxation over them, exact sums."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from c2rf._typing import Floats
from c2rf.core.problem import Problem
from c2rf.solver.implications import Structure
from c2rf.solver.proof.clauses import Separator
from c2rf.solver.proof.exact import Case, ExactSums
from c2rf.solver.proof.relaxation import Relaxation
from c2rf.solver.proof.rows import AtMost, Ground, RowStore, pair_cuts
from c2rf.solver.realise import Contradiction

_CUTS_PER_ROUND = 400  # or a quarter of the patterns, if that is more
# More pairs than the first number are not used at all, more than the second only at first:
# they make linear programs slow, and cliques say more with fewer rows.
_MOST_PAIRS = 70_000
_FEW_PAIRS = 20_000


class SignSystem:
    """Rows on z that grow while a proof is sought.

    Parameters
    ----------
    problem : Problem
        The patterns at work.
    ground : Ground
        The user's problem, in which rows are proven.
    structure : Structure
        Pairs of patterns, the first rows.
    seed : int
        Makes the cuts repeatable.
    """

    def __init__(self, problem: Problem, ground: Ground, structure: Structure, seed: int) -> None:
        self.problem, self.ground = problem, ground
        self.wished = ground.statement.total
        self.store = RowStore(ground)
        sure = self._sure()
        self.relaxation = Relaxation(problem, sure)
        self.sums = ExactSums(problem, self.store, sure)
        self._separator = Separator(problem, seed)
        self._unproven: set[int] = set()
        pairs = pair_cuts(structure, problem.n_patterns)
        self._add(pairs if len(pairs) <= _MOST_PAIRS else [])

    @property
    def work(self) -> int:
        """How much work the linear programs and the cuts were, about nanoseconds."""
        return self.relaxation.work + self._separator.work

    def _sure(self) -> int:
        """Return the number of points that are positive beside those of the patterns at work."""
        stated, decided = self.ground.statement, self.ground.decided
        others = set(range(len(stated.patterns))) - set(self.ground.places.tolist())
        assert all(decided[i] is not None for i in others)
        return sum(stated.counts[i] for i in others if decided[i] == 1)

    def root(self, bound: int | None) -> Case:
        """Return the case of all weights that miss the total by less than a bound."""
        signs = [self.ground.decided[i] for i in self.ground.places.tolist()]
        lower = np.array([z == 1 for z in signs], dtype=np.int8)
        upper = np.array([z != 0 for z in signs], dtype=np.int8)
        return Case(lower, upper, self.ground.box.ends(bound))

    def forget_pairs(self) -> bool:
        """Begin again without pairs if they are many; say whether that is so."""
        many = len(self.store) > _FEW_PAIRS
        if many:
            self.relaxation.drop(range(len(self.store)))
        return many

    def cut(self, z: Floats, should_stop: Callable[[], bool] = lambda: False) -> int:
        """Add rows that z violates; return how many."""
        self.relaxation.drop_idle()
        most = max(_CUTS_PER_ROUND, self.problem.n_patterns // 4)
        return self._add(self._separator.cuts(z, should_stop)[:most])

    def forbid(self, contradiction: Contradiction) -> bool:
        """Add the row that states a contradiction; say whether it is new."""
        clause = contradiction.clause
        names = clause.patterns + self.problem.n_patterns * (clause.signs < 0)
        order = np.argsort(names)
        cut = AtMost(
            tuple(names[order].tolist()),
            len(names) - 1,
            tuple(contradiction.multipliers[order].tolist()),
        )
        return self._add([cut]) > 0

    def drop_unproven(self, rows: list[int]) -> bool:
        """Take rows without a proof out of the relaxation; say whether there were any."""
        bad = {row for row in rows if self.store.proof(row) is None}
        self.relaxation.drop(bad)
        self._unproven |= bad
        return bool(bad)

    def _add(self, cuts: list[AtMost]) -> int:
        """Add cuts that are not there yet; return how many there are."""
        rows = self.store.add(cuts)
        return self.relaxation.add({k: rows[k] for k in rows if k not in self._unproven})
