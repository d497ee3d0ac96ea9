"""The report: tables, figures and checks as Markdown, pictures and one self-contained page each.

The page on the paper's experiment is made of :mod:`c2rf.bench.paper_tables`. The tables here say
how well methods label, and how true their probabilities and interval estimates are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range

from c2rf.bench import paper_tables
from c2rf.bench.methods import BENCH_METHODS, N_IMPUTATIONS, ON_PAPER_S_TREES, OURS, RECIPE
from c2rf.bench.paper_tables import UNSOLVED, BenchFigure, as_table, in_text, note
from c2rf.bench.records import METRICS, Record, Results, method_of, method_title, tuned_and_others
from c2rf.bench.samples import PROTOCOLS, Protocol
from c2rf.bench.scores import LEVEL, MEASURES, N_BINS
from c2rf.data.atomic import atomic_output
from c2rf.exceptions import InputError
from c2rf.report import page
from c2rf.report.page import Table

COMPARED = tuple(name for name in BENCH_METHODS if name not in ("c2rf", "only-pp", "only-br"))
"""Methods that are compared; the others solve what p-c2rf solves."""

TIE = 0.5
"""Points within which two methods count as equally good on a data set."""

SIGNIFICANCE = 0.05
"""Significance level of the test for different average ranks."""


def mean_scores(results: Results, metric: str) -> Any:
    """Return the mean score by data set of each compared method.

    Of a method that ran with several solvers the one with most records is taken.
    """
    return results.summary(metric, "mean")[results.main_runners(COMPARED)]


def critical_difference(n_methods: int, n_data_sets: int) -> float:
    """Return how far apart average ranks must be to differ, by Nemenyi's test.

    Examples
    --------
    >>> round(critical_difference(3, 13), 3)
    0.919
    """
    # q sqrt(k (k + 1) / 6 n), q from the studentized range over sqrt(2)
    q = studentized_range.ppf(1 - SIGNIFICANCE, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data_sets)))


def average_ranks(results: Results, metric: str) -> tuple[Any, str]:
    """Rank the methods that have a score on every data set, 1 for the best.

    Returns the average ranks, NaN for the other methods, and what tests say about them; nothing
    where fewer than three methods or two data sets can be ranked.
    """
    scores = mean_scores(results, metric)
    ranked = scores.dropna(axis=1)
    n_data_sets, n_methods = ranked.shape
    if n_data_sets < 2 or n_methods < 3:
        return pd.Series(np.nan, index=scores.columns), ""
    all_equal = ranked.nunique(axis=1).eq(1).all()
    p_value = 1.0 if all_equal else friedmanchisquare(*ranked.to_numpy().T).pvalue
    told = note(
        "ranks", metric=METRICS[metric], n_data_sets=n_data_sets, p_value=p_value,
        apart=critical_difference(n_methods, n_data_sets), SIGNIFICANCE=SIGNIFICANCE,
    )  # fmt: skip
    return ranked.rank(axis=1, ascending=False).mean().reindex(scores.columns), told


def wins(results: Results, runner: str, baseline: str) -> str:
    """Return on how many data sets a method wins, ties and loses in accuracy."""
    gains = results.gains(runner, baseline, "accuracy").groupby("data").mean()
    won, lost = (gains > TIE).sum(), (gains < -TIE).sum()
    return f"{won}/{len(gains) - won - lost}/{lost}"


def means_table(results: Results) -> Table:
    """Make the table of means over data sets, with average ranks, wins and times."""
    runners = results.main_runners(COMPARED)
    scores = {metric: mean_scores(results, metric) for metric in METRICS}
    ranks = {metric: average_ranks(results, metric) for metric in METRICS}
    columns: dict[str, Any] = {"name in bench run": [method_of(runner) for runner in runners]}
    for metric, printed in METRICS.items():
        means = scores[metric].mean(skipna=False).to_frame().T
        columns[f"mean {printed}"] = in_text(means, 1, "max").iloc[0].to_list()
    for metric, printed in METRICS.items():
        columns[f"rank {printed}"] = in_text(ranks[metric][0].to_frame(), 2)[0].to_list()
    for baseline in results.main_runners(("top-lambda", "rf")):
        against = ["" if r == baseline else wins(results, r, baseline) for r in runners]
        columns[f"against {method_title(baseline)}"] = against
    seconds = {r: [k.seconds["total"] for k in results.records if k.runner == r] for r in runners}
    columns["median seconds"] = [f"{np.median(seconds[runner]):.2f}" for runner in runners]
    n_scored = scores["accuracy"].count()
    columns["data sets"] = [f"{n_scored[r]} of {len(results.data_sets)}" for r in runners]
    told = " ".join(told for _, told in ranks.values())
    about = note("means", n_data_sets=len(results.data_sets), TIE=TIE, ranks=told)
    names = [pd.Index([method_title(r) for r in runners], name="method"), "name in bench run"]
    return as_table("Means over data sets", pd.DataFrame(columns).set_index(names), about)


def scores_table(results: Results, metric: str) -> Table:
    """Make the table of the scores on each data set, with their spread over samples."""
    means = mean_scores(results, metric)
    spreads = results.samples[metric].groupby("data").std().reindex_like(means)
    marks = spreads.map(lambda spread: "" if np.isnan(spread) else f" ± {spread:.1f}")
    cells = in_text(means, 1, "max", marks)
    named = cells.rename(columns=method_title).rename_axis("data set")
    return as_table(f"{METRICS[metric]} on each data set", named, note("scores"))


def samples_table(results: Results) -> Table:
    """Make the table of means over data sets for each sample on its own."""
    runners = results.main_runners(COMPARED)
    cells = {}
    for metric, printed in METRICS.items():
        means = results.samples[metric][runners].groupby("sample").mean(skipna=False).T
        for number, text in in_text(means, 2).items():
            cells[f"{printed}, sample {number}"] = text
    names = pd.Index([method_title(runner) for runner in runners], name="method")
    return as_table("Sample by sample", pd.DataFrame(cells).set_index(names), note("samples"))


def calibration_tables(results: Results) -> Iterator[Table]:
    """Make a table of the samples that settings were chosen by, and one of the others."""
    rows = [
        {"data": r.data, "sample": r.sample, "runner": r.runner, **(r.calibration or {})}
        for r in results.records
        if r.calibration is not None
    ]
    found = pd.DataFrame(rows, columns=["data", "sample", "runner", *MEASURES])
    for name, measured in tuned_and_others(found):
        means: Any = 100 * measured.groupby(["data", "runner"])[list(MEASURES)].mean().unstack()
        means = means.reindex(results.data_sets)
        means.loc["mean"] = means.mean(skipna=False)
        runners = [r for r in results.main_runners(COMPARED) if r in means["brier"]]
        cells: dict[str, Any] = {}
        for measure, title in MEASURES.items():
            text = in_text(means[measure][runners], 1, "min")
            cells |= {f"{title}: {method_title(runner)}": text[runner] for runner in runners}
        title = f"Calibration of the probabilities, {name}"
        about = note("calibration", N_BINS=N_BINS)
        yield as_table(title, pd.DataFrame(cells).rename_axis("data set"), about)


SETTINGS: dict[str, Callable[[float], str]] = {
    "fraction": lambda value: f"{100 * value:g} % labeled",
    "positive_weight": lambda value: f"weight {value:g}",
    "total_error": lambda value: f"λ off by {100 * value:+g} %",
    "few_labels": lambda value: f"{value:g} labeled in a class",
}
"""What is changed, one at a time, to see what it costs, and how a value of it is printed."""


def changed_settings(records: Sequence[Record], usual: Protocol) -> dict[str, Results]:
    """Return the results where one thing is not as usual, by what that is, in order."""
    variants = {r.protocol for r in records}
    found = {}
    for name, in_words in SETTINGS.items():
        # Those that would be the usual one if this were as usual
        as_usual = {name: getattr(usual, name)}
        alike = {v: getattr(v, name) for v in variants if replace(v, **as_usual) == usual != v}
        for variant, value in sorted(alike.items(), key=lambda pair: pair[1]):
            found[in_words(value)] = Results(records, usual.name, variant)
    return found


def cost(here: Results, usual: Results, runner: str, metric: str) -> str:
    """Return the mean in a setting, and how far it is from the usual one on the same samples.

    A sign for nothing if a data set of this setting is missing on either side.
    """
    scores, others = here.samples[metric], usual.samples[metric]
    if runner not in scores or runner not in others:
        return UNSOLVED
    change = scores[runner] - others[runner]
    both = pd.DataFrame({"here": scores[runner], "change": change}).dropna()
    means = both.groupby("data").mean()
    if len(means) < len(here.data_sets):
        return UNSOLVED
    return f"{means['here'].mean():.1f} ({means['change'].mean():+.1f})"


def settings_table(results: Results, settings: dict[str, Results], metric: str) -> Table:
    """Make the table of what other settings do to a score."""
    runners, usual = results.main_runners(COMPARED), results.protocol
    costs = {t: [cost(h, results, r, metric) for r in runners] for t, h in settings.items()}
    cells = pd.DataFrame(costs, pd.Index([method_title(r) for r in runners], name="method"))
    names = {title: ", ".join(here.data_sets) for title, here in settings.items()}
    by_title = [f"{title}: {of}" for title, of in names.items()]
    listed = "; ".join(by_title if len(set(names.values())) > 1 else set(names.values()))
    about = note("settings", labeled=100 * usual.fraction, usual=usual, data_sets=listed)
    some = cells[(cells != UNSOLVED).any(axis=1)]
    return as_table(f"{METRICS[metric]} in other settings", some, about)


# Interval estimates: how often they hold the truth, and how wide they are

SINGLE = "single labels"
RARE = 0.2
"""A class with a smaller rate than this is called rare."""


def interval_table(records: Sequence[Record]) -> pd.DataFrame:
    """Return a row per record: data set, sample, rate of positives, and its interval estimates.

    Their columns are "shares.WAY.MEASURE" and "right.LABELS.END", in percent, as
    :func:`~c2rf.bench.scores.score_intervals` names them.
    """
    found = [r for r in records if r.intervals is not None]
    about = [(r.data, r.sample, r.n_positive / r.n_unlabeled) for r in found]
    scores = 100 * pd.json_normalize([r.intervals or {} for r in found])
    return pd.concat([pd.DataFrame(about, columns=["data", "sample", "rate"]), scores], axis=1)


def gain(table: pd.DataFrame) -> float:
    """Return by how many percent the mean error of shares is below that of single labels.

    Where these have no error at all it is zero, or minus infinity.
    """
    error, single = (table[f"shares.{way}.error"].mean() for way in (OURS, SINGLE))
    if single == 0:
        return 0.0 if error == 0 else -np.inf
    return float(100 * (1 - error / single))


def right_intervals(table: pd.DataFrame, which: str) -> pd.DataFrame:
    """Return the intervals of the share of right labels, in percent, and whether they hold it.

    Of "overall", "negative", "positive" labels, or of those of a "rare" class: one with few rows in
    the population.
    """
    if which == "rare":
        rare = {"positive": table["rate"] < RARE, "negative": 1 - table["rate"] < RARE}
        return pd.concat([right_intervals(table[own], name) for name, own in rare.items()])
    ends = ["true", "low", "high"]
    found = table.reindex(columns=[f"right.{which}.{end}" for end in ends]).set_axis(ends, axis=1)
    return found.dropna().assign(covered=found["true"].between(found["low"], found["high"]))


def _data_sets_and_halves(results: Results) -> dict[str, pd.DataFrame]:
    """Return the rows of each data set, of :func:`tuned_and_others`, and all."""
    table = interval_table(results.records)
    by_data = {data: table[table["data"] == data] for data in results.data_sets}
    halves = {f"mean, {name}": own for name, own in tuned_and_others(table)}
    return by_data | halves | {"mean, all": table}


def shares_table(results: Results) -> Table:
    """Make the table of estimated shares, by data set and over all."""
    groups = _data_sets_and_halves(results)
    means = pd.DataFrame({name: own.mean(numeric_only=True) for name, own in groups.items()}).T
    measures = {
        "coverage": ("coverage, %", ""),
        "width": ("width", ""),
        "score": ("interval score", "min"),
        "error": ("error", "min"),
    }
    columns: dict[str, Any] = {"samples": [str(len(own)) for own in groups.values()]}
    for measure, (words, best) in measures.items():
        both = means[[f"shares.{way}.{measure}" for way in (OURS, RECIPE)]]
        text = in_text(both.set_axis([OURS, RECIPE], axis=1), 1, best)
        columns |= {f"{words}: {way}": text[way] for way in text}
    columns[f"error: {SINGLE}"] = in_text(means[[f"shares.{SINGLE}.error"]], 1).iloc[:, 0]
    below = [gain(own) for own in groups.values()]
    columns["error below that, %"] = [f"{g:+.0f}" if np.isfinite(g) else UNSOLVED for g in below]
    cells = pd.DataFrame(columns, index=pd.Index(list(groups), name="data set"))
    return as_table("Shares in quarters of columns", cells, note("shares"))


def accuracy_table(results: Results) -> Table:
    """Make the table of how many labels are right, as estimated and as is true."""
    kinds = {"overall": "all labels", "positive": "positive ones", "negative": "negative ones"}
    rows: dict[str, dict[str, str]] = {}
    for name, own in _data_sets_and_halves(results).items():
        rows[name] = row = {}
        for which, words in kinds.items():
            found = right_intervals(own, which)
            for end, title in (("true", "true, %"), ("low", "from"), ("high", "to")):
                row[f"{words}: {title}"] = f"{found[end].mean():.1f}" if len(found) else UNSOLVED
            row[f"{words}: covered"] = f"{found['covered'].sum()} of {len(found)}"
    rare = right_intervals(interval_table(results.records), "rare")["covered"]
    share = f"{100 * rare.mean():.0f} %" if len(rare) else UNSOLVED
    about = note("right", rare=100 * RARE, share=share, number=len(rare))
    cells = pd.DataFrame(rows).T.rename_axis("data set")
    return as_table("How many labels are right", cells, about)


Report = dict[str, Any]
"""All that is told about records on a page: ``title``, sentences of ``summary``, and ``parts``."""


def write_report(records: Sequence[Record], folder: Path) -> list[Path]:
    """Write up to three pages and their figures; what is there is overwritten.

    ``report.html`` and ``report.md`` are on the paper's experiment, ``quality.html`` and
    ``quality.md`` on how well all methods label, ``imputations.html`` and ``imputations.md`` on
    figures computed from imputations; each as far as there are records for it.

    Parameters
    ----------
    records : sequence of Record
        From :func:`c2rf.bench.records.read_records`.
    folder : Path
        Made if it is not there.

    Returns
    -------
    list of Path
        The files.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"the folder {folder} cannot be made: {reason}") from error
    page.need("bench")
    if not records:
        raise InputError("there are no records to report on; make some with c2rf bench run")
    files: dict[str, bytes] = {}
    for name, report in _pages(records):
        files[f"{name}.html"] = page.render("c2rf.bench", report).encode()
        files[f"{name}.md"] = render_md(report).encode()
        for part in report["parts"]:
            if isinstance(part, BenchFigure):
                files[f"{part.name}.png"] = part.png
    for name, content in files.items():
        with atomic_output(folder / name, force=True) as temporary:
            temporary.write_bytes(content)
    return [folder / name for name in files]


