"""Deliberately broken inputs: exit code 2, one clear line, no traceback, no file changed."""

from __future__ import annotations

import gzip
import os
import random
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.cli import main
from c2rf.estimators.c2rf import C2RFClassifier
from c2rf.workflow.result import Outputs
from people import make_people

PEOPLE = make_people(120)
LINE = (
    "classify labeled.csv unlabeled.csv --target sick --positive yes --total 40 --method c2rf "
    "--id id --trees 3 --out out.csv --report report.html --save-model model.skops --force"
)
OUTPUTS = ("out.csv", "report.html", "model.skops")


@pytest.fixture(scope="module")
def model(tmp_path_factory) -> bytes:
    """A saved model."""
    folder = tmp_path_factory.mktemp("model")
    PEOPLE.write(folder=folder)
    line = LINE.replace("--out out.csv --report report.html", "--quiet")
    for name in ("labeled.csv", "unlabeled.csv", "model.skops"):
        line = line.replace(f" {name}", f" {folder / name}")
    assert main(shlex.split(line)) == 0
    return (folder / "model.skops").read_bytes()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder with good inputs and with outputs that must stay as they are."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    PEOPLE.write()
    for name in OUTPUTS:
        Path(name).write_text("precious")
    for link, target in (("loop.csv", "loop.csv"), ("lost.csv", "absent/out.csv")):
        Path(link).symlink_to(target)
    return tmp_path


@pytest.fixture(scope="module")
def everything_imported(tmp_path_factory) -> None:
    """Import what the command imports: half a module would spoil the tests that come later."""
    folder = tmp_path_factory.mktemp("whole")
    PEOPLE.write(folder=folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert main(shlex.split(LINE + " --quiet")) == 0


def contents() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def refused(capsys, line: str, *said: str, code: int = 2) -> None:
    """Check that a command fails with one line, below progress, and leaves all as it was."""
    before = contents()
    assert main(shlex.split(line)) == code
    out, err = capsys.readouterr()
    assert out == ""
    *progress, last = err.splitlines()
    assert last.startswith("c2rf: "), err
    assert all(re.search(r"\(\d+ s\)$", line) for line in progress), err
    assert "Traceback" not in err
    assert "unexpected" not in err
    for words in said:
        assert words in err
    assert contents() == before


def lines_of(name: str) -> list[str]:
    return Path(name).read_text().splitlines()


# By hand: what is wrong with a file, and what is said about it.


def rewrite(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[str], None]:
    def apply(name: str) -> None:
        change(pd.read_csv(name, dtype=str, na_filter=False)).to_csv(name, index=False)

    return apply


def replace(old: str, new: str, most: int = -1) -> Callable[[str], None]:
    def apply(name: str) -> None:
        text = Path(name).read_text()
        assert old in text
        Path(name).write_text(text.replace(old, new, most))

    return apply


def content(data: bytes) -> Callable[[str], None]:
    def apply(name: str) -> None:
        Path(name).write_bytes(data)

    return apply


def cell(column: str, value: str, row: int = 3) -> Callable[[str], None]:
    def change(table: pd.DataFrame) -> pd.DataFrame:
        table.loc[row, column] = value
        return table

    return rewrite(change)


BOTH = {
    "empty": (content(b""), "is empty"),
    "blank lines": (content(b"\n\n\n"), "is empty"),
    "header only": (rewrite(lambda t: t.iloc[:0]), "has a header but no rows"),
    "not any text": (content(b"id,a\n1,\xff\x81\n"), "is not UTF-8 text, nor Windows-1252"),
    "a torn character": (content(b"\xef\xbb\xbfid,a\n1,\xff\n"), "text; save it as UTF-8"),
    "two decimal marks": (cell("a", "1,5"), "a decimal point, "),
    "two readings": (
        rewrite(lambda t: t[["id"]].assign(a="1.234")),
        "is 1.234 with a decimal point and 1234 with a decimal comma",
    ),
    "two header lines": (
        rewrite(lambda t: pd.concat([pd.DataFrame([["unit"] * t.shape[1]], columns=list(t)), t])),
        "two header lines",
    ),
    "zero bytes": (replace("Ulm", "U\0m"), "zero bytes"),
    "a longer row": (replace("Ulm", "Ulm,1"), "cells, but the header has"),
    "an open quote": (replace("Bonn", '"Bonn', 1), "is not a table"),
    "a title above": (
        lambda n: Path(n).write_text("People of 2020\n" + Path(n).read_text()),
        " above the ",
    ),
    "equal names": (replace("id,a,b", "id,a,a"), "found 'a' more than once"),
    "a name is missing": (replace("id,a,b", "id,,b"), "column 2 has no name"),
    "no header": (lambda n: Path(n).write_text("\n".join(lines_of(n)[1:])), ""),
    "renamed": (replace("town", "city"), "only in the"),
    "one more": (rewrite(lambda t: t.assign(extra="1")), "only in the"),
    "one less": (rewrite(lambda t: t.drop(columns="c")), "only in the"),
    "another case": (replace("town", "Town"), "only in the"),
    "a stray word": (cell("a", "abc"), "column 'a' holds numbers, but 'abc' in data row 4"),
    "a stray unit": (cell("b", "12kg"), "'12kg'"),
    "infinite": (cell("d", "inf"), "found an infinite one in column 'd'"),
    "overflow": (cell("d", "1e999"), "found an infinite one in column 'd'"),
    "too large": (cell("d", "1e300"), "numbers must be at most"),
    "no id": (rewrite(lambda t: t.drop(columns="id")), ""),
    "gzip cut": (
        lambda n: Path(n).write_bytes(gzip.compress(Path(n).read_bytes())[:-20]),
        "incomplete gzip file",
    ),
    "gzip spoilt": (content(b"\x1f\x8b" + b"x" * 100), "damaged or incomplete gzip"),
    "parquet cut": (
        lambda n: (PEOPLE.unlabeled.to_parquet(n), os.truncate(n, 900)),
        "csv cannot be read: ",
    ),
    "parquet of zeros": (content(b"PAR1" + b"\0" * 50 + b"PAR1"), "cannot be read"),
    "an image": (content(b"\x89PNG\r\n\x1a\n" + bytes(range(256))), "is not"),
    "a web page": (content(b"<html><body>404, not found, sorry</body></html>"), ""),
    "json": (content(b'{"a": 1, "b": 2}'), ""),
}


@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        (name, mistake)
        for name in ("labeled.csv", "unlabeled.csv")
        for mistake in BOTH
        if (name, mistake) != ("labeled.csv", "no id")  # nobody asks for an id of the labeled
    ],
)
def test_a_broken_file(capsys, name, mistake):
    spoil, said = BOTH[mistake]
    spoil(name)
    refused(capsys, LINE, said)


