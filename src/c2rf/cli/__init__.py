"""The command ``c2rf``: one file per subcommand, and what becomes of an error."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from c2rf.cli import backends, bench, classify, demo, solve, verify
from c2rf.cli.exits import FAILED, USER_MISTAKE
from c2rf.exceptions import BackendNotInstalledError, C2RFError, InputError, InputTypeError

app = typer.Typer(
    name="c2rf",
    help="Label a population so that the labels add up to a known total, and prove how close "
    "a forest can get.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for module in (classify, solve, verify, demo, backends):
    app.command()(getattr(module, module.__name__.rpartition(".")[2]))
app.add_typer(bench.bench, name="bench")


def _show_version(wished: bool) -> None:
    if wished:
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

    The exit code is 0 if all went well, 1 if what was asked for failed (a solver, a
    verification), 2 for a mistake in the input, 130 after Ctrl-C.
    """
    try:
        app(None if arguments is None else list(arguments), prog_name="c2rf")
    except SystemExit as exit_:
        return exit_.code if isinstance(exit_.code, int) else 0
    except (InputError, InputTypeError, BackendNotInstalledError) as error:
        return _say(error, USER_MISTAKE)
    except C2RFError as error:
        return _say(error, FAILED)
    return 0


def _say(error: Exception, code: int) -> int:
    """Print an error as one line and return the exit code."""
    print("c2rf:", " ".join(str(error).split()), file=sys.stderr)
    return code
