"""
Bounds over time
================

At any time two things are known: weights that miss the total by ``eta``, and a proof that no
weights miss it by less than ``bound``. When the two meet, the optimum is proven. This example
shows both on an instance that is hard for the mixed-integer program of the paper.
"""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np

import c2rf
from c2rf.datasets import biased_sample, make_twonorm

# %%
# A hard instance
# ---------------
#
# The labeled rows are few, and most of them are positive, so the trees find far too many
# positives. No weights meet the total, and that is what makes it hard: it is not enough to find
# good weights, one has to show that there are no better ones.

X, y = make_twonorm(7400, random_state=2)
labeled, unlabeled = biased_sample(y, random_state=2)
forest = c2rf.C2RFClassifier(random_state=2).fit(X[labeled], y[labeled])
votes = forest.votes(X[unlabeled])
n_positive = int(y[unlabeled].sum())

# %%
# Listening to progress
# ---------------------
#
# ``progress`` takes a function that is called with every event. Before any weights are known, the
# largest possible distance to the total is shown.

METHODS = {"p-c2rf": "the big-M model (p-c2rf)", "auto": "the default method (auto)"}
TIME_LIMIT = 12
WORST = max(n_positive, len(votes) - n_positive)


def watch(method):
    """Return the solution, and what was known when: seconds, eta and bound."""
    seen = []
    solution = c2rf.solve(
        votes, n_positive, method=method, time_limit=TIME_LIMIT, progress=seen.append
    )
    known = [(event.seconds, event.eta, event.bound) for event in [*seen, _last(solution)]]
    return solution, np.array([(t, WORST if e is None else e, b) for t, e, b in known]).T


def _last(solution):
    """Return the result as one more event."""
    return SimpleNamespace(seconds=solution.runtime, eta=solution.eta, bound=solution.bound)


results = {method: watch(method) for method in METHODS}
for method, (solution, _) in results.items():
    print(f"{method:>6}: eta {solution.eta}, bound {solution.bound}, {solution.status}")

# %%
# The picture
# -----------
#
# The shaded area is what is not known yet; it closes where the optimum is proven.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, (method, title) in zip(panels, METHODS.items(), strict=True):
    solution, (seconds, eta, bound) = results[method]
    axes.fill_between(seconds, bound, eta, step="post", color="0.9", label="not known yet")
    axes.step(seconds, eta, where="post", color="tab:blue", linewidth=2, label="best eta")
    axes.step(seconds, bound, where="post", color="tab:red", linewidth=2, label="proven bound")
    end = {"marker": "*", "markersize": 16} if solution.status == "optimal" else {"marker": "|"}
    axes.plot(seconds[-1], eta[-1], color="black", **end)
    axes.annotate(
        solution.status, (seconds[-1], eta[-1]), (0, 10), textcoords="offset points", ha="center"
    )
    axes.set(title=title, xlabel="seconds")
panels[0].set(ylabel="rows off the total", yscale="symlog", ylim=(0, 2 * WORST))
panels[0].set(xlim=(0, 1.1 * max(solution.runtime for solution, _ in results.values())))
panels[0].legend(loc="center left")
plt.show()
