"""From two tables and totals to labels, a report and a model.

The command line and the page call what is here. Importing the package loads nothing.
"""
