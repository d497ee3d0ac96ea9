"""The command itself: what is installed, and Ctrl-C while it is still being imported."""

from __future__ import annotations

import builtins
import runpy
import subprocess
import sys
import time
from importlib.metadata import entry_points
from pathlib import Path

import pytest

import c2rf
import c2rf_command
from c2rf.cli import main, terminal
from c2rf.cli.common import INTERRUPTED


def test_installed_under_its_name():
    (command,) = entry_points(group="console_scripts", name="c2rf")
    assert command.load() is c2rf_command.main


def test_runs_the_command_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["c2rf", "--version"])
    assert c2rf_command.main() == 0
    assert capsys.readouterr().out.startswith("c2rf ")


def test_runs_as_a_module(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["c2rf", "--version"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("c2rf", run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("c2rf ")


def test_interrupted_while_importing(monkeypatch, capsys):
    real = builtins.__import__

    def interrupted(name, *rest):
        if name == "c2rf.cli":
            raise KeyboardInterrupt
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", interrupted)
    code = c2rf_command.main()
    monkeypatch.undo()
    assert code == c2rf_command.INTERRUPTED == INTERRUPTED
    assert capsys.readouterr().err == "c2rf: stopped by Ctrl-C\n"


@pytest.mark.parametrize("module", ["sklearn", "dask", "matplotlib", "pyarrow"])
def test_importing_the_starter_imports_nothing_else(module):
    script = f"import sys, c2rf_command; sys.exit({module!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_a_process_of_its_own(capsys):
    assert main(["--version"]) == 0
    said = capsys.readouterr().out
    assert said == f"c2rf {c2rf.__version__}\n"
    command = [sys.executable, "-m", "c2rf", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (said, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
@pytest.mark.parametrize(
    ("redirected", "code", "said"),
    [
        ("> /dev/full", 1, "c2rf: an output failed: No space left on device\n"),
        ("2>&-", 0, ""),
        (">&-", 0, ""),
        ("2> /dev/full", 0, ""),
    ],
)
def test_streams_that_are_closed_or_full(redirected, code, said):
    line = f"{sys.executable} -c 'import sys; from c2rf.cli import main; sys.exit(main())'"
    found = subprocess.run(
        f"{line} backends {redirected}", shell=True, capture_output=True, text=True, check=False
    )
    assert found.returncode == code
    assert found.stderr == said


def test_names_that_are_no_text_are_shown_in_messages():
    line = [sys.executable, "-c", "import sys; from c2rf.cli import main; sys.exit(main())"]
    line += ["predict", b"\xff.skops", "x.csv", "--out", "y.csv"]
    found = subprocess.run(line, capture_output=True, check=False)
    assert found.returncode == 2
    assert found.stderr == b"c2rf: \\udcff.skops: there is no such file\n"


def test_ctrl_c_in_a_callback_is_not_lost(monkeypatch, capsys, tmp_path):
    """Python cannot raise an error there, prints it and goes on."""

    class Dying:
        def __del__(self):
            raise KeyboardInterrupt

    def work(*given, **named):
        Dying()
        time.sleep(60)

    monkeypatch.setattr("c2rf.data.forest_files.read_votes", work)
    assert main(["solve", str(tmp_path / "votes.csv"), "--total", "1"]) == INTERRUPTED
    assert capsys.readouterr().err == "c2rf: stopped by Ctrl-C\n"


@pytest.mark.parametrize(
    "error", [MemoryError(), ImportError("libtiff.so: failed to map segment from shared object")]
)
def test_full_memory_is_said(monkeypatch, capsys, tmp_path, error):
    def full(*given, **named):
        raise error

    monkeypatch.setattr("c2rf.data.forest_files.read_votes", full)
    assert main(["solve", str(tmp_path / "votes.csv"), "--total", "1"]) == 1
    assert capsys.readouterr().err == "c2rf: there is not enough memory for this\n"


@pytest.mark.parametrize("said", ["Numba's", "another's"])
def test_ctrl_c_inside_compiled_code(monkeypatch, capsys, said, tmp_path):
    def stopped(*given, **named):
        error = SystemError("CPUDispatcher returned a result with an exception set")
        raise error from KeyboardInterrupt() if said == "Numba's" else None

    monkeypatch.setattr("c2rf.data.forest_files.read_votes", stopped)
    code = main(["solve", str(tmp_path / "votes.csv"), "--total", "1"])
    err = capsys.readouterr().err
    assert (code, "unexpected" in err) == ((130, False) if said == "Numba's" else (1, True))


def test_names_do_not_control_the_terminal(capsys):
    assert main(["predict", "\x1b[2J.skops", "x.csv", "--out", "y.csv"]) == 2
    terminal.say([("output", "\x1b]0;owned\x07.csv")])
    said = "".join(capsys.readouterr())
    assert "\x1b" not in said
    assert "\x07" not in said
    assert r"\x1b[2J.skops: there is no such file" in said
