"""The options of a classification, declared once.

A field of :class:`Options` has a type, a default and a help text, and says how the command line
and the page show it. :func:`c2rf.classify`, ``c2rf classify`` and the page are made from these
fields: a new option is a new field.

This module loads nothing large, since the help and the completion of the command line need it.
"""

from __future__ import annotations

import csv
import inspect
import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from textwrap import fill, indent
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from c2rf._utils.text import check_choice, for_user, option_name, split_names
from c2rf.exceptions import InputError

if TYPE_CHECKING:
    from c2rf.data.dialect import ReadAs

GENERAL, TOTALS, COLUMNS = "Options", "Known totals", "Columns"
READING, TREES = "How files are read (found by themselves)", "With --method c2rf"
"""Panels: where the help of the command line lists an option."""

FOUND = "(found by itself)"
"""What the page calls an option that is to be found out."""

FROM_ERRORS = "se"
"""As ``sensitivity``: totals are off by their standard errors."""


def _option(
    default: Any,
    help: str,
    metavar: str | None = None,
    panel: str = GENERAL,
    *,
    command: str | None = "",
    method: str | None = None,
    least: int | None = None,
    parse: Callable[[Any], Any] | None = None,
    check: Callable[[Any], None] | None = None,
    shown_default: str | None = None,
    label: str | None = None,
    titles: Mapping[str, Any] | None = None,
) -> Any:
    """Return a field, with what is known of an option besides its name and type.

    Parameters
    ----------
    default : object
        ``MISSING`` if it must be given.
    help : str
        What it is for.
    metavar : str, optional
        What the command line calls its value.
    panel : str
        Where the help lists it, and the page asks for it.
    command : str or None
        The option of the command line, "" if it is called as in Python, None if there is none.
    method : str, optional
        The only method that has it.
    least : int, optional
        The least value.
    parse : callable, optional
        Turns the text of the command line into a value.
    check : callable, optional
        Raises an error if a value is not possible.
    shown_default : str, optional
        What None stands for.
    label : str, optional
        What the page calls it; without, the page does not ask for it.
    titles : mapping of str to object, optional
        The values that the page offers, and what it calls them.
    """
    about = locals().copy()
    return field(default=about.pop("default"), metadata=about)


