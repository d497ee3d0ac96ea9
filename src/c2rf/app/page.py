"""The page itself, run by Streamlit: five steps from files to labels."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import streamlit as st

import c2rf
from c2rf._text import count
from c2rf.app.check_totals import check_totals
from c2rf.app.choices import Choices
from c2rf.app.example import ID, TARGET, write_example
from c2rf.app.folder import VisitorsFolder, file_in, tables_in
from c2rf.app.job import Job
from c2rf.app.server import FOLDER
from c2rf.exceptions import C2RFError, InputError
from c2rf.files.cells import as_text
from c2rf.files.dialect import ReadAs
from c2rf.files.tables import read_file
from c2rf.labeling.preview import preview

NONE = "(none)"
FOUND = "(found by itself)"


def main() -> None:
    """Show the steps, each once the ones before it are done."""
    st.set_page_config(page_title="c2rf", layout="centered")
    st.title("Labels that add up to known totals")
    st.write(
        "You have rows whose class is known, others to label, and you know from a census or a "
        "registry how many of them there are of each class. Nothing leaves this computer."
    )
    try:
        chosen = _files()
        if chosen is not None:
            choices = _understood(*chosen)
            if choices is not None and _totals(choices):
                _run(st.session_state.choices)
    except C2RFError as error:
        st.error(_plain(str(error)))


def _plain(text: str) -> str:
    """Return text in which nothing is markup."""
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>()#+-.!|$~:" else sign for sign in text)


def _visitors_folder() -> Path:
    """Return a folder of this visitor alone; it is removed when the visit ends."""
    if "files" not in st.session_state:
        st.session_state.files = VisitorsFolder()
    folder: VisitorsFolder = st.session_state.files
    return folder.path


def _kept(upload: Any) -> Path:
    """Write an uploaded file; of its name only the last part counts."""
    path = _visitors_folder() / Path(upload.name.replace("\\", "/")).name
    path.write_bytes(upload.getbuffer())
    return path


def _files() -> tuple[Path, Path | None, dict[str, str]] | None:
    """Let the visitor drop or choose files."""
    st.header("1. Files")
    folder = os.environ.get(FOLDER)
    ways = ["Drop files", "The example", *(["Choose from the folder"] if folder else [])]
    way = st.radio("Where are the data?", ways, horizontal=True, key="way")
    if way == ways[1]:
        return write_example(_visitors_folder())
    first = "Rows whose class is known"
    second = "Rows to label (leave empty if they are in the same file, with an empty class)"
    if folder and way == ways[-1]:
        names = tables_in(Path(folder))
        labeled = st.selectbox(first, names, index=None, key="labeled_name")
        unlabeled = st.selectbox(second, names, index=None, key="unlabeled_name")
        if labeled is None:
            return None
        rest = file_in(Path(folder), unlabeled) if unlabeled else None
        return file_in(Path(folder), labeled), rest, {}
    given = st.file_uploader(first, key="labeled")
    others = st.file_uploader(second, key="unlabeled")
    if given is None:
        return None
    return _kept(given), _kept(others) if others else None, {}


def _understood(labeled: Path, unlabeled: Path | None, totals: dict[str, str]) -> Choices | None:
    """Show how the files were read, and let the visitor correct it and choose columns."""
    st.header("2. What was understood")
    how = _reading()
    for path in (labeled, unlabeled):
        if path is not None:
            found = preview(path, how, name=path.name)
            st.caption(_plain(found.title))
            st.dataframe(found.table(), hide_index=True)
    names = [str(name) for name in read_file(labeled, how).frame]
    is_example = labeled.name == "example-labeled.csv"
    guess = names.index(TARGET) if is_example and TARGET in names else None
    target = st.selectbox("Column with the class", names, index=guess, key="target")
    others = [name for name in names if name != target]
    place = others.index(ID) + 1 if is_example and ID in others else 0
    id = st.selectbox("Column that names the rows", [NONE, *others], index=place, key="id")
    text = st.multiselect("Numbers that are codes, like postal codes", others, key="text")
    drop = st.multiselect("Columns not to learn from", others, key="drop")
    if target is None:
        return None
    named = None if id == NONE else id
    return Choices(labeled, unlabeled, target, named, totals, (), drop, text, (), how)


def _reading() -> ReadAs:
    """Let the visitor say how files are written, where that was not found out."""
    with st.expander("Read them in another way"):
        signs = {FOUND: None, "semicolons": ";", "commas": ",", "tabs": "\t", "bars": "|"}
        sep = signs[st.selectbox("Between cells", list(signs), key="sep")]
        marks = {FOUND: None, "decimal point": ".", "decimal comma": ","}
        decimal = marks[st.selectbox("Decimal mark", list(marks), key="decimal")]
        encoding = st.text_input("Encoding, like cp1252", key="encoding").strip() or None
        sheet = st.text_input("Sheet of a workbook", key="sheet").strip() or None
    return ReadAs(sep, decimal, encoding, sheet)


def _totals(choices: Choices) -> bool:
    """Let the visitor type totals, or drop files with them; True if there is something to run."""
    st.header("3. Known totals")
    classes, n_rows = _counted(choices)
    st.write(f"{count(n_rows, 'row')} to label. A total is 1234, 12% or 1200..1300.")
    typed = {}
    for name in classes:
        label = f"Total of {_plain(name)}"
        typed[name] = st.text_input(label, choices.totals.get(name, ""), key=f"total {name}")
    files = _totals_files(choices)
    given = {name: text.strip() for name, text in typed.items() if text.strip()}
    verdict = check_totals(typed, classes, n_rows)
    if given or not files:
        (st.success if verdict.is_good else st.warning)(_plain(verdict.said))
    st.session_state.choices = replace(choices, totals=given, totals_files=files)
    return verdict.is_good or bool(files and not given)


def _totals_files(choices: Choices) -> list[tuple[Path, str]]:
    """Let the visitor drop files with totals of groups."""
    uploads = st.file_uploader(
        "Or totals by group, as files", accept_multiple_files=True, key="totals_files"
    )
    found = []
    for k, upload in enumerate(uploads or []):
        path = _kept(upload)
        columns = [str(name) for name in read_file(path).frame]
        group = st.selectbox(
            f"Column of {_plain(path.name)} with the groups", [NONE, *columns], key=f"group {k}"
        )
        found.append((path, "" if group == NONE else group))
    return found


@st.cache_data(show_spinner=False, max_entries=50)
def _classes_of(
    labeled: str, unlabeled: str | None, target: str, how: ReadAs, stamp: tuple[float, ...]
) -> tuple[list[str], int]:
    cells = as_text(read_file(labeled, how).frame[target])
    n_rows = int(cells.isna().sum())
    if unlabeled is not None:
        n_rows = len(read_file(unlabeled, how).frame)
    classes = sorted(set(cells.dropna()))
    if len(classes) > 50:
        raise InputError(
            f"{target!r} has {len(classes):,} values: choose the column with the class"
        )
    return classes, n_rows


def _counted(choices: Choices) -> tuple[list[str], int]:
    paths = [path for path in (choices.labeled, choices.unlabeled) if path is not None]
    stamp = tuple(path.stat().st_mtime for path in paths)
    other = None if choices.unlabeled is None else str(choices.unlabeled)
    return _classes_of(str(choices.labeled), other, choices.target, choices.how, stamp)


def _run(choices: Choices) -> None:
    """Run with progress and a button to stop, and show what came out."""
    st.header("4. Run")
    job: Job | None = st.session_state.get("job")
    if st.button("Label the rows", type="primary", disabled=bool(job and job.is_running)):
        known = choices.known()
        job = Job(
            lambda: c2rf.classify(
                choices.labeled, choices.unlabeled, totals=known, **choices.arguments()
            )
        )
        st.session_state.job, st.session_state.asked = job, choices
    if job is None:
        return
    if job.is_running:
        _watch()
    elif job.error is not None:
        st.error(_plain(job.error))
    else:
        _results(job.result, st.session_state.asked)


@st.fragment(run_every=1.0)
def _watch() -> None:
    """Show what is being done, again and again, until it is done."""
    job: Job = st.session_state.job
    st.info(f"{_plain(job.doing)} ({job.seconds:.0f} s)")
    if st.button("Stop"):
        job.stop()
    if not job.is_running:
        st.rerun()


def _results(result: Any, choices: Choices) -> None:
    """Show the report, and offer all files."""
    st.header("5. Result")
    st.text(result.summary())
    folder = _visitors_folder()
    ending = choices.labeled.suffix if choices.labeled.suffix in (".csv", ".xlsx") else ".csv"
    labels, report, model = (folder / f"labels{ending}", folder / "report.html", folder / "m.skops")
    result.write(labels, force=True)
    result.report(report, force=True)
    result.save_model(model, force=True)
    st.download_button("Labels", labels.read_bytes(), labels.name)
    st.download_button("Report", report.read_bytes(), report.name)
    st.download_button("Model", model.read_bytes(), "model.skops")
    st.iframe(report.read_text(encoding="utf-8"), height=900)
    st.subheader("The same on the command line, and in Python")
    st.code(choices.command(), language="sh", wrap_lines=True)
    st.code(choices.python(), language="python")


if __name__ == "__main__":
    main()
