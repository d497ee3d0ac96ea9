"""Small steps of the page, and what is behind it, without a browser."""

from __future__ import annotations

import gc
import time
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

import c2rf
from c2rf.app import page
from c2rf.app.choices import Choices
from c2rf.app.files import file_in, tables_in, write_example
from c2rf.app.job import Job, Pace, Visit, end_when_left
from c2rf.app.page import _plan
from c2rf.app.server import command, megabytes
from c2rf.app.totals import check_totals
from c2rf.cli import main
from c2rf.data.formats import read_table
from c2rf.exceptions import InputError
from c2rf.progress import report_progress

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_the_example_is_understood_and_checked():
    app = AppTest.from_file(page.__file__, default_timeout=120).run()
    assert not app.exception
    app.radio(key="way").set_value("The example").run()
    assert not app.exception
    assert "left for" in app.success[0].value
    app.text_input(key="total yes").set_value("9999").run()
    assert not app.success
    assert "at most" in app.warning[0].value


@pytest.mark.parametrize(
    ("typed", "good", "said"),
    [
        ({"a": "5"}, False, "all classes but one"),
        ({"a": "5", "b": "2"}, True, "3 are left for 'c'"),
        ({"a": "5", "b": "2", "c": "3"}, True, "all 10 rows"),
        ({"a": "5", "b": "2", "c": "4"}, False, "add up to 11"),
        ({"a": "5", "b": "2", "c": "2"}, False, "add up to 9"),
        ({"a": "50%", "b": "1..2"}, True, "left for 'c'"),
        ({"a": "many"}, False, "a count like 1234"),
        ({}, False, "Type the known total"),
    ],
)
def test_totals_while_they_are_typed(typed, good, said):
    verdict = check_totals(typed, ["a", "b", "c"], 10)
    assert (verdict.is_good, said in verdict.said) == (good, True)


def test_totals_files_are_checked_together(tmp_path):
    labeled, unlabeled, totals = write_example(tmp_path)
    north = tmp_path / "totals.csv"
    north.write_text("region;yes\nnorth;99\n")
    choices = Choices(
        labeled=labeled, unlabeled=unlabeled, target="employed", totals=totals,
        totals_files=[north],
    )  # fmt: skip
    remarks, tables = _plan(choices)
    assert "read as a wide table: by region" in remarks[0]
    assert [title for title, _ in tables] == ["all rows", "by region"]
    overall, groups = (table.set_index("group") for _, table in tables)
    assert overall.loc["all", "yes"] == totals["yes"]
    assert groups.loc["north", "yes"] == "99"
    assert int(groups.loc["north", "no"]) == int(groups.loc["north", "rows"]) - 99
    north.write_text("region;yes\nnorth;9999\n")
    with pytest.raises(InputError, match="9999"):
        _plan(choices)


def test_messages_name_what_is_on_the_page(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("a;b\n1.234;x\n")
    job = Job(lambda: read_table(path))
    job.wait(60)
    assert "say which with “Decimal mark” in step 2" in str(job.error)


def test_a_folder_is_never_left(tmp_path):
    folder, outside = tmp_path / "data", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "secret.csv").write_text("a\n1\n")
    (folder / "people.csv").write_text("a\n1\n")
    (folder / "link.csv").symlink_to(outside / "secret.csv")
    (folder / "inner").symlink_to(outside)
    assert tables_in(folder) == ["people.csv"]
    assert file_in(folder, "people.csv").is_file()
    for name in ("../outside/secret.csv", str(outside / "secret.csv"), "link.csv",
                 "inner/secret.csv", "absent.csv"):  # fmt: skip
        with pytest.raises(InputError, match="is not a file of the folder"):
            file_in(folder, name)


def test_a_job_stops_at_its_next_step():
    def work() -> None:
        while True:
            report_progress("working")

    job = Job(work)
    job.stop()
    job.wait(60)
    assert job.error == "stopped; nothing was written"
    failing = Job(lambda: c2rf.classify("absent.csv", target="x", totals={"a": 1}))
    failing.wait(60)
    assert "there is no such file" in str(failing.error)


def test_a_visit_ends_with_its_files_and_its_run(tmp_path):
    visit = Visit()
    path = visit.keep("labeled", "..\\..\\evil/people.csv", b"a,b\n")
    assert path == visit.folder / "labeled" / "people.csv"
    assert visit.keep("labeled", "..", b"").parent == path.parent

    def work() -> None:
        while True:
            report_progress("working")
            time.sleep(0.01)

    visit.start(work)
    job, folder = visit.job, visit.folder
    del visit
    gc.collect()
    job.wait(60)
    assert job.error == "stopped; nothing was written"
    assert not folder.exists()


def test_a_visit_ends_some_time_after_the_visitor_has_left(monkeypatch):
    slept = [0.0]  # a clock that only sleep moves: a busy machine changes nothing
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr("c2rf.app.job.time", clock)
    visit, looks = Visit(), iter([True, True, False, True])
    end_when_left(visit, lambda: next(looks, False), patience=50, every=10).join(60)
    assert sum(slept) == 30 + 60
    assert next(looks, None) is None  # who comes back is not gone
    assert not visit.folder.exists()


def test_time_left_of_a_step_that_counts():
    pace = Pace()
    pace.hear("ranking rows: 1,000 of 10,000, about 3 s left", 1.0)
    assert pace.seconds_left(1.0) is None
    pace.hear("ranking rows: 4,000 of 10,000, about 3 s left", 4.0)
    assert (pace.share, pace.seconds_left(5.0)) == (0.4, 5.0)
    assert pace.seconds_left(99.0) == 0.0
    pace.hear("scoring the labels", 12.0)
    assert (pace.share, pace.seconds_left(12.0)) == (None, None)


def test_the_server_is_for_this_computer_alone():
    words = command(1234, browser=False, max_upload="2GB")
    assert "--server.address=127.0.0.1" in words
    assert "--browser.gatherUsageStats=false" in words
    assert "--server.maxUploadSize=2048" in words
    assert "--server.showEmailPrompt=false" in words  # which would wait for an answer
    with pytest.raises(InputError, match="a size like 500MB"):
        megabytes("lots")


def test_a_folder_that_is_none(capsys):
    assert main(["app", "--folder", "absent", "--no-browser"]) == 2
    assert "is not a folder" in capsys.readouterr().err
