"""Reports in German: every sentence of usual reports has a translation; names and options stay."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import c2rf
from c2rf.cli import main
from c2rf.exceptions import InputError
from c2rf.report import names_of, report_content
from c2rf.report.language import _pairs, languages, translated, translated_page, with_marks
from c2rf.workflow.summary import summary_lines
from people import make_people

PEOPLE = make_people(200)
CASES = {
    "overall": {"totals": {"yes": 60}},
    "groups": {"totals": PEOPLE.totals_by("region")},
    "range": {"totals": {"yes": (50, 70)}, "imputations": 3},
    "scaled": {"totals": {"yes": 300, "no": 500}, "totals_policy": "scale"},
}


def classified(name, **more):
    return c2rf.classify(
        PEOPLE.labeled, PEOPLE.unlabeled, target="sick", learner="logistic", id="id",
        language="de", **CASES[name], **more,
    )  # fmt: skip


def texts(page):
    """Yield all texts of a page but names and code."""
    for name, sentences in page.lead:
        yield from (name, *sentences)
    for section in page.sections:
        yield section.title
        for block in section.blocks:
            if block.kind in ("text", "key"):
                yield block.text
            elif block.kind in ("items", "warnings"):
                yield from block.text
            elif block.kind == "picture":
                yield block.caption
            elif block.kind == "table":
                yield from (block.title, block.note, *block.header)
                for row in block.rows:
                    yield from row[block.n_names :]


@pytest.mark.parametrize("name", CASES)
def test_every_sentence_of_usual_reports_is_translated(name):
    result, left = classified(name), set()
    lines = [text for line in summary_lines(result) for text in line]
    for text in (*texts(report_content(result)), *lines):
        translated(text, "de", names_of(result), left)
    assert not {text for text in left if not text.startswith("'")}


def untidy(table, seed):
    """Return people with signs for missing values, codes, names, dates, and empty columns."""
    rng, n = np.random.default_rng(seed), len(table)
    return table.assign(
        income=np.where(rng.random(n) < 0.1, "k.A.", rng.integers(1000, 9000, n).astype(str)),
        Gewicht=rng.integers(50, 90, n),
        code=rng.choice([10115, 10117, 20095], n),
        name=[f"N{seed}{k}" for k in range(n)],
        one="x",
        none=np.nan,
    )


@pytest.mark.parametrize(
    "options",
    [
        {"totals": {"yes": 60}, "imputations": 3, "id": "id"},
        {"totals": "estimate", "drop": ["id"]},
        {"totals": {"yes": 60}, "weight": "Gewicht", "imputations": 2, "totals_policy": "scale"},
        {"totals": {"yes": c2rf.Estimate(60, se=5)}, "calibration": "none"},
    ],
)
def test_remarks_on_untidy_tables_are_translated(options):
    people = make_people(300)
    labeled, rest = untidy(people.labeled, 1), untidy(people.unlabeled, 2)
    rest = pd.concat([rest, rest[:1]])
    result = c2rf.classify(labeled, rest, target="sick", learner="logistic", **options)
    left, names = set(), {*names_of(result), *labeled}
    lines = [text for line in summary_lines(result) for text in line]
    for text in (*texts(report_content(result)), *lines):
        translated(text, "de", names, left)
    assert not {text for text in left if re.search("[a-z]{3} [a-z]{3}", text)}


def test_names_options_and_numbers():
    result = classified("groups")
    assert "Label yes" in result.summary()
    page = translated_page(report_content(result), "de", names_of(result))
    said = re.sub("[\u2068\u2069]", "", " ".join(texts(page)))
    assert "Alle bekannten Eckwerte sind genau eingehalten." in said
    assert re.search(r"\d,\d %", said)
    assert not re.search(r"\d\.\d %", said)
    assert "Labels und Eckwerte nach region" in said  # the column keeps its name
    assert page.language == "de"
    assert (
        with_marks("1,234,567.8 and \u2068'1,5'\u2069", "de") == "1.234.567,8 and \u2068'1,5'\u2069"
    )
    assert translated("-0.10", "de") == "-0,10"
    assert translated("rows", "de", {"rows"}) == "rows"
    said = translated("a.xlsx: 9 rows, 3 columns; read as: Excel, sheet 'A' (not read: 'B')", "de")
    assert said.endswith("gelesen als: Excel, Blatt 'A' (nicht gelesen: 'B')")
    assert "--keep id" in translated("id: numbers the rows (--keep id brings it back)", "de")


def test_names_in_quotes_files_and_options_stay_as_they_are():
    said = translated(
        "a.1.5.xlsx: 1,204 rows, 3 columns; read as: Excel, sheet 'Tab 3.1, all'", "de"
    )
    assert said == "a.1.5.xlsx: 1.204 Zeilen, 3 Spalten; gelesen als: Excel, Blatt 'Tab 3.1, all'"
    said = translated("'1.5' has more than one total for 'rows'", "de")
    assert said == "'1.5' hat mehr als einen Eckwert für 'rows'"
    said = translated("Correct them, or use --totals-policy scale to have them rescaled", "de")
    assert said == "Zu berichtigen, oder mit --totals-policy scale anzupassen"


def test_no_sentence_is_half_in_each_language():
    left = set()
    text = "1,204 rows; nobody has translated this. All known totals are met exactly."
    said = translated(text, "de", left=left)
    assert said == (
        "1,204 rows; nobody has translated this. Alle bekannten Eckwerte sind genau eingehalten."
    )
    assert left == {"nobody has translated this"}
    text = "500 rows and 96 checked rows of a.xlsx, learned from by their weights"
    assert (
        translated(text, "de")
        == "500 Zeilen und 96 geprüfte von a.xlsx, gelernt mit ihren Gewichten"
    )


def test_every_step_that_is_reported_has_a_name_in_german():
    """All phases in the sources, but those of solvers, whose names are those of the paper."""
    found = set()
    for path in Path(c2rf.__file__).parent.rglob("*.py"):
        if "forest" in path.parts or path.name == "progress.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            name = getattr(node, "func", None)
            name = getattr(name, "id", getattr(name, "attr", ""))
            place = {"report_progress": 0, "Countdown": 0, "in_threads": 3, "held_out_models": 3}
            if name in place and len(node.args) > place[name]:
                text = node.args[place[name]]
                parts = text.values if isinstance(text, ast.JoinedStr) else [text]
                words = [getattr(part, "value", "7") for part in parts]
                found |= {"".join(w if isinstance(w, str) else "7" for w in words)}
    assert {"ranking rows", "drawing imputations", "learning to estimate totals"} <= found
    for phase in found - {""}:
        left = set()
        translated(f"classifying: {phase}: 3 of 20, about 5 s left (15 s)", "de", left=left)
        assert not left, phase


ERRORS = {
    "--totals yes=30,no=5": "Die Eckwerte ergeben 35 ('yes': 30, 'no': 5), es gibt aber 160 Zeilen",
    "--totals yess=30": "Keine Zeile mit Label ist von der Klasse 'yess'; die Klassen sind",
    "--totals yes=30 --id who": "--id: Es gibt keine Spalte 'who'; die Spalten sind 'id', 'a'",
    "--totals yes=3x": "der Eckwert von 'yes' muss eine Anzahl wie 1234 oder ein Anteil wie 0,12",
    "": "Ein bekannter Eckwert wird gebraucht",
}


@pytest.mark.parametrize("words", ERRORS)
def test_errors_of_the_command_are_in_its_language(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    PEOPLE.write()
    given = f"classify labeled.csv unlabeled.csv --target sick --out o.csv --language de {words}"
    assert main(given.split()) == 2
    said = capsys.readouterr().err
    assert ERRORS[words] in said
    assert not re.search(r"\b(the|there|are|or|found)\b", said)


@pytest.mark.parametrize("language", [name for name in languages() if name != "en"])
def test_a_file_of_a_language_is_complete(language):
    exact, with_holes = _pairs(language)
    assert len({pattern.pattern for pattern, _ in with_holes}) == len(with_holes)
    for pattern, target in with_holes:
        assert target.format(*["x"] * pattern.groups)
        used = re.findall(r"\{(\d?)\}", target)
        assert len(set(used)) == pattern.groups if all(used) else len(used) == pattern.groups
    assert exact["1,234.5"]


def test_a_language_without_a_file_is_refused():
    with pytest.raises(InputError, match="language must be de or en; found 'fr'"):
        classified("overall").data.options.__class__(target="a", totals={}, language="fr")


def test_the_page_says_its_language(tmp_path):
    classified("overall").report(tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert '<html lang="de">' in page
    assert "vergebene Labels" in page
    assert "labels given" not in page


def test_names_of_ours_in_tables_are_translated_and_those_of_the_user_stay():
    people = make_people(200)
    for table in (people.labeled, people.unlabeled):
        table["born"] = pd.date_range("1970-01-01", periods=len(table)).strftime("%Y-%m-%d")
        table["kind"] = ["number" if k % 3 else f"v{k % 40}" for k in range(len(table))]
    result = c2rf.classify(
        people.labeled, people.unlabeled, target="sick", learner="logistic", id="id",
        totals=people.totals(), language="de", sensitivity=0.05,
    )  # fmt: skip
    page = translated_page(report_content(result), "de", names_of(result))
    tables = [block for section in page.sections for block in section.blocks
              if block.kind == "table"]  # fmt: skip
    names = {cell for table in tables for row in table.rows for cell in row[: table.n_names]}
    assert {"born: Monat, Sinus", "kind: number", "lesen und prüfen"} <= names
    assert any(name.startswith("Label \u2068") for name in names)
    said = " ".join(texts(page))
    assert "Zeilen mit Label von" in said
    assert "Bei jedem um 5,0 % falschen Eckwert" in said
    assert not re.search(r"labeled|month|depend|right to the last row", said + " ".join(names))
