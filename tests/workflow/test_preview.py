"""Tables as they were understood."""

from __future__ import annotations

import pandas as pd

from c2rf.data.dialect import ReadAs
from c2rf.workflow.preview import MOST_COLUMNS, preview, previews


def test_types_first_cells_values_and_empty_cells(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("age;born;town;none\n41,5;2001-02-03;Ulm;\n;2001-02-04;Bonn;\n7,5;;Ulm;\n")
    found = preview(path, name="people.csv")
    assert found.title.startswith("people.csv: 3 rows, 4 columns; read as: semicolons")
    assert found.decimal == ","
    columns = found.columns.set_index("column")
    assert columns["type"].tolist() == ["number", "date", "text", "empty"]
    assert columns.loc["town"].tolist() == ["text", "Ulm", "Bonn", "Ulm", 2, 0]
    assert columns.loc["none", "empty"] == 3


def test_wide_tables_are_cut():
    wide = pd.DataFrame([[1] * (MOST_COLUMNS + 5)]).add_prefix("x")
    found = preview(wide)
    assert len(found.columns) == MOST_COLUMNS
    assert len(found.names) == MOST_COLUMNS + 5


def test_tables_of_totals_have_the_decimal_mark_of_the_data(tmp_path):
    data, totals = tmp_path / "people.csv", tmp_path / "totals.csv"
    data.write_text("a;b\n1,5;x\n")
    totals.write_text("class;total\nyes;1.234\n")
    _, found = previews([data], ReadAs(), [totals])
    assert found.columns.set_index("column").loc["total", "type"] == "number"
