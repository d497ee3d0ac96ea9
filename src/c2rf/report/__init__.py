"""The report of one classification: a self-contained page to show and to keep."""

from c2rf.report.facts import (
    BalanceFact,
    ChangeFact,
    Facts,
    FeatureFact,
    ForestFact,
    ImportanceFact,
    RankingFact,
    RightFact,
)
from c2rf.report.write import make_page

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