def _pages(records: Sequence[Record]) -> Iterator[tuple[str, Report]]:
    """Yield the pages that there are records for, each with its name."""
    labeling = [record for record in records if record.intervals is None]
    if labeling:
        yield "report", paper_report(labeling)
        yield "quality", quality_report(labeling)
    if len(labeling) < len(records):
        yield "imputations", coverage_report(records)


def coverage_report(records: Sequence[Record]) -> Report:
    """Put together how true the figures are that are computed from imputations."""
    found = Results.usual([record for record in records if record.intervals is not None])
    about = note("about_intervals", N_IMPUTATIONS=N_IMPUTATIONS, level=100 * LEVEL, RECIPE=RECIPE)
    parts = [shares_table(found), accuracy_table(found)]
    return _report("What may be computed from imputations?", found, about, parts)


def _report(title: str, results: Results, about: str, parts: Sequence[Table]) -> Report:
    summary = [f"{_what_ran(results)}.", *_how_it_went(results.records), about]
    return {"title": title, "summary": summary, "parts": parts}


def paper_report(records: Sequence[Record]) -> Report:
    """Put together the paper's tables and figures as far as the records allow."""
    race = [record for record in records if record.method in ON_PAPER_S_TREES]
    protocols = [results for name in PROTOCOLS if (results := Results(race, name)).records]
    checks = paper_tables.all_checks(protocols)
    parts: list[Table | BenchFigure] = [
        Table("Checks", ["statement", "outcome", "what was found"], checks, n_names=3),
        paper_tables.table_1(records),
    ]
    for results in protocols:
        if results.protocol.name == "biased":
            parts += [paper_tables.table_2(results), paper_tables.figure_1(results)]
    for results in protocols:
        second = results.protocol.name != "biased"
        parts.append(paper_tables.quality_table(results, 3 + second))
        parts.append(paper_tables.figure_gains(results, 2 + second))
    summary = [*_summary(protocols), *_how_it_went(race)]
    return {"title": "The paper's experiment, reproduced", "summary": summary, "parts": parts}


