"""
A share by age group, with intervals
====================================

Twenty sets of labels that all meet the known total, pooled to shares with intervals.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import c2rf

rng = np.random.default_rng(0)
people = pd.DataFrame({"age": rng.integers(18, 90, 1500), "visits": rng.poisson(3, 1500)})
people["sick"] = (rng.normal(0.05 * (people.age - 60) + 0.3 * people.visits, 1) > 1).astype(int)
asked = rng.random(1500) < np.where(people.sick == 1, 0.12, 0.05)
known = int(people.sick[~asked].sum())  # from a registry, say

result = c2rf.classify(
    people[asked], people[~asked].drop(columns="sick"), target="sick", totals={1: known},
    learner="logistic", imputations=20,
)  # fmt: skip
group = pd.cut(people.age[~asked], [17, 40, 60, 90], labels=["18-40", "41-60", "61-89"])
labels = result.imputations.drop(columns="row").set_index(group.index)
share = c2rf.pool(labels.groupby(group, observed=True).mean().to_numpy().T)

truth = people.sick[~asked].groupby(group, observed=True).mean()
places = np.arange(len(truth))
plt.errorbar(places, share.estimate, share.high - share.estimate, fmt="o", label="imputations")
plt.plot(places, truth, "x", label="truth")
plt.xticks(places, truth.index)
plt.ylabel("share of the sick")
plt.legend()
