"""
Which labels exclude each other
===============================

A forest with few trees has few *patterns*: distinct rows of votes. This example draws the
patterns of a small forest and all that holds for the labels of two of them, for all weights of the
trees. The theory is on the page :doc:`/theory/signs`.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from c2rf import C2RFClassifier
from c2rf.datasets import biased_sample, make_twonorm
from c2rf.forest.bounds.conflict_graph import pair_cuts
from c2rf.forest.paper import fix_points
from c2rf.forest.problem import make_problem

# %%
# Four trees and a population
# ---------------------------
#
# The trees are fitted to a few labeled rows, and vote on the others.

X, y = make_twonorm(300, random_state=0)
labeled, unlabeled = biased_sample(y, 0.1, random_state=0)
forest = C2RFClassifier(n_estimators=4, random_state=0).fit(X[labeled], y[labeled])
problem = make_problem(forest.votes(X[unlabeled]), n_positive=0.5)
cuts = pair_cuts(problem)

print(f"{problem.n_points} rows have {problem.n_patterns} patterns")
print(f"{len(cuts)} conditions on two labels imply all others")

# %%
# The picture
# -----------
#
# A pattern is a row of squares, one for each tree, filled for yes and empty for no, with the number
# of its rows. The more trees say yes, the higher it stands.

KINDS = [  # with so many negated literals: meaning, colour, line, where it leaves a pattern
    ("not both are positive", "tab:orange", "--", -0.12),
    ("if the lower one is positive, so is the upper", "tab:blue", "-", 0.0),
    ("not both are negative", "tab:red", "--", 0.12),
]
SIDE = 0.15


def place(patterns, links):
    """Return a place for each pattern: in layers, near those below and above it."""
    layer = (patterns > 0).sum(axis=1)
    x = np.zeros(len(patterns))
    for _ in range(10):
        for here, there in (links.T, links.T[::-1]):
            for votes in np.unique(layer):
                members = np.flatnonzero(layer == votes)
                pull = [x[here[there == i]].mean() if i in there else x[i] for i in members]
                x[members[np.argsort(pull, kind="stable")]] = np.arange(len(members))
                x[members] -= (len(members) - 1) / 2
    return np.column_stack([1.15 * x, layer])


def draw_pattern(axes, centre, votes, count, dark, light):
    """Draw a row of squares."""
    x, y = centre - [SIDE * len(votes) / 2, SIDE / 2]
    for tree, vote in enumerate(votes):
        face = light if vote > 0 else "white"
        axes.add_patch(Rectangle((x + tree * SIDE, y), SIDE, SIDE, fc=face, ec=dark, zorder=3))
    axes.text(x + SIDE * len(votes) + 0.04, centre[1], f"{count}", va="center", color=dark)


def draw_pair(axes, start, end, colour, line, shift):
    """Join two patterns, from edge to edge."""
    up, reach = np.sign(end[1] - start[1]), 0.6 * SIDE
    leave = np.array([shift, reach * (up or -1)])
    arrive = np.array([shift, -reach * (up or 1)])
    axes.add_patch(
        FancyArrowPatch(
            start + leave,
            end + arrive,
            arrowstyle="-" if shift else "-|>",
            connectionstyle="arc3,rad=0.1" if shift else "arc3",
            mutation_scale=14,
            color=colour,
            linestyle=line,
            linewidth=1.6,
            shrinkA=1,
            shrinkB=1,
        )
    )


h = problem.n_patterns
pairs = np.array([cut.literals for cut in cuts])
kind_of, pairs = (pairs >= h).sum(axis=1), pairs % h  # literal h + i says that i is negative
at = place(problem.patterns, pairs[kind_of == 1])
fixed = np.flatnonzero(fix_points(problem))
figure, axes = plt.subplots(figsize=(8, 6.5), layout="constrained")
for kind, (meaning, colour, line, shift) in enumerate(KINDS):
    for first, second in pairs[kind_of == kind]:
        draw_pair(axes, at[first], at[second], colour, line, shift)
    axes.plot([], [], color=colour, linestyle=line, label=meaning)
for i, (votes, count) in enumerate(zip(problem.patterns, problem.counts, strict=True)):
    draw_pattern(axes, at[i], votes, count, *(("0.65", "0.85") if i in fixed else ("0.1", "0.45")))
axes.set(xlim=(-2.3, 2.3), ylim=(-0.3, 4.3))
axes.set_title("What is known about two labels, for all weights from 1 to 100")
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0), frameon=False)
axes.axis("off")
plt.show()

# %%
# The patterns in grey, on which all trees agree, have the same label for all weights. Other
# implications follow along paths of arrows: if a pattern is positive, so are all patterns that can
# be reached from it.
