from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf.cli import terminal
from c2rf.estimators import imputing
from c2rf.learners.bootstrap import LabeledSample, held_out_models
from c2rf.progress import (
    Countdown,
    Event,
    line,
    progress_callback,
    report_progress,
    solve_listener,
)

VOTES = np.array([[1, 1, -1], [-1, 1, -1], [-1, 1, 1], [-1, -1, 1], [1, 1, 1]])
LINE = re.compile(r"^(?P<phase>\S.*?) +eta (-|\d+) +bound \d+ *(\(\d+ s\))?$")


def test_a_line_says_all_of_an_event():
    shown = line(Event("big-M model", None, 0, 0.0))
    assert re.sub(" +", " ", shown) == "big-M model eta - bound 0 "
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
    told = [re.sub(r" +\(\d+ s\)$", "", text) for text in lines]
    assert all(one != other for one, other in pairwise(told))


@pytest.fixture
def shown(monkeypatch) -> list[str]:
    """What a live line on standard error shows, one text after the other."""
    texts: list[str] = []

    class Status:
        def __enter__(self):
            return self

        def __exit__(self, *error):
            return None

        def update(self, text):
            texts.append(text)

    def status(console, text):
        assert console.stderr
        texts.append(text)
        return Status()

    monkeypatch.setattr("rich.console.Console.status", status)
    return texts


def test_a_live_line_on_a_terminal(monkeypatch, capsys, shown):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with solve_listener(True) as listener:
        listener(Event("search", 3, 1, 0.5))
        listener(Event("search", 2, 1, 0.6))
    texts = list(dict.fromkeys(re.sub(r"\(\d+ s\)$", "", text).strip() for text in shown))
    assert texts == ["starting", *(line(Event("search", eta, 1)).strip() for eta in (3, 2))]
    shown.clear()
    solution = c2rf.solve(VOTES, 2, progress=True)
    assert shown[0] == "starting"
    assert f"eta {solution.eta} " in shown[-1]
    assert all(LINE.match(text) for text in shown[1:])
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("progress", [False, None, 0])
def test_no_listener(progress):
    with solve_listener(progress) as listener:
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


def test_classifiers_report_what_they_do():
    X, y = c2rf.datasets.make_twonorm(300, random_state=0)
    heard: list[Event] = []
    ranked = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    weighted = c2rf.C2RFClassifier(n_estimators=5, random_state=0)
    with progress_callback(heard.append):
        ranked.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 120})
        phases = dict.fromkeys(event.phase.split()[0] for event in heard)
        assert list(phases) == [
            "reading",
            "learning",
            "ranking",
            "meeting",
            "calibrating",
            "matching",
        ]
        heard.clear()
        weighted.fit(X[:50], y[:50], X_unlabeled=X[50:], n_positive=120)
    assert heard
    assert all(LINE.match(line(event)) for event in heard)
    heard.clear()
    weighted.fit(X[:50], y[:50], X_unlabeled=X[50:], n_positive=120)
    assert heard == []


def lines_until(capsys, enough: Callable[[list[str]], bool]) -> list[str]:
    """Wait until the lines on standard error are enough."""
    said = ""
    while not enough(said.splitlines()):
        time.sleep(0.005)
        said += capsys.readouterr().err
    return said.splitlines()


def test_lines_go_on_between_events_where_there_is_no_terminal(capsys):
    with terminal.waiting("learning", every=0.01):
        report_progress("from the labeled rows")
        said = lines_until(capsys, lambda lines: len(lines) > 3)  # and no event meanwhile
    assert all(re.fullmatch(r"learning: from the labeled rows \(\d+ s\)", one) for one in said[1:])


def test_after_a_while_it_is_said_how_to_stop(capsys):
    with terminal.waiting("solving", hint="Ctrl-C stops", every=0.01, hint_after=3600):
        said = lines_until(capsys, lambda lines: len(lines) > 1)
    assert not any("Ctrl-C" in one for one in said)
    with terminal.waiting("solving", hint="Ctrl-C stops", every=0.01, hint_after=0.2):
        said = lines_until(capsys, lambda lines: any("s) Ctrl-C stops" in one for one in lines))
    assert all(one.startswith("solving (") for one in said)


