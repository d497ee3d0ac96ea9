"""Step 3 of the page: the known totals, checked while they are typed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from c2rf._text import count
from c2rf.app import words
from c2rf.app.check_totals import TotalsVerdict, check_totals, known_tables
from c2rf.app.choices import Choices
from c2rf.app.folder import file_in, tables_in
from c2rf.app.shown import as_shown, plain
from c2rf.app.table_steps import NONE, Files, kept, looked_at, offered_folder
from c2rf.app.visit import Visit
from c2rf.exceptions import C2RFError, InputError
from c2rf.files.cells import as_text
from c2rf.files.tables import read_file
from c2rf.labeling.row_storage import find_rows
from c2rf.labeling.run import prepare

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