def join_names(names: Sequence[str]) -> str:
    """Return names with commas between them, in quotes where they need some.

    Examples
    --------
    >>> join_names(["id", "a, b"])
    'id,"a, b"'
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def split_tables(given: Sequence[str] | None) -> tuple[str, ...]:
    """Return what an option gives once per table: the columns of each, with commas."""
    return tuple(given or ())


def parse_offset(text: str | None) -> tuple[float, float] | None:
    """Return a range from ``lo..hi``.

    Examples
    --------
    >>> parse_offset("-1.5..2"), parse_offset(None)
    ((-1.5, 2.0), None)
    """
    if text is None:
        return None
    try:
        low, high = map(float, text.split(".."))
    except ValueError as error:
        raise InputError(f"--offset must be a range like -10..10; found {text!r}") from error
    return low, high


def _parse_share(text: str | None) -> float | str | None:
    from c2rf.data.totals import parse_share

    return parse_share(text)


def _check_language(language: Any) -> None:
    if language != "en":
        from c2rf.report.language import check_language

        check_language(language)


def _check_learner(learner: Any) -> None:
    if not isinstance(learner, str):
        raise InputError(
            f"learner is a name; found a {type(learner).__name__}: own classifiers go into "
            "c2rf.KnownTotalsClassifier(estimator), or their probabilities into c2rf.assign"
        )


def _check_imputations(number: Any) -> None:
    from c2rf.estimators.imputing import check_n_imputations

    check_n_imputations(number)


def _check_sensitivity(share: Any) -> None:
    from c2rf.inference.sensitivity import check_share

    if not isinstance(share, str):
        check_share(share, None)
    elif share != FROM_ERRORS:
        raise InputError(
            f"{option_name('sensitivity')} must be a share, such as {for_user('0.05', '5%')}, or "
            f"{for_user(repr(FROM_ERRORS), FROM_ERRORS)} for the standard errors of totals; "
            f"found {share!r}"
        )


@dataclass(frozen=True, kw_only=True)
class Options:
    """All that a classification can be asked for.

    An option that the method does not have is refused, as is a value that is not possible.

    Examples
    --------
    >>> options = Options(target="sick", totals={"yes": 12}, drop=["name", "a, b"])
    >>> options.given()
    {'target': 'sick', 'totals': {'yes': 12}, 'drop': ['name', 'a, b']}
    >>> options.command_words()
    ['--target', 'sick', '--drop', 'name,"a, b"']
    """

    target: str = _option(
        MISSING, "Column of the labeled rows with the class.", "COL", label="Column with the class"
    )
    totals: Any = _option(  # noqa: RUF009
        MISSING, "What is known of the unlabeled rows: a mapping, a table, a series, or a list of "
        "these, as for :meth:`KnownTotalsClassifier.fit`. The groups of a table are columns of "
        "``unlabeled``. A path is a file with such a table, and a frame is read as such a file is.",
        command=None,
    )  # fmt: skip
    id: str | None = _option(
        None, "Column that names the rows; not learned from.", "COL", COLUMNS,
        label="Column that names the rows",
    )  # fmt: skip
    drop: Sequence[str] = _option(
        (), "Columns not to learn from.", "COLS", COLUMNS, parse=split_names,
        label="Columns not to learn from",
    )  # fmt: skip
    text: Sequence[str] = _option(
        (), "Columns of numbers that are codes, like 70173.", "COLS", COLUMNS, parse=split_names,
        label="Numbers that are codes, like postal codes",
    )  # fmt: skip
    missing: Sequence[str] = _option(
        (), "Signs for missing values in all columns, like -9,k.A.; some are known in columns of "
        "numbers.", "SIGNS", COLUMNS, parse=split_names,
    )  # fmt: skip
    keep: Sequence[str] = _option(
        (), "Columns to learn from that would be left out: ids and names that differ in nearly "
        "every row, and columns with one value or none.",
        "COLS", COLUMNS, parse=split_names, label="Columns to learn from though they look useless",
    )  # fmt: skip
    sep: str | None = _option(
        None, "Between cells of text files: ; , | or tab.", "SIGN", READING,
        label="Between cells",
        titles={FOUND: None, "semicolons": ";", "commas": ",", "tabs": "\t", "bars": "|"},
    )  # fmt: skip
    decimal: str | None = _option(
        None, "Decimal mark of text files: . or ,", "SIGN", READING, label="Decimal mark",
        titles={FOUND: None, "decimal point": ".", "decimal comma": ","},
    )  # fmt: skip
    encoding: str | None = _option(
        None, "Of text files: utf-8, cp1252, utf-16, ...", "NAME", READING,
        label="Encoding, like cp1252",
    )  # fmt: skip
    sheet: str | None = _option(
        None, "The sheet of a workbook; by default the first that can be seen.", "NAME", READING,
        label="Sheet of a workbook",
    )  # fmt: skip
    totals_decimal: str | None = _option(
        None, "Decimal mark of totals, . or , if it is not that of the rows.", "SIGN", TOTALS,
        label="Decimal mark of tables of totals",
        titles={FOUND: None, "decimal point": ".", "decimal comma": ","},
    )  # fmt: skip
    totals_policy: Literal["strict", "scale"] = _option(
        "strict", "Totals that do not add up: strict refuses them, scale rescales them.",
        "NAME", TOTALS, label="Totals that do not add up",
        titles={"refuse them": "strict", "scale them, and say so": "scale"},
    )  # fmt: skip
    totals_of: Literal["auto", "everybody", "unlabeled"] = _option(
        "auto", "Whom totals are about: the unlabeled rows, or everybody, the labeled rows among "
        "them, who are subtracted then. auto: everybody if the counts of all classes add up to "
        "the rows of both tables.",
        "NAME", TOTALS, label="Whom the totals are about",
        titles={
            "(found by their sums)": "auto", "everybody, the labeled rows among them": "everybody",
            "the rows to label alone": "unlabeled",
        },
    )  # fmt: skip
    bin: str | None = _option(
        None, "Groups that are ranges of a column: age_group=age:0-14,15-29,30-64,65+; several "
        "with ; between them. Found by itself where totals name ranges and one column fits.",
        "BINS", TOTALS, label="Groups that are ranges, like age_group=age:0-14,15-64,65+",
    )  # fmt: skip
    weight: str | None = _option(
        None, "Column that says how many people a row stands for; totals are about people then. "
        "Not learned from. Where the labeled rows have it, they count by it in learning; where "
        "only they have it, as design weights, each row to label is one person.",
        "COL", TOTALS, label="Column that says how many people a row stands for",
    )  # fmt: skip
    method: Literal["known-totals", "c2rf"] = _option(
        "known-totals", "known-totals ranks rows by probabilities, c2rf weighs the votes of trees.",
        "NAME",
    )  # fmt: skip
    learner: Literal["blend", "boosting", "extra-trees", "logistic"] | None = _option(
        None, "Who gives probabilities: blend, or the quicker boosting (for hundreds of labeled "
        "rows or more), extra-trees and logistic.", "NAME",
        method="known-totals", shown_default="blend", check=_check_learner,
    )  # fmt: skip
    calibration: Literal["auto", "none"] | None = _option(
        None, "auto: labeled rows that are held out correct how sure probabilities are, for which "
        "a learner that does not hold out rows itself is fitted up to five more times. none: they "
        "are taken as they are.",
        "NAME", method="known-totals", shown_default="auto",
    )  # fmt: skip
    trees: int | None = _option(
        None, "Number of trees.", "N", TREES, method="c2rf", least=1, shown_default="20"
    )
    lower: float | None = _option(
        None, "Least weight of a tree.", "W", TREES, method="c2rf", shown_default="1"
    )
    upper: float | None = _option(
        None, "Greatest weight of a tree.", "W", TREES, method="c2rf", shown_default="100"
    )
    offset: tuple[float, float] | None = _option(
        None, "Range of a free shift of the score.", "LO..HI", TREES, method="c2rf",
        parse=parse_offset,
    )  # fmt: skip
    prefer: Literal["majority"] | None = _option(
        None,
        "majority: among weights that give the same labels, those nearest to equal.",
        "NAME",
        TREES,
        method="c2rf",
    )
    solve_method: Literal["auto", "c2rf", "p-c2rf", "only-pp", "only-br"] | None = _option(
        None, "How weights are found: auto, c2rf, p-c2rf, only-pp or only-br.", "NAME", TREES,
        method="c2rf", shown_default="auto",
    )  # fmt: skip
    backend: Literal["highs", "scip", "gurobi"] | None = _option(
        None,
        "Solver of the paper's methods: highs, scip or gurobi.",
        "NAME",
        TREES,
        method="c2rf",
        shown_default="highs",
    )
    time_limit: float | None = _option(
        None, "Stop then with the best weights found so far.", "SECONDS", TREES, method="c2rf",
        least=0,
    )  # fmt: skip
    engine: Literal["auto", "memory", "chunks", "dask", "spark"] = _option(
        "auto", "Where the rows of a file are kept: in memory, or left in their files, in chunks "
        "or for dask or spark. auto leaves folders and large files where they are. The result is "
        "the same.",
        "NAME",
    )  # fmt: skip
    scheduler: str | None = _option(
        None, "dask: the address of a cluster's scheduler, tcp://host:8786; without, threads.",
        "ADDRESS",
    )  # fmt: skip
    master: str | None = _option(
        None, "spark: the master, such as local[2] or spark://host:7077; without, all cores here.",
        "ADDRESS",
    )  # fmt: skip
    query: str | None = _option(
        None, "One SELECT; UNLABELED is a DuckDB file then, and its rows are labeled.", "SQL"
    )
    checked: Any = _option(  # noqa: RUF009
        None, "Rows to label that were checked by hand: the sheet of c2rf audit draw, filled in. "
        "They are learned from, keep their class, and count in the totals.", "FILE", COLUMNS,
        method="known-totals",
    )  # fmt: skip
    imputations: int | None = _option(
        None, "Draw N sets of labels, each of which meets all totals, for intervals.",
        "N", method="known-totals", least=1, check=_check_imputations,
        label="Imputations, for intervals (0 for none; 20 is usual)",
    )  # fmt: skip
    estimates_by: Sequence[str] = _option(
        (), "Columns whose values make the domains of a table to publish: shares of classes with "
        "intervals. Give it again for another table.",
        "COLS", method="known-totals", parse=split_tables,
        label="A table of estimates by these columns",
    )  # fmt: skip
    sensitivity: float | Literal["se"] | None = _option(
        None, "Label again with the totals of each class higher and lower by this "
        "share, 5% or 0.05, or by their standard errors (se). The labels get the columns robust "
        "and sensitive_to.",
        "SHARE", TOTALS, method="known-totals", parse=_parse_share, check=_check_sensitivity,
        label="Which labels would change if totals were off by",
        titles={
            "(not asked)": None, "1 %": 0.01, "5 %": 0.05, "10 %": 0.1,
            "their standard errors": FROM_ERRORS,
        },
    )  # fmt: skip
    random_state: int = _option(
        0, "The same seed gives the same result on the same machine.", command="--seed", least=0
    )
    n_jobs: int | None = _option(None, "Number of processors, -1 for all.", "N", command="--jobs")
    language: str = _option(
        "en", "Of summary and report: en or de. Names of columns and options stay.", "CODE",
        check=_check_language,
    )  # fmt: skip
    verbose: bool = _option(False, "Print on standard error what is being done.", command=None)

    def __post_init__(self) -> None:
        for option in fields(self):
            value, about = getattr(self, option.name), option.metadata
            is_empty = value is None or (isinstance(value, (list, tuple)) and not value)
            if option.default in (None, ()) and is_empty:
                continue
            if about["method"] not in (None, self.method):
                raise InputError(
                    f"{option_name(option.name)} is not an option of the method {self.method}; it "
                    f"is one of {about['method']}"
                )
            if about["check"] is not None:
                about["check"](value)
            if choices(option.name):
                check_choice(option.name, value, choices(option.name))

    @property
    def tables_by(self) -> list[list[str]]:
        """The columns of each table of estimates."""
        given = [self.estimates_by] if isinstance(self.estimates_by, str) else self.estimates_by
        return [split_names([each]) if isinstance(each, str) else list(each) for each in given]

    @property
    def read_as(self) -> ReadAs:
        """How files are to be read."""
        from c2rf.data.dialect import ReadAs

        return ReadAs(self.sep, self.decimal, self.encoding, self.sheet, tuple(self.text))

    def given(self) -> dict[str, Any]:
        """Return the options that differ from their defaults."""
        found = {
            option.name: (getattr(self, option.name), option.default) for option in fields(self)
        }
        return {
            name: value
            for name, (value, default) in found.items()
            if value != default and not (default == () and not value)
        }

    def command_words(self) -> list[str]:
        """Return the options as words of the command line, but for the totals."""
        words = []
        for name, value in self.given().items():
            option = option_field(name)
            command = command_option(option)
            values = [value]
            if name == "estimates_by":
                values = [join_names(columns) for columns in self.tables_by]
            elif option.metadata["parse"] is split_names:
                values = [join_names(value)]
            elif isinstance(value, tuple):
                values = ["..".join(map(str, value))]
            words += [] if command is None else [w for v in values for w in (command, str(v))]
        return words


def option_field(name: str) -> Field[Any]:
    """Return the field of an option."""
    return Options.__dataclass_fields__[name]


def command_option(option: Field[Any]) -> str | None:
    """Return what the command line calls an option, None if it has none."""
    command: str | None = option.metadata["command"]
    return f"--{option.name.replace('_', '-')}" if command == "" else command


@cache
def option_types() -> dict[str, Any]:
    """Return the type of each option."""
    return get_type_hints(Options)


def choices(name: str) -> tuple[str, ...]:
    """Return the names that an option takes, none if it takes others, too.

    Examples
    --------
    >>> choices("totals_policy"), choices("sensitivity")
    (('strict', 'scale'), ())
    """
    kind = option_types()[name]
    kinds = (
        [kind]
        if get_origin(kind) is Literal
        else [k for k in get_args(kind) if k is not type(None)]
    )
    if not kinds or any(get_origin(each) is not Literal for each in kinds):
        return ()
    return tuple(value for each in kinds for value in get_args(each))


Result = TypeVar("Result")


def takes_options(function: Callable[..., Result]) -> Callable[..., Result]:
    """Give a function with ``**options`` a signature and a docstring that list all of them."""
    signature = inspect.signature(function)
    own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    made = [
        inspect.Parameter(
            option.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if option.default is MISSING else option.default,
            annotation=option_types()[option.name],
        )
        for option in fields(Options)
    ]
    function.__signature__ = signature.replace(parameters=[*own, *made])  # type: ignore[attr-defined]
    entry = re.compile(r"^( *)\*\*options\n(?: +.*\n)+?(?=\n)", re.MULTILINE)
    function.__doc__ = entry.sub(
        lambda found: indent(_documented(), found[1]), function.__doc__ or ""
    )
    return function


def _documented() -> str:
    """Return the options as numpydoc lists parameters."""
    lines = []
    for option in fields(Options):
        kind = re.sub(r"Literal\[(.*?)\]", r"{\1}", str(option.type))
        kind = kind.replace("Sequence[str]", "sequence of str").replace("Any", "object")
        if option.default is None:
            kind = kind.replace(" | None", ", optional")
        elif option.default not in (MISSING, ()):
            kind += f", default {option.default!r}"
        of = option.metadata["method"]
        help = fill((f"With ``method={of!r}``. " if of else "") + option.metadata["help"], 90)
        lines.append(f"{option.name} : {kind.replace(' | ', ' or ')}\n{indent(help, '    ')}\n")
    return "".join(lines)
