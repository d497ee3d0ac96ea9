"""What the commands share: options, how their help looks, and exit codes.

The options of a classification are declared in :mod:`c2rf.workflow.options` and made into options
of a command here; the others that several commands share are declared here.

Help and completion do without the large imports, as both answer while the user waits. Typer draws
its boxes, and removes markup from the help that completion shows, with a Markdown parser and a code
highlighter; it checks the words before the one to complete with a validation library. Together they
take longer than all the rest.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from c2rf._utils.text import split_names
from c2rf.exceptions import InputError
from c2rf.workflow.options import (
    Options,
    choices,
    command_option,
    option_field,
    option_types,
    split_tables,
)

if TYPE_CHECKING:
    from c2rf.forest.problem import Solution


FAILED = 1
USER_MISTAKE = 2
INTERRUPTED = 130


def exit_if_interrupted(solution: Solution | None) -> None:
    """Exit as after Ctrl-C if that ended the search; what it had found has been written."""
    if solution is not None and solution.stats.get("interrupted"):
        raise typer.Exit(INTERRUPTED)


Votes = Annotated[
    Path,
    typer.Argument(
        metavar="VOTES.csv",
        help="Votes of -1/+1, a row per row to label and a column per tree; a header is optional.",
    ),
]
Backend = Annotated[str, typer.Option(metavar="NAME", help="highs, scip or gurobi.")]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="The same seed gives the same result.")
]
Force = Annotated[bool, typer.Option("--force", help="Overwrite outputs that exist.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print errors only.")]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option(
        "--spreadsheet-safe",
        help="Put an apostrophe before text in .csv that a spreadsheet would run.",
        rich_help_panel="Outputs",
    ),
]


def in_panel(panel: str, metavar: str, help: str) -> Any:
    """Return an option that the help lists in a panel."""
    return typer.Option(metavar=metavar, help=help, rich_help_panel=panel)


Command = Callable[..., None]


def with_options(
    names: Sequence[str] | None = None, panel: str | None = None
) -> Callable[[Command], Command]:
    """Give a command options of a classification in place of its ``**options``.

    Parameters
    ----------
    names : sequence of str, optional
        Which of them; by default all that the command line has.
    panel : str, optional
        Where the help lists them; by default where it does for a classification.
    """
    wanted = [option for option in fields(Options) if names is None or option.name in names]

    def add(command: Command) -> Command:
        signature = inspect.signature(command, eval_str=True)
        made = [_parameter(each, panel) for each in wanted if command_option(each) is not None]
        listed = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD] + made
        # What must be given comes first in the help.
        listed.sort(key=lambda p: (p.kind, p.default is not p.empty))
        command.__signature__ = signature.replace(parameters=listed)  # type: ignore[attr-defined]
        return command

    return add


def _parameter(option: Field[Any], panel: str | None) -> inspect.Parameter:
    """Return an option as a parameter of a command."""
    about, names = option.metadata, choices(option.name)
    default: Any = inspect.Parameter.empty if option.default is MISSING else option.default
    kind = option_types()[option.name]
    kind = Path | None if kind is Any else kind
    if about["parse"] in (split_names, split_tables):
        kind, default = list[str] | None, None
    elif names or about["parse"] is not None:
        kind = str if isinstance(default, str) else str | None
    help, of = about["help"], about["method"]
    if not panel and of is not None and of not in about["panel"]:  # the heading says it otherwise
        help = f"{of}: {help[0].lower()}{help[1:]}"

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    command = typer.Option(
        command_option(option),
        metavar=about["metavar"],
        help=help,
        rich_help_panel=panel or about["panel"],
        min=about["least"],
        max=2**32 - 1 if option.name == "random_state" else None,  # the largest seed of numpy
        show_default=about["shown_default"] or True,
        autocompletion=complete if names else None,
    )
    kind = Annotated[kind, command]
    return inspect.Parameter(
        option.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
    )


def parsed(given: dict[str, Any]) -> dict[str, Any]:
    """Return options as :class:`~c2rf.workflow.options.Options` takes them.

    Examples
    --------
    >>> parsed({"drop": ["id,name"], "offset": "-1..1", "trees": None})
    {'drop': ['id', 'name'], 'offset': (-1.0, 1.0), 'trees': None}
    """
    parsers = {name: option_field(name).metadata["parse"] for name in given}
    return {
        name: value if parsers[name] is None else parsers[name](value)
        for name, value in given.items()
    }


class QuickCommand(TyperCommand):
    """A command whose options are listed under the headings of their panels."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; those before the one to complete are not checked."""
        _skip_checks(self, ctx)
        if not ctx.resilient_parsing:
            _refuse_repeated(self, ctx, args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options."""
        _write_panels(self, ctx, formatter)


class QuickGroup(TyperGroup):
    """Commands, listed under the headings of their panels."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the words; without any, show the help and fail."""
        _skip_checks(self, ctx)
        for option in self.get_params(ctx):
            _skip_if_not_given(option)
        if not args and self.no_args_is_help and not ctx.resilient_parsing:
            print(self.get_help(ctx))
            ctx.exit(USER_MISTAKE)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options of the group, then its commands."""
        _write_panels(self, ctx, formatter)


def complete_with_plain_help() -> None:
    """Let completion show help unchanged: ours has no markup to remove."""
    from typer import _completion_classes

    _completion_classes._sanitize_help_text = lambda text: text


def _skip_checks(command: Any, ctx: Any) -> None:
    """Leave the words as they were typed while a word is completed."""
    if ctx.resilient_parsing:
        for parameter in command.get_params(ctx):
            parameter.process_value = lambda ctx, value: value


def _refuse_repeated(command: Any, ctx: Any, args: list[str]) -> None:
    """Refuse an option of one value that is given twice: the first would be lost silently."""
    _, _, given = command.make_parser(ctx).parse_args(list(args))
    for option, times in Counter(given).items():
        takes_one = option.param_type_name == "option" and not option.multiple
        if takes_one and not option.is_flag and times > 1:
            raise InputError(f"{option.opts[0]} takes one value, but is given {times} times")


def _skip_if_not_given(option: Any) -> None:
    """Check an option of a group, none of which is required, only where it is given."""
    check = option.process_value
    option.process_value = lambda ctx, value: None if value is None else check(ctx, value)


def _panel(of: object, otherwise: str) -> str:
    """Return the heading; Typer keeps a placeholder where none was given."""
    panel = getattr(of, "rich_help_panel", None)
    return panel if isinstance(panel, str) else otherwise


def _write_panels(command: Any, ctx: Any, formatter: Any) -> None:
    """Write options, then commands, each panel once, in the order in which they are first met."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.get_params(ctx):
        if record := parameter.get_help_record(ctx):
            usual = "Options" if parameter.param_type_name == "option" else "Arguments"
            panels.setdefault(_panel(parameter, usual), []).append(record)
    for each in getattr(command, "commands", {}).values():
        record = each.name, each.get_short_help_str(75)
        panels.setdefault(_panel(each, "Commands"), []).append(record)
    for panel, rows in panels.items():
        with formatter.section(panel):
            formatter.write_dl(rows)
