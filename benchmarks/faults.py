"""Faults on purpose: what is there after ``c2rf classify`` failed, in all ways we thought of.

``python -m benchmarks.faults`` runs the command again and again, each time with one fault: a call
of the system that fails (each in turn, as long as there is one more), a disk that is full after so
many bytes, too little memory, a kill or Ctrl-C at some moment, a closed stream, an input that
changes, a process for workbooks that is killed. Every run must end with all outputs new, or all as
they were; without a traceback; and leave nothing that the next run does not remove. Runs that the
fault did not reach are not counted. Needs fork, so it does not run on Windows.
"""

from __future__ import annotations

import argparse
import builtins
import errno
import io
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd

from c2rf.cli import main as command
from c2rf.datasets import make_twonorm

Fault = Callable[[], None]

LINE = "classify labeled.csv unlabeled.csv --target sick --total 60 --positive 1 --id id --quiet"
LINE += " --learner logistic --jobs 1 --force --report report.html --save-model model.skops"
LINE += " --imputations 2 --imputations-out imputations.csv --engine chunks --out "
HIT = "hit"  # a file that is there once a call has failed
OUTPUTS = ("labels.csv", "labels.csv.gz", "labels.parquet", "labels.xlsx", "labels.jsonl", "labels")
OTHERS = ("report.html", "model.skops", "imputations.csv")
CALLS = (
    "open",
    "link",
    "replace",
    "rename",
    "fsync",
    "mkdir",
    "unlink",
    "chmod",
    "rmdir",
    "scandir",
)
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
MOST_CALLS = 60
READER_DIES = "process for workbooks is killed"


def main() -> int:
    """Inject all faults, print the table, and return 1 if any run ended badly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=40, help="runs of each kind at random moments")
    given = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    rng, bad, runs, refused = random.Random(0), Counter[str](), Counter[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_inputs(folder)
        missed = set[tuple[str, str]]()
        for kind, out, fault, delay in faults(rng, given.times, folder):
            if (kind, out) in missed:
                continue
            before = prepare(folder, out)
            code, said = run(folder, out, fault, delay, kind)
            wrong = judge(folder, out, before, code, said, kind)
            if wrong is not None:
                print(f"{kind}, {out}: {wrong}; exit {code}: {said[-300:]}", file=sys.stderr)
            elif kind.endswith(" fails") and not (folder / HIT).exists():
                missed.add((kind, out))  # there was no such call any more
                continue
            runs[kind] += 1
            bad[kind] += wrong is not None
            refused[kind] += code != 0
    print("| fault | runs | ended with an error | ended badly |\n|---|---:|---:|---:|")
    for kind, number in runs.items():
        print(f"| {kind} | {number:,} | {refused[kind]:,} | {bad[kind]:,} |")
    print(f"| all | {runs.total():,} | {refused.total():,} | {bad.total():,} |")
    return int(bad.total() > 0)


def faults(
    rng: random.Random, times: int, folder: Path
) -> Iterator[tuple[str, str, Fault, tuple[int, float] | None]]:
    """Yield the kind of a fault, the output, what makes it in the process, and a signal."""
    for out in OUTPUTS:
        for call in CALLS:
            for number in range(1, MOST_CALLS):
                error = ERRORS[number % len(ERRORS)]
                yield f"{call} fails", out, lambda c=call, n=number, e=error: failing(c, n, e), None
    for k in range(3 * times):
        size = int(10 ** rng.uniform(0, 5.2))
        yield "disk is full", OUTPUTS[k % 6], lambda s=size: limit(resource.RLIMIT_FSIZE, s), None
    for k in range(times):
        more = int(10 ** rng.uniform(6, 8.7))
        yield "memory is full", OUTPUTS[k % 6], lambda m=more: limit_memory(m), None
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        for k in range(times):
            after = (int(number), rng.uniform(0, 1.5))
            yield signal.Signals(number).name, OUTPUTS[k % 6], lambda: None, after
    for k in range(times):
        wait = rng.uniform(0, 0.8)
        yield "input is replaced", OUTPUTS[k % 6], lambda w=wait: replacing(folder, w), None
    for k, stream in enumerate((1, 2) * 6):
        yield "stream is closed", OUTPUTS[k % 6], lambda s=stream: os.close(s), None
    for out in OUTPUTS:
        yield READER_DIES, out, killing_children, None


def failing(call: str, number: int, error: int) -> None:
    """Let the nth call of a function of the system fail; of opening, the nth file to write to."""
    here, seen = Path.cwd(), [0]

    def failing_as(real: Callable[..., object]) -> Callable[..., object]:
        def fail(*given: object, **options: object) -> object:
            mode = options.get("mode", given[1] if len(given) > 1 else "r")
            counts = call != "open" or "w" in str(mode) or (
                isinstance(mode, int) and mode & (os.O_WRONLY | os.O_RDWR)
            )  # fmt: skip
            seen[0] += bool(counts)
            if counts and seen[0] == number:
                real_open(here / HIT, "w").close()
                raise OSError(error, os.strerror(error))
            return real(*given, **options)

        return fail

    real_open = builtins.open
    setattr(os, call, failing_as(getattr(os, call)))
    if call == "open":
        builtins.open = io.open = failing_as(real_open)  # type: ignore[assignment]


def killing_children() -> None:
    """Kill every process that is started, as the system does where memory is short."""

    class Killed(subprocess.Popen):  # type: ignore[type-arg]
        def __init__(self, *given: object, **options: object) -> None:
            super().__init__(*given, **options)  # type: ignore[arg-type]
            self.kill()

    subprocess.Popen = Killed  # type: ignore[misc]


def limit(what: int, most: int) -> None:
    """Limit what the process may use."""
    resource.setrlimit(what, (most, most))


def limit_memory(more: int) -> None:
    """Limit memory to so many bytes more than there are."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit(resource.RLIMIT_AS, pages * resource.getpagesize() + more)


