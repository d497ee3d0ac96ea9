"""What a release needs agrees with itself: versions, dates, floors, names of others."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_sample_weight

import c2rf

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == c2rf.__version__
    dated = rf"^## \[{re.escape(c2rf.__version__)}\] - \d{{4}}-\d\d-\d\d$"
    assert re.search(dated, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_the_pythons_that_are_named_are_those_that_are_tested():
    named = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if ":: 3." in each]
    jobs = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"


def test_every_requirement_has_a_floor():
    extras = PROJECT["optional-dependencies"].values()
    for given in [*PROJECT["dependencies"], *(each for extra in extras for each in extra)]:
        assert ">=" in given or given.startswith("c2rf["), given


def test_private_names_of_others_that_are_used_are_there():
    """Their floors are tested by ``make test-oldest``, the newest ones here."""
    from typer import _completion_classes

    assert callable(_safe_indexing)
    assert callable(_check_sample_weight)
    assert callable(_completion_classes._sanitize_help_text)
