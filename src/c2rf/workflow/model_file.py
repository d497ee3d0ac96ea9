"""A trained classifier as a file, and labels of other rows by it.

Files are written by skops, so that they can be loaded without trusting whoever made them: they
hold no code, and a file with a type that is neither in skops's own list (numpy's arrays,
scikit-learn's estimators) nor in :data:`TRUSTED` is refused.

The labels of the rows that a model was made for are not part of it. Some of their features may be:
a kernel method keeps rows.
"""

from __future__ import annotations

import copy
import platform
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.tree._tree import Tree

from c2rf._utils.text import for_user
from c2rf._utils.types import Floats
from c2rf.data.dialect import AS_FOUND, ReadAs, check_unpacked
from c2rf.data.encoding import encoded
from c2rf.data.formats import naming_source
from c2rf.data.population.interface import Population
from c2rf.data.profile import check_column
from c2rf.data.totals import Bins
from c2rf.exceptions import C2RFError, InputError
from c2rf.learners.trees import Forest
from c2rf.totals.groups import Groups
from c2rf.workflow.predictions import (
    LABEL,
    PREDICTED,
    Predictions,
    check_shown,
    score_rows,
    shifted_and_probabilities,
    shown_columns,
)
from c2rf.workflow.prepare import profile_population
from c2rf.workflow.tables import column_names, find_rows

TRUSTED = (
    "c2rf.data.encoding.Encoder",
    "c2rf.forest.ensembles.Ensemble",
    "c2rf.estimators.c2rf.C2RFClassifier",
    "c2rf.estimators.known_totals.KnownTotalsClassifier",
    "c2rf.learners.default_classifier.BlendClassifier",
    "c2rf.learners.distillation.DistilledModel",
    "c2rf.learners.features.Encoder",
    "c2rf.learners.features.MedianImputer",
    "c2rf.learners.trees.Forest",
    "numpy.dtype",
    "scipy.sparse._csr.csr_matrix",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.tree._tree.Tree",
)
"""Types that a model file may hold beyond those skops trusts by itself."""

FORMAT = "c2rf-model"
FORMAT_VERSION = 6
_OF_ROWS = (
    "_rows",
    "_imputer",
    "totals_met_",
    "assignment_",
    "solution_",
    "patterns_",
    "oob_decision_function_",
    "learned_proba_",
    "learned_rows_",
)
_BY_GROUP = ("group_offsets_", "_group_proba_offsets")
_PACKAGES = ("c2rf", "numpy", "scipy", "scikit-learn", "highspy")


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A classifier with what turns a table into its features.

    Parameters
    ----------
    encoder : Encoder
        From columns to numbers.
    classifier : fitted classifier
        From numbers to classes.
    target : str
        The column that was learned.
    positive : str or None
        Of two classes the one that positive scores predict.
    groups : sequence of str
        The columns that make the groups whose totals were met.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from c2rf import C2RFClassifier
    >>> from c2rf.data.encoding import fit_encoder
    >>> from c2rf.data.profile import ColumnProfile
    >>> people, y = pd.DataFrame({"age": [41.0, 14.0, 60.0, 9.0] * 5}), [1, 0, 1, 0] * 5
    >>> encoder, X = fit_encoder([ColumnProfile(people["age"])], y)
    >>> classifier = C2RFClassifier(random_state=0).fit(X, y)
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> StoredModel(encoder, classifier, "adult").write(path)
    >>> again = StoredModel.read(path)
    >>> again.target, again.classifier.predict(again.encoder.encode(people[:3])).tolist()
    ('adult', [1, 0, 1])
    """

    encoder: Any
    classifier: Any
    target: str
    positive: str | None = None
    groups: Sequence[str] = ()

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of probabilities."""
        return np.array(self.classifier.classes_, dtype=object)

    def predict(self, rows: Any) -> NDArray[Any]:
        """Return the class of each row of a frame, a path or a population; no total is met."""
        found = predict_rows(self, rows)
        return self.classes_[np.asarray(found.codes)]

    def predict_proba(self, rows: Any) -> Floats:
        """Return the probability of each class of :attr:`classes_`, a line per row."""
        X, groups = _as_numbers(self, find_rows(rows))
        parts = shifted_and_probabilities(self.classifier, X, groups)
        return np.concatenate([probabilities for _, probabilities in parts])

    def write(self, path: Path) -> None:
        """Write the file; whether that is allowed is for the caller to know."""
        need_skops()
        from skops import io

        document = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "target": self.target,
            "positive": self.positive,
            "groups": list(self.groups),
            "encoder": self.encoder,
            "classifier": _without_rows(self.classifier),
            "versions": versions(),
        }
        io.dump(document, path, compression=zipfile.ZIP_DEFLATED)

    @classmethod
    def read(cls, path: Path) -> StoredModel:
        """Read a file, or say why it is not one or is not to be trusted."""
        need_skops()
        document = _load(path)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(f"{path} is not a model of c2rf; make one with classify --save-model")
        if document.get("format_version") != FORMAT_VERSION:
            raise InputError(
                f"{path} is a model of format {document.get('format_version')}; this c2rf reads "
                f"format {FORMAT_VERSION}: make the model again, or use the c2rf that wrote it"
            )
        _check_versions(path, document.get("versions"))
        try:
            _by_group_again(document["classifier"])
            return cls(*(document[field.name] for field in fields(cls)))
        except KeyError as error:
            raise InputError(f"{path} is not a model of c2rf: {error} is missing") from error


