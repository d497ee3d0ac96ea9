"""The report of one classification: a self-contained page to show and to keep."""

from c2rf.report.facts import Facts, FeatureFact, ForestFact, RankingFact
from c2rf.report.write import make_page

__all__ = ["Facts", "FeatureFact", "ForestFact", "RankingFact", "make_page"]
