"""The one total of C2RFClassifier, said as ``n_positive`` or as ``totals``."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from c2rf import C2RFClassifier, InputError
from c2rf.datasets import make_twonorm

X, CODES = make_twonorm(160, random_state=0)
Y = np.array(["no", "yes"])[CODES]
LABELED, REST = slice(0, 40), slice(40, None)


def fitted(**known):
    model = C2RFClassifier(n_estimators=4, random_state=0, pos_label=known.pop("pos_label", None))
    return model.fit(X[LABELED], Y[LABELED], X_unlabeled=X[REST], **known)


@pytest.mark.parametrize(
    "totals",
    [
        {"yes": 50},
        {"yes": 50, "no": 70},
        {"no": 70, "yes": (0.1, 0.9)},
        {"yes": 50 / 120},
        pd.Series({"yes": 50}),
    ],
)
def test_totals_are_the_number_of_positive_rows(totals):
    expected = fitted(n_positive=50, pos_label="yes")
    found = fitted(totals=totals, pos_label="yes")
    assert found.solution_.eta == expected.solution_.eta
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)


def test_the_class_that_is_named_is_the_positive_one():
    found = fitted(totals={"no": 70})
    assert found.pos_label_ == "no"
    assert found.solution_.eta == abs((found.transduction_ == "no").sum() - 70)


@pytest.mark.parametrize(
    ("known", "said"),
    [
        ({"totals": {"yes": (40, 60)}}, "not a range; found 40 to 60 of 120 rows"),
        (
            {"totals": [{"region": "north", "class": "yes", "total": 3}]},
            "none within groups; use KnownTotalsClassifier",
        ),
        ({"totals": {"yes": 50}, "n_positive": 50}, "say the same in two ways"),
        ({"totals": {"perhaps": 50}}, "'perhaps'"),
    ],
)
def test_what_is_no_single_total_is_refused(known, said):
    with pytest.raises(InputError, match=said):
        fitted(pos_label="yes", **known)
