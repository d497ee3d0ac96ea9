from __future__ import annotations

import re
import sys
from itertools import pairwise

import numpy as np
import pytest

import c2rf
from c2rf.progress import line, listening
from c2rf.run import Event

VOTES = np.array([[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1], [1, 1, 1]])
LINE = re.compile(r"^(?P<phase>\S.*?) +eta (-|\d+) +bound \d+ +\d+\.\d s$")


def test_a_line_says_all_of_an_event():
    shown = line(Event("big-M model", None, 0, 0.0))
    assert re.sub(" +", " ", shown) == "big-M model eta - bound 0 0.0 s"
    assert LINE.match(line(Event("search", 1234567890, 1234567890, 12345.6)))


def test_silence_unless_asked_for(capfd):
    c2rf.solve(VOTES, 2)
    assert capfd.readouterr() == ("", "")


def test_plain_lines_where_there_is_no_terminal(capfd):
    c2rf.solve(VOTES, 2, progress=True)
    out, err = capfd.readouterr()
    lines = err.splitlines()
    assert out == ""
    assert lines
    assert all(LINE.match(text) for text in lines)
    told = [re.sub(r" +\d+\.\d s$", "", text) for text in lines]
    assert all(one != other for one, other in pairwise(told))


def test_a_live_line_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with listening(True) as listener:
        listener(Event("search", 3, 1, 0.5))
        listener(Event("search", 2, 1, 0.6))
    c2rf.solve(VOTES, 2, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("progress", [False, None, 0])
def test_no_listener(progress):
    with listening(progress) as listener:
        assert listener is None


def test_a_function_is_told_everything_in_order():
    events: list[Event] = []
    votes = np.vstack([VOTES, np.ones((3, 3), dtype=int)])
    solution = c2rf.solve(votes, 0, progress=events.append)
    assert solution.eta > 0
    assert events[-1].eta == solution.eta  # what fixed points add is in what is told
    assert events[-1].bound <= solution.bound
    etas = [event.eta for event in events if event.eta is not None]
    assert etas == sorted(etas, reverse=True)
    seconds = [event.seconds for event in events]
    assert seconds == sorted(seconds)
    assert all(event.bound >= 0 for event in events)


def test_an_error_of_the_function_is_passed_on():
    def broken(event):
        raise RuntimeError("listener is broken")

    with pytest.raises(RuntimeError, match="listener is broken"):
        c2rf.solve(VOTES, 2, progress=broken)


def test_listening_does_not_change_the_result():
    one, other = c2rf.solve(VOTES, 1, progress=lambda event: None), c2rf.solve(VOTES, 1)
    np.testing.assert_array_equal(one.weights, other.weights)