def replacing(folder: Path, wait: float) -> None:
    """Replace an input a moment later by the same rows in another order."""

    def replace() -> None:
        time.sleep(wait)
        table = pd.read_csv(folder / "unlabeled.csv", dtype=str)
        table[::-1].to_csv(folder / "new", index=False)
        os.replace(folder / "new", folder / "unlabeled.csv")

    threading.Thread(target=replace, daemon=True).start()


def write_inputs(folder: Path) -> None:
    """Write people to learn from, and people to label."""
    X, y = make_twonorm(220, random_state=0)
    table = pd.DataFrame(X[:, :4]).add_prefix("x").round(3)
    table.insert(0, "id", [f"p{k}" for k in range(len(table))])
    table[:100].assign(sick=y[:100]).to_csv(folder / "labeled.csv", index=False)
    table[:100].assign(sick=y[:100]).to_excel(folder / "labeled.xlsx", index=False)
    table[100:].to_csv(folder / "unlabeled.csv", index=False)
    shutil.copy(folder / "unlabeled.csv", folder / "kept.csv")


def prepare(folder: Path, out: str) -> dict[str, bytes]:
    """Put old outputs in place, and return what is there."""
    for path in folder.iterdir():
        if path.name not in ("labeled.csv", "labeled.xlsx", "unlabeled.csv", "kept.csv"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copy(folder / "kept.csv", folder / "unlabeled.csv")
    for name in (out, *OTHERS):
        path = folder / name
        if "." in name:
            path.write_bytes(b"precious")
        else:
            path.mkdir()
            (path / "part-0.parquet").write_bytes(b"precious")
    return contents(folder, out)


def contents(folder: Path, out: str) -> dict[str, bytes]:
    """Return the outputs."""
    found = {}
    for name in (out, *OTHERS):
        path = folder / name
        parts = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
        found[name] = b"".join(part.read_bytes() for part in parts)
    return found


def run(
    folder: Path, out: str, fault: Fault, delay: tuple[int, float] | None, kind: str
) -> tuple[int, str]:
    """Run the command in a child with a fault; return how it ended, and what it said."""
    said = folder / "said"
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        file = os.open(said, os.O_CREAT | os.O_WRONLY, 0o600)
        os.dup2(file, 1)
        os.dup2(file, 2)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 99
        try:
            fault()
            line = LINE.replace("labeled.csv", "labeled.xlsx", 1) if kind == READER_DIES else LINE
            code = command((line + out).split())
        except BaseException as error:  # what the command lets through
            sys.stderr.write(f"Traceback: {error!r}")
        os._exit(code)
    if delay is not None:
        time.sleep(delay[1])
        os.kill(child, delay[0])
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status), said.read_text(errors="replace")


def judge(
    folder: Path, out: str, before: dict[str, bytes], code: int, said: str, kind: str
) -> str | None:
    """Say what is wrong with how a run ended, None if nothing is."""
    after = contents(folder, out)
    if "Traceback" in said or "unexpected" in said:
        return "a traceback, or an error that is not ours"
    if any(not content for content in after.values()):
        return "an output is lost"
    changed = [name for name in after if after[name] != before[name]]
    if code == 0:
        if len(changed) < len(after):
            return "said to be written, but is not"
        return None if whole(folder, out) else "an output is not whole"
    hidden = [path.name for path in folder.iterdir() if path.name.startswith(".")]
    was_killed = code in (-signal.SIGKILL, -signal.SIGTERM) or (
        kind == "memory is full" and code < 0
    )
    if was_killed:  # between two names, or before them: each output is old or whole
        return None if not changed or whole(folder, out, set(changed)) else "half-written"
    if changed:
        return f"failed, but {changed} changed"
    # What cannot be removed is removed by the next run.
    return f"left {hidden}" if hidden and kind not in ("unlink fails", "rmdir fails") else None


def whole(folder: Path, out: str, names: set[str] | None = None) -> bool:
    """Whether outputs are complete: all rows are labeled, files end as they should."""
    from c2rf.data.formats import read_file
    from c2rf.workflow.model_file import StoredModel

    names = {out, *OTHERS} if names is None else names
    n_rows = []
    for name in names - {"report.html", "model.skops"}:
        path = folder / name
        parts = sorted(path.iterdir()) if path.is_dir() else [path]
        n_rows.append(sum(len(read_file(part).frame) for part in parts))
    if "model.skops" in names:
        StoredModel.read(folder / "model.skops")
    report = folder / "report.html"
    ends = "report.html" not in names or report.read_text().rstrip().endswith("</html>")
    return ends and all(number == 120 for number in n_rows)


if __name__ == "__main__":
    sys.exit(main())
