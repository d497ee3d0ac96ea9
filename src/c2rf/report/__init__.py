"""From facts to the page.

The report of one classification: a self-contained page to show and to keep.

From facts to the page.
"""

from __future__ import annotations

from c2rf.report import page
from c2rf.report.facts import (
    AdjustmentFact,
    BalanceFact,
    Facts,
    FeatureFact,
    ForestFact,
    ImportanceFact,
    RankingFact,
    RightFact,
)

__all__ = [
    "BalanceFact",
    "ChangeFact",
    "Facts",
    "FeatureFact",
    "ForestFact",
    "ImportanceFact",
    "RankingFact",
    "RightFact",
    "make_page",
]


def make_page(facts: Facts) -> str:
    """Return the report as one HTML page that needs nothing from anywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from c2rf.totals.bounds import Bounds
    >>> labels = np.array(["no", "yes", "no"], dtype=object)
    >>> facts = Facts(
    ...     labeled_file="a.csv", unlabeled_file="b.csv", target="sick", method="c2rf",
    ...     classes=["no", "yes"], sample=labels, bounds=Bounds.overall([2, 1], [2, 1], 3),
    ...     group=None, group_names=["all"], groups=np.zeros(3, dtype=int), labels=labels,
    ...     scores=np.array([-1.0, 1.0, -2.0]), confidence=np.ones(3), positive="yes",
    ...     names=["1", "2", "3"], features=[], command="c2rf classify ...", seed=0,
    ...     versions={},
    ... )
    >>> '<h2 id="answer">The answer</h2>' in make_page(facts)
    True
    """
    page.need("report")
    from c2rf.report.method import make_content

    return page.render("c2rf.report", make_content(facts))