def quality_report(records: Sequence[Record]) -> Report:
    """Put together how well all methods label, in the usual setting and in others."""
    results = Results.usual(records)
    parts = [
        means_table(results),
        *(scores_table(results, metric) for metric in METRICS),
        samples_table(results),
        *calibration_tables(results),
    ]
    if changed := changed_settings(records, results.protocol):
        parts += [settings_table(results, changed, metric) for metric in METRICS]
    about = note("about_quality", UNSOLVED=UNSOLVED)
    return _report("Which method labels best?", results, about, parts)


def _summary(protocols: Sequence[Results]) -> Iterator[str]:
    """Say in a few sentences what this is a report on."""
    for results in protocols:
        yield f"{_what_ran(results)} (the paper: 7200 s)."
        usual = PROTOCOLS[results.protocol.name]
        if results.protocol != usual:
            yield (
                "This is not the paper's protocol, whose figures stand beside these all the same: "
                f"there {_drawn(usual)}."
            )


def _what_ran(results: Results) -> str:
    samples = len(results.samples["solved"])
    return (
        f"Protocol {results.protocol.name}: {len(results.data_sets)} data sets, {samples} samples, "
        f"{len(results.records)} records; {_drawn(results.protocol)}; {paper_tables.caps(results)}"
    )


def _how_it_went(records: Sequence[Record]) -> Iterator[str]:
    failures = [r for r in records if r.status in ("failed", "none")]
    if failures:
        reasons = sorted({r.message.split(";")[0][:160] for r in failures if r.message})
        yield f"{len(failures)} records hold no labels: {'; '.join(reasons)}."
    if records:
        yield f"Machine: {paper_tables.machines(records)}."


def _drawn(protocol: Protocol) -> str:
    return (
        f"{100 * protocol.fraction:g} % labeled with weight {protocol.positive_weight:g} for "
        f"positive rows, {protocol.n_trees} trees of depth 2 on "
        f"{100 * protocol.max_samples:g} % of these"
    )


def render_md(report: Report) -> str:
    """Lay the report out as Markdown that shows the figures of the same folder."""
    lines = [f"# {report['title']}", "", *report["summary"]]
    for part in report["parts"]:
        lines += ["", f"## {part.title}", ""]
        if isinstance(part, Table):
            lines += [*_md_table(part), ""]
        else:
            lines += [f"![{part.title}]({part.name}.png)", ""]
        lines.append(part.note)
    return "\n".join(lines) + "\n"


def _md_table(table: Table) -> list[str]:
    n_numbers = len(table.header) - table.n_names
    rule = ["---"] * table.n_names + ["---:"] * n_numbers
    return ["| " + " | ".join(row) + " |" for row in (table.header, rule, *table.rows)]
