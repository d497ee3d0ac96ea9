"""The command ``c2rf``: one file per subcommand, and what becomes of an error."""

from __future__ import annotations

import io
import os
import sys
from _thread import interrupt_main
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Timer
from typing import Annotated, Any, TextIO

import typer

from c2rf._utils.interrupts import is_interrupt
from c2rf._utils.text import for_command_line, printable
from c2rf.cli import audit, bench, classify, demo, solve, terminal
from c2rf.cli.common import (
    FAILED,
    INTERRUPTED,
    USER_MISTAKE,
    QuickCommand,
    QuickGroup,
    complete_with_plain_help,
)
from c2rf.exceptions import BackendNotInstalledError, C2RFError, InputError, InputTypeError

SHOW_TRACEBACK = "C2RF_TRACEBACK"
"""Variable of the environment that shows where an unexpected error is from."""

COMPLETE = "_C2RF_COMPLETE"
"""Variable of the environment by which a shell asks for completion."""

app = typer.Typer(
    name="c2rf",
    help="Label a population so that the labels add up to known totals.",
    no_args_is_help=True,
    cls=QuickGroup,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
LABEL, WEIGH, LOOK_AROUND = "Label a population", "Weigh votes, with a proof", "Look around"
PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    LABEL: (classify.classify, classify.predict, classify.assign),
    WEIGH: (solve.solve, solve.verify),
    LOOK_AROUND: (demo.demo, solve.backends),
}
for panel, commands in PANELS.items():
    for command in commands:
        app.command(rich_help_panel=panel, cls=QuickCommand)(command)
app.command("app", rich_help_panel=LABEL, cls=QuickCommand)(classify.page)
app.add_typer(audit.audit, name="audit", rich_help_panel=LABEL)
app.add_typer(bench.bench, name="bench", rich_help_panel=LOOK_AROUND)


def _show_version(is_given: bool) -> None:
    if is_given:
        from c2rf import __version__

        typer.echo(f"c2rf {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; an error that is meant for the user is one line, never a traceback.

    The exit code is 0 if all went well, 1 if the work failed (a solver, a
    verification, an output that cannot be printed), 2 for a mistake in the input, 130 after Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    if COMPLETE in os.environ:
        complete_with_plain_help()
    sys.stdout, sys.stderr = (each or _nowhere() for each in (sys.stdout, sys.stderr))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # names of files may hold bytes that are no text
            stream.reconfigure(errors="backslashreplace")
    code = 0
    with terminal.speaking(given):
        try:
            with for_command_line(), _no_interrupt_is_lost():
                app(given, prog_name="c2rf", obj=given)
        except BaseException as error:
            code = _exit_code(error)
    try:
        sys.stdout.flush()
    except OSError as error:
        with suppress(OSError, ValueError):  # Python would try again when it ends
            os.dup2(_nowhere().fileno(), sys.stdout.fileno())
        is_pipe = isinstance(error, BrokenPipeError)
        return FAILED if is_pipe else _say(f"an output failed: {error.strerror}", FAILED)
    return code


def _nowhere() -> TextIO:
    """Return what takes the place of a stream that is closed."""
    return open(os.devnull, "w")


@contextmanager
def _no_interrupt_is_lost() -> Iterator[None]:
    """Let Ctrl-C come again a moment later, where Python cannot raise it: in a callback, say."""
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            Timer(0.01, interrupt_main).start()
        else:
            before(unraisable)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _exit_code(error: BaseException) -> int:
    """Return the exit code of what ended the command, and print what the user should know."""
    if isinstance(error, SystemExit):
        return _left(error.code)
    if is_interrupt(error):
        return _left(INTERRUPTED)
    if isinstance(error, C2RFError):
        mistakes = (InputError, InputTypeError, BackendNotInstalledError)
        return _say(error, USER_MISTAKE if isinstance(error, mistakes) else FAILED)
    # A library that is loaded where memory is full is an ImportError.
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):
        return _say("there is not enough memory for this", FAILED)
    if os.environ.get(SHOW_TRACEBACK) or not isinstance(error, Exception):
        raise error
    if isinstance(error, BrokenPipeError):
        return FAILED
    if isinstance(error, OSError) and error.strerror:
        if error.filename is not None:
            return _say(f"{error.filename}: {error.strerror}", USER_MISTAKE)
        return _say(f"an output failed: {error.strerror}", FAILED)
    return _say(
        f"unexpected {type(error).__name__}: {error} (a mistake in c2rf: please report it; "
        f"with {SHOW_TRACEBACK}=1 in the environment it says where)",
        FAILED,
    )


def _left(code: object) -> int:
    """Return an exit code; an interruption is printed."""
    if code == INTERRUPTED:
        return _say("stopped by Ctrl-C", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _say(error: object, code: int) -> int:
    """Print an error as one line and return the exit code."""
    with suppress(OSError, ValueError):
        said = terminal.in_words(" ".join(str(error).split()))
        print("c2rf:", printable(said), file=sys.stderr, flush=True)
    return code
