"""
A regression on labels that are not certain
===========================================

A model is fitted to each imputation, here with statsmodels, and the coefficients are pooled.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

import c2rf
from c2rf.datasets import biased_sample, make_twonorm

X, y = make_twonorm(1500, random_state=0)
labeled, unlabeled = biased_sample(y, 0.05, positive_weight=0.8, random_state=0)
classifier = c2rf.KnownTotalsClassifier(LogisticRegression(), random_state=0)
classifier.fit(
    X[labeled], y[labeled], X_unlabeled=X[unlabeled], totals={1: int(y[unlabeled].sum())}
)

design = sm.add_constant(X[unlabeled][:, :3])
models = [sm.OLS(labels, design).fit() for labels in classifier.impute(20)]
pooled = c2rf.pool(
    np.array([m.params for m in models]),
    np.array([m.bse**2 for m in models]),
    df=models[0].df_resid,
)
truth = sm.OLS(y[unlabeled], design).fit().params

places = np.arange(len(truth))
plt.errorbar(places, pooled.estimate, pooled.high - pooled.estimate, fmt="o", label="imputations")
plt.plot(places, truth, "x", label="with the true labels")
plt.xticks(places, ["constant", "x0", "x1", "x2"])
plt.legend()