LABELED = {
    "one class": (rewrite(lambda t: t.assign(sick="yes")), "found only 'yes'"),
    "a class is missing": (cell("sick", ""), "it is missing in 1"),
    "all are missing": (rewrite(lambda t: t.assign(sick="NA")), "it is missing in"),
    "three classes": (cell("sick", "perhaps"), "leaves out the classes 'no', 'perhaps'"),
    "a class per row": (
        rewrite(lambda t: t.assign(sick=[f"c{k}" for k in range(len(t))])),
        "must be a class",
    ),
    "no target": (rewrite(lambda t: t.drop(columns="sick")), "there is no column 'sick'"),
    "nothing to learn from": (rewrite(lambda t: t[["id", "sick"]]), "only in the unlabeled one"),
    "another positive": (replace("yes", "Yes"), "did you mean 'Yes'?"),
}


@pytest.mark.parametrize("mistake", LABELED)
def test_a_broken_target(capsys, mistake):
    spoil, said = LABELED[mistake]
    spoil("labeled.csv")
    refused(capsys, LINE, said)


OPTIONS = [
    ("--total 40", "--total 97", "must be a count from 0 to 96"),
    ("--total 40", "--total -1", "must be a count from 0 to 96"),
    ("--total 40", "--total 1.5", "a rate from 0% to 100%"),
    ("--total 40", "--total 120%", "a rate from 0% to 100%"),
    ("--total 40", "--total -5%", "a rate from 0% to 100%"),
    ("--total 40", "--total nan", "found 'nan'"),
    ("--total 40", "--total inf", "found 'inf'"),
    ("--total 40", "--total many", "a count like 1234"),
    ("--total 40", "--total ''", "a count like 1234"),
    ("--total 40", "--total 1,000", "write 1000 if that"),
    ("--total 40", "--total 999999999999999999999", ""),
    ("--total 40", "--total 50..40", "lo at most hi"),
    ("--total 40", "--total 1..50%", "two counts or two rates"),
    ("--total 40", "--total 40..50", "needs one total, not a range"),
    ("--total 40", "", "belong together"),
    ("--positive yes", "", "belong together"),
    ("--positive yes", "--positive ''", "''"),
    ("--positive yes", "--positive yess", "did you mean 'yes'?"),
    ("--positive yes --total 40", "--totals yes=40 --totals yes=41", "more than one total"),
    ("--positive yes --total 40", "", "a known total is needed"),
    ("--positive yes --total 40", "--totals yes", "like yes=1234"),
    ("--positive yes --total 40", "--totals =40", "like yes=1234"),
    ("--positive yes --total 40", "--totals ''", "like yes=1234"),
    ("--positive yes --total 40", "--totals yes=40,yes=41", "more than one total"),
    ("--positive yes --total 40", "--totals yes=40,no=40", "add up to 80"),
    ("--positive yes --total 40", "--totals perhaps=40", "'perhaps'"),
    ("--positive yes", "--positive yes --totals yes=40", "not both"),
    ("--id id", "--id key", "--id: there is no column 'key'"),
    ("--id id", "--id sick", "--id: there is no column 'sick'"),
    ("--id id", "--drop key", "'key', is in neither table"),
    ("--id id", "--drop id,a,b,c,d,town,region", "no column to learn from"),
    ("--id id", "--text key", "'key' is not a column to learn from"),
    ("--id id", "--group region", "--group needs --totals-file"),
    ("--target sick", "--target ill", "there is no column 'ill'"),
    ("--target sick", "--target id", "must be a class"),
    ("--method c2rf", "--method best", "--method must be known-totals or c2rf"),
    (
        "--trees 3",
        "--solve-method best",
        "--solve-method must be auto, c2rf",
    ),
    ("--trees 3", "--backend cplex", "--backend must be highs, scip or gurobi; found 'cplex'"),
    ("--trees 3", "--lower 0", "0 < lower <= upper"),
    ("--trees 3", "--lower 5 --upper 2", "0 < lower <= upper"),
    ("--trees 3", "--upper nan", "0 < lower <= upper"),
    ("--trees 3", "--offset 5", "a range like -10..10"),
    ("--trees 3", "--offset 5..1", "lo <= hi"),
    ("--trees 3", "--offset a..b", "a range like -10..10"),
    ("--trees 3", "--prefer best", "best"),
    ("--trees 3", "--learner blend", "--learner is not an option of the method c2rf"),
    ("--trees 3", "--totals-policy lax", "strict or scale"),
    ("labeled.csv", "absent.csv", "absent.csv: there is no such file"),
    ("unlabeled.csv", "absent.csv", "absent.csv: there is no such file"),
    ("--out out.csv", "--out absent/out.csv", "there is no folder absent"),
    ("--out out.csv", "--out lost.csv", "there is no folder"),
    ("--out out.csv", "--out loop.csv", "loop.csv cannot be written: it is a link to itself"),
    ("--out out.csv", "--out ''", ". is a folder that holds other things than labels, such as"),
    ("--out out.csv", "--out .", ". is a folder that holds other things than labels, such as"),
    ("--out out.csv", "--out .csv", ".csv: labels are written as"),
    ("labeled.csv", f"{'x' * 300}.csv", "x.csv"),
    ("unlabeled.csv", f"{'x' * 300}.csv", "x.csv"),
    ("--out out.csv", "--out o.pdf", "o.pdf: labels are written as"),
    ("--report report.html", "--report o.pdf", "a report is a page of HTML"),
    ("--save-model model.skops", "--save-model m.pickle", "a model is a file of skops"),
    ("--out out.csv", "--out unlabeled.csv", "is an input"),
    ("--save-model model.skops", "--save-model report.html", "must be different files"),
    (" --force", "", "out.csv exists already"),
    (
        "--out out.csv --report report.html --save-model model.skops",
        "",
        "say where the labels should go",
    ),
]