def test_a_live_line_for_who_looks(monkeypatch, shown):
    """What is going on is shown on standard error, with the time it takes."""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with terminal.waiting("learning"):
        report_progress("from the labeled rows")
    report_progress("nobody listens any more")
    assert shown[0] == "learning"
    texts = [re.sub(r" \(\d+ s\)$", "", text) for text in shown[1:]]
    assert texts[-1] == "learning: from the labeled rows"
    assert set(texts[:-1]) <= {"learning", texts[-1]}  # the clock of a slow machine adds lines


def test_steps_of_a_fit_do_not_hide_which_of_several_fits_it_is():
    class Talks(LogisticRegression):
        def fit(self, X, y):
            report_progress("a step of one fit")
            return super().fit(X, y)

    X, y = c2rf.datasets.make_twonorm(100, random_state=0)
    heard: list[Event] = []
    with progress_callback(heard.append):
        list(held_out_models(Talks(), LabeledSample(X, y, {}), 0, "fitting to parts"))
    assert {event.phase for event in heard} == {"fitting to parts"}
    assert [event.done for event in heard] == [0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 5]


def test_the_time_left_goes_down_within_a_step_and_is_not_said_where_it_is_over(monkeypatch):
    now, heard = [0.0], []
    monkeypatch.setattr("c2rf.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    with progress_callback(heard.append):
        steps = Countdown("drawing", 3)
        for seconds in (10, 10, 15):
            with steps.inside():
                now[0] += seconds - 2
                report_progress("a part of it")
                now[0] += 2
            steps.done()
    left = [event.seconds_left for event in heard]
    assert left == [None, None, 20.0, 20.0, 12.0, 10.0, 10.0, None, None]


def test_imputations_say_how_long_they_take(monkeypatch):
    """By the time of the imputations before, not by what was set up for all of them."""
    now, heard = [0.0], []
    monkeypatch.setattr("c2rf.progress.time", SimpleNamespace(monotonic=lambda: now[0]))
    made = imputing.make_bootstrap

    def slow_set_up(*given):
        bootstrap = made(*given)
        now[0] += 100.0

        def replicate(rng):
            now[0] += 2.0
            return bootstrap(rng)

        return replicate

    monkeypatch.setattr(imputing, "make_bootstrap", slow_set_up)
    X, y = c2rf.datasets.make_twonorm(200, random_state=0)
    ranked = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    ranked.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 70})
    with progress_callback(heard.append):
        ranked.impute(5)
    said = dict.fromkeys((event.done, event.seconds_left) for event in heard)
    assert next(iter(said)) == (0, None)
    assert [left for done, left in said if done in (1, 2, 3)] == [8.0, 6.0, 4.0]
    assert list(said)[-1] == (5, None)


def test_verbose_classifiers_say_what_they_do(capsys):
    X, y = c2rf.datasets.make_twonorm(200, random_state=0)
    for verbose in (False, True):
        ranked = c2rf.KnownTotalsClassifier(LogisticRegression(), verbose=verbose)
        ranked.fit(X[:50], y[:50], X_unlabeled=X[50:], totals={1: 70})
        lines = capsys.readouterr().err.splitlines()
        assert bool(lines) == verbose
    assert any("meeting the totals of 150 rows" in text for text in lines)
    weighted = c2rf.C2RFClassifier(n_estimators=5, random_state=0, verbose=True)
    weighted.fit(X[:50], y[:50], X_unlabeled=X[50:], n_positive=70)
    assert "eta" in capsys.readouterr().err


def test_quiet(capsys):
    with terminal.waiting("learning", quiet=True):
        report_progress("something")
    assert capsys.readouterr() == ("", "")
