"""Small steps of the page, and what is behind it, without a browser."""

from __future__ import annotations

import gc
import time
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest
from streamlit.testing.v1 import AppTest

import c2rf
from c2rf.app import page
from c2rf.app.inputs import Inputs, check_totals
from c2rf.app.page import all_known
from c2rf.app.session import Job, Session, end_when_closed, file_in, tables_in, write_example
from c2rf.exceptions import InputError
from c2rf.progress import Event, report_progress
from c2rf.report import language
from c2rf.workflow.result import Outputs
from people import read_table

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")


def test_the_example_is_understood_and_checked():
    app = AppTest.from_file(page.__file__, default_timeout=120).run()
    assert not app.exception
    app.radio(key="way").set_value("The example").run()
    assert not app.exception
    assert "left for" in app.success[0].value
    app.text_input(key="total yes").set_value("9999").run()
    assert not app.success
    assert "must be a count from 0 to 510" in page.re.sub(r"\\", "", app.warning[0].value)


def test_groups_that_are_ranges_can_be_chosen_for_estimates():
    app = AppTest.from_file(page.__file__, default_timeout=120).run()
    app.radio(key="way").set_value("The example").run()
    app.text_input(key="bin").set_value("young=age:under 30,30+").run()
    assert "are by 'young'" in page.re.sub(r"\\", "", app.warning[0].value)
    app.multiselect(key="estimates_by").set_value(["region", "young"]).run()
    assert not app.exception
    assert "fit together" in app.success[0].value


def test_the_language_can_be_chosen():
    app = AppTest.from_file(page.__file__, default_timeout=120).run()
    app.selectbox(key="language").set_value("de").run()
    assert app.header[0].value == "1. Dateien"


def test_the_page_speaks_the_language_of_the_browser(monkeypatch):
    left, translated = set(), language.translated
    monkeypatch.setattr("streamlit.runtime.context.ContextProxy.locale", "de-DE")
    monkeypatch.setattr(
        language, "translated", lambda text, to, keep=(), _=None: translated(text, to, keep, left)
    )
    app = AppTest.from_file(page.__file__, default_timeout=120).run()
    app.radio(key="way").set_value("The example").run()
    assert "bleiben" in app.success[0].value
    app.button[0].click().run()
    app.session_state["session"].job.wait(120)
    app.run()
    assert not app.exception
    titles = [each.value for each in app.header]
    assert titles == [
        "1. Dateien", "2. Was verstanden wurde", "3. Bekannte Eckwerte", "4. Rechnen",
        "5. Ergebnis",
    ]  # fmt: skip
    assert "--language de" in app.code[0].value
    names = {"north", "south", "west", ".csv", ".html", ".skops", "“yes”"}
    assert not {text for text in left - names if "example-" not in text}


@pytest.mark.parametrize(
    ("typed", "good", "said"),
    [
        ({"a": "5"}, False, "may leave out one class"),
        ({"a": "5", "b": "2"}, True, "3 of 10 rows are left for 'c'"),
        ({"a": "5", "b": "2", "c": "3"}, True, "all 10 rows"),
        ({"a": "5", "b": "2", "c": "4"}, False, "add up to 11"),
        ({"a": "5", "b": "2", "c": "2"}, False, "add up to 9"),
        ({"a": "50%", "b": "1..2"}, True, "3 to 4 of 10 rows are left for 'c'"),
        ({"a": "many"}, False, "a count like 1234"),
        ({}, False, "Type the known total"),
    ],
)
def test_totals_while_they_are_typed(typed, good, said):
    inputs = Inputs(labeled=Path("a.csv"), totals=typed, chosen={"target": "kind"})
    try:
        message, is_good = check_totals(inputs, ["a", "b", "c"], 10), True
    except InputError as error:
        message, is_good = str(error), False
    assert (is_good, said in message) == (good, True)


def test_totals_files_are_checked_together(tmp_path):
    labeled, unlabeled, totals = write_example(tmp_path)
    north = tmp_path / "totals.csv"
    north.write_text("region;yes\nnorth;99\n")
    inputs = Inputs(
        labeled=labeled, unlabeled=unlabeled, totals=totals, totals_files=[north],
        chosen={"target": "employed"},
    )  # fmt: skip
    remarks, tables, _, n_changed = all_known(inputs)
    assert n_changed == 0
    assert "totals.csv: semicolons, UTF-8; a wide table by 'region'" in remarks[0]
    assert [title for title, _ in tables] == ["all rows", "by region"]
    overall, groups = (table.set_index("group") for _, table in tables)
    assert overall.loc["all", "yes"] == totals["yes"]
    assert groups.loc["north", "yes"] == "99"
    assert int(groups.loc["north", "no"]) == int(groups.loc["north", "rows"]) - 99
    north.write_text("region;yes\nnorth;9999\n")
    with pytest.raises(InputError, match="9999"):
        all_known(inputs)


