"""Tables as offices publish them: read right, or refused with the cure; never read wrongly."""

from __future__ import annotations

from io import StringIO
from unicodedata import normalize

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl import Workbook, load_workbook

from c2rf import Estimate
from c2rf.cli import main
from c2rf.data.dialect import ReadAs
from c2rf.data.totals import Bins, TotalsTable, find_bins, parse_bin, parse_totals
from c2rf.exceptions import InputError
from c2rf.workflow.prepare import read_known
from c2rf.workflow.summary import previews

WORK = ["arbeitslos", "erwerbstätig", "inaktiv"]
LAENDER = {"Land": {"Bayern", "Hessen", "Saarland"}, "Geschlecht": {"m", "w"}}
FRANCE = {"région": {"Bretagne", "Corse", "Normandie"}, "sexe": {"H", "F"}}
SPAIN = {"comunidad": {"Aragón", "Galicia", "Madrid"}, "sexo": {"H", "M"}}
WORLD = {"region": {"north", "south", "west"}, "age": {"18", "19"}}


def read(tmp_path, text, rows, classes, **how):
    """Read a table, with the columns of the rows and their values."""
    path = tmp_path / "totals.csv"
    path.write_text(text, encoding="utf-8")
    file = TotalsTable(path, "status")
    return file.read(list(rows), classes, ReadAs(**how), lambda name: rows.get(name, set()))


def by_place(rows, *groups):
    return {(*(row[name] for name in groups), row["class"]): row["total"] for row in rows}


A, E = WORK[:2]
BAYERN = {("Bayern", A): 96, ("Bayern", E): 1204, ("Hessen", A): 190, ("Hessen", E): 2310}

