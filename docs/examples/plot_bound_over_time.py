"""
A proof grows
=============

A solver knows two things at any time: weights that miss the total by ``eta``, and a proof that no
weights miss it by less than ``bound``. When the two meet, the optimum is proven. This example
watches both on an instance that is hard for the mixed-integer program of the paper.
"""

import matplotlib.pyplot as plt
import numpy as np

import c2rf
from c2rf.datasets import biased_sample, make_twonorm

# %%
# A hard instance
# ---------------
#
# The labeled points are few, and most of them are positive, so the trees find far too many
# positives. No weights meet the total, and that is what makes it hard: it is not enough to find
# good weights, one has to show that there are no better ones.

X, y = make_twonorm(7400, random_state=0)
labeled, unlabeled = biased_sample(y, random_state=0)
forest = c2rf.C2RFClassifier(random_state=0).fit(X[labeled], y[labeled])
votes = forest.votes(X[unlabeled])
n_positive = int(y[unlabeled].sum())

# %%
# Watching
# --------
#
# ``progress`` takes a function that is called with every event.

TIME_LIMIT = 12


def watch(method):
    """Return the solution and what was known when: seconds, eta, bound."""
    seen = []
    solution = c2rf.solve(
        votes,
        n_positive,
        method=method,
        time_limit=TIME_LIMIT,
        random_state=0,
        progress=seen.append,
    )
    known = [(e.seconds, np.nan if e.eta is None else e.eta, e.bound) for e in seen]
    known.append((solution.runtime, solution.eta, solution.bound))
    return solution, np.array(known, dtype=float).T


METHODS = {"p-c2rf": "the paper's Algorithm 1", "auto": "the default method"}
results = {method: watch(method) for method in METHODS}
for method, (solution, _) in results.items():
    print(f"{method:>7}: eta {solution.eta}, bound {solution.bound}, {solution.status}")

# %%
# The picture
# -----------
#
# The shaded area is what is not known yet.

figure, panels = plt.subplots(1, 2, figsize=(9, 4), sharex=True, sharey=True, layout="constrained")
for axes, (method, title) in zip(panels, METHODS.items(), strict=True):
    solution, (seconds, eta, bound) = results[method]
    worst = max(n_positive, len(votes) - n_positive)
    axes.fill_between(
        seconds,
        bound,
        np.where(np.isnan(eta), worst, eta),
        step="post",
        color="0.88",
        label="not known yet",
    )
    axes.step(seconds, eta, where="post", color="tab:blue", marker=".", label="best eta")
    axes.step(seconds, bound, where="post", color="tab:red", marker=".", label="proven bound")
    if solution.status == "optimal":
        axes.plot(solution.runtime, solution.eta, "*", color="black", markersize=13, label="proven")
    axes.set(title=f"{title} ({method})", xlabel="seconds")
panels[0].set(ylabel="points off the total", yscale="symlog", ylim=(0, None), xlim=(0, TIME_LIMIT))
panels[1].legend(loc="upper right")
plt.show()
