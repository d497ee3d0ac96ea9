"""Files of SPSS, Stata and SAS: labels instead of codes, missing codes are empty."""

from __future__ import annotations

import pandas as pd
import pyreadstat

from c2rf.data.cells import as_text
from c2rf.data.formats import read_file


def test_value_labels_and_missing_codes_of_spss(tmp_path):
    path = tmp_path / "x.sav"
    frame = pd.DataFrame({"sex": [1.0, 2.0, 9.0], "age": [41.0, 99.0, 14.0]})
    pyreadstat.write_sav(
        frame,
        str(path),
        variable_value_labels={"sex": {1: "f", 2: "m"}},
        missing_ranges={"sex": [9], "age": [{"lo": 98, "hi": 99}]},
    )
    table = read_file(path)
    assert as_text(table.frame["sex"]).tolist() == ["f", "m", None]
    assert as_text(table.frame["age"]).tolist() == ["41", None, "14"]
    assert "value labels of 1 column" in table.read_as
    assert "missing codes of 2 columns" in table.read_as


def test_categories_of_stata(tmp_path):
    frame = pd.DataFrame({"sex": pd.Categorical(["f", "m", None]), "age": [1, 2, 3]})
    frame.to_stata(tmp_path / "x.dta", write_index=False)
    assert as_text(read_file(tmp_path / "x.dta").frame["sex"]).tolist() == ["f", "m", None]
