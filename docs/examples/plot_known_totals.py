"""
A cut-off that meets the total
==============================

If a sample has too many rows of a class, a classifier that learned from it finds too many of them.
With a known total, there is a better cut-off than one half. Everything about totals is on the
page :doc:`/totals`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression

from c2rf import KnownTotalsClassifier

# %%
# A population and a biased sample
# --------------------------------
#
# One in five rows is positive, but nearly all of the sixty labeled rows are: positive rows were
# twenty times as likely to be chosen.

rng = np.random.default_rng(4)
y = (rng.random(1500) < 0.2).astype(int)
X = rng.normal(size=(1500, 2)) + 2.0 * y[:, None]
chance = np.where(y == 1, 20.0, 1.0)
labeled = rng.choice(len(y), 60, replace=False, p=chance / chance.sum())
unlabeled = np.setdiff1d(np.arange(len(y)), labeled)
truth, census = y[unlabeled], int(y[unlabeled].sum())

print(f"positive: {y[labeled].mean():.0%} of the labeled, {truth.mean():.0%} of the others")

# %%
# With and without the total
# --------------------------
#
# Without totals, the classifier is the plain one, here a logistic regression.

plain = KnownTotalsClassifier(LogisticRegression(), random_state=0).fit(X[labeled], y[labeled])
informed = KnownTotalsClassifier(LogisticRegression(), random_state=0)
informed.fit(X[labeled], y[labeled], X_unlabeled=X[unlabeled], totals={1: census})

for name, labels in {
    "cut at one half": plain.predict(X[unlabeled]),
    "total is met": informed.transduction_,
}.items():
    right = (labels == truth).mean()
    print(f"{name}: {labels.sum()} positive, {census} in truth; {right:.1%} right")

# %%
# The picture
# -----------
#
# On the left are few labeled rows (rings), and the others in the colour of their true class. The
# decision boundary is moved, in parallel, until the total is met. On the right are the
# probabilities of the others, with both cut-offs.

COLOURS = {0: "tab:blue", 1: "tab:orange"}
NAMES = {0: "negative", 1: "positive"}


def border(model, shift):
    """Return two ends of the line where the log-odds plus a shift are zero."""
    (a, b), c = model.coef_[0], model.intercept_[0] + shift
    x = np.array([-4.0, 6.0])
    return x, -(a * x + c) / b


shift = informed.offsets_[1] - informed.offsets_[0]
lines = {
    "cut at one half": (0.0, "black", "--"),
    "cut that meets the total": (shift, "black", "-"),
}
figure, (plane, scale) = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
probabilities = informed.scores_[:, 1]
for label, colour in COLOURS.items():
    mine = truth == label
    plane.plot(*X[unlabeled][mine].T, ".", color=colour, alpha=0.35, label=NAMES[label])
    chosen = labeled[y[labeled] == label]
    plane.plot(*X[chosen].T, "o", mfc="none", mec=colour, mew=1.8)
scale.hist(
    [probabilities[truth == label] for label in COLOURS],
    bins=30,
    stacked=True,
    color=list(COLOURS.values()),
    label=[f"truly {name}" for name in NAMES.values()],
)
for name, (value, colour, style) in lines.items():
    plane.plot(*border(informed.estimator_, value), style, color=colour)
    scale.axvline(1 / (1 + np.exp(value)), color=colour, linestyle=style, label=name)
plane.set(xlim=(-3.5, 5.5), ylim=(-3.5, 5.5), xlabel="first feature", ylabel="second feature")
plane.legend(loc="lower right")
scale.set(xlabel="probability of being positive", ylabel="rows")
scale.legend(loc="upper center")
plt.show()
