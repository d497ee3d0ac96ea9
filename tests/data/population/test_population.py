"""Whatever a population comes as, the same rows in the same order, again and again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from c2rf.data.formats import PARQUET, TEXT
from c2rf.data.population import as_population
from c2rf.data.population.files import Files
from c2rf.data.population.memory import Chunks, Memory, arrow_dataset, lazy_frame
from c2rf.exceptions import InputError, InputTypeError

pa = pytest.importorskip("pyarrow")


pl = pytest.importorskip("polars")


pq = pytest.importorskip("pyarrow.parquet")


ds = pytest.importorskip("pyarrow.dataset")


NAMES = ["a", "b", "c"]


FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(1000, 3)), columns=NAMES)


BOUNDS = [(0, 300), (300, 300), (300, 1000)]  # with an empty one


def parts(frame=FRAME):
    return [frame.iloc[start:end] for start, end in BOUNDS]


@pytest.fixture
def folder(tmp_path):
    """Three Parquet files of several row groups, in a folder with what must be ignored."""
    folder = tmp_path / "population"
    (folder / "more").mkdir(parents=True)
    for k, part in enumerate(parts()):
        place = folder / "more" if k == 2 else folder
        part.to_parquet(place / f"part-{k}.parquet", row_group_size=120, index=False)
    (folder / "_metadata").write_text("not a table")
    (folder / ".part-9.parquet").write_text("half a table")
    (folder / "README.md").write_text("not a table")
    return folder


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "population.csv"
    FRAME.to_csv(path, index=False)
    return path


def together(source, columns=None):
    """All rows of a source, read twice to be sure."""
    first, second = ([chunk.data for chunk in source.chunks(columns)] for _ in range(2))
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(*(np.asarray(each, dtype=float) for each in (one, other)))
    return np.concatenate([np.asarray(chunk, dtype=float) for chunk in first])


def sources(folder, csv_file):
    """The same population as everything that it may be."""
    files = sorted(folder.rglob("part-?.parquet"), key=lambda path: path.name)
    table = pa.Table.from_pandas(FRAME, preserve_index=False)
    return {
        "one file": as_population(csv_file),
        "folder as text": as_population(str(folder)),
        "files": as_population(files),
        "dataset": as_population(ds.dataset(files)),
        "filtered dataset": as_population(ds.dataset(files).filter(ds.field("a") > -1e9)),
        "table": as_population(table),
        "lazy frame": as_population(pl.scan_parquet(files)),
        "frames": as_population(parts()),
        "arrow batches": as_population(lambda: iter(table.to_batches(100))),
        "generator": as_population(lambda: (part for part in parts())),
    }


@pytest.mark.parametrize("columns", [None, ["c", "a"]])
def test_every_source_is_the_same_population(folder, csv_file, columns):
    files = sorted(folder.rglob("part-?.parquet"))
    assert [path.name for path in files] == ["part-2.parquet", "part-0.parquet", "part-1.parquet"]
    for name, source in sources(folder, csv_file).items():
        expected = FRAME
        if name == "folder as text":
            expected = pd.concat([FRAME[300:], FRAME[:300]])  # in the order of the names
        own_columns = source.names is None  # the user makes them as they should be
        expected = expected if columns is None or own_columns else expected[columns]
        np.testing.assert_array_equal(together(source, columns), expected.to_numpy(), name)


def test_the_kinds_of_sources(folder, csv_file):
    found = sources(folder, csv_file)
    assert found["one file"].kind is TEXT
    assert found["files"].kind is PARQUET
    for name in ("table", "dataset", "lazy frame", "generator", "frames"):
        assert isinstance(found[name], Chunks)
    assert found["table"].names == found["lazy frame"].names == NAMES


def test_chunks_have_bounded_rows(folder, csv_file, monkeypatch):
    monkeypatch.setattr("c2rf.data.population.memory.ROWS_PER_CHUNK", 50)
    files = sorted(folder.rglob("part-?.parquet"))
    for source in (
        Files(files, PARQUET, rows=50),
        Files([csv_file], TEXT, rows=50),
        arrow_dataset(ds.dataset(files)),
        lazy_frame(pl.scan_parquet(files)),
    ):
        sizes = [len(chunk.data) for chunk in source.chunks(NAMES)]
        assert sum(sizes) == 1000
        assert max(sizes) <= 50


@pytest.mark.parametrize(
    "table", [np.zeros((2, 2)), FRAME, [[1, 2], [3, 4]], [], pl.DataFrame({"a": [1]})]
)
def test_tables_in_memory(table):
    assert isinstance(as_population(table), Memory)


def test_tabs_and_gzip_and_missing_markers(tmp_path):
    holed = FRAME.head(5).mask(FRAME.head(5) > 0)
    for name, separator in (("x.tsv.gz", "\t"), ("x.csv.gz", ","), ("x.tab", "\t")):
        holed.to_csv(tmp_path / name, sep=separator, index=False, na_rep="NA")
        np.testing.assert_array_equal(together(as_population(tmp_path / name)), holed.to_numpy())


def test_types_may_differ_between_files(tmp_path):
    kinds = {"a": [1, 2], "b": [1.5, None], "c": [True, False]}
    pd.DataFrame(kinds).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame({"c": [1.0], "a": [2.5], "b": [3]}).to_parquet(tmp_path / "1.parquet")
    rows = together(as_population(tmp_path), NAMES)
    np.testing.assert_array_equal(rows, [[1, 1.5, 1], [2, np.nan, 0], [2.5, 3, 1]])


class TestRefused:
    @pytest.mark.parametrize("once", [iter(parts()), (part for part in parts()), map(len, [])])
    def test_iterators(self, once):
        with pytest.raises(InputTypeError, match=r"only once; give .* a callable that return"):
            as_population(once)

    def test_readers_of_arrow(self):
        reader = pa.Table.from_pandas(FRAME).to_reader()
        with pytest.raises(InputTypeError, match="a RecordBatchReader can be read only once"):
            as_population(reader)

    def test_a_callable_that_returns_the_same_iterator(self):
        one = iter(parts())
        source = as_population(lambda: one)
        assert sum(len(chunk.data) for chunk in source.chunks()) == 1000
        with pytest.raises(InputTypeError, match="fresh iterator each time; it returned the same"):
            next(source.chunks())

    def test_a_callable_that_returns_no_chunks(self):
        with pytest.raises(InputTypeError, match="must return an iterator of chunks; it ret"):
            next(as_population(lambda: 3).chunks())
        with pytest.raises(InputTypeError, match=r"chunk 1 of .* found a ndarray of shape \(3,\)"):
            list(as_population(lambda: [np.zeros((1, 3)), np.zeros(3)]).chunks())
        with pytest.raises(InputTypeError, match=r"chunk 0 .* found a list"):
            list(as_population(lambda: [[1.0, 2.0]]).chunks())

    def test_no_such_file_and_folders_without_tables(self, tmp_path):
        with pytest.raises(InputError, match=r"none.parquet: there is no such file"):
            as_population(tmp_path / "none.parquet")
        with pytest.raises(InputError, match="holds no Parquet or CSV file"):
            as_population(tmp_path)

    def test_two_kinds_of_files(self, folder, csv_file):
        (folder / "x.csv").write_text(csv_file.read_text())
        with pytest.raises(InputError, match=r"all Parquet or all CSV; found both .*part-2.parq"):
            as_population(folder)

    @pytest.mark.parametrize("ending", ["parquet", "csv"])
    def test_other_columns_than_the_first(self, tmp_path, ending):
        def write(name, frame):
            path = tmp_path / f"{name}.{ending}"
            frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)

        write("0", FRAME)
        write("1", FRAME.drop(columns="b"))
        with pytest.raises(InputError, match=rf"1.{ending} must have .*0.{ending}; it lacks 'b'"):
            together(as_population(tmp_path))
        write("1", FRAME.assign(d=1))
        with pytest.raises(InputError, match=rf"1.{ending} must have .*; it also has 'd'"):
            together(as_population(tmp_path))
        with pytest.raises(InputError, match=rf"0.{ending} lacks columns of X: 'x'; it has 'a'"):
            together(as_population(tmp_path), ["a", "x"])

    def test_columns_that_datasets_and_lazy_frames_lack(self, folder):
        files = sorted(folder.rglob("part-?.parquet"))
        for given, who in ((ds.dataset(files), "dataset"), (pl.scan_parquet(files), "LazyFrame")):
            with pytest.raises(InputError, match=f"the {who} lacks columns of X: 'x'"):
                next(as_population(given).chunks(["x"]))

    def test_names_that_occur_twice(self):
        table = pa.table([[1], [2]], names=["a", "a"])
        with pytest.raises(InputError, match="names must differ; found 'a' more than once"):
            next(as_population(table).chunks())


def damage(path: Path, group: int) -> None:
    """Overwrite the data of a row group, not the description of the file."""
    column = pq.ParquetFile(path).metadata.row_group(group).column(0)
    content = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    content[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(content)


class TestUnreadable:
    def test_row_group(self, folder):
        damage(folder / "more" / "part-2.parquet", 3)
        chunks = as_population(folder / "more").chunks()
        assert sum(len(next(chunks).data) for _ in range(3)) == 360
        with pytest.raises(InputError, match=r"part-2.parquet, row group 3 cannot be read: "):
            next(chunks)

    def test_fragment_of_a_dataset(self, folder):
        damage(folder / "more" / "part-2.parquet", 3)
        dataset = ds.dataset(sorted(folder.rglob("part-?.parquet")))
        with pytest.raises(InputError, match=r"part-2.parquet cannot be read: "):
            together(as_population(dataset))

    def test_lazy_frame(self, folder):
        damage(folder / "more" / "part-2.parquet", 3)
        with pytest.raises(InputError, match=r"the LazyFrame cannot be read: "):
            together(as_population(pl.scan_parquet(folder / "more" / "part-2.parquet")))

    def test_not_a_parquet_file(self, tmp_path):
        (tmp_path / "x.parquet").write_text("a,b\n1,2\n")
        with pytest.raises(InputError, match=r"x.parquet cannot be read: "):
            together(as_population(tmp_path / "x.parquet"))

    def test_not_a_csv_file(self, tmp_path):
        (tmp_path / "x.csv").write_text("a,b\n1,2\n1,2,3\n")
        with pytest.raises(InputError, match=r"x.csv: line 3 has 3 cells"):
            together(as_population(tmp_path / "x.csv"))
        (tmp_path / "x.csv").write_text("")
        with pytest.raises(InputError, match=r"x.csv is empty"):
            together(as_population(tmp_path / "x.csv"))

    def test_an_error_of_the_users_own_chunks_stays_as_it_is(self):
        def broken():
            yield FRAME
            raise RuntimeError("mine")

        with pytest.raises(RuntimeError, match="mine"):
            together(as_population(broken))

    def test_an_error_in_using_a_chunk_stays_as_it_is(self, folder):
        with pytest.raises(RuntimeError, match="mine"):  # noqa: PT012
            for _ in as_population(folder).chunks():
                raise RuntimeError("mine")
