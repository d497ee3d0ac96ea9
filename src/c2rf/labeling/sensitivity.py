"""Which labels of a classification hang on a total: checks, and what a summary says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from c2rf._text import count, for_user, percent, short
from c2rf.estimators.sensitivity import Sensitivity, shares_off
from c2rf.exceptions import InputError
from c2rf.labeling.parts import refuse_taken
from c2rf.labeling.scoring import Scored
from c2rf.labeling.task import Task
from c2rf.labeling.wishes import HowAsked
from c2rf.report.facts import SensitivityFact

COLUMNS = ("firm", "hangs_on")
"""Columns of an output: whether a label stays, and else on the totals of which classes it hangs."""

STANDARD_ERRORS = "se"
"""Asks for totals that are off by their standard errors."""


def check_sensitivity(asked: HowAsked) -> None:
    """Refuse a share that is none, and a method without probabilities."""
    share = asked.sensitivity
    if share is None:
        return
    option = for_user("sensitivity", "--sensitivity")
    if asked.method != "known-totals":
        raise InputError(
            f"{option} is not possible with the method {asked.method}, which has no probabilities; "
            "use the method known-totals"
        )
    if not isinstance(share, str):
        shares_off(share, None, 1)
    elif share != STANDARD_ERRORS:
        raise InputError(
            f"{option} must be a share, such as {for_user('0.05', '5%')}, or "
            f"{for_user(repr(STANDARD_ERRORS), STANDARD_ERRORS)} for the standard errors of "
            f"totals; found {share!r}"
        )


def check_task(task: Task, asked: HowAsked) -> None:
    """Refuse columns that the output would have twice, and errors that no total has."""
    if asked.sensitivity is not None:
        refuse_taken(task.shown, COLUMNS)
        shares_off(_share(asked), task.bounds.errors, len(task.classes))


def find_sensitivity(classifier: Any, asked: HowAsked) -> Sensitivity:
    """Label again with other totals."""
    found: Sensitivity = classifier._sensitivity(_share(asked))
    return found


def sensitivity_fact(found: Sensitivity, scored: Scored) -> SensitivityFact:
    """Return what a report tells."""
    n_classes = len(found.shares)
    labels = np.bincount(scored.codes, minlength=n_classes)
    firm = np.bincount(scored.codes[found.firm], minlength=n_classes)
    return SensitivityFact(_off_by(found), found.shares, found.changed, labels, firm)


def sensitivity_line(found: Sensitivity, classes: Sequence[str]) -> tuple[str, str]:
    """Say how many labels stay whatever total is off."""
    firm = found.firm
    most = int(found.changed.max(axis=1).argmax())
    stay = "all labels stay"
    if not firm.all():
        stay = (
            f"{count(int(firm.sum()), 'label')} ({percent(firm.mean())}) stay; most others hang on "
            f"the total of {short(classes[most])}"
        )
    return "firm", f"with any total {_off_by(found)} off, {stay}"


def _off_by(found: Sensitivity) -> str:
    """Say how far totals are taken to be off."""
    shares = found.shares[found.shares > 0]
    least, most = percent(shares.min()), percent(shares.max())
    return least if least == most else f"{least} to {most}"


def _share(asked: HowAsked) -> Any:
    return None if asked.sensitivity == STANDARD_ERRORS else asked.sensitivity
