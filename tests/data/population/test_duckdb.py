"""Rows of DuckDB: relations, tables and queries; labels back to a table."""

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.data.population import as_population
from c2rf.data.population.duckdb import DuckDBRows, connected, find_table
from c2rf.datasets import make_twonorm
from c2rf.exceptions import InputError

duckdb = pytest.importorskip("duckdb")


@pytest.fixture
def people():
    X, y = make_twonorm(400, random_state=0)
    table = pd.DataFrame(X[:, :4], columns=list("abcd")).assign(
        id=np.arange(400), region=np.where(np.arange(400) % 3, "south", "it's"), sick=y
    )
    return table[:60].drop(columns="id"), table[60:].drop(columns="sick").reset_index(drop=True)


@pytest.fixture
def base(tmp_path, people):
    """A database whose rows are stored in another order than their ids."""
    labeled, unlabeled = people  # noqa: RUF059
    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        shuffled = unlabeled.sample(frac=1, random_state=1)  # noqa: F841
        connection.execute('CREATE TABLE "every one" AS SELECT * FROM shuffled')
        connection.execute("CREATE TABLE asked AS SELECT * FROM labeled")
    return path


OPTIONS = {"target": "sick", "totals": {1: 150}, "learner": "logistic", "id": "id"}


def test_labels_are_those_of_the_frame_sorted_by_id(people, base):
    labeled, unlabeled = people
    expected = c2rf.classify(labeled, unlabeled, **OPTIONS).labels
    for given in (
        duckdb.sql("SELECT * FROM unlabeled"),
        duckdb.sql("SELECT * FROM unlabeled ORDER BY a"),
        f"{base}::every one",
    ):
        relation = c2rf.classify(labeled, given, **OPTIONS).labels
        found = relation.order("id").df()
        pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)
    query = "SELECT * FROM \"every one\" WHERE region <> 'nowhere'"
    found = c2rf.classify(f"{base}::asked", base, query=query, **OPTIONS).predictions.frame()
    pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)


def test_a_relation_in_a_fit_names_its_ids(people):
    labeled, unlabeled = people
    from sklearn.linear_model import LogisticRegression

    X, y = labeled[list("abcd")], labeled["sick"]
    mixed = unlabeled.sample(frac=1, random_state=2)  # noqa: F841
    relation = duckdb.sql("SELECT * FROM mixed")
    model = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
    expected = model.fit(X, y, X_unlabeled=unlabeled[list("abcd")], totals={1: 150}).transduction_
    model.fit(X, y, X_unlabeled=relation, unlabeled_id="id", totals={1: 150})
    assert (model.transduction_ == expected).all()
    with pytest.raises(InputError, match="unlabeled_id"):
        model.fit(X, y, X_unlabeled=relation, totals={1: 150})


def test_labels_go_back_to_the_file_they_came_from(people, base, tmp_path, capsys):
    labeled, _ = people
    asked = tmp_path / "asked.csv"
    labeled.to_csv(asked, index=False)
    command = [
        "classify", str(asked), f"{base}::every one", "--target", "sick", "--totals", "1=150",
        "--learner", "logistic", "--id", "id", "--out", f"{base}::labels",
    ]  # fmt: skip
    assert main(command) == 0
    with duckdb.connect(str(base), read_only=True) as connection:
        found = connection.sql("SELECT * FROM labels ORDER BY id").df()
        tables = {row[0] for row in connection.sql("SHOW TABLES").fetchall()}
    assert found.columns.tolist() == ["id", "label", "score", "confidence"]
    assert (found["label"] == "1").sum() == 150
    assert tables == {"every one", "asked", "labels"}
    assert main(command) == 2
    assert "is there already" in capsys.readouterr().err
    assert main([*command, "--force"]) == 0


def test_reads_nothing_else_and_changes_nothing(base):
    before = base.read_bytes()
    rows = find_table(base.with_name("people.duckdb::every one"), "id")
    assert [chunk.data.columns.tolist() for chunk in rows.chunks(["b"])] == [["b"]]
    rows.close()
    assert sum(chunk.data.shape[0] for chunk in rows.chunks(["a"])) == 340  # opened again
    rows.close()
    assert base.read_bytes() == before


def test_a_file_is_what_its_first_bytes_say(people, base, tmp_path):
    labeled, _ = people
    renamed = tmp_path / "people.db"
    renamed.write_bytes(base.read_bytes())
    result = c2rf.classify(labeled, f"{renamed}::every one", **OPTIONS)
    assert dict(result.data.read_as)["people.db::every one"] == "DuckDB"


