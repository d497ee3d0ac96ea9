"""
Totals by region
================

An office knows how many households are poor in each region. With an overall total alone, the sum is
right and the regions are wrong, because the data do not say how regions differ. With totals of
groups, each region is right.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from c2rf import KnownTotalsClassifier

# %%
# Households in five regions
# --------------------------
#
# How likely a household is poor depends on its income and its size, which we see, and on the
# rents of the region, which we do not.

REGIONS = ["coast", "hills", "lakes", "plain", "port"]
rng = np.random.default_rng(1)
region = rng.choice(REGIONS, 3000)
homes = pd.DataFrame({"income": rng.normal(size=3000), "size": rng.normal(size=3000)})
rent = pd.Series(region).map(dict(zip(REGIONS, [1.6, -1.2, 0.2, -1.8, 1.2], strict=True)))
need = homes["size"] - 1.5 * homes["income"] + rent + rng.logistic(scale=0.6, size=3000)
poor = np.where(need > 1.0, "poor", "not poor")

chance = np.where(poor == "poor", 1.0, 4.0)  # the poor answer the door less often
labeled = rng.choice(3000, 150, replace=False, p=chance / chance.sum())
unlabeled = np.setdiff1d(np.arange(3000), labeled)
truth, where = poor[unlabeled], region[unlabeled]
known = pd.crosstab(where, truth)["poor"]

# %%
# Three ways to label
# -------------------
#
# The classifier without any total, with the overall one, and with one per region.

data = homes.iloc[labeled], poor[labeled]
others = homes.iloc[unlabeled]


def new():
    return KnownTotalsClassifier(LogisticRegression(), random_state=0)


overall = new().fit(*data, X_unlabeled=others, totals={"poor": int(known.sum())})
by_region = new().fit(
    *data,
    X_unlabeled=others,
    unlabeled_groups=where,
    totals=known.rename("total").rename_axis("region").reset_index().assign(**{"class": "poor"}),
)
answers = {
    "no total": new().fit(*data).predict(others),
    "overall total": overall.transduction_,
    "totals by region": by_region.transduction_,
}
for name, labels in answers.items():
    print(f"{name:>16}: {(labels == truth).mean():.1%} of the labels are right")

# %%
# The picture
# -----------
#
# Black lines are the known totals. Totals by region also improve the labels: they say something
# about every household that its columns do not say.

figure, axes = plt.subplots(figsize=(9, 4), layout="constrained")
places = np.arange(len(REGIONS))
for k, (name, labels) in enumerate(answers.items()):
    counts = pd.crosstab(where, labels)["poor"].reindex(REGIONS)
    axes.bar(places + 0.27 * (k - 1), counts, width=0.25, label=name, color=f"C{k}", alpha=0.8)
axes.hlines(known[REGIONS], places - 0.42, places + 0.42, color="black", label="known")
axes.set_xticks(places, REGIONS)
axes.set(ylabel="households labeled poor")
axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.15), frameon=False)
plt.show()
