"""The page itself, run by Streamlit: five steps from files to labels."""

from __future__ import annotations

from functools import partial

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from c2rf._text import for_command_line
from c2rf.app.run_step import run
from c2rf.app.shown import as_shown
from c2rf.app.table_steps import choose_files, understand
from c2rf.app.totals_step import know_totals
from c2rf.app.visit import Visit, end_when_left
from c2rf.app.words import OPTIONS
from c2rf.exceptions import C2RFError


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
