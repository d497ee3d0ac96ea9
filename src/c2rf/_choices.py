"""The names that users choose from, in Python and on the command line.

They stand apart from what they name, so that the completion of the shell loads nothing large.
"""

METHODS = ("known-totals", "c2rf")
ENGINES = ("auto", "memory", "chunks", "dask")
LEARNERS = ("blend", "extra-trees", "logistic")
