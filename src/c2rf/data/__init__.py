"""Tables in and out, what their columns hold, and populations wherever they are.

- Read: :mod:`~c2rf.data.formats`, a module per file format; :mod:`~c2rf.data.dialect` finds out how
  a text file is written, :mod:`~c2rf.data.numerals` and :mod:`~c2rf.data.cells` what cells mean.
- Write: :mod:`~c2rf.data.write`, all files by way of :mod:`~c2rf.data.atomic`.
- Columns: :mod:`~c2rf.data.profile` says what they hold, :mod:`~c2rf.data.encoding` makes numbers
  of them.
- Populations: :mod:`~c2rf.data.population`, a module per kind of storage.
- Known totals in text and tables: :mod:`~c2rf.data.totals`. Votes, solutions and certificates:
  :mod:`~c2rf.data.forest_files`.
"""
