"""The files that a classification is to write: checked before, and written all or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from c2rf.data.atomic import atomic_outputs, check_folder, check_output
from c2rf.data.formats import PARQUET
from c2rf.data.write import check_writable
from c2rf.exceptions import InputError
from c2rf.workflow.model_file import need_skops
from c2rf.workflow.predictions import is_folder


def check_labels_name(path: Path, *, force: bool = False, inputs: Sequence[Path] = ()) -> None:
    """Refuse a name for labels that cannot or should not be written."""
    (check_folder if is_folder(path) else check_output)(path, force=force, inputs=inputs)
    (PARQUET.check_package if is_folder(path) else check_writable)(path)


def _check_report(path: Path) -> None:
    _check_ending(path, "a report is a page of HTML", (".html", ".htm"))
    from c2rf.report import page

    page.need("report")


def _check_model(path: Path) -> None:
    _check_ending(path, "a model is a file of skops", (".skops",))
    need_skops()


def _check_ending(path: Path, what: str, endings: Sequence[str]) -> None:
    if path.suffix.lower() not in endings:
        raise InputError(f"{path}: {what}; give it a name that ends in {endings[0]}")


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The files of a result; they appear together or not at all."""

    labels: Path | None = None
    report: Path | None = None
    model: Path | None = None
    spreadsheet_safe: bool = False
    imputations: Path | None = None

    @property
    def named(self) -> Mapping[str, Path]:
        """What each is, and where it goes."""
        each = {"output": self.labels, "report": self.report, "model": self.model}
        each["imputations"] = self.imputations
        return {name: path for name, path in each.items() if path is not None}

    def lines(self) -> list[tuple[str, str]]:
        """Say where each goes."""
        return [(name, str(path)) for name, path in self.named.items()]

    def check(self, *, force: bool, inputs: Sequence[Path] = (), needed: bool = True) -> None:
        """Refuse what cannot be written, before any work is done."""
        if needed and not self.named:
            raise InputError(
                "say where the labels should go with --out; or --report, --save-model, "
                "--imputations-out"
            )
        places = [path.resolve() for path in self.named.values()]
        if len(set(places)) < len(places):
            raise InputError(
                "--out, --report, --save-model and --imputations-out must be different files"
            )
        checks = {"report": _check_report, "model": _check_model, "imputations": check_writable}
        for name, path in self.named.items():
            if name == "output":
                check_labels_name(path, force=force, inputs=inputs)
            else:
                check_output(path, force=force, inputs=inputs)
                checks[name](path)

    def write(self, result: Any, *, force: bool) -> int:
        """Write all files; the report last, because it says how long the others took.

        Returns
        -------
        int
            How many cells of the labels a spreadsheet would run as a formula.
        """
        labels = partial(result.predictions.write, spreadsheet_safe=self.spreadsheet_safe)
        writers: dict[str, Callable[[Path], Any]] = {
            "output": labels,
            "imputations": lambda path: result.imputation_parts.write(path),
            "model": result.write_model,
            "report": result.write_report,
        }
        files = {name: self.named[name] for name in writers if name in self.named}
        folder = files.pop("output") if self.labels and is_folder(self.labels) else None
        returned: dict[str, Any] = {}
        with atomic_outputs(list(files.values()), force=force) as temporaries:
            for name, temporary in zip(files, temporaries, strict=True):
                with result.data.timed("writing"):
                    returned[name] = writers[name](temporary)
            if folder is not None:
                labels(folder, force=force)
        return int(returned.get("output", 0))
