"""The proof side: cuts on signs, and a lower bound on eta that rises with them.

:mod:`~c2rf.solver.proof.coalitions` has the certificate behind every cut,
:mod:`~c2rf.solver.proof.clauses` finds the cuts that a relaxation violates,
:mod:`~c2rf.solver.proof.prover` raises the bound step by step.
"""
