"""Options of the commands are those of a classification, with the same types and defaults."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields

import pytest
import typer

import c2rf
from c2rf.cli import app, main
from c2rf.cli.classify import classify, predict
from c2rf.cli.common import parsed
from c2rf.workflow.options import Options, command_option


def parameters(command: str) -> dict:
    found = typer.main.get_command(app).commands[command].params
    return {each.opts[0]: each for each in found if each.param_type_name == "option"}


def test_every_option_is_on_the_command_line_and_in_python():
    on_line, in_python = parameters("classify"), inspect.signature(c2rf.classify).parameters
    for option in fields(Options):
        assert in_python[option.name].default in (option.default, inspect.Parameter.empty)
        command = command_option(option)
        if command is None:
            assert option.name in ("totals", "verbose")
            continue
        shown = on_line[command]
        assert option.metadata["help"].lower() in shown.help.lower()
        assert shown.required == (option.default is MISSING)
        if option.default not in (MISSING, ()):
            assert shown.default == option.default


def test_help_lists_all_with_defaults(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    assert main(["classify", "--help"]) == 0
    help = " ".join(capsys.readouterr().out.split())
    for option in fields(Options):
        command = command_option(option)
        assert command is None or f" {command} " in help
        if isinstance(option.default, str):
            assert f"[default: {option.default}]" in help


def test_a_command_takes_no_bare_options():
    for command in (classify, predict):
        kinds = {p.kind for p in inspect.signature(command).parameters.values()}
        assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_predict_has_only_what_it_needs():
    assert {"--sep", "--engine", "--id"} <= set(parameters("predict"))
    assert not {"--target", "--weight", "--seed"} & set(parameters("predict"))


def test_text_of_the_command_line_becomes_values():
    assert parsed({"sensitivity": "5%", "text": None, "engine": "dask"}) == {
        "sensitivity": 0.05,
        "text": [],
        "engine": "dask",
    }
    with pytest.raises(c2rf.InputError, match="--offset must be a range"):
        parsed({"offset": "1"})
