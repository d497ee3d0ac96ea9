"""Small steps of the page, and what is behind it, without a browser."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import c2rf
from c2rf.app import page
from c2rf.app.check_totals import check_totals
from c2rf.app.choices import Choices
from c2rf.app.example import write_example
from c2rf.app.folder import file_in, tables_in
from c2rf.app.job import Job
from c2rf.app.server import command, megabytes
from c2rf.cli import main
from c2rf.exceptions import InputError
from c2rf.files.dialect import ReadAs
from c2rf.files.tables import read_table
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


def test_the_command_and_the_lines_do_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    labeled, unlabeled, totals = write_example(tmp_path)
    choices = Choices(labeled, unlabeled, "employed", "person", totals, how=ReadAs(decimal="."))
    words = shlex.split(choices.command())[1:]
    assert main([*words, "--learner", "logistic", "--quiet"]) == 0
    by_command = read_table(Path("labels.csv"))
    lines = choices.python().replace("totals=", "learner='logistic', totals=")
    Path("labels.csv").unlink()
    Path("report.html").unlink()
    exec(lines, {})
    assert read_table(Path("labels.csv")).equals(by_command)
    result = c2rf.classify(
        labeled, unlabeled, totals=choices.known(), learner="logistic", **choices.arguments()
    )
    assert result.labels["label"].tolist() == by_command["label"].tolist()


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


def test_the_server_is_for_this_computer_alone():
    words = command(1234, browser=False, max_upload="2GB")
    assert "--server.address=127.0.0.1" in words
    assert "--browser.gatherUsageStats=false" in words
    assert "--server.maxUploadSize=2048" in words
    with pytest.raises(InputError, match="a size like 500MB"):
        megabytes("lots")


def test_a_folder_that_is_none(capsys):
    assert main(["app", "--folder", "absent", "--no-browser"]) == 2
    assert "is not a folder" in capsys.readouterr().err
