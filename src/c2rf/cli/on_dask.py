"""``c2rf classify --engine dask``: a folder of Parquet files labeled where its partitions are.

Partitions are encoded, counted and judged by the workers, which write their part of the output,
too; so they must see the same files. The parts appear under their final name when all are there.
"""

from __future__ import annotations

import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from c2rf.cli import labeling, screen
from c2rf.cli.columns import Look
from c2rf.cli.features import Features, encode, make_encoder
from c2rf.cli.judge import ADDED, judge, rows_to_show
from c2rf.cli.methods import METHODS, check_question
from c2rf.cli.question import Groups, Question, known_bounds, read_sample
from c2rf.cli.totals import Totals
from c2rf.distributed import Partitions, connected
from c2rf.distributed.cluster import need_dask
from c2rf.distributed.parquet import read_parquet
from c2rf.distributed.partitions import partition_name
from c2rf.exceptions import InputError
from c2rf.files import atomic_output, check_output
from c2rf.tables import is_parquet


@dataclass(frozen=True)
class DaskJob:
    """What ``c2rf classify --engine dask`` is asked for.

    Parameters
    ----------
    labeled : Path
        A table of individuals whose class is known.
    unlabeled : Path
        A Parquet file, or a folder of them with the same columns.
    target : str
        The column of the labeled table with the class.
    totals : Totals
        What is known of the unlabeled.
    out : Path
        A Parquet file (by its ending), or else a folder with a Parquet file per partition.
    method, choices, seed
        As ``c2rf classify`` has them; ``choices`` are those that were made.
    identifier, group, drop, text, policy
        As ``c2rf classify`` has them.
    scheduler : str or None
        Address of a scheduler; None means threads of this process.
    force : bool
        Whether an existing output may be replaced.
    """

    labeled: Path
    unlabeled: Path
    target: str
    totals: Totals
    out: Path
    method: str = "known-totals"
    choices: tuple[tuple[str, Any], ...] = ()
    seed: int = 0
    identifier: str | None = None
    group: str | None = None
    drop: Sequence[str] = ()
    text: Sequence[str] = ()
    policy: Literal["strict", "scale"] = "strict"
    scheduler: str | None = None
    force: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came of it: the question, the classifier, and how many got each label."""

    question: Question
    classifier: Any
    counts: dict[str, int]


def classify_on_dask(job: DaskJob) -> Outcome:
    """Label a population of Parquet files on a cluster, and write the labels.

    Examples
    --------
    >>> import tempfile
    >>> from c2rf.datasets import make_twonorm
    >>> X, y = make_twonorm(400, random_state=0)
    >>> people = pd.DataFrame(X).add_prefix("x").assign(id=range(400))
    >>> folder = Path(tempfile.mkdtemp())
    >>> people[:100].assign(sick=y[:100]).to_parquet(folder / "labeled.parquet")
    >>> people[100:].to_parquet(folder / "people.parquet")
    >>> job = DaskJob(
    ...     folder / "labeled.parquet",
    ...     folder / "people.parquet",
    ...     "sick",
    ...     Totals({"1": 150}),
    ...     folder / "labels",
    ...     method="c2rf",
    ...     choices=(("trees", 5),),
    ...     identifier="id",
    ... )
    >>> sum(classify_on_dask(job).counts.values())
    300
    >>> pd.read_parquet(folder / "labels").columns.tolist()
    ['id', 'label', 'score', 'confidence']
    """
    need_dask()
    _check_out(job)
    with connected(job.scheduler):
        population = read_parquet(job.unlabeled)
        question = _ask(job, population)
        check_question(job.method, question)
        classifier = METHODS[job.method].fit(question, dict(job.choices), job.seed, 1)
        judged = _judged(job, population, question, classifier)
        with _output(job.out, force=job.force) as parts:
            counts = Partitions(judged).reduce(_Write(parts), _added, list(judged.columns))
    return Outcome(question, classifier, {name: counts[name] for name in question.classes})


def check_options(
    engine: str, out: Path | None, report: Path | None, model: Path | None, *, dry_run: bool
) -> None:
    """Refuse options that the engine dask does not know, or that only it knows."""
    if engine != "dask":
        raise InputError("--scheduler is an option of --engine dask; give both, or neither")
    if report is not None or model is not None or dry_run:
        raise InputError("--engine dask knows no --report, --save-model or --dry-run")
    if out is None:
        raise InputError("say where the labels should go with --out")


def run(job: DaskJob, *, quiet: bool) -> None:
    """Do the job, and tell what was done."""
    with screen.waiting("learning and labeling", quiet):
        outcome = classify_on_dask(job)
    told = labeling.summary(outcome.question, outcome.classifier, outcome.counts)
    screen.say([*told, ("output", str(job.out))], quiet=quiet)


def _check_out(job: DaskJob) -> None:
    if job.out.suffix and not is_parquet(job.out):
        raise InputError(
            f"--out {job.out}: the engine dask writes Parquet, to a file (.parquet) or a folder "
            "(without an ending)"
        )
    if is_parquet(job.out) or not job.out.is_dir():
        check_output(job.out, force=job.force, inputs=[job.labeled])
    elif job.out.resolve() == job.unlabeled.resolve():
        raise InputError(f"{job.out} is an input; choose another name for the output")
    elif not job.force:
        raise InputError(f"{job.out} exists already; choose another name or use --force")


def _ask(job: DaskJob, population: Any) -> Question:
    """Check everything, and put the question with the population left where it is."""
    header = population._meta
    sample = read_sample(
        job.labeled,
        header,
        job.target,
        drop=job.drop,
        text=job.text,
        identifier=job.identifier,
        group=job.group,
    )
    rows_to_show(header, job.identifier)
    known, names, classes = sample.table, sample.names, sample.classes
    # What the cells of a population hold is found out where they are encoded.
    columns = [Look(known[name], name in job.text).column() for name in names]
    encoder = make_encoder(known, columns)
    labeled = encode(encoder, known)
    rows = _rows(population, job.group)
    groups = Groups.of(rows, job.group)
    bounds, remarks = known_bounds(job.totals, classes, groups, job.policy)
    encoded = _encoded(population, names, encoder, labeled.shape[1])
    return Question(
        target=job.target,
        sample=sample.labels,
        classes=classes,
        population=rows,
        features=Features(labeled, encoded, columns, encoder),
        totals=job.totals,
        bounds=bounds,
        groups=groups,
        identifier=job.identifier,
        remarks=remarks,
    )


def _rows(population: Any, group: str | None) -> pd.DataFrame:
    """Return a table with the rows of the population and no columns but that of the groups."""
    if group is not None:
        return population[[group]].compute().reset_index(drop=True)
    counted = Partitions(population).counted()
    return pd.DataFrame(index=range(sum(counted.sizes)))


def _encoded(population: Any, names: list[str], encoder: Any, n_columns: int) -> Any:
    """Return the columns to learn from as numbers, lazily."""
    from dask.delayed import delayed

    meta = pd.DataFrame(np.empty((0, n_columns)))
    return population[names].map_partitions(
        _encode_part, delayed(encoder, traverse=False), meta=meta
    )


def _encode_part(part: pd.DataFrame, encoder: Any, partition_info: Any = None) -> pd.DataFrame:
    try:
        return pd.DataFrame(encode(encoder, part), index=part.index)
    except InputError as error:
        raise InputError(f"{partition_name(partition_info['number'])}: {error}") from error


def _judged(job: DaskJob, population: Any, question: Question, classifier: Any) -> Any:
    """Return the rows of the output, lazily."""
    from dask.delayed import delayed

    shown = rows_to_show(population._meta, job.identifier)
    columns = [str(name) for name in shown]
    names = list(dict.fromkeys([*columns, *([job.group] if job.group else [])]))
    work = _Judge(classifier, question.positive, job.group, columns)
    meta = shown.assign(label=pd.Series(dtype=object), score=0.0, confidence=0.0)
    return population[names].map_partitions(
        _judge_part,
        question.features.unlabeled,
        classifier.transduction_,
        delayed(work, traverse=False),
        meta=meta,
    )


@dataclass(frozen=True, eq=False)
class _Judge:
    """What is needed to judge a partition."""

    classifier: Any
    positive: str | None
    group: str | None
    shown: list[str]


def _judge_part(
    rows: pd.DataFrame, encoded: pd.DataFrame, labels: pd.Series[Any], work: _Judge
) -> pd.DataFrame:
    """Return rows with their label, and what the model says of them."""
    shown = rows[work.shown]
    if not len(rows):
        return shown.assign(**{name: pd.Series(dtype=float) for name in ADDED})
    groups = Groups.of(rows, work.group).of_rows
    said = judge(work.classifier, encoded.to_numpy(), work.positive, groups)
    return replace(said, labels=labels.to_numpy(dtype=object)).beside(shown)


@dataclass(frozen=True)
class _Write:
    """The work of writing a partition: a file whose name keeps the order."""

    folder: Path

    def __call__(self, part: pd.DataFrame, number: int) -> Counter[str]:
        path = self.folder / f"part-{number:06d}.parquet"
        if len(part):
            part.to_parquet(path, index=False, engine="pyarrow")
        return Counter(part["label"].tolist())


def _added(counts: Sequence[Counter[str]]) -> Counter[str]:
    return sum(counts, Counter())


@contextmanager
def _output(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a folder for the parts; in the end they become the folder or file that is wanted."""
    parts = path.with_name(f".{secrets.token_hex(4)}-{path.name}-parts").absolute()
    try:
        parts.mkdir()
        yield parts
        if is_parquet(path):
            with atomic_output(path, force=force) as temporary:
                _joined(sorted(parts.iterdir()), temporary)
        else:
            _take_place(parts, path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        shutil.rmtree(parts, ignore_errors=True)


def _joined(parts: list[Path], path: Path) -> None:
    """Write the rows of all parts into one file, a row group at a time."""
    from pyarrow.parquet import ParquetFile, ParquetWriter

    with ParquetFile(parts[0]) as first:
        schema = first.schema_arrow
    with ParquetWriter(path, schema) as writer:
        for part in parts:
            with ParquetFile(part) as file:
                for group in range(file.num_row_groups):
                    writer.write_table(file.read_row_group(group).cast(schema))


def _take_place(parts: Path, path: Path) -> None:
    """Rename the folder of parts; a folder that was there is put aside first, and then removed."""
    aside = parts.with_name(f"{parts.name}-old")
    if path.exists():
        path.rename(aside)
    parts.rename(path)
    shutil.rmtree(aside, ignore_errors=True)