@pytest.mark.parametrize(("old", "new", "said"), OPTIONS, ids=lambda text: text[:40] or "nothing")
def test_a_broken_option(capsys, old, new, said):
    assert old in LINE
    refused(capsys, LINE.replace(old, new, 1), said)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("class,total\nyes,40\n", "must have the columns region, class, total"),
        ("region,total\nnorth,4\n", "missing: class"),
        ("region,class,total\nnorth,yes,x\n", "row 2: the total must be a count"),
        ("region,class,total\nnorth,,4\n", "'class' is empty"),
        ("region,class,total\n,yes,4\n", "'region' is empty"),
        ("region,class,total\neast,yes,4\n", "'east'"),
        ("region,class,total\nnorth,ill,4\n", "'ill'"),
        ("region,class,total\nnorth,yes,4\nnorth,yes,5\n", "more than one total"),
        ("region,class,total\nnorth,yes,9999\n", "must be a count from 0 to"),
        ("region,class,total\nnorth,yes,-4\n", "must be a count from 0 to"),
        ("region,class,total\nnorth,yes,4\n", "meets no totals of groups"),
        ("", "is empty"),
    ],
)
def test_a_broken_table_of_totals(capsys, table, said):
    Path("totals.csv").write_text(table)
    line = LINE.replace("--positive yes --total 40", "--totals-file totals.csv --group region")
    refused(capsys, line, said)


