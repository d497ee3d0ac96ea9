"""The directive ``command``: what ``c2rf NAME --help`` says, as part of a page."""

from __future__ import annotations

import re
from typing import Any

import typer
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from c2rf.cli import app as command_line


class Command(Directive):
    """Usage, description, arguments and options of one command, named by its words."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.env.note_reread()  # commands change, pages do not
        command: Any = typer.main.get_command(command_line)
        for word in self.arguments[0].split():
            command = command.commands[word]
        context = typer.Context(command, info_name=f"c2rf {self.arguments[0]}")
        usage = command.get_usage(context).removeprefix("Usage: ")
        paragraphs = [" ".join(part.split()) for part in command.help.split("\n\n")]
        return [
            nodes.literal_block(usage, usage, language="text"),
            *map(_prose, paragraphs),
            *_parameters(command, context),
        ]


def _parameters(command: Any, context: typer.Context) -> list[nodes.Node]:
    """List what a command takes, in the groups of its help; ``--help`` explains itself."""
    groups: dict[str | None, list[nodes.Node]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and parameter.name != "help":
            panel = getattr(parameter, "rich_help_panel", None)
            groups.setdefault(panel, []).append(_entry(*record))
    listed: list[nodes.Node] = []
    for panel, entries in groups.items():
        if panel is not None:
            listed.append(nodes.rubric(text=panel))
        listed.append(nodes.definition_list("", *entries))
    return listed


def _prose(text: str) -> nodes.paragraph:
    """Return a paragraph in which options look like options: two dashes stay two dashes."""
    parts = re.split(r"(--\w[\w-]*)", text)
    return nodes.paragraph(
        "", "", *(nodes.literal(text=p) if p.startswith("--") else nodes.Text(p) for p in parts)
    )


def _entry(name: str, help_text: str) -> nodes.definition_list_item:
    return nodes.definition_list_item(
        "",
        nodes.term("", "", nodes.literal(text=name)),
        nodes.definition("", _prose(help_text)),
    )


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("command", Command)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