def test_groups_that_are_ranges_can_make_domains(tmp_path):
    labeled, unlabeled, _ = write_example(tmp_path)
    ages = tmp_path / "ages.csv"
    ages.write_text("age_group,yes\n0-39,50\n40+,150\n")
    chosen = {"target": "employed", "id": "person"}
    inputs = Inputs(labeled=labeled, unlabeled=unlabeled, totals_files=[ages], chosen=chosen)
    assert all_known(inputs)[2] == ["age_group"]
    app = AppTest.from_file(page.__file__, default_timeout=120)
    app.session_state["bins"] = ["age_group"]
    app.run().radio(key="way").set_value("The example").run()
    assert "age_group" in app.multiselect(key="estimates_by").options
    assert "age_group" not in app.selectbox(key="weight").options


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


def test_a_session_ends_with_its_files_and_its_run(tmp_path):
    session = Session()
    path = session.keep("labeled", "..\\..\\evil/people.csv", b"a,b\n")
    assert path == session.folder / "labeled" / "people.csv"
    assert session.keep("labeled", "..", b"").parent == path.parent

    def work() -> None:
        while True:
            report_progress("working")
            time.sleep(0.01)

    session.start(work)
    job, folder = session.job, session.folder
    del session
    gc.collect()
    job.wait(60)
    assert job.error == "stopped; nothing was written"
    assert not folder.exists()


def test_a_session_ends_some_time_after_the_visitor_has_left(monkeypatch):
    slept = [0.0]  # a clock that only sleep moves: a busy machine changes nothing
    clock = SimpleNamespace(monotonic=lambda: sum(slept), sleep=slept.append)
    monkeypatch.setattr("c2rf.app.session.time", clock)
    session, looks = Session(), iter([True, True, False, True])
    end_when_closed(session, lambda: next(looks, False), patience=50, every=10).join(60)
    assert sum(slept) == 30 + 60
    assert next(looks, None) is None  # who comes back is not gone
    assert not session.folder.exists()


def test_time_left_of_a_step_that_counts(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("c2rf.app.session.time", SimpleNamespace(monotonic=lambda: now[0]))
    job = Job(lambda: None)
    job.wait(60)
    job._report(Event("ranking rows", seconds=4.0, done=4000, total=10_000))
    now[0] = 1.0
    assert job.text == "ranking rows: 4,000 of 10,000 (1 s so far, about 5 s left for this step)"
    now[0] = 99.0
    assert job.text == "ranking rows: 4,000 of 10,000 (99 s so far)"  # it takes longer
    job._report(Event("learning from 20 of 90 labeled rows"))
    assert (job.event.share, job.text) == (
        None,
        "learning from 20 of 90 labeled rows (99 s so far)",
    )


def test_names_of_uploads_that_a_disk_does_not_have(tmp_path):
    session = Session()
    for name in ("a\0b\ud800.csv", "x" * 500 + ".csv", "a:b*.csv", "ж" * 200 + ".csv"):
        path = session.keep("labeled", name, b"a,b\n")
        assert path.read_bytes() == b"a,b\n"
        assert path.suffix == ".csv"


def test_names_of_classes_are_no_markup_in_the_summary(tmp_path, monkeypatch):
    """A picture from elsewhere would tell others what is here."""
    monkeypatch.setattr(page, "st", shown := MagicMock())
    shown.selectbox.return_value = ".csv"
    outputs = Outputs(labels=tmp_path / "labels.csv", report=tmp_path / "report.html")
    for path in outputs.named.values():
        path.touch()
    inputs = MagicMock()
    page._show_result(inputs, inputs, outputs, ([("label ![](http://x)", "<b>7")], MagicMock()))
    table = shown.table.call_args.args[0].reset_index().to_numpy().tolist()
    assert table == [["label \\!\\[\\]\\(http\\://x\\)", "\\<b\\>7"]]