def test_columns_of_the_output_must_be_free(capsys):
    for name in ("labeled.csv", "unlabeled.csv"):
        replace("town", "score")(name)
    refused(capsys, LINE.replace("--id id", "--drop id"), "has a column 'score'")


# Generated: damage at random places.


@pytest.mark.parametrize("seed", range(12))
def test_a_parquet_file_with_damage(capsys, seed):
    source = random.Random(seed)
    PEOPLE.unlabeled.to_parquet("unlabeled.parquet")
    data = bytearray(Path("unlabeled.parquet").read_bytes())
    if seed % 2:
        del data[source.randrange(1, len(data)) :]
    else:  # the footer says where everything is
        for place in source.sample(range(len(data) - 200, len(data)), 40):
            data[place] ^= 0xFF
    Path("unlabeled.parquet").write_bytes(data)
    refused(capsys, LINE.replace("unlabeled.csv", "unlabeled.parquet"), "unlabeled.parquet")


@pytest.mark.parametrize("seed", range(20))
def test_a_text_file_with_damage_is_read_or_refused_but_never_a_traceback(capsys, seed):
    source = random.Random(seed)
    name = source.choice(["labeled.csv", "unlabeled.csv"])
    data = bytearray(Path(name).read_bytes())
    for _ in range(source.randrange(1, 30)):
        data[source.randrange(len(data))] = source.choice(b'",;\n\r\0\xff\xc3 a1-\t')
    Path(name).write_bytes(data)
    before = contents()
    code = main(shlex.split(LINE.replace("--force", "--force --dry-run")))
    assert code in (0, 2)
    assert "unexpected" not in capsys.readouterr().err
    assert contents() == before


@pytest.mark.parametrize("seed", range(6))
def test_a_model_with_damage(capsys, model, seed):
    source = random.Random(seed)
    data = bytearray(model)
    if seed % 2:
        del data[source.randrange(1, len(data)) :]
    else:
        for place in source.sample(range(len(data)), 200):
            data[place] ^= 0xFF
    Path("model.skops").write_bytes(data)
    refused(capsys, "predict model.skops unlabeled.csv --out out.csv --force", "model.skops")


# Predict


@pytest.mark.parametrize(
    ("line", "spoil", "said"),
    [
        ("predict absent.skops unlabeled.csv --out new.csv", None, "there is no such file"),
        ("predict labeled.csv unlabeled.csv --out new.csv", None, "is not a model file"),
        ("predict m.skops absent.csv --out new.csv", None, "there is no such file"),
        ("predict m.skops unlabeled.csv --out out.csv", None, "exists already"),
        ("predict m.skops unlabeled.csv --out m.skops --force", None, "is an input"),
        ("predict m.skops unlabeled.csv --id key --out new.csv", None, "no column 'key'"),
        ("predict m.skops unlabeled.csv --out new.csv", replace("town", "city"), "missing: 'town'"),
        ("predict m.skops unlabeled.csv --out new.csv", cell("a", "x"), "must hold numbers"),
        ("predict m.skops unlabeled.csv --out new.csv", cell("a", "inf"), "infinite"),
    ],
)
def test_predict_refuses(capsys, model, line, spoil, said):
    Path("m.skops").write_bytes(model)
    if spoil is not None:
        spoil("unlabeled.csv")
    refused(capsys, line, said)


# The world around


def test_a_folder_that_cannot_be_written_to(capsys, monkeypatch):
    monkeypatch.setattr("os.access", lambda path, mode: mode != os.W_OK)
    refused(capsys, LINE, "no permission to write")


