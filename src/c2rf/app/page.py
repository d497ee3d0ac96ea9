"""The page itself, run by Streamlit: five steps from files to labels.

1. files, 2. how they were understood and which columns are what, 3. known totals, checked while
they are typed, 4. the run, 5. the result. The controls are made from the fields of
:class:`~c2rf.workflow.options.Options`.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from c2rf._utils.text import count, for_command_line, split_names
from c2rf.app.inputs import (
    NAMES_ON_PAGE,
    STEP_2,
    Inputs,
    asked_in,
    check_totals,
    known_tables,
)
from c2rf.app.server import FOLDER
from c2rf.app.session import (
    EXAMPLE_ID,
    Session,
    end_when_closed,
    file_in,
    tables_in,
    write_example,
)
from c2rf.data.cells import as_text
from c2rf.data.dialect import ReadAs
from c2rf.data.formats import read_file
from c2rf.exceptions import C2RFError, InputError
from c2rf.progress import report_progress
from c2rf.report.language import ENGLISH, languages, translated
from c2rf.workflow.classify import label
from c2rf.workflow.options import (
    COLUMNS,
    GENERAL,
    READING,
    TOTALS,
    join_names,
    option_field,
    split_tables,
)
from c2rf.workflow.predictions import Predictions
from c2rf.workflow.prepare import prepare
from c2rf.workflow.result import Outputs
from c2rf.workflow.summary import Line, TablePreview, preview
from c2rf.workflow.tables import find_rows

_MARKUP = "\\`*_{}[]<>()#+-.!|$~:"
NONE = "(none)"
WAYS = ("Drop files", "The example", "Choose from the folder")
MOST_CLASSES = 50
MOST_IMPUTATIONS = 1000
LABEL_FORMATS = (".csv", ".xlsx", ".parquet", ".jsonl")  # in which labels can be downloaded


def plain(text: str) -> str:
    r"""Return text in which nothing is markup.

    Examples
    --------
    >>> print(plain("<b>*"))
    \<b\>\*
    """
    return "".join(f"\\{sign}" if sign in _MARKUP else sign for sign in text)


def language() -> str:
    """Return the language that was chosen, else that of the browser, or else English."""
    found = st.session_state.get("language") or str(st.context.locale or "")[:2].lower()
    return found if found in languages() else ENGLISH


def say(text: str) -> str:
    """Return a text of the page in its language."""
    return translated(text, language())


def as_shown(message: str, session: Session) -> str:
    """Return a message in the language of the page, with controls called as the user sees them."""
    message = say(re.sub("“([^”]+)”", lambda found: f"“{say(found[1])}”", message))
    message = re.sub(r"^\w+ ", lambda found: found[0][0].upper() + found[0][1:], message)
    return plain(re.sub(rf"{re.escape(str(session.folder))}[\\/][^\\/]+[\\/]", "", message))


def ask(name: str, columns: Sequence[str] = (), first: str | None = None) -> Any:
    """Show the control of an option, and return what was chosen.

    Parameters
    ----------
    name : str
        The option.
    columns : sequence of str
        What can be chosen where it takes columns.
    first : str, optional
        The column that is chosen at the start.
    """
    about = option_field(name).metadata
    title = say(about["label"])
    if about["titles"] is not None:
        chosen = st.selectbox(title, list(about["titles"]), format_func=say, key=name)
        return about["titles"][chosen]
    if about["parse"] in (split_names, split_tables):
        several = st.multiselect(title, columns, key=name, placeholder=say("Choose columns"))
        is_table = about["parse"] is split_tables and several
        return [join_names(several)] if is_table else several
    if about["metavar"] == "COL":
        place = columns.index(first) + 1 if first in columns else 0
        return st.selectbox(title, [None, *columns], place, lambda x: x or say(NONE), key=name)
    if about["metavar"] == "N":
        return int(st.number_input(title, 0, MOST_IMPUTATIONS, 0, key=name)) or None
    return st.text_input(title, key=name).strip() or None


def remembered(
    session: Session, what: str, paths: Sequence[Path], how: Any, find: Callable[[], Any]
) -> Any:
    """Read files once, and again if they or how to read them have changed."""
    stamps = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in paths)
    return session.remember((what, stamps, repr(how)), find)


def in_words(table: pd.DataFrame, names: Collection[str], columns: Collection[str]) -> pd.DataFrame:
    """Return a table with some names of columns, and all of some columns, in our language."""
    own = {name: table[name].map(say) for name in columns}
    return table.assign(**own).rename(columns={name: say(name) for name in names})


def names_of_bins(text: str) -> list[str]:
    """Return the names of groups that are ranges, as far as they are typed.

    Examples
    --------
    >>> names_of_bins("u30=age:under 30,30+; old = age:65+;x")
    ['u30', 'old']
    """
    return [part.partition("=")[0].strip() for part in text.split(";") if "=" in part]


def kept(session: Session, upload: Any, place: str) -> Path:
    """Write an uploaded file to its own folder, unless it is there already."""
    path: Path = session.remember(
        ("upload", place, upload.file_id),
        lambda: session.keep(place, upload.name, upload.getbuffer()),
    )
    return path


def offered_folder() -> Path | None:
    """Return the folder whose files can be chosen."""
    folder = os.environ.get(FOLDER)
    return Path(folder) if folder else None


def choose_files(session: Session) -> Inputs | None:
    """Let the user drop or choose files."""
    st.header(say("1. Files"))
    folder = offered_folder()
    ways = WAYS[: 3 if folder else 2]
    way = st.radio(say("Where are the data?"), ways, format_func=say, horizontal=True, key="way")
    if way == WAYS[1]:
        own = session.folder / "example"
        labeled, unlabeled, totals = session.remember("example", lambda: write_example(own))
        return Inputs(labeled=labeled, unlabeled=unlabeled, totals=totals)
    titles = {
        "labeled": say("Rows whose class is known"),
        "unlabeled": say(
            "Rows to label (leave empty if they are in the same file, with an empty class)"
        ),
    }
    paths: dict[str, Path | None] = {}
    for place, title in titles.items():
        if folder and way == WAYS[2]:
            name = st.selectbox(title, tables_in(folder), index=None, key=f"{place}_name")
            paths[place] = file_in(folder, name) if name else None
        else:
            upload = st.file_uploader(title, key=place)
            paths[place] = None if upload is None else kept(session, upload, place)
    if paths["labeled"] is None:
        return None
    names = {path: str(path) for path in paths.values() if path and folder and way == WAYS[2]}
    return Inputs(labeled=paths["labeled"], unlabeled=paths["unlabeled"], names=names)


def understand(session: Session, files: Inputs) -> Inputs | None:
    """Show how the files were read, and let the user correct it and choose columns."""
    st.header(say("2. What was understood"))
    with st.expander(say("Read them in another way")):
        chosen = {name: ask(name) for name in asked_in([READING])}
    previews = [_shown(session, path, ReadAs(**chosen)) for path in files.tables]
    names = list(previews[0].names)
    # What only the labeled rows have is the class; beside weights, the only such text is.
    only = [k for k, name in enumerate(names) if name not in previews[-1].names]
    kinds = dict(zip(previews[0].columns["column"], previews[0].columns["type"], strict=True))
    texts = [k for k in only if kinds.get(names[k]) == "text"]
    guess = next((found[0] for found in (only, texts) if len(found) == 1), None)
    title = say(option_field("target").metadata["label"])
    target = st.selectbox(title, names, index=guess, key=f"target {guess}")
    others = [name for name in names if name != target]
    first = EXAMPLE_ID if files.totals else None
    chosen |= {name: ask(name, others, first) for name in asked_in([COLUMNS])}
    if target is None:
        return None
    decimal = next((each.decimal for each in previews if each.decimal), None)
    return replace(files, chosen={"target": target} | chosen, decimal=decimal)


def _shown(session: Session, path: Path, how: ReadAs) -> TablePreview:
    """Show a table as it was understood."""
    found: TablePreview = remembered(
        session, "preview", [path], how, lambda: preview(path, how, name=path.name)
    )
    st.caption(plain(say(found.title)))
    st.dataframe(in_words(found.columns, found.columns.columns, ["type"]), hide_index=True)
    return found


def know_totals(session: Session, inputs: Inputs) -> Inputs | None:
    """Let the user give totals; None until they can be met."""
    st.header(say("3. Known totals"))
    target, how = inputs.chosen["target"], inputs.read_as
    classes, n_rows = remembered(
        session, "classes", inputs.tables, (target, how), lambda: _classes_and_rows(inputs)
    )
    rows = "Rows to label" if inputs.unlabeled is None else f"Rows of {inputs.unlabeled.name}"
    st.write(say(f"{rows}: {n_rows:,}."), say("A total is 1234, 12%, 1200..1300 or 1200+-50."))
    typed = {
        name: st.text_input(
            f"{say('Total of')} {plain(name)}",
            inputs.totals.get(name, ""),
            key=f"total {name}",
            placeholder=say(f"{n:,} in the sample; leave one class empty for the rest"),
        )
        for name, n in classes.items()
    }
    totals = {name: text.strip() for name, text in typed.items() if text.strip()}
    files = _totals_files(session)
    with st.expander(say("More: weights, uncertain totals, imputations, tables to publish")):
        path = inputs.tables[-1]
        named = remembered(
            session, "names", [path], how, lambda: find_rows(path, "auto", how).names
        )
        columns = [name for name in named if name not in (target, inputs.chosen["id"])]
        bins = [*st.session_state.get("bins", []), *names_of_bins(st.session_state.get("bin", ""))]
        found = {"estimates_by": list(dict.fromkeys([*columns, *bins]))}
        asked = [name for name in asked_in([TOTALS, GENERAL]) if name not in STEP_2]
        more = {name: ask(name, found.get(name, columns)) for name in asked}
    if language() != ENGLISH:
        more["language"] = language()
    inputs = replace(inputs, totals=totals, totals_files=files, chosen={**inputs.chosen, **more})
    try:
        if files or more["weight"] or more["bin"]:
            message = _check_all(session, inputs)
        else:
            message = _check_typed(session, inputs, list(classes), n_rows)
    except C2RFError as error:
        st.warning(as_shown(str(error), session))
        return None
    st.success(as_shown(message, session))
    return inputs


def _check_typed(session: Session, inputs: Inputs, classes: list[str], n_rows: int) -> str:
    """Check totals of classes by their sum; if it is wrong, whether they are of everybody."""
    try:
        return check_totals(inputs, classes, n_rows)
    except InputError:
        if len(inputs.totals) < len(classes):
            raise
        return _check_all(session, inputs)


def _classes_and_rows(inputs: Inputs) -> tuple[dict[str, int], int]:
    """Return how many labeled rows there are of each class, and how many rows to label."""
    target, how = inputs.chosen["target"], inputs.read_as
    cells = as_text(read_file(inputs.labeled, how).frame[target])
    classes = Counter(cells.dropna())
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"{target!r} has {len(classes):,} values: choose the column with the class"
        )
    n_rows = int(cells.isna().sum())
    if inputs.unlabeled is not None:
        rows = find_rows(inputs.unlabeled, "auto", how)
        first = (rows.names or [])[:1]
        n_rows = rows.n_rows or sum(len(part) for part, _ in rows.read(first))
    return {name: classes[name] for name in sorted(classes)}, n_rows


def _totals_files(session: Session) -> list[Path]:
    """Let the user give files with totals of groups."""
    uploads = st.file_uploader(
        say("Or totals by group: tables with a column per class, or with columns class and total"),
        accept_multiple_files=True,
        key="totals_files",
    )
    found = [kept(session, upload, f"totals-{k + 1}") for k, upload in enumerate(uploads or [])]
    folder = offered_folder()
    if folder and st.session_state.way == WAYS[2]:
        names = st.multiselect(say("Or from the folder"), tables_in(folder), key="totals_names")
        found += [file_in(folder, name) for name in names]
    return found


def _check_all(session: Session, inputs: Inputs) -> str:
    """Check everything that is known at once, and show what follows from it."""
    paths = [*inputs.tables, *inputs.totals_files]
    known = remembered(session, "checked", paths, inputs, lambda: all_known(inputs))
    remarks, tables, bins, n_changed = known
    if bins != st.session_state.get("bins", []):  # estimates can be by them, too
        st.session_state.bins = bins
        st.rerun()
    for remark in remarks:
        st.caption(as_shown(remark, session))
    for title, table in tables:
        st.caption(plain(say(title)))
        ours = table.columns[title != "all rows" :]  # all but names of groups
        st.dataframe(in_words(table, table.columns[:2], ours), hide_index=True)
    if n_changed:
        return f"{count(n_changed, 'total')} will be changed, so that all fit together"
    return "the totals fit together, and with the rows"


def all_known(inputs: Inputs) -> tuple[list[str], list[tuple[str, pd.DataFrame]], list[str], int]:
    """Return remarks on totals, tables of all that is known, new groups, and changed totals."""
    data = prepare(inputs.labeled, inputs.unlabeled, inputs.options())
    read = [f"{name}: {how}" for name, how in data.read_as if name not in data.names]
    adjusted = data.bounds.adjustments
    remarks = [*read, *filter(None, [data.about_totals]), *data.remarks, *map(str, adjusted)]
    return remarks, list(known_tables(data)), list(data.bins), len(adjusted)


def run(session: Session, inputs: Inputs) -> None:
    """Run with progress and a button to stop, and show what came out."""
    st.header(say("4. Run"))
    job = session.job
    if st.button(say("Label the rows"), type="primary", disabled=bool(job and job.is_running)):
        outputs = inputs.outputs(session.folder / "results")
        session.start(lambda: (inputs, outputs, label_and_write(inputs, outputs)))
        job = session.job
    if job is None:
        return
    if job.is_running:
        _watch()
    elif job.error is not None:
        st.error(as_shown(job.error, session))
    else:
        _show_result(inputs, *job.result)


def label_and_write(inputs: Inputs, outputs: Outputs) -> tuple[list[Line], Predictions]:
    """Do all that the command line would do; return the lines of the summary, and the labels."""
    data = prepare(inputs.labeled, inputs.unlabeled, inputs.options())
    result = label(data, inputs.command())
    report_progress("writing labels, report and model")
    for path in outputs.named.values():
        path.parent.mkdir(exist_ok=True)
    outputs.write(result, force=True)
    return result.summary_lines, result.predictions


@st.fragment(run_every=1.0)
def _watch() -> None:
    """Show what is being done, again and again, until it is done."""
    session: Session = st.session_state.session
    job = session.job
    if job is None or not job.is_running:
        st.rerun()
        return
    st.info(as_shown(job.text, session))
    if job.event.share is not None:
        st.progress(job.event.share)
    if st.button(say("Stop"), disabled=job.is_stopping):
        job.stop()


def _show_result(
    now: Inputs, inputs: Inputs, outputs: Outputs, done: tuple[list[Line], Predictions]
) -> None:
    """Show the summary and the report of a run, and offer all its files."""
    st.header(say("5. Result"))
    if inputs != now:
        st.warning(say("The choices above have changed since this run; label the rows again."))
    lines, predictions = done
    st.table(pd.DataFrame(lines, columns=["", " "]).map(plain).set_index(""))
    assert outputs.labels is not None
    kinds = list(dict.fromkeys([outputs.labels.suffix, *LABEL_FORMATS]))
    kind = st.selectbox(say("Format of the labels"), kinds, key="format")
    labels = outputs.labels.with_suffix(kind)
    if not labels.exists():
        predictions.save(labels, spreadsheet_safe=True)
    files = {**outputs.named, "output": labels}
    with st.container(horizontal=True):
        for name, path in files.items():
            title = say(f"Download {'labels' if name == 'output' else name} ({path.suffix})")
            st.download_button(title, path.read_bytes(), path.name, key=f"get {name}{path.suffix}")
    assert outputs.report is not None
    with st.expander(say("The report"), expanded=True):
        # The report lets no script run, not even Streamlit's, which would find its height.
        st.iframe(outputs.report.read_text(encoding="utf-8"), height=1000)
    st.subheader(say("The same on the command line, and in Python"))
    st.code(inputs.command(), language="sh", wrap_lines=True)
    st.code(inputs.python(), language="python", wrap_lines=True)


def main() -> None:
    """Show the steps, each once the ones before it are done."""
    st.set_page_config(page_title="c2rf", layout="centered")
    every = languages()
    st.selectbox("Language / Sprache", every, every.index(language()), key="language", width=160)
    st.title(say("Labels that add up to known totals"))
    about = (
        "You have rows whose class is known, others to label, and you know from a census or a "
        "registry how many of them there are of each class. Nothing leaves this computer."
    )
    st.write(say(about))
    session = _session()
    try:
        with for_command_line(NAMES_ON_PAGE):
            inputs = choose_files(session)
            inputs = None if inputs is None else understand(session, inputs)
            inputs = None if inputs is None else know_totals(session, inputs)
            if inputs is not None:
                run(session, inputs)
    except C2RFError as error:
        st.error(as_shown(str(error), session))


def _session() -> Session:
    """Return the session of this user, which ends when the page is closed."""
    if "session" not in st.session_state:
        st.session_state.session = Session()
        context = get_script_run_ctx()
        if context is not None and runtime.exists():
            is_open = partial(runtime.get_instance().is_active_session, context.session_id)
            end_when_closed(st.session_state.session, is_open)
    session: Session = st.session_state.session
    return session


if __name__ == "__main__":
    main()
