"""A run in the page, from the button to the files, without a browser."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import c2rf
from c2rf.app import page

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")
PATIENCE = 500


@pytest.fixture
def example() -> AppTest:
    """The page with the example chosen."""
    app = AppTest.from_file(page.__file__, default_timeout=PATIENCE).run()
    return app.radio(key="way").set_value("The example").run()


def press(app: AppTest, label: str) -> AppTest:
    (button,) = (button for button in app.button if button.label == label)
    return button.click().run()


def headers(app: AppTest) -> list[str]:
    return [header.value for header in app.header]


def test_labels_report_model_and_how_to_do_it_again(example):
    app = press(example, "Label the rows")
    app.session_state.session.job.wait(PATIENCE)
    app.run()
    assert not app.exception
    assert headers(app)[-1] == "5. Result"
    command, lines = (block.value for block in app.code)
    assert "label yes" in app.table[0].value.index
    assert command.startswith("c2rf classify ")
    assert "import c2rf" in lines
    offered = [each.proto.label for each in app.get("download_button")]
    assert offered == [
        "Download labels (.csv)", "Download report (.html)", "Download model (.skops)",
    ]  # fmt: skip


def test_what_goes_wrong_is_said(example):
    session = example.session_state.session
    session.start(lambda: c2rf.classify("absent.csv", target="x", totals={"a": 1}))
    session.job.wait(PATIENCE)
    app = example.run()
    assert not app.exception
    assert "there is no such file" in app.error[0].value
    assert headers(app)[-1] == "4. Run"