@pytest.mark.parametrize(
    ("sql", "id", "message"),
    [
        ("SELECT 1 AS id, 2 AS x", None, "has no row numbers: name the column"),
        ("SELECT 1 AS id, 2 AS x", "key", "has no column 'key'"),
        ("SELECT 1 AS id, 2 AS x UNION ALL SELECT NULL, 3", "id", "1 rows have no 'id'"),
        ("SELECT 1 AS id, 2 AS x UNION ALL SELECT 1, 3", "id", "there more than once"),
        ("SELECT 1 AS id, 2 AS x WHERE false", "id", "no rows"),
        ("SELECT 1 AS id, [1, 2] AS x", "id", "found 'x' of type list"),
    ],
)
def test_refuses_by_name(sql, id, message):
    with pytest.raises(InputError, match=message):
        as_population(duckdb.sql(sql), id=id)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            'SELECT * FROM "every one"; DROP TABLE asked',
            "must be one SELECT; found SELECT and DROP",
        ),
        ("DROP TABLE asked", "must be one SELECT; found DROP"),
        ("SELECT * FROM nobody", "the query cannot be read"),
        ("SELEC", "the query cannot be read"),
    ],
)
def test_refuses_queries(base, query, message):
    with pytest.raises(InputError, match=message):
        find_table(base, "id", query)
    with duckdb.connect(str(base), read_only=True) as connection:
        assert len(connection.sql("SHOW TABLES").fetchall()) == 2


def test_a_table_that_changes_between_passes_is_refused():
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t AS SELECT i AS id, i AS x FROM range(5) t(i)")
    rows = DuckDBRows(connection.table("t"), "id")
    assert len(list(rows.chunks(["x"]))) == 1
    connection.execute("UPDATE t SET id = 9 WHERE id = 4")
    with pytest.raises(InputError, match="other ids than before"):
        list(rows.chunks(["x"]))


def test_a_query_needs_a_database(people, tmp_path):
    labeled, unlabeled = people
    path = tmp_path / "u.csv"
    unlabeled.to_csv(path, index=False)
    with pytest.raises(InputError, match="query needs a DuckDB file"):
        c2rf.classify(labeled, path, query="SELECT 1", **OPTIONS)


def test_views_of_others_do_not_reach_into_the_network(tmp_path):
    duckdb.connect(str(tmp_path / "x.duckdb")).close()
    with connected(tmp_path / "x.duckdb") as connection:
        for what in ("install", "load"):
            found = connection.execute(f"SELECT current_setting('auto{what}_known_extensions')")
            assert found.fetchone() == (False,)


def test_what_a_database_attaches(base, tmp_path):
    here = duckdb.connect()
    here.execute(f"ATTACH '{base}' AS other (READ_ONLY)")
    every = 'SELECT * FROM other."every one"'
    attached = as_population(here.sql(every), id="id")
    here.execute(f"COPY ({every} WHERE id % 2 = 0) TO '{tmp_path}/even.parquet'")
    here.execute(f"COPY ({every} WHERE id % 2 = 1) TO '{tmp_path}/odd.parquet'")
    found = [[chunk.data for chunk in attached.chunks(["id", "a"])]]
    here.close()
    files = find_table(base, "id", f"SELECT * FROM '{tmp_path}/*.parquet'")
    found.append([chunk.data for chunk in files.chunks(["id", "a"])])
    one, other = (pd.concat(each, ignore_index=True) for each in found)
    assert one["id"].tolist() == list(range(60, 400))
    pd.testing.assert_frame_equal(one, other)


def test_what_duckdb_attaches_is_read_like_a_table(people, base, tmp_path):
    """A table of another database, and Parquet files by a pattern: as relations and by a query."""
    labeled, unlabeled = people
    expected = c2rf.classify(labeled, unlabeled, **OPTIONS).labels
    for k, part in enumerate((unlabeled[200:], unlabeled[:200])):
        part.to_parquet(tmp_path / f"part-{k}.parquet")
    files = f"SELECT * FROM read_parquet('{tmp_path}/part-*.parquet')"
    with duckdb.connect() as connection:
        connection.execute(f"ATTACH '{base}' AS other (READ_ONLY)")
        for sql in ('SELECT * FROM other."every one"', files):
            found = c2rf.classify(labeled, connection.sql(sql), **OPTIONS).predictions.frame()
            pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)
    found = c2rf.classify(labeled, base, query=files, **OPTIONS).predictions.frame()
    pd.testing.assert_frame_equal(found.astype(expected.dtypes), expected)
