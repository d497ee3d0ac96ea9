"""Steps 1 and 2 of the page: the files, and how they were understood."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import streamlit as st

from c2rf.app import example, words
from c2rf.app.choices import Choices
from c2rf.app.folder import file_in, tables_in
from c2rf.app.server import FOLDER
from c2rf.app.shown import plain
from c2rf.app.visit import Visit
from c2rf.files.dialect import ReadAs
from c2rf.labeling.preview import TablePreview, preview

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
    st.dataframe(look.table(), hide_index=True)
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