def need_skops() -> None:
    """Refuse to read or write a model if skops is not installed."""
    if find_spec("skops") is None:
        raise InputError('model files need the package skops; pip install "c2rf[models]"')


def versions() -> dict[str, str]:
    """Return the versions of what a result depends on."""
    return {"python": platform.python_version()} | {name: version(name) for name in _PACKAGES}


def _load(path: Path) -> Any:
    """Load a file if all types in it are trusted."""
    from skops import io

    with naming_source(path):
        path.open("rb").close()
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} is not a model file, or not all of one")
    # A damaged file can fail in any way; none of them is the reader's business.
    try:
        with zipfile.ZipFile(path) as archive:
            check_unpacked(path, sum(each.file_size for each in archive.infolist()))
        untrusted = sorted(set(io.get_untrusted_types(file=path)) - set(TRUSTED))
        if not untrusted:
            found = io.load(path, trusted=list(TRUSTED))
            _check_trees(found)
            return found
    except Exception as error:
        raise InputError(f"{path} is not a model file, or damaged: {error}") from error
    raise InputError(
        f"{path} is not trusted: it holds {', '.join(map(repr, untrusted[:5]))}, which could "
        "run any code and which no model of this version of c2rf has. Only load what classify "
        "--save-model wrote; if an earlier version wrote it, make the model again"
    )


def _check_trees(found: Any) -> None:
    """Refuse trees and tables whose links lead out of their arrays: compiled code follows them."""
    waiting, seen = [found], dict[int, Any]()
    while waiting:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, (str, bytes, np.generic, type)):
            continue
        seen[id(each)] = each
        if isinstance(each, np.ndarray):
            waiting += each.ravel().tolist() if each.dtype == object else []
        elif isinstance(each, (list, tuple, set)):
            waiting += each
        elif isinstance(each, Mapping):
            waiting += each.values()
        else:
            if isinstance(each, Forest):
                each.check()
            if isinstance(each, csr_matrix):
                each.check_format()
            own = getattr(each, "__dict__", {})
            trees = [own["tree_"]] if isinstance(own.get("tree_"), Tree) else []
            for tree in chain(trees, *own.get("_predictors", ())):
                categories = getattr(own.get("_bin_mapper"), "is_categorical_", ())
                _check_tree(tree, int(own["n_features_in_"]), categories)
            waiting += own.values()


def _check_tree(tree: Any, n_features: int, are_categories: Sequence[bool] = ()) -> None:
    """Refuse a tree of scikit-learn whose children do not come after it, or features are not.

    ``are_categories`` says of which features boosting has categories.
    """
    if isinstance(tree, TreePredictor):
        nodes = tree.nodes
        left, right, feature = (nodes[name] for name in ("left", "right", "feature_idx"))
        inner, n_nodes = nodes["is_leaf"] == 0, len(nodes)
        by_category = nodes[inner & (nodes["is_categorical"] != 0)]
        fits = not len(by_category) or (
            tree.raw_left_cat_bitsets.shape[1:] == (8,)
            and bool((by_category["bitset_idx"] < len(tree.raw_left_cat_bitsets)).all())
            and len(are_categories) == n_features
            and bool((by_category["feature_idx"] < n_features).all())
            and all(are_categories[k] for k in by_category["feature_idx"])
        )
    else:
        left, right, feature = tree.children_left, tree.children_right, tree.feature
        inner, n_nodes = left != -1, tree.node_count
        fits = tree.n_features >= n_features
    links = np.stack([left, right])[:, inner].astype(np.int64)
    features = feature[inner].astype(np.int64)
    fits &= len(left) == n_nodes > 0 and bool(
        (links > np.flatnonzero(inner)).all()
        and (links < n_nodes).all()
        and ((features >= 0) & (features < n_features)).all()
    )
    if not fits:
        raise InputError("its trees have links that lead nowhere")


