"""Steps 4 and 5 of the page: the run, and what came out."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from c2rf.app.choices import Choices
from c2rf.app.shown import as_shown
from c2rf.app.visit import Visit
from c2rf.labeling.outputs import Outputs
from c2rf.labeling.run import answer, prepare
from c2rf.progress import report_progress


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