RIGHT = {
    # ten in German
    "sum row called Deutschland": (
        "Land;arbeitslos;erwerbstätig;Gesamt\nBayern;96;1204;1300\nHessen;190;2310;2500\n"
        "Saarland;10;90;100\nDeutschland;296;3604;3900\n",
        LAENDER, WORK[:2], ["Land"], BAYERN | {("Saarland", A): 10, ("Saarland", E): 90},
    ),
    "sums called zusammen and Personen": (
        "Land;arbeitslos;erwerbstätig;Personen\nBayern;96;1204;1300\nHessen;190;2310;2500\n"
        "zusammen;286;3514;3800\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "thousands with points": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1.204\nHessen;190;2.310\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "thousands with spaces": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1 204\nHessen;190;2 310\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "long, Erwerbsstatus and Anzahl": (
        "Land;Erwerbsstatus;Anzahl\nBayern;arbeitslos;96\nBayern;erwerbstätig;1.204\n"
        "Hessen;arbeitslos;190\nHessen;erwerbstätig;2.310\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "long with Insgesamt among the classes": (
        "Land;status;N\nBayern;arbeitslos;96\nBayern;erwerbstätig;1204\nBayern;Insgesamt;1300\n"
        "Hessen;arbeitslos;190\nHessen;erwerbstätig;2310\nHessen;Insgesamt;2500\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "Standardfehler": (
        "Land;status;Schätzwert;Standardfehler\nBayern;arbeitslos;96;8\nHessen;arbeitslos;190;0\n",
        LAENDER, WORK[:2], ["Land"],
        {("Bayern", A): Estimate(96, se=8), ("Hessen", A): 190},
    ),
    "percent with decimal commas": (
        "Land;arbeitslos;erwerbstätig;insgesamt\nBayern;7,4%;92,6%;100%\nHessen;7,6%;92,4%;100%\n",
        LAENDER, WORK[:2], ["Land"],
        {("Bayern", A): 0.074, ("Bayern", E): 0.926, ("Hessen", A): 0.076, ("Hessen", E): 0.924},
    ),
    "Anteil in %": (
        "Land;status;Anteil in %\nBayern;arbeitslos;7,4\nHessen;arbeitslos;7,6\n",
        LAENDER, WORK[:2], ["Land"], {("Bayern", A): 0.074, ("Hessen", A): 0.076},
    ),
    "one secret cell is filled in": (
        "Land;arbeitslos;erwerbstätig;insgesamt\nBayern;.;1204;1300\nHessen;190;2310;2500\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "two ways, sums of both": (
        "Land;Geschlecht;arbeitslos;erwerbstätig\nBayern;m;50;600\nBayern;w;46;604\n"
        "Bayern;zusammen;96;1204\nHessen;m;90;1310\nHessen;w;100;1000\nHessen;zusammen;190;2310\n"
        "Bund;m;140;1910\nBund;w;146;1604\nBund;zusammen;286;3514\n",
        LAENDER, WORK[:2], ["Land", "Geschlecht"],
        {("Bayern", "m", A): 50, ("Bayern", "m", E): 600, ("Bayern", "w", A): 46,
         ("Bayern", "w", E): 604, ("Hessen", "m", A): 90, ("Hessen", "m", E): 1310,
         ("Hessen", "w", A): 100, ("Hessen", "w", E): 1000},
    ),
    "subtotals of neighbours, above and below": (
        "Land;arbeitslos;erwerbstätig\nDeutschland;296;3604\nSüden;286;3514\nBayern;96;1204\n"
        "Hessen;190;2310\nSaarland;10;90\nWesten;200;2400\n",
        LAENDER, WORK[:2], ["Land"], BAYERN | {("Saarland", A): 10, ("Saarland", E): 90},
    ),
    "a sum between its parts": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1204\nDeutschland;286;3514\nHessen;190;2310\n",
        LAENDER, WORK[:2], ["Land"], BAYERN,
    ),
    "a subtotal of ranges": (
        "Altersgruppe;arbeitslos\n0-14;0\n15-29;20\n30-64;35\n15-64;55\n65+;5\nBund;60\n",
        LAENDER, WORK[:2], ["Altersgruppe"],
        {("0-14", A): 0, ("15-29", A): 20, ("30-64", A): 35, ("65+", A): 5},
    ),
    "a thousand beside smaller counts": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1.000\nHessen;190;310\n",
        LAENDER, WORK[:2], ["Land"], BAYERN | {("Bayern", E): 1000, ("Hessen", E): 310},
    ),
    # five in French
    "Ensemble and France": (
        "région;chômeurs;actifs;Ensemble\nBretagne;96;1 204;1 300\nCorse;190;2 310;2 500\n"
        "Normandie;5;7;12\nFrance;291;3 521;3 812\n",
        FRANCE, ["actifs", "chômeurs"], ["région"],
        {("Bretagne", "chômeurs"): 96, ("Bretagne", "actifs"): 1204, ("Corse", "chômeurs"): 190,
         ("Corse", "actifs"): 2310, ("Normandie", "chômeurs"): 5, ("Normandie", "actifs"): 7},
    ),
    "Effectif": (
        "région;situation;Effectif\nBretagne;chômeurs;96\nCorse;chômeurs;2 310\n",
        FRANCE, ["actifs", "chômeurs"], ["région"],
        {("Bretagne", "chômeurs"): 96, ("Corse", "chômeurs"): 2310},
    ),
    "Pourcentage": (
        "région;situation;Pourcentage\nBretagne;chômeurs;7,4\nCorse;chômeurs;12\n",
        FRANCE, ["actifs", "chômeurs"], ["région"],
        {("Bretagne", "chômeurs"): 0.074, ("Corse", "chômeurs"): 0.12},
    ),
    "erreur type": (
        "région;situation;Estimation;erreur type\nBretagne;chômeurs;960;12,5\n",
        FRANCE, ["actifs", "chômeurs"], ["région"],
        {("Bretagne", "chômeurs"): Estimate(960, se=12.5)},
    ),
    "no-break spaces, total général": (
        "région;chômeurs;actifs;total général\nBretagne;96;1\u00a0204;1\u00a0300\n",
        FRANCE, ["actifs", "chômeurs"], ["région"],
        {("Bretagne", "chômeurs"): 96, ("Bretagne", "actifs"): 1204},
    ),
    # five in Spanish
    "Total nacional": (
        "comunidad;parados;ocupados;Total\nAragón;96;1.204;1.300\nGalicia;190;2.310;2.500\n"
        "Madrid;5;7;12\nTotal nacional;291;3.521;3.812\n",
        SPAIN, ["ocupados", "parados"], ["comunidad"],
        {("Aragón", "parados"): 96, ("Aragón", "ocupados"): 1204, ("Galicia", "parados"): 190,
         ("Galicia", "ocupados"): 2310, ("Madrid", "parados"): 5, ("Madrid", "ocupados"): 7},
    ),
    "ambos sexos": (
        "sexo;situación;Personas\nH;parados;40\nM;parados;60\nAmbos sexos;parados;100\n"
        "H;ocupados;400\nM;ocupados;600\nAmbos sexos;ocupados;1.000\n",
        SPAIN, ["ocupados", "parados"], ["sexo"],
        {("H", "parados"): 40, ("M", "parados"): 60, ("H", "ocupados"): 400,
         ("M", "ocupados"): 600},
    ),
    "por ciento": (
        "comunidad;situación;por ciento\nAragón;parados;7,4\n",
        SPAIN, ["ocupados", "parados"], ["comunidad"], {("Aragón", "parados"): 0.074},
    ),
    "rangos": (
        "comunidad;parados\nAragón;90..100\nGalicia;1.200..1.300\n",
        SPAIN, ["ocupados", "parados"], ["comunidad"],
        {("Aragón", "parados"): (90, 100), ("Galicia", "parados"): (1200, 1300)},
    ),
    "a text column beside": (
        "comunidad;nota;parados\nAragón;prov.;90\nGalicia;def.;100\n",
        SPAIN, ["ocupados", "parados"], ["comunidad"],
        {("Aragón", "parados"): 90, ("Galicia", "parados"): 100},
    ),
    # English
    "United Kingdom": (
        'region,no,yes,Persons\nnorth,"1,204",96,"1,300"\nsouth,"2,310",190,"2,500"\n'
        'west,7,5,12\nUK,"3,521",291,"3,812"\n',
        WORLD, ["no", "yes"], ["region"],
        {("north", "no"): 1204, ("north", "yes"): 96, ("south", "no"): 2310, ("south", "yes"): 190,
         ("west", "no"): 7, ("west", "yes"): 5},
    ),
    "ranges of ages, and a sum under any name": (
        "Altersgruppe;arbeitslos;erwerbstätig\n0-14;0;0\n15-64;50;1.200\n65+;5;300\nBund;55;1.500\n",
        LAENDER, WORK[:2], ["Altersgruppe"],
        {("0-14", A): 0, ("0-14", E): 0, ("15-64", A): 50, ("15-64", E): 1200, ("65+", A): 5,
         ("65+", E): 300},
    ),
    "rounded to tens": (
        "region,no,yes,all\nnorth,3000,2000,5000\nsouth,2310,5200,7500\n",
        WORLD, ["no", "yes"], ["region"],
        {("north", "no"): 3000, ("north", "yes"): 2000, ("south", "no"): 2310,
         ("south", "yes"): 5200},
    ),
    "each number rounded to tens": (
        "Land;arbeitslos;erwerbstätig;Insgesamt\nBayern;90;1210;1300\nHessen;10;50;70\n"
        "Saarland;20;30;60\nBund;130;1280;1420\n",
        LAENDER, WORK[:2], ["Land"],
        {("Bayern", A): 90, ("Bayern", E): 1210, ("Hessen", A): 10, ("Hessen", E): 50,
         ("Saarland", A): 20, ("Saarland", E): 30},
    ),
    "ages as rows": (
        "age,no,yes\n18,5,6\n19,7,8\nboth,12,14\n",
        {"age": {"18", "19"}}, ["no", "yes"], ["age"],
        {("18", "no"): 5, ("18", "yes"): 6, ("19", "no"): 7, ("19", "yes"): 8},
    ),
    "+/-": (
        "region,class,total,+/-\nnorth,yes,96,5\n",
        WORLD, ["no", "yes"], ["region"], {("north", "yes"): Estimate(96, se=5)},
    ),
    "the only class that is not listed": (
        "region,yes,persons\nnorth,96,1300\nsouth,190,2500\n",
        WORLD, ["no", "yes"], ["region"],
        {("north", "yes"): 96, ("south", "yes"): 190, ("north", "no"): 1204,
         ("south", "no"): 2310},
    ),
    "two missing cells stay open": (
        "region,no,yes\nnorth,/,96\nsouth,2310,x\n",
        WORLD, ["no", "yes"], ["region"], {("north", "yes"): 96, ("south", "no"): 2310},
    ),
    "rates as decimals": (
        "region,no,yes\nnorth,0.926,0.074\n",
        WORLD, ["no", "yes"], ["region"], {("north", "no"): 0.926, ("north", "yes"): 0.074},
    ),
    "overall": ("no,yes,sum\n3521,291,3812\n", WORLD, ["no", "yes"], [],
                {("no",): 3521, ("yes",): 291}),
}  # fmt: skip

