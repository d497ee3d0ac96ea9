"""
When the total is off
=====================

Totals may be wrong. This example gives the classifier wrong totals on purpose, and shows how many
labels change and how many are right.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from c2rf import KnownTotalsClassifier
from c2rf.datasets import biased_sample

# %%
# Right and wrong totals
# ----------------------
#
# In truth two in five rows are positive. The total is off by up to thirty percent of the
# population, in both directions. The order of rows by a logistic regression is the same for all
# totals; only the cut-off changes.

rng = np.random.default_rng(3)
y = (rng.random(3000) < 0.4).astype(int)
X = rng.normal(size=(3000, 4)) + 0.8 * y[:, None]
labeled, unlabeled = biased_sample(y, 0.03, random_state=3)
truth = y[unlabeled]
errors = np.linspace(-0.3, 0.3, 25)


def label(rate):
    """Return the labels for a total."""
    classifier = KnownTotalsClassifier(LogisticRegression(), random_state=0)
    classifier.fit(X[labeled], y[labeled], X_unlabeled=X[unlabeled], totals={1: rate})
    return classifier.transduction_


right = label(truth.mean())
answers = [label(truth.mean() + error) for error in errors]
accuracy = np.array([np.mean(labels == truth) for labels in answers])
changed = np.array([np.mean(labels != right) for labels in answers])

plain = KnownTotalsClassifier(LogisticRegression(), random_state=0).fit(X[labeled], y[labeled])
without = plain.predict(X[unlabeled])
print(f"without a total {np.mean(without == truth):.1%} of the labels are right,")
print(f"with the right one {np.mean(right == truth):.1%}")

# %%
# The picture
# -----------
#
# The order of rows does not change, so a total that is off by one percent of the population changes
# one percent of the labels: those nearest to the cut-off, which are the least certain.
# Accuracy falls slowly at first. A wrong total is better than none as long as the curve is above
# the line of the classifier without a total.

figure, (quality, sides) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
percent = 100 * errors
quality.plot(percent, 100 * accuracy, "o-", color="tab:blue", label="with this total")
quality.axhline(100 * np.mean(without == truth), color="tab:red", linestyle="--", label="without")
quality.set(xlabel="total is off by, % of the population", ylabel="labels that are right, %")
quality.legend()
sides.plot(percent, 100 * changed, "o-", color="tab:purple")
sides.set(xlabel="total is off by, % of the population", ylabel="labels that change, %")
plt.show()

# %%
# On your own data you do not know the truth, but you can draw the curve on the right, and see which
# labels change between the least and the greatest total that you believe possible.
