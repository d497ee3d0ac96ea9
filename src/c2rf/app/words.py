"""What the options of the command line are called on the page."""

from __future__ import annotations

WAY = "Read them in another way"
SEPARATOR, DECIMAL, ENCODING = "Between cells", "Decimal mark", "Encoding, like cp1252"
SHEET = "Sheet of a workbook"
TEXT, DROP = "Numbers that are codes, like postal codes", "Columns not to learn from"
KEEP = "Columns to learn from though they look useless"
WEIGHT, POLICY = "Column that says how many people a row stands for", "Totals that do not add up"
SENSITIVITY = "Which labels would change if totals were off by"
TARGET, ID = "Column with the class", "Column that names the rows"

OPTIONS = {
    "--sep": f"“{SEPARATOR}” in step 2",
    "--decimal": f"“{DECIMAL}” in step 2",
    "--encoding": f"“{ENCODING}” in step 2",
    "--sheet": f"“{SHEET}” in step 2",
    "--text": f"“{TEXT}” in step 2",
    "--drop": f"“{DROP}” in step 2",
    "--keep": f"“{KEEP}” in step 2",
    "--id": f"“{ID}”",
    "--weight": f"“{WEIGHT}”",
    "--totals-policy": f"“{POLICY}” in step 3",
    "--sensitivity": f"“{SENSITIVITY}” in step 3",
    "--group": "totals by group",
}
"""For messages: options of the command line, and where they are on the page."""
