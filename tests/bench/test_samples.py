"""What is run: data sets, samples of them, and methods that see no truth."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench_records import toy
from c2rf.bench import samples as published
from c2rf.bench.methods import BENCH_METHODS, TrialAnswer
from c2rf.bench.records import Key
from c2rf.bench.run import label, make_record
from c2rf.bench.samples import PROTOCOLS, DataSet, draw, load, rescale, sample_seed
from c2rf.exceptions import InputError

SMALL = replace(PROTOCOLS["biased"], fraction=0.1, n_trees=6)


@pytest.fixture(scope="module")
def small() -> DataSet:
    return load("made-waveform-300")


# Data


def test_rescaled_columns_end_at_plus_and_minus_100() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (50, 4)) * [1, 90, 110, 1e6] + [5, 1e4, -300, 7]
    scaled, n_rescaled = rescale(X)
    assert n_rescaled == 2
    np.testing.assert_allclose(scaled.max(axis=0), -scaled.min(axis=0), rtol=1e-9)
    np.testing.assert_allclose(scaled.max(axis=0)[2:], 100)
    np.testing.assert_allclose(np.ptp(scaled, axis=0)[:2], np.ptp(X, axis=0)[:2])
    order = np.argsort(X, axis=0)
    assert (np.diff(np.take_along_axis(scaled, order, axis=0), axis=0) >= 0).all()


def test_a_cached_data_set_is_read_and_checked_against_table_1(tmp_path: Path) -> None:
    folder = tmp_path / "phoneme"
    folder.mkdir()
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(5349, 5)))
    frame["target"] = rng.integers(0, 3, 5349)
    frame = pd.concat([frame, frame[:100]])  # duplicates, which do not count
    frame.to_csv(folder / "phoneme.tsv.gz", sep="\t", index=False)
    read = load("phoneme", tmp_path)
    assert read.X.shape == (5349, 5)
    assert (read.y > 0).sum() == (frame["target"][:5349] == 1).sum()
    frame[:200].to_csv(folder / "phoneme.tsv.gz", sep="\t", index=False)
    with pytest.raises(InputError, match=r"N = 200 .* Table 1 .* N = 5349, p = 5"):
        load("phoneme", tmp_path)
    (folder / "phoneme.tsv.gz").write_bytes(b"broken")
    with pytest.raises(InputError, match="phoneme cannot be read"):
        load("phoneme", tmp_path)


def test_the_data_of_the_paper() -> None:
    folder = os.environ.get("PMLB_CACHE")
    if not folder:
        pytest.skip("no folder with PMLB's data (PMLB_CACHE)")
    for name in ("phoneme", "coil2000"):  # one plain, one with many duplicates
        assert load(name, Path(folder)).name == name


def test_the_paper_s_tables_are_whole() -> None:
    names = published.data_sets().index
    assert list(published.data_sets()["id"]) == list(range(1, 14))
    assert published.run_times().index.equals(names)
    assert int(published.run_times().isna().sum().sum()) == 14
    for protocol in PROTOCOLS:
        for metric in ("accuracy", "mcc"):
            assert published.quality(protocol, metric).shape == (13, 2)
            assert published.quality(protocol, metric).notna().all(axis=None)


# Samples and methods


def test_samples_are_those_of_the_protocol() -> None:
    y = np.repeat(np.array([1, -1], dtype=np.int8), [3000, 7000])
    X = np.random.default_rng(0).normal(size=(10000, 3)) + y[:, None]
    shares = {}
    for name, protocol in PROTOCOLS.items():
        seed = sample_seed(0, name, "any", 0)
        sample, truth = draw(DataSet("any", X, y, 0), protocol, seed)
        assert len(sample.y_labeled) == 100
        assert sample.votes.shape == (9900, 20)
        assert sample.n_positive == (truth > 0).sum()
        assert sample.n_positive + (sample.y_labeled > 0).sum() == 3000
        shares[name] = (sample.y_labeled > 0).mean()
    # Weights 0.85 and 0.15 make 0.3 of the points 0.71 of the sample.
    assert abs(shares["biased"] - 0.71) < 0.15
    assert abs(shares["simple"] - 0.30) < 0.15


def test_a_sample_depends_on_its_seed_only(small: DataSet) -> None:
    one, same, other = (draw(small, SMALL, seed)[0] for seed in (1, 1, 2))
    assert np.array_equal(one.votes, same.votes)
    assert not np.array_equal(one.X_labeled, other.X_labeled)
    seeds = {sample_seed(s, p, d, k) for s in (0, 1) for p in "ab" for d in "cd" for k in (0, 1)}
    assert len(seeds) == 16


def test_a_sample_of_one_class_has_trees_that_say_so() -> None:
    y = np.full(300, -1, dtype=np.int8)
    y[:2] = 1
    protocol = replace(PROTOCOLS["biased"], positive_weight=0.0)
    X = np.arange(300.0)[:, None]
    sample = draw(DataSet("any", X, y, 0), protocol, seed=0)[0]
    assert (sample.votes == -1).all()
    assert sample.n_positive == 2


def test_a_tie_of_the_majority_is_negative() -> None:
    answer = label("rf", toy([[1, -1], [1, 1], [-1, -1]], 1))
    assert answer.labels.tolist() == [-1, 1, -1]


def test_top_lambda_takes_those_with_most_votes() -> None:
    votes = [[1, 1, -1], [-1, -1, -1], [1, 1, 1], [1, -1, -1], [1, 1, -1]]
    for n_positive in range(6):
        labels = label("top-lambda", toy(votes, n_positive)).labels
        chosen = np.array(votes).sum(axis=1)[labels > 0]
        assert sorted(chosen, reverse=True) == [3, 1, 1, -1, -3][:n_positive]


def test_top_lambda_does_not_know_the_order_of_the_data() -> None:
    labels = label("top-lambda", toy([[1]] * 1000, 500)).labels
    assert 200 < (labels[:500] > 0).sum() < 300


def test_all_methods_that_solve_the_paper_s_problem_agree() -> None:
    sample = draw(load("made-waveform-120"), SMALL, seed=3)[0]
    solving = [name for name, method in BENCH_METHODS.items() if method.solves == "the paper's"]
    answers = [label(name, sample) for name in solving]
    assert len(answers) == 5
    assert {answer.status for answer in answers} == {"optimal"}
    assert len({abs((a.labels > 0).sum() - sample.n_positive) for a in answers}) == 1


LEARNING = ["prior-corrected", "self-training", "extra-trees-top"]


@pytest.mark.parametrize("method", LEARNING)
def test_a_learning_method_is_a_function_of_the_sample(
    method: str, small: DataSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("c2rf.baselines.N_TREES", 30)
    sample, truth = draw(small, SMALL, seed=1)
    once, again = (label(method, sample) for _ in range(2))
    assert once.labels.dtype == np.int8
    assert np.array_equal(once.labels, again.labels)
    assert (once.labels == truth).mean() > 0.5
    if method == "extra-trees-top":
        assert (once.labels > 0).sum() == sample.n_positive


@pytest.mark.parametrize("method", [*LEARNING, "known-totals"])
def test_with_one_class_there_is_nothing_to_learn(method: str) -> None:
    sample = replace(toy([[1, -1], [1, 1], [-1, -1]], 1), y_labeled=np.ones(3, np.int8))
    assert label(method, sample).labels.tolist() == [-1, 1, -1]


def test_an_offset_reaches_every_total() -> None:
    votes = [[1, 1, 1], [1, 1, -1], [1, -1, -1], [-1, -1, -1]]
    for n_positive in range(5):
        answer = label("c2rf-offset", toy(votes, n_positive))
        assert (answer.status, (answer.labels > 0).sum()) == ("optimal", n_positive)


def test_a_wrong_total_is_told_and_nothing_else_changes(small: DataSet) -> None:
    (right, truth), (wrong, same) = (
        draw(small, replace(SMALL, total_error=e), seed=1) for e in (0.0, -0.2)
    )
    assert np.array_equal(truth, same)
    assert np.array_equal(right.votes, wrong.votes)
    assert right.n_positive == (truth > 0).sum()
    assert wrong.n_positive == round(0.8 * right.n_positive)
    key = Key(replace(SMALL, total_error=-0.2), small.name, 0, 1, "top-lambda", None, None)
    made = make_record(key, small, wrong, truth, label("top-lambda", wrong))
    assert made.eta == 0  # against what was told
    assert made.n_positive == wrong.n_positive
    perfect = make_record(key, small, wrong, truth, TrialAnswer(truth))
    assert perfect.accuracy == 1.0  # against the truth
    assert perfect.eta == right.n_positive - wrong.n_positive
