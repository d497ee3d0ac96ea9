"""``c2rf demo``: what it prints, and files that the other commands take."""

from __future__ import annotations

from pathlib import Path

import pytest

from c2rf.cli import demo, main
from people import quick_estimator, read_table


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    """Run in a folder of its own, with lines that are not broken."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def run(line: str) -> int:
    return main(line.split())


def test_tells_the_story_and_leaves_files_that_work(folder, capsys, monkeypatch):
    monkeypatch.setattr("c2rf.estimators.training.default_estimator", quick_estimator)
    monkeypatch.setattr(demo, "SIZE", 600)
    monkeypatch.setattr(demo, "FRACTION", 0.05)
    monkeypatch.setattr(demo, "TREES", 5)
    assert run("demo --seed 1") == 0
    said = capsys.readouterr().out
    for word in ("majority vote", "census", "accuracy", "MCC", "Proof"):
        assert word in said
    advice = [line.strip() for line in said.splitlines() if line.startswith("  c2rf ")]
    assert len(advice) == 3
    for line in advice:
        assert run(line.removeprefix("c2rf ")) == 0
    # The advice is the demo again: the same trees, the same weights, the same labels.
    assert Path("labels.csv").read_bytes() == Path("c2rf-demo/labels.csv").read_bytes()
    truth = read_table(Path("c2rf-demo/truth.csv"))["class"]
    labels = read_table(Path("c2rf-demo/labels.csv"))["label"]
    assert f"{(truth == labels).mean():.1%}" in said

    Path("c2rf-demo/mine.txt").write_text("precious")
    assert run("demo --seed 1") == 2
    assert "overwrite them with --force" in " ".join(capsys.readouterr().err.split())
    assert run("demo --seed 1 --force") == 0
    assert Path("c2rf-demo/mine.txt").read_text() == "precious"


def test_keeps_out_of_folders_that_are_not_its_own(folder, capsys):
    (folder / "mine").mkdir()
    (folder / "mine" / "labels.csv").write_text("precious")
    (folder / "file").touch()
    for out, said in {"mine": "not the demo's", "file": "not a folder"}.items():
        assert run(f"demo --out {out}") == 2
        assert said in capsys.readouterr().err
    assert (folder / "mine" / "labels.csv").read_text() == "precious"
