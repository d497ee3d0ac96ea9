"""The paper's experiment: its data, its samples, its methods and ours, its tables and figures.

From data to a report: :mod:`~c2rf.bench.samples` reads and prepares data, draws a sample and grows
its trees, :mod:`~c2rf.bench.methods` label the rest, :mod:`~c2rf.bench.run` runs them all and keeps
a record of each, and :mod:`~c2rf.bench.report` compares the records with what the paper printed.
"""

from __future__ import annotations
