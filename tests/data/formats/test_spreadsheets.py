"""Workbooks: which sheet, which cells, and numbers that are stored as text."""

from __future__ import annotations

import pandas as pd
import pytest
import xlsxwriter

from c2rf.data.dialect import ReadAs
from c2rf.data.formats import read_file
from c2rf.exceptions import InputError


def test_a_typed_number_is_never_taken_for_text_with_marks(tmp_path):
    """In a workbook 1.234 is a number already, whatever stands as text beside it."""
    frame = pd.DataFrame({"a": [1.234, "12,5", "1.234,5"], "b": [1, 2, 3]})
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    assert read_file(tmp_path / "x.xlsx").frame["a"].tolist() == [1.234, 12.5, 1234.5]
    frame.assign(a=[1.5, "1.234", ""]).to_excel(tmp_path / "y.xlsx", index=False)
    with pytest.raises(InputError, match=r"'1.234' is 1.234 with a decimal point and 1234"):
        read_file(tmp_path / "y.xlsx")


@pytest.fixture
def two_sheets(tmp_path):
    with xlsxwriter.Workbook(str(tmp_path / "x.xlsx")) as book:
        for name, number in (("A", 6), ("B", 7)):
            book.add_worksheet(name).write_column(0, 0, ["n", number])
    return tmp_path / "x.xlsx"


def test_the_first_sheet_or_the_one_that_is_named(two_sheets):
    table = read_file(two_sheets)
    assert table.frame["n"].tolist() == [6]
    assert table.read_as == "Excel, sheet 'A' (not read: 'B')"
    assert read_file(two_sheets, ReadAs(sheet="B")).frame["n"].tolist() == [7]
    with pytest.raises(InputError, match="there is no sheet 'C'"):
        read_file(two_sheets, ReadAs(sheet="C"))


def test_merged_cells_are_refused_with_their_place(tmp_path):
    with xlsxwriter.Workbook(str(tmp_path / "x.xlsx")) as book:
        sheet = book.add_worksheet()
        sheet.write_row(0, 0, [f"c{k}" for k in range(30)])
        sheet.write_row(1, 0, range(30))
        sheet.merge_range(4, 27, 5, 27, "both")
    with pytest.raises(InputError, match="merged cells, the first in row 5, column 28"):
        read_file(tmp_path / "x.xlsx")


def test_a_workbook_that_asks_for_more_memory_than_there_is(tmp_path):
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        sheet = book.add_worksheet()
        sheet.write(0, 0, "a")
        sheet.write(1_048_575, 16_383, "b")
    with pytest.raises(InputError, match="its cells take more memory than there is"):
        read_file(tmp_path / "x.xlsx")


def test_a_workbook_that_is_too_large_when_unpacked(tmp_path, monkeypatch):
    with xlsxwriter.Workbook(tmp_path / "x.xlsx") as book:
        book.add_worksheet().write(0, 0, "a")
    monkeypatch.setenv("C2RF_MOST_BYTES", "1000")
    with pytest.raises(InputError, match="more than 1,000 bytes when unpacked"):
        read_file(tmp_path / "x.xlsx")


def test_a_workbook_of_another_name_is_read_as_what_it_is(tmp_path):
    pd.DataFrame({"a": [1], "b": ["x"]}).to_excel(tmp_path / "x.xlsx", index=False)
    (tmp_path / "x.xlsx").rename(tmp_path / "x.ods")
    table = read_file(tmp_path / "x.ods")
    assert table.frame.to_dict("list") == {"a": [1], "b": ["x"]}
    assert table.read_as == "Excel, sheet 'Sheet1'; it is Excel in spite of its name"
