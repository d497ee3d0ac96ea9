"""The page itself, run by Streamlit: five steps from files to labels.

Text from files and messages, as the page shows it: nothing in it is markup.

Steps 1 and 2 of the page: the files, and how they were understood.

Step 3 of the page: the known totals, checked while they are typed.

Steps 4 and 5 of the page: the run, and what came out.

The page itself, run by Streamlit: five steps from files to labels.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from c2rf._utils.text import count, for_command_line
from c2rf.app import choices as words
from c2rf.app import files as example
from c2rf.app.choices import OPTIONS, Choices
from c2rf.app.files import file_in, tables_in
from c2rf.app.job import Visit, end_when_left
from c2rf.app.server import FOLDER
from c2rf.app.totals import TotalsVerdict, check_totals, known_tables
from c2rf.data.cells import as_text
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import read_file
from c2rf.exceptions import C2RFError, InputError
from c2rf.progress import report_progress
from c2rf.workflow.classify import answer, prepare
from c2rf.workflow.outputs import Outputs
from c2rf.workflow.prepare import find_rows
from c2rf.workflow.preview import TablePreview, preview

_MARKUP = "\\`*_{}[]<>()#+-.!|$~:"


def plain(text: str) -> str:
    r"""Return text in which nothing is markup.

    Examples
    --------
    >>> print(plain("<b>*"))
    \<b\>\*
    """
    return "".join(f"\\{sign}" if sign in _MARKUP else sign for sign in text)


def as_shown(message: str, visit: Visit) -> str:
    """Return a message about files as the visitor knows them: by their names."""
    return plain(re.sub(rf"{re.escape(str(visit.folder))}/[^/]+/", "", message))


NONE = "(none)"
FOUND = "(found by itself)"
WAYS = ("Drop files", "The example", "Choose from the folder")


@dataclass(frozen=True)
class Files:
    """The files of a visitor.

    ``totals`` are known already, of the example; ``names`` are those of files that are not called
    by their last name, because they are in a folder that the page offers.
    """

    labeled: Path
    unlabeled: Path | None = None
    totals: Mapping[str, str] = field(default_factory=dict)
    names: Mapping[Path, str] = field(default_factory=dict)

    @property
    def is_example(self) -> bool:
        """Whether they are those of the example."""
        return bool(self.totals)


def kept(visit: Visit, upload: Any, place: str) -> Path:
    """Write an uploaded file once, to a place of its own."""
    path: Path = visit.remember(
        ("upload", place, upload.file_id),
        lambda: visit.keep(place, upload.name, upload.getbuffer()),
    )
    return path


def offered_folder() -> Path | None:
    """Return the folder whose files can be chosen."""
    folder = os.environ.get(FOLDER)
    return Path(folder) if folder else None


def choose_files(visit: Visit) -> Files | None:
    """Let the visitor drop or choose files."""
    st.header("1. Files")
    folder = offered_folder()
    way = st.radio("Where are the data?", WAYS[: 3 if folder else 2], horizontal=True, key="way")
    if way == WAYS[1]:
        place = visit.folder / "example"
        return Files(*visit.remember("example", lambda: example.write_example(place)))
    first = "Rows whose class is known"
    second = "Rows to label (leave empty if they are in the same file, with an empty class)"
    if folder and way == WAYS[2]:
        names = tables_in(folder)
        chosen = [
            st.selectbox(first, names, index=None, key="labeled_name"),
            st.selectbox(second, names, index=None, key="unlabeled_name"),
        ]
        paths = [file_in(folder, name) if name else None for name in chosen]
    else:
        paths = [
            None if upload is None else kept(visit, upload, place)
            for upload, place in (
                (st.file_uploader(first, key="labeled"), "labeled"),
                (st.file_uploader(second, key="unlabeled"), "unlabeled"),
            )
        ]
    if paths[0] is None:
        return None
    called = {path: str(path) for path in paths if path and folder and way == WAYS[2]}
    return Files(paths[0], paths[1], names=called)


def understand(visit: Visit, files: Files) -> Choices | None:
    """Show how the files were read, and let the visitor correct it and choose columns."""
    st.header("2. What was understood")
    how = _reading()
    looks = [_shown(visit, path, how) for path in (files.labeled, files.unlabeled) if path]
    names = list(looks[0].names)
    # What only the labeled rows have is the class.
    only = [k for k, name in enumerate(names) if len(looks) > 1 and name not in looks[1].names]
    guess = only[0] if len(only) == 1 else None
    target = st.selectbox(words.TARGET, names, index=guess, key=f"target {guess}")
    others = [name for name in names if name != target]
    place = others.index(example.ID) + 1 if files.is_example and example.ID in others else 0
    id = st.selectbox(words.ID, [NONE, *others], index=place, key="id")
    text, drop, keep = (
        st.multiselect(label, others, key=key)
        for label, key in ((words.TEXT, "text"), (words.DROP, "drop"), (words.KEEP, "keep"))
    )
    if target is None:
        return None
    return Choices(
        labeled=files.labeled, unlabeled=files.unlabeled, target=target,
        id=None if id == NONE else id, drop=drop, text=text, keep=keep, how=how, names=files.names,
        decimal=next((look.decimal for look in looks if look.decimal), None),
    )  # fmt: skip


def _shown(visit: Visit, path: Path, how: ReadAs) -> TablePreview:
    """Show a table as it was understood."""
    look: TablePreview = looked_at(
        visit, "preview", [path], how, lambda: preview(path, how, name=path.name)
    )
    st.caption(plain(look.title))
    st.dataframe(look.columns, hide_index=True)
    return look


def looked_at(
    visit: Visit, what: str, paths: Sequence[Path], how: Any, look: Callable[[], Any]
) -> Any:
    """Look at files once, and again if they or how to read them have changed."""
    stamps = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return visit.remember((what, stamps, repr(how)), look)


def _reading() -> ReadAs:
    """Let the visitor say how files are written, where that was not found out."""
    with st.expander(words.WAY):
        signs = {FOUND: None, "semicolons": ";", "commas": ",", "tabs": "\t", "bars": "|"}
        sep = signs[st.selectbox(words.SEPARATOR, list(signs), key="sep")]
        marks = {FOUND: None, "decimal point": ".", "decimal comma": ","}
        decimal = marks[st.selectbox(words.DECIMAL, list(marks), key="decimal")]
        encoding = st.text_input(words.ENCODING, key="encoding").strip() or None
        sheet = st.text_input(words.SHEET, key="sheet").strip() or None
    return ReadAs(sep, decimal, encoding, sheet)


MOST_CLASSES = 50
POLICIES = {"refuse them": "strict", "scale them, and say so": "scale"}
SHARES = {
    "(not asked)": None, "1 %": 0.01, "5 %": 0.05, "10 %": 0.1, "their standard errors": "se",
}  # fmt: skip


def know_totals(visit: Visit, choices: Choices, files: Files) -> Choices | None:
    """Let the visitor give totals; None until they can be met."""
    st.header("3. Known totals")
    paths = [path for path in (choices.labeled, choices.unlabeled) if path is not None]
    asked = choices.target, choices.how
    classes, n_rows = looked_at(visit, "classes", paths, asked, lambda: _classes_and_rows(choices))
    st.write(f"{count(n_rows, 'row')} to label. A total is 1234, 12%, 1200..1300 or 1200+-50.")
    typed = {
        name: st.text_input(
            f"Total of {plain(name)}",
            files.totals.get(name, ""),
            key=f"total {name}",
            placeholder=f"{n:,} in the sample; leave one class empty for the rest",
        )
        for name, n in classes.items()
    }
    given = {name: text.strip() for name, text in typed.items() if text.strip()}
    choices = _more(replace(choices, totals=given, totals_files=_files(visit)), visit)
    if choices.totals_files or choices.weight:
        verdict = _check_all(visit, choices)
    else:
        decimal = choices.how.decimal or choices.decimal
        verdict = check_totals(typed, list(classes), n_rows, decimal)
    (st.success if verdict.is_good else st.warning)(as_shown(verdict.said, visit))
    return choices if verdict.is_good else None


def _classes_and_rows(choices: Choices) -> tuple[dict[str, int], int]:
    """Return how many labeled rows there are of each class, and how many rows to label."""
    cells = as_text(read_file(choices.labeled, choices.how).frame[choices.target])
    classes = Counter(cells.dropna())
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"{choices.target!r} has {len(classes):,} values: choose the column with the class"
        )
    n_rows = int(cells.isna().sum())
    if choices.unlabeled is not None:
        rows = find_rows(choices.unlabeled, "auto", choices.how)
        first = (rows.names or [])[:1]
        n_rows = rows.n_rows or sum(len(part) for part, _ in rows.read(first))
    return {name: classes[name] for name in sorted(classes)}, n_rows


def _files(visit: Visit) -> list[Path]:
    """Let the visitor give files with totals of groups."""
    uploads = st.file_uploader(
        "Or totals by group: tables with a column per class, or with columns class and total",
        accept_multiple_files=True,
        key="totals_files",
    )
    found = [kept(visit, upload, f"totals-{k + 1}") for k, upload in enumerate(uploads or [])]
    folder = offered_folder()
    if folder and st.session_state.way == "Choose from the folder":
        names = st.multiselect("Or from the folder", tables_in(folder), key="totals_names")
        found += [file_in(folder, name) for name in names]
    return found


def _more(choices: Choices, visit: Visit) -> Choices:
    """Let the visitor ask for what most need not."""
    with st.expander("More: weights, totals that do not add up or are uncertain, imputations"):
        columns = [NONE, *_columns(visit, choices)]
        weight = st.selectbox(words.WEIGHT, columns, key="weight")
        policy = POLICIES[st.selectbox(words.POLICY, list(POLICIES), key="policy")]
        share = SHARES[st.selectbox(words.SENSITIVITY, list(SHARES), key="sensitivity")]
        imputations = st.number_input(
            "Imputations, for intervals (0 for none; 20 is usual)", 0, 1000, 0, key="imputations"
        )
    return replace(
        choices,
        weight=None if weight == NONE else weight,
        totals_policy=policy,
        imputations=int(imputations) or None,
        sensitivity=share,
    )


def _columns(visit: Visit, choices: Choices) -> list[str]:
    """Return the columns of the rows to label."""
    path = choices.unlabeled or choices.labeled
    names: list[str] = looked_at(
        visit, "names", [path], choices.how, lambda: find_rows(path, "auto", choices.how).names
    )
    return [name for name in names if name not in (choices.target, choices.id)]


def _check_all(visit: Visit, choices: Choices) -> TotalsVerdict:
    """Check everything that is known at once, and show what follows from it."""
    paths = [path for path in (choices.labeled, choices.unlabeled) if path is not None]
    paths += choices.totals_files
    try:
        remarks, tables = looked_at(visit, "plan", paths, choices, lambda: _plan(choices))
    except C2RFError as error:
        return TotalsVerdict(False, str(error))
    for remark in remarks:
        st.caption(as_shown(remark, visit))
    for title, table in tables:
        st.caption(plain(title))
        st.dataframe(table, hide_index=True)
    return TotalsVerdict(True, "the totals fit together, and with the rows")


def _plan(choices: Choices) -> tuple[list[str], list[tuple[str, pd.DataFrame]]]:
    task: Any = prepare(
        choices.labeled, choices.unlabeled, choices.known(), choices.wishes(), choices.asked()
    )
    return list(task.remarks), list(known_tables(task))


@dataclass(frozen=True)
class Done:
    """What a run has written, what it was asked for, and its summary."""

    choices: Choices
    outputs: Outputs
    summary: str


def run(visit: Visit, choices: Choices) -> None:
    """Run with progress and a button to stop, and show what came out."""
    st.header("4. Run")
    job = visit.job
    if st.button("Label the rows", type="primary", disabled=bool(job and job.is_running)):
        folder = visit.folder / "results"
        visit.start(lambda: _classify(choices, choices.outputs(folder)))
        job = visit.job
    if job is None:
        return
    if job.is_running:
        _watch()
    elif job.error is not None:
        st.error(as_shown(job.error, visit))
    else:
        _results(job.result, choices)


def _classify(choices: Choices, outputs: Outputs) -> Done:
    """Do all that the command line would do."""
    asked = choices.asked()
    task = prepare(choices.labeled, choices.unlabeled, choices.known(), choices.wishes(), asked)
    result = answer(task, asked)
    report_progress("writing labels, report and model")
    for path in outputs.named.values():
        path.parent.mkdir(exist_ok=True)
    outputs.write(result, force=True)
    return Done(choices, outputs, result.summary())


@st.fragment(run_every=1.0)
def _watch() -> None:
    """Show what is being done, again and again, until it is done."""
    visit: Visit = st.session_state.visit
    if visit.job is None or not visit.job.is_running:
        st.rerun()
        return
    st.info(as_shown(visit.job.said, visit))
    if visit.job.pace.share is not None:
        st.progress(visit.job.pace.share)
    if st.button("Stop", disabled=visit.job.is_stopping):
        visit.job.stop()


def _results(done: Done, choices: Choices) -> None:
    """Show the report, and offer all files."""
    st.header("5. Result")
    if done.choices != choices:
        st.warning("The choices above have changed since this run; label the rows again.")
    st.code(done.summary, language=None, wrap_lines=True)
    titles = {"output": "Labels", "report": "Report", "model": "Model"}
    with st.container(horizontal=True):
        for name, path in done.outputs.named.items():
            title = titles.get(name, name.capitalize())
            st.download_button(title, path.read_bytes(), path.name, key=f"get {name}")
    assert done.outputs.report is not None
    st.iframe(done.outputs.report.read_text(encoding="utf-8"), height=900)
    st.subheader("The same on the command line, and in Python")
    st.code(done.choices.command(), language="sh", wrap_lines=True)
    st.code(done.choices.python(), language="python", wrap_lines=True)


def main() -> None:
    """Show the steps, each once the ones before it are done."""
    st.set_page_config(page_title="c2rf", layout="centered")
    st.title("Labels that add up to known totals")
    st.write(
        "You have rows whose class is known, others to label, and you know from a census or a "
        "registry how many of them there are of each class. Nothing leaves this computer."
    )
    visit = _visit()
    try:
        with for_command_line(OPTIONS):
            _steps(visit)
    except C2RFError as error:
        st.error(as_shown(str(error), visit))


def _visit() -> Visit:
    """Return the visit of this tab of a browser; it ends some time after the tab is closed."""
    if "visit" not in st.session_state:
        st.session_state.visit = Visit()
        context = get_script_run_ctx()
        if context is not None and runtime.exists():
            is_there = partial(runtime.get_instance().is_active_session, context.session_id)
            end_when_left(st.session_state.visit, is_there)
    visit: Visit = st.session_state.visit
    return visit


def _steps(visit: Visit) -> None:
    files = choose_files(visit)
    choices = None if files is None else understand(visit, files)
    known = None if files is None or choices is None else know_totals(visit, choices, files)
    if known is not None:
        run(visit, known)


if __name__ == "__main__":
    main()
