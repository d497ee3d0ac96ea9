"""Tables in memory, and chunks that somebody makes."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest

from c2rf.data.population.memory import Memory, user_chunks
from c2rf.exceptions import InputTypeError


def test_columns_of_a_frame_and_of_an_array():
    frame = Memory(pd.DataFrame({"a": [1, 2], "b": [3, 4]}))
    assert next(frame.chunks(["b"])).data.to_numpy().tolist() == [[3], [4]]
    array = Memory(np.ones((2, 2)))
    assert array.names is None
    assert next(array.chunks(["b"])).data.shape == (2, 2)


def test_chunks_are_read_afresh_and_travel():
    rows = user_chunks([np.zeros((2, 1)), np.ones((1, 1))])
    for each in (rows, rows, pickle.loads(pickle.dumps(rows))):
        assert [chunk.start for chunk in each.chunks()] == [0, 2]


def test_a_used_iterator_is_refused():
    once = iter([np.zeros((2, 1))])
    rows = user_chunks(lambda: once, "people")
    list(rows.chunks())
    with pytest.raises(InputTypeError, match="given as people must return a fresh iterator"):
        list(rows.chunks())