@pytest.mark.parametrize("package", ["pyarrow", "jinja2", "matplotlib", "skops"])
def test_a_package_that_is_missing(capsys, monkeypatch, package):
    def absent(name: str) -> object:
        return None if name == package else object()

    for module in ("c2rf.data.formats", "c2rf.report.page", "c2rf.workflow.model_file"):
        monkeypatch.setattr(f"{module}.find_spec", absent)
    refused(capsys, LINE.replace("out.csv", "out.parquet"), "pip install", package)


def test_a_full_disk():
    """All outputs or none, even if only the last does not fit."""
    code = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000));"
        "from c2rf.cli import main; sys.exit(main(sys.argv[1:]))"
    )
    before = contents()
    done = subprocess.run(
        [sys.executable, "-c", code, *shlex.split(LINE)], capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]  # above it there is progress, where the work takes long
    assert re.fullmatch(r"c2rf: .* cannot be written: File too large", last)
    assert contents() == before


def test_a_disk_that_is_full_at_the_end(capsys, monkeypatch):
    def no_space(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    for name in (
        "c2rf.workflow.predictions.Predictions.write",
        "c2rf.workflow.result.StoredModel.write",
    ):
        with monkeypatch.context() as patch:
            patch.setattr(name, no_space)
            refused(capsys, LINE, "cannot be written: No space left on device")


# Other packages' hooks into garbage collection may be where it rings; nobody hears it there.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("seed", range(15))
def test_ctrl_c_at_a_random_moment(capsys, everything_imported, seed):
    """The alarm rings at any line of ours or of others, and is Ctrl-C."""
    before = contents()
    previous = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, random.Random(seed).uniform(0.001, 0.4))
    try:
        code = main(shlex.split(LINE + " --quiet"))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    out, err = capsys.readouterr()
    assert out == ""
    stopped_or_done(code, err, before)


def stopped_or_done(code: int, err: str, before: dict[str, bytes]) -> None:
    """Check that a run left everything as it was, or was quicker and wrote everything."""
    if code == 0:
        assert all(contents()[name] != b"precious" for name in OUTPUTS)
    else:
        assert (code, err) == (130, "c2rf: stopped by Ctrl-C\n")
        assert contents() == before


def test_a_search_that_ends_by_ctrl_c_gives_no_labels(capsys, monkeypatch):
    """The solver hands over what it has; half an answer is not written over an old one."""
    fit = C2RFClassifier.fit

    def interrupted(self: C2RFClassifier, *args: object, **known: object) -> object:
        fit(self, *args, **known)
        self.solution_.stats["interrupted"] = True
        return self

    monkeypatch.setattr(C2RFClassifier, "fit", interrupted)
    refused(capsys, LINE, "stopped by Ctrl-C", code=130)


def test_ctrl_c_waits_for_the_renames(monkeypatch, capsys):
    """If it comes in the middle of them, all files are there all the same."""
    original = Path.replace

    def interrupt(self: Path, target: Path) -> Path:
        signal.raise_signal(signal.SIGINT)
        return original(self, target)

    monkeypatch.setattr(Path, "replace", interrupt)
    assert main(shlex.split(LINE + " --quiet")) == 130
    assert all(contents()[name] != b"precious" for name in OUTPUTS)
    assert len(contents()) == 2 + len(OUTPUTS)


@pytest.mark.parametrize("seconds", [1.0, 4.0])
def test_ctrl_c_in_a_process_of_its_own(seconds):
    before = contents()
    process = subprocess.Popen(
        [sys.executable, "-c", "from c2rf.cli import main\nimport sys\nprint(flush=True)\n"
         "sys.exit(main(sys.argv[1:]))", *shlex.split(LINE)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(seconds / 10)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    stopped_or_done(process.returncode, err, before)


def test_nothing_is_left_of_a_failure_that_nobody_thought_of(capsys, monkeypatch):
    def fail(*args: object, **kwargs: object) -> None:
        raise ZeroDivisionError("oh")

    monkeypatch.setattr(Outputs, "write", fail)
    before = contents()
    assert main(shlex.split(LINE)) == 1
    err = capsys.readouterr().err
    assert re.fullmatch(r"c2rf: unexpected ZeroDivisionError: oh [^\n]*C2RF_TRACEBACK[^\n]*\n", err)
    assert contents() == before
    monkeypatch.setenv("C2RF_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        main(shlex.split(LINE))


def test_there_are_enough_of_them():
    assert 2 * len(BOTH) + len(LABELED) + len(OPTIONS) >= 100
    assert np.isin(["yes", "no"], PEOPLE.labeled["sick"]).all()
