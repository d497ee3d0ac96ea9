from __future__ import annotations

import re
import sys
from itertools import pairwise

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf.cli import screen
from c2rf.progress import hearing, line, listening, tell
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


def test_classifiers_tell_what_they_are_at():
    X, y = c2rf.datasets.make_twonorm(300, random_state=0)
    heard: list[str] = []
    ranked = c2rf.KnownTotalsClassifier(LogisticRegression(), rounds=1, random_state=0)
    weighted = c2rf.C2RFClassifier(n_estimators=5, random_state=0)
    with hearing(heard.append):
        ranked.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 120})
        assert [what.split()[0] for what in heard] == [
            "learning",
            "learning",
            "meeting",
            "matching",
        ]
        heard.clear()
        weighted.fit(X[:50], y[:50], X_unlabeled=X[50:], n_positive=120)
    assert heard
    assert all(LINE.match(text) for text in heard)
    heard.clear()
    weighted.fit(X[:50], y[:50], X_unlabeled=X[50:], n_positive=120)
    assert heard == []


def test_a_line_now_and_then_where_there_is_no_terminal(monkeypatch, capsys):
    clock = iter([0.0, 1.0, 11.0, 12.0])
    monkeypatch.setattr(screen.time, "monotonic", lambda: next(clock))
    with screen.waiting("learning"):
        for what in ("soon", "later", "too soon again"):
            tell(what)
    assert capsys.readouterr().err == "learning: later (11 s)\n"


def test_a_live_line_for_who_looks(monkeypatch, capsys):
    monkeypatch.setattr(screen, "shows_progress", lambda: True)
    with screen.waiting("learning"):
        tell("from the labeled points")
    tell("nobody listens any more")
    assert capsys.readouterr().out == ""


def test_quiet(capsys):
    with screen.waiting("learning", quiet=True):
        tell("something")
    assert capsys.readouterr() == ("", "")