REFUSED = {
    "misspelled class": (
        "Land;arbeitslos;erwerbstaetig\nBayern;96;1204\n", LAENDER, WORK[:2],
        "did you mean 'erwerbstätig'",
    ),
    "wrong sum": (
        "Land;arbeitslos;erwerbstätig;insgesamt\nBayern;96;1204;1400\n", LAENDER, WORK[:2],
        "the classes add up to 1300, but the column 'insgesamt' says 1400",
    ),
    "wrong sum row": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1204\nHessen;4;96\nzusammen;100;1400\n", LAENDER,
        WORK[:2], "looks like a row of sums, but 'erwerbstätig' adds up to 1300 and not to 1400",
    ),
    "dashes": (
        "Land;arbeitslos;erwerbstätig\nBayern;-;1204\n", LAENDER, WORK[:2],
        "'-' may be zero or not known; write 0, or leave the cell empty",
    ),
    "thousands": (
        "Land;status;in Tsd.\nBayern;arbeitslos;96\n", LAENDER, WORK[:2],
        "numbers in thousands; write them in full",
    ),
    "two columns of numbers": (
        "Land;status;Anzahl;Fälle\nBayern;arbeitslos;96;7\n", LAENDER, WORK[:2],
        "which of the columns 'Anzahl', 'Fälle' is the total",
    ),
    "standard errors in a wide table": (
        "Land;arbeitslos;Standardfehler\nBayern;96;7\n", LAENDER, WORK[:2],
        "write a row per class, with the columns class, total, se",
    ),
    "two readings": (
        "Land;arbeitslos\nBayern;1.000\n", LAENDER, WORK[:2],
        "is 1.0 with a decimal point and 1000 with a decimal comma; say which with totals_decimal",
    ),
    "rounded to tens, and a sum that is off by more": (
        "Land;arbeitslos;erwerbstätig;Insgesamt\nBayern;90;1210;1300\nHessen;10;50;90\n",
        LAENDER, WORK[:2], "the classes add up to 60, but the column 'Insgesamt' says 90",
    ),
    "too few to be rounded for sure": (
        "Land;arbeitslos;erwerbstätig;Insgesamt\nHessen;10;50;70\n",
        LAENDER, WORK[:2], "the classes add up to 60, but the column 'Insgesamt' says 70",
    ),
    "a sum of rates without parts": (
        "Land;arbeitslos\nDeutschland;50%\nzusammen;60%\n", {"Land": {"Bayern"}}, WORK[:2],
        "looks like a row of sums",
    ),
    "no count": (
        "Land;arbeitslos\nBayern;viele\n", LAENDER, WORK[:2], "must be a count like 1234",
    ),
    "two totals of one group": (
        "région;chômeurs\nCorse;1\nCorse;2\n", FRANCE, ["actifs", "chômeurs"],
        "more than one total for 'Corse'",
    ),
    "an empty group": (
        "Land;arbeitslos;erwerbstätig\nBayern;5;4\n;96;1204\n", LAENDER, WORK[:2],
        "'Land' is empty",
    ),
    "a sum with a group that has no row": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1204\nHessen;4;96\nzusammen;110;1400\n", LAENDER,
        WORK[:2], "and not to 110; of 'Land' there are no totals for 'Saarland'; correct it",
    ),
    "a column of groups under another name": (
        "Land;arbeitslos;erwerbstätig\nBayern;96;1204\nHessen;4;96\nzusammen;100;1300\n",
        {"Geschlecht": {"m", "w"}, "Bundesland": {"Bayern", "Hessen"}},
        WORK[:2], "'Land' is no column .* did you mean 'Bundesland'",
    ),
    "a column that is nearly a class": (
        "Land;arbeitslos;erwerbstaetig;insgesamt\nBayern;96;1204;1300\n", LAENDER, WORK[:2],
        "the column 'erwerbstaetig' is named like none .* did you mean 'erwerbstätig'",
    ),
    "a count that is not whole": (
        "region,no,yes\nnorth,12.5,7\n", WORLD, ["no", "yes"], "neither a whole count nor a rate",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_tables_of_offices_are_read_right(tmp_path, name):
    text, rows, classes, groups, expected = RIGHT[name]
    found, note = read(tmp_path, text, rows, classes)
    assert by_place(found, *groups) == expected
    assert "UTF-8" in note


@pytest.mark.parametrize("name", RIGHT)
def test_frames_are_read_as_files_are(name):
    text, rows, classes, groups, expected = RIGHT[name]
    sep = ";" if ";" in text else ","
    frame = pd.read_csv(StringIO(text), sep=sep, dtype=str, keep_default_na=False)
    table = TotalsTable(frame, "status")
    found, note = table.read(list(rows), classes, values=lambda name: rows.get(name, set()))
    assert by_place(found, *groups) == expected
    assert note.startswith("a table in memory")


@pytest.mark.parametrize(
    "name", ["sums called zusammen and Personen", "long, Erwerbsstatus and Anzahl"]
)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_characters_may_have_any_form(tmp_path, name, form):
    text, rows, classes, groups, expected = RIGHT[name]
    classes = [normalize({"NFC": "NFD", "NFD": "NFC"}[form], each) for each in classes]
    found = by_place(read(tmp_path, normalize(form, text), rows, classes)[0], *groups)
    assert {(*place[:-1], normalize("NFC", place[-1])) for place in found} == set(expected)
    assert {place[-1] for place in found} == set(classes)


def test_cells_of_a_frame_may_be_numbers_ranges_and_estimates():
    frame = pd.DataFrame(
        {"Land": ["Bayern", "Hessen"], A: [96.0, None], E: [(10, 20), Estimate(190, se=5)]}
    )
    found, _ = TotalsTable(frame, "status").read(list(LAENDER), WORK[:2])
    assert by_place(found, "Land") == {
        ("Bayern", A): 96, ("Bayern", E): (10, 20), ("Hessen", E): Estimate(190, se=5),
    }  # fmt: skip


def test_a_misspelled_group_is_no_subtotal():
    frame = pd.DataFrame({"Land": ["Bayern", "Hesen", "Saarland"], A: [96, 190, 10]})
    found, _ = TotalsTable(frame, "status").read(
        list(LAENDER), WORK[:2], values=lambda name: LAENDER.get(name, set())
    )
    assert {row["Land"] for row in found} == {"Bayern", "Hesen", "Saarland"}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_names_the_cure(tmp_path, name):
    text, rows, classes, message = REFUSED[name]
    with pytest.raises(InputError, match=message):
        read(tmp_path, text, rows, classes)


def test_what_was_done_is_said(tmp_path):
    text, rows, classes, *_ = RIGHT["one secret cell is filled in"]
    note = read(tmp_path, text, rows, classes)[1]
    assert "'Bayern', 'arbeitslos' filled in as 96" in note
    assert "the sums 'insgesamt' were checked and left out" in note
    text, rows, classes, *_ = RIGHT["rounded to tens"]
    assert "1 sum is off by 10 at most, as rounding does" in read(tmp_path, text, rows, classes)[1]


@pytest.mark.parametrize("pad", ["", ";;;"])
@pytest.mark.parametrize("name", ["sum row called Deutschland", "percent with decimal commas"])
def test_a_title_and_a_note_are_read_past(tmp_path, name, pad):
    text, rows, classes, groups, expected = RIGHT[name]
    title = f"Erwerbstätige, nach Land{pad}\n2024{pad}\n\n"
    framed = f"{title}{text}\nQuelle: Statistisches Amt, 2025{pad}\n"
    found, note = read(tmp_path, framed, rows, classes)
    assert by_place(found, *groups) == expected
    said = "; lines above the names left out (2); lines below the table left out (1)"
    assert said in note
    assert said in previews([], ReadAs(), [tmp_path / "totals.csv"])[0].read_as
    assert "left out" not in read(tmp_path, text, rows, classes)[1].partition("sums")[0]


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("ending", ["xlsx", "ods"])
def test_a_title_and_a_note_of_a_workbook_are_read_past(tmp_path, ending, merged):
    if merged and ending == "ods":
        pytest.skip("written with openpyxl")
    text, rows, classes, groups, expected = RIGHT["sum row called Deutschland"]
    lines = [line.split(";") for line in text.splitlines()]
    cells = [[int(cell) if cell.isdigit() else cell for cell in line] for line in lines]
    title = ["Erwerbstätige, nach Land", None, None, None]
    note = ["Quelle: Statistisches Amt, 2025", None, None, None]
    path = tmp_path / f"totals.{ending}"
    blank = [None] * 4
    table = pd.DataFrame([blank, title, blank, *cells, blank, note])
    engine = {"xlsx": "openpyxl", "ods": "odf"}[ending]
    table.to_excel(path, index=False, header=False, engine=engine)
    if merged:
        book = load_workbook(path)
        book.active.merge_cells("A2:D2")
        book.save(path)
    found, said = TotalsTable(path, "status").read(
        list(rows), classes, values=lambda name: rows.get(name, set())
    )
    assert by_place(found, *groups) == expected
    assert "; lines above the names left out (1); lines below the table left out (1)" in said
    shown = previews([], ReadAs(), [path])[0]
    assert list(shown.names) == lines[0]
    if merged:
        book.active.merge_cells("B5:B6")
        book.save(path)
        with pytest.raises(InputError, match="merged cells, the first in row 5, column 2"):
            TotalsTable(path, "status").read(list(rows), classes)


BLOCKS = (
    "Land;Geschlecht;arbeitslos;erwerbstätig\nBayern;m;40;600\n;w;56;604\n;zusammen;96;1204\n"
    "Hessen;m;90;1000\n;w;100;1310\n;zusammen;190;2310\nInsgesamt;;286;3514\n"
)


@pytest.mark.parametrize("ending", ["csv", "xlsx", "merged"])
def test_groups_that_stand_in_the_first_row_of_a_block(tmp_path, ending):
    path = tmp_path / ("t.csv" if ending == "csv" else "t.xlsx")
    path.write_text(BLOCKS, encoding="utf-8")
    if ending != "csv":
        book = Workbook()
        for line in ["", ";3.1 Arbeitslose", "", *BLOCKS.splitlines()]:
            cells = [None, *line.split(";")]
            book.active.append([int(c) if c and c.isdigit() else c or None for c in cells])
        for place in ["B5:B7", "B8:B10"] if ending == "merged" else []:
            book.active.merge_cells(place)
        book.save(path)
    how = list(LAENDER), WORK[:2], ReadAs(), lambda name: LAENDER.get(name, set())
    found, said = TotalsTable(path, "status").read(*how)
    rows = [("Bayern", 40, 600), ("Bayern", 56, 604), ("Hessen", 90, 1000), ("Hessen", 100, 1310)]
    wanted = {}
    for k, (land, *counts) in enumerate(rows):
        wanted |= {(land, "mw"[k % 2], name): n for name, n in zip(WORK, counts, strict=False)}
    assert by_place(found, "Land", "Geschlecht") == wanted
    told = "; empty cells of 'Land' are read as the cell above"
    assert (told in said) == (ending != "merged")
    wrong = BLOCKS.replace(";w;100;", ";w;101;")
    path = tmp_path / "w.csv"
    path.write_text(f"3.1 Arbeitslose\n\n{wrong}", encoding="utf-8")
    with pytest.raises(InputError, match=r"w\.csv, row 5: 'Land' is empty.*; fill the cell"):
        TotalsTable(path, "status").read(*how)


def test_a_cover_of_a_workbook_is_no_table(tmp_path):
    book = Workbook()
    book.active.append(["Statistischer Bericht A I 1"])
    book.active.append(["Herausgeber: Amt"])
    sheet = book.create_sheet("Daten")
    for line in RIGHT["thousands with points"][0].replace(".", "").splitlines():
        sheet.append([int(cell) if cell.isdigit() else cell for cell in line.split(";")])
    book.save(tmp_path / "t.xlsx")
    found, said = TotalsTable(tmp_path / "t.xlsx", "status").read(list(LAENDER), WORK[:2])
    assert by_place(found, "Land") == BAYERN
    assert "sheet 'Daten'" in said


def test_a_dash_is_zero_where_sums_prove_it(tmp_path):
    text = (
        "Land;arbeitslos;erwerbstätig;Gesamt\nBayern;\N{EN DASH};1204;1204\nHessen;190;2310;2500\n"
    )
    found, _ = read(tmp_path, text, LAENDER, WORK[:2])
    assert by_place(found, "Land") == BAYERN | {("Bayern", A): 0}
    proven = "Land;arbeitslos;erwerbstätig\nBayern;-;1204\nHessen;190;2310\nBund;190;3514\n"
    found, _ = read(tmp_path, proven, LAENDER, WORK[:2])
    assert by_place(found, "Land") == BAYERN | {("Bayern", A): 0}
    for unclear in (text.replace("1204;1204", "1204;1205"), proven.replace("Bund", "Saarland")):
        with pytest.raises(InputError, match="' may be zero or not known"):
            read(tmp_path, unclear, LAENDER, WORK[:2])


@pytest.mark.parametrize("index", [[3, 7], pd.RangeIndex(2), ["a", "b"]])
def test_what_a_frame_leaves_open_is_said_and_its_row_numbers_are_no_groups(index):
    frame = pd.DataFrame({"Land": ["Bayern", "Hessen"], A: [96.0, None], E: [1204.0, 2310.0]})
    frame.index = index
    target = pd.Series(WORK[:2], name="status")
    totals, notes = read_known(frame, target, ["Land"])
    assert totals.margins[0].columns == ("Land",)
    assert totals.margins[0].by_group == {"Bayern": {A: 96, E: 1204}, "Hessen": {E: 2310}}
    assert "read as open, because no total is there: 'Hessen', 'arbeitslos'" in notes[0][1]


def test_floats_of_a_frame_are_rates_if_any_is_and_never_have_two_readings():
    frame = pd.DataFrame({"Land": ["Bayern", "Hessen"], A: [0.125, 0.0], E: [0.875, 1.0]})
    found, _ = TotalsTable(frame, "status").read(list(LAENDER), WORK[:2])
    totals = [row["total"] for row in found]
    assert totals == [0.125, 0.875, 0.0, 1.0]
    assert all(isinstance(total, float) for total in totals)
    frame = pd.DataFrame({"Land": ["Bayern"], "status": [A], "total": [1.234], "se": [0.125]})
    found, _ = TotalsTable(frame, "status").read(list(LAENDER), WORK[:2])
    assert found[0]["total"] == Estimate(1.234, se=0.125)


def test_shares_below_one_percent_in_a_column_of_percentages_are_not_guessed_at(tmp_path):
    text = "Land;status;Anteil in %\nBayern;arbeitslos;0,074\nHessen;arbeitslos;0,076\n"
    with pytest.raises(InputError, match="holds shares, or percentages below 1"):
        read(tmp_path, text, LAENDER, WORK[:2])
    said = text.replace("0,074", "0,074%").replace("0,076", "7,6%")
    found, _ = read(tmp_path, said, LAENDER, WORK[:2])
    assert [row["total"] for row in found] == [0.00074, 0.076]


def test_a_grouping_column_under_another_name_is_found_by_its_values():
    labeled = pd.DataFrame({"Geschlecht": ["m", "w"], "Bundesland": ["Bayern", "Hessen"]})
    for groups in (["Bayern", "Hessen", "Saarland"], ["Bayern", "Hessen"]):
        with pytest.raises(InputError, match="did you mean 'Bundesland'"):
            find_bins("Land", groups, labeled, list(labeled))
    more = pd.DataFrame({"Bundesland": ["Bayern", "Hessen", "Bremen"]})
    with pytest.raises(InputError, match="did you mean 'Bundesland'"):
        find_bins("Land", ["Bayern", "Hessen"], more, list(more))


def test_a_last_row_of_empty_cells_is_no_note(tmp_path):
    text = "Land;arbeitslos;erwerbstätig\nBayern;96;1204\nHessen;;\n"
    note = read(tmp_path, text, LAENDER, WORK[:2])[1]
    assert "lines below" not in note


def test_errors_below_a_title_name_the_file(tmp_path):
    with pytest.raises(InputError) as wrong:
        read(tmp_path, "Titel\n\nLand;a;a\nBayern;1;2\nHessen;1;2\n", LAENDER, WORK[:2])
    assert str(wrong.value).startswith(f"{tmp_path / 'totals.csv'}: column names must differ")


def test_the_mark_of_other_files_does_not_spoil_a_table_with_one_reading(tmp_path):
    text, rows, classes, groups, expected = RIGHT["thousands with points"]
    for how in ({"decimal": "."}, {"likely": "."}, {"decimal": ","}):
        assert by_place(read(tmp_path, text, rows, classes, **how)[0], *groups) == expected


@pytest.mark.parametrize("text", ["1.000", "25.000"])
def test_thousands_alone_are_never_taken_for_decimals_because_the_rows_have_points(tmp_path, text):
    table = f"Land;arbeitslos\nBayern;{text}\nHessen;2.000\n"
    with pytest.raises(InputError, match="say which with totals_decimal"):
        read(tmp_path, table, LAENDER, WORK[:2], likely=".")
    for how, first in (({"likely": ","}, 1000), ({"decimal": ","}, 1000), ({"decimal": "."}, 1)):
        found, _ = read(tmp_path, table, LAENDER, WORK[:2], **how)
        assert [row["total"] for row in found] == [int(text[:-4]) * first, 2 * first]


def test_totals_may_have_another_decimal_mark_than_the_rows(tmp_path):
    people = pd.DataFrame({"size": [k / 4 for k in range(60)], "region": ["a", "b"] * 30})
    people["sick"] = (["no"] * 10 + ["yes"] * 10) * 3
    people.to_csv(tmp_path / "labeled.csv", index=False)
    pd.concat([people.drop(columns="sick")] * 100).to_csv(tmp_path / "rest.csv", index=False)
    (tmp_path / "totals.csv").write_text("region;yes\na;2.000\nb;1.000\n")
    given = [str(tmp_path / f"{name}.csv") for name in ("labeled", "rest", "totals")]
    command = ["classify", *given[:2], "--target", "sick", "--totals-file", given[2], "--dry-run"]
    assert main(command) == 2
    assert main([*command, "--totals-decimal", ","]) == 0


NAMES = st.text("abcdefghij", min_size=2, max_size=5)


@settings(max_examples=60)
@given(st.data())
def test_random_tables_are_read_back_or_refused(tmp_path_factory, data):
    """Tables of two grouping columns in many shapes: what is read is what was written."""
    draw = data.draw
    regions = draw(st.lists(NAMES, min_size=2, max_size=4, unique=True))
    classes = draw(st.sampled_from([["no", "yes"], ["x1", "x2", "x3"]]))
    counts = {
        (r, k): draw(st.sampled_from([0, 3, 17, 960, 1204, 25000, 1_500_300]))
        for r in regions for k in classes
    }  # fmt: skip
    mark = draw(st.sampled_from(["", " ", ".", ",", "'"]))
    sum_name = draw(st.sampled_from([None, "Total", "Bund", "zusammen", "RANDOM"]))
    column_name = draw(st.sampled_from([None, "Gesamt", "Personen", "QQ"]))
    missing = draw(st.sampled_from([None, ".", "/"]))
    hidden = draw(st.sampled_from(sorted(counts))) if missing else None
    zero = draw(st.sampled_from(["0", "-"]))
    is_long, has_text = draw(st.booleans()), draw(st.booleans())
    is_sheet = draw(st.sampled_from([False, False, False, True]))
    in_blocks = is_long and draw(st.booleans())

    def written(n, place=None):
        if place is not None and place == hidden:
            return missing
        return f"{n:,}".replace(",", mark) if n else zero

    lines = []
    if is_long:
        lines.append(["region", "what", "count"])
        for (r, k), n in counts.items():
            lines.append(["" if in_blocks and k != classes[0] else r, k, written(n, (r, k))])
        if sum_name:
            lines += [[sum_name, k, written(sum(counts[r, k] for r in regions))] for k in classes]
    else:
        lines.append(["region", *classes, *([column_name] if column_name else [])])
        for r in regions:
            cells = [written(counts[r, k], (r, k)) for k in classes]
            whole = [written(sum(counts[r, k] for k in classes))] if column_name else []
            lines.append([r, *cells, *whole])
        if sum_name:
            sums = [sum(counts[r, k] for r in regions) for k in classes]
            cells = [written(n) for n in (*sums, *([sum(sums)] if column_name else []))]
            lines.append([sum_name, *cells])
    path = tmp_path_factory.mktemp("office") / ("t.xlsx" if is_sheet else "t.csv")
    if has_text:
        lines = [["Personen, nach Region"], [], *lines, [], ["Quelle: Amt"]]
    if is_sheet:
        book = Workbook()
        for line in lines:
            book.active.append([int(cell) if cell.isdigit() else cell for cell in line])
        book.save(path)
    else:
        path.write_text("".join(f"{';'.join(line)}\n" for line in lines), encoding="utf-8")
    try:
        rows, _ = TotalsTable(path, "status").read(
            ["region"], classes, values=lambda _: set(regions)
        )
    except InputError:
        has_dashes = zero == "-" and 0 in counts.values()
        assert mark in (".", ",") or sum_name in ("RANDOM", "Bund") or hidden or has_dashes
        return
    found = by_place(rows, "region")
    if sum_name in ("RANDOM", "Bund"):  # a name like a group's: refused later if it is none
        found = {place: n for place, n in found.items() if place[0] != sum_name}
    wanted = {place: n for place, n in counts.items() if place != hidden}
    assert {place: n for place, n in found.items() if place != hidden} == wanted
    if hidden in found:
        assert found[hidden] == counts[hidden]


@pytest.mark.parametrize(
    ("name", "ends"),
    [
        ("0-14", (0, 15)), ("15 bis 29", (15, 30)), ("15\N{EN DASH}29 Jahre", (15, 30)),
        ("65+", (65, float("inf"))), ("65 und mehr", (65, float("inf"))),
        ("85 Jahre und älter", (85, float("inf"))), ("65 ans et plus", (65, float("inf"))),
        ("65 y más", (65, float("inf"))), ("65 and over", (65, float("inf"))),
        ("unter 30", (float("-inf"), 30)), ("under 15", (float("-inf"), 15)),
        ("moins de 15 ans", (float("-inf"), 15)), ("menos de 15 años", (float("-inf"), 15)),
        ("von 30 bis unter 65 Jahren", (30, 65)), ("15 à 29 ans", (15, 30)),
        ("ab 65", (65, float("inf"))), ("Bayern", None), ("2020", None), ("9-3", None),
    ],
)  # fmt: skip
def test_ranges_by_their_names(name, ends):
    assert parse_bin(name) == ends


PEOPLE = pd.DataFrame(
    {"Alter": [3, 20, 40, 70, 90], "Einkommen": [0, 900, 70, 3000, 18], "Land": list("abcab")}
)


def test_bins_are_found_by_name_or_because_only_one_column_fits():
    labels = ["0-14", "15-64", "65+"]
    assert find_bins("Altersgruppe", labels, PEOPLE, list(PEOPLE)).column == "Alter"
    assert find_bins("Klasse", ["0-95"], PEOPLE, list(PEOPLE)).column == "Alter"
    with pytest.raises(InputError, match=r"of several columns.*bin='Klasse=COLUMN"):
        find_bins(
            "Klasse",
            ["0-99", "100+"],
            PEOPLE.assign(Miete=[1, 2, 3, 4, 500]),
            ["Einkommen", "Miete"],
        )
    with pytest.raises(InputError, match="are not ranges of one"):
        find_bins("Kreis", ["Ulm", "Bonn"], PEOPLE, list(PEOPLE))


@pytest.mark.parametrize("text", ["a=b", "a:1-2", "a=b:1-2,x", "a=b:1-5,3-9"])
def test_bins_that_are_none(text):
    with pytest.raises(InputError, match=r"bin must be like|ranges overlap"):
        Bins.parse(text)


def test_a_value_in_no_range_is_refused_and_an_empty_one_has_no_group():
    bins = Bins.parse("group=age:0-14,15-29")
    assert bins.place(pd.Series([3, None, 29.5], name="age"), "-") == ["0-14", "-", "15-29"]
    with pytest.raises(InputError, match="'age' holds '30'"):
        bins.place(pd.Series([30]), "-")


def test_percent_with_a_comma_in_totals():
    assert parse_totals("yes=57,6%,no=42,4%") == {"yes": 0.576, "no": 0.424}
    assert parse_totals("yes=1200..1300,no=5") == {"yes": (1200, 1300), "no": 5}
