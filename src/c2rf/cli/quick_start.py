"""Help and completion without the large imports: both answer while the user waits.

Typer draws its boxes, and removes markup from the help that completion shows, with a Markdown
parser and a code highlighter; it checks the words before the one to complete with a validation
library. Together they take longer than all the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from typer.core import TyperCommand, TyperGroup

from c2rf.cli.options import USER_MISTAKE
from c2rf.exceptions import InputError


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
        _write_options(self, ctx, formatter)


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
        _write_options(self, ctx, formatter)
        commands = [self.commands[name] for name in self.list_commands(ctx)]
        named = [(_panel(c, "Commands"), (c.name, c.get_short_help_str(75))) for c in commands]
        _write_panels(named, formatter)


def complete_with_plain_help() -> None:
    """Let completion show help as it is: ours has no markup that would have to be removed."""
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


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    records = []
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record is not None:
            is_option = parameter.param_type_name == "option"
            records.append((_panel(parameter, "Options" if is_option else "Arguments"), record))
    _write_panels(records, formatter)


def _write_panels(records: Iterable[tuple[str, Any]], formatter: Any) -> None:
    """Write each panel once, in the order in which they are first met."""
    panels: dict[str, list[Any]] = {}
    for panel, record in records:
        panels.setdefault(panel, []).append(record)
    for panel, rows in panels.items():
        with formatter.section(panel):
            formatter.write_dl(rows)