def _without_rows(classifier: Any) -> Any:
    """Return a classifier that predicts the same and knows no row's label."""
    if isinstance(classifier, list):
        return [_without_rows(member) for member in classifier]
    if not hasattr(classifier, "predict") or not hasattr(classifier, "__dict__"):
        return classifier
    stripped = copy.copy(classifier)
    for name, value in vars(classifier).items():
        if name in _OF_ROWS:
            stripped.__dict__.pop(name, None)
        else:
            kept = _as_pairs(value) if name in _BY_GROUP else value
            stripped.__dict__[name] = _without_rows(kept)
    return stripped


def _as_pairs(by_group: Any) -> Any:
    """Return names and values: a file knows no tuples as names."""
    return {"names": list(by_group), "values": list(by_group.values())}


def _by_group_again(classifier: Any) -> Any:
    """Undo :func:`_as_pairs` in a classifier that was read."""
    for name in _BY_GROUP:
        pairs = getattr(classifier, name, None)
        if isinstance(pairs, dict) and set(pairs) == {"names", "values"}:
            setattr(classifier, name, dict(zip(pairs["names"], pairs["values"], strict=True)))
    return classifier


def _check_versions(path: Path, written: Any) -> None:
    """Refuse the trees of another scikit-learn, which may mean something else there."""
    found = written.get("scikit-learn") if isinstance(written, Mapping) else None
    here = version("scikit-learn")
    if found is None or str(found).split(".")[:2] != here.split(".")[:2]:
        raise InputError(
            f"{path} was made with scikit-learn {found}, which this one, {here}, may read wrongly; "
            f'pip install "scikit-learn=={found}", or make the model again'
        )


def predict_rows(
    model: StoredModel,
    unlabeled: Any,
    *,
    id: str | None = None,
    engine: str = "auto",
    how: ReadAs = AS_FOUND,
    out: Path | None = None,
) -> Predictions:
    """Label rows with a stored model; no total is met for them.

    Parameters
    ----------
    model : StoredModel
        What ``save_model`` wrote.
    unlabeled : data frame, path, or population outside of memory
        Rows with the columns of the model.
    id : str, optional
        A column that names the rows.
    engine : {"auto", "memory", "chunks", "dask"}
        As for :func:`c2rf.classify`.
    how : ReadAs
        How a file is to be read.
    out : Path, optional
        Where they are to go; what its format does not hold is refused before the work.

    Returns
    -------
    Predictions
        The rows with label, score and confidence.
    """
    rows = find_rows(unlabeled, engine, how, id)
    names = column_names(rows)
    check_column(for_user("id", "--id"), id, names)
    shown = shown_columns(names, id)
    check_shown(out, rows, shown)
    X, groups = _as_numbers(model, rows)
    try:
        columns = score_rows(model.classifier, X, groups, model.positive)
    except C2RFError:
        raise
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"the model does not fit together ({error}); make it again") from error
    classes = np.array(model.classifier.classes_, dtype=object)
    added = dict(zip(PREDICTED, columns, strict=True))
    return Predictions(rows, shown, added, {LABEL: classes})


def _as_numbers(model: StoredModel, rows: Population) -> tuple[Population, Groups]:
    """Return rows as the classifier takes them, and their groups."""
    names = column_names(rows)
    bins = {each: Bins.parse(each) for each in model.groups if each not in names and "=" in each}
    for group in model.groups:
        column = bins[group].column if group in bins else group
        check_column("the groups of the model", column, names)
    _, groups, _ = profile_population(rows, [], model.groups, bins=bins)
    return encoded(rows, model.encoder), groups


def load_model(path: Path | str) -> StoredModel:
    """Load a model that ``save_model`` or ``c2rf classify --save-model`` wrote.

    Files hold no code that is run: a file with types other than those of such models is refused.

    Parameters
    ----------
    path : path
        A file that ends in .skops.

    Returns
    -------
    StoredModel
        With ``predict(frame)``, ``predict_proba(frame)``, ``classes_`` and ``target``. It labels
        each row for itself: no total is met.

    Examples
    --------
    >>> import tempfile
    >>> import c2rf
    >>> import pandas as pd
    >>> from c2rf.datasets import make_twonorm
    >>> X, y = make_twonorm(300, random_state=0)
    >>> people = pd.DataFrame(X).add_prefix("x").assign(sick=y)
    >>> rest = people[60:].drop(columns="sick")
    >>> result = c2rf.classify(
    ...     people[:60], rest, target="sick", totals={1: 100}, learner="logistic"
    ... )
    >>> path = Path(tempfile.mkdtemp()) / "model.skops"
    >>> result.save_model(path)
    >>> model = c2rf.load_model(path)
    >>> bool((model.predict(rest) == result.labels["label"].astype(str)).mean() > 0.9)
    True
    >>> model.predict_proba(rest).shape
    (240, 2)
    """
    return StoredModel.read(Path(path))
