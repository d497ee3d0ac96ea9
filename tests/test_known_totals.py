from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from c2rf import KnownTotalsClassifier


@parametrize_with_checks(
    [KnownTotalsClassifier(ExtraTreesClassifier(10)), KnownTotalsClassifier(LogisticRegression())]
)
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)
