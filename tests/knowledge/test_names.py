"""The tables of names that fixes use, compared with the sources of releases: nothing of them is imported."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import sources
from test_rows import CHOSEN, EVERY, RELEASES

from evaluation import releases
from trl_lint.knowledge import models
from trl_lint.knowledge.transformers import TRAINER_NAMES
from trl_lint.knowledge.trl import CONFIG_NAMES_IN_TRAINERS

pytestmark = pytest.mark.index
TRANSFORMERS = (RELEASES if EVERY else CHOSEN)["transformers"].split()
# Names are seldom removed: the newest releases have nearly all of them.
TRL = RELEASES["trl"].split() if EVERY else CHOSEN["trl"].split()[::-4]
# Where a name is assigned in a configuration: on `self`, or as a field of the class.
ASSIGNED = re.compile(r"^ +self\.(\w+) = |^    (\w+): ", re.MULTILINE)


def root(package: str, version: str) -> Path:
    try:
        return releases.fetch(releases.Release(package, version)) / package
    except releases.IndexUnreachable as problem:
        pytest.skip(str(problem))


def names_on(package: str, version: str, suffix: str) -> set[str]:
    """The attributes that classes with this suffix in a release define on their instances."""
    root(package, version)
    found = set()
    for name, parts in sources.library(package, version).classes.items():
        for each in parts if name.endswith(suffix) else ():
            found |= {*each.methods, *each.attributes, *each.imported}
    return found - {"__init__"}


@pytest.mark.parametrize("version", TRANSFORMERS)
def test_all_names_of_trainer_are_in_the_table(version):
    found = names_on("transformers", version, "Trainer")
    assert {"accelerator", "compute_loss", "model_wrapped"} <= found
    assert found - TRAINER_NAMES == set()


@pytest.fixture(scope="module")
def config_names():
    found = set()
    for version in ("4.51.3", "5.24.0"):
        for path in (root("transformers", version) / "models").glob("*/configuration_*.py"):
            found |= {one or other for one, other in ASSIGNED.findall(path.read_text(encoding="utf-8"))}
    return found


@pytest.mark.parametrize("version", TRL)
def test_all_names_that_trainers_of_trl_and_configs_share_are_in_the_table(version, config_names):
    found = names_on("trl", version, "Trainer") - TRAINER_NAMES
    assert {"vocab_size", "is_encoder_decoder"} & config_names
    assert (found & config_names) - CONFIG_NAMES_IN_TRAINERS == set()


@pytest.mark.parametrize("version", TRANSFORMERS)
def test_every_config_has_what_the_table_says(version):
    tree = ast.parse((root("transformers", version) / "configuration_utils.py").read_text(encoding="utf-8"))
    (base,) = (
        node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name.lower() == "pretrainedconfig"
    )
    found = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in ast.walk(base)
        if isinstance(node, (ast.Attribute, ast.Name)) and isinstance(node.ctx, ast.Store)
    }
    assert {name for name in models.EVERY_CONFIG_HAS if name not in found} == set()


# Places where a library writes to the config of a model whose trainer was created before.
WRITES = [
    ("transformers", "4.57.6", "trainer.py", "bos_token_id"),
    ("transformers", "4.57.6", "trainer.py", "eos_token_id"),
    ("transformers", "4.57.6", "trainer.py", "pad_token_id"),
    ("transformers", "4.51.3", "trainer.py", "use_cache"),
    ("trl", "0.24.0", "trainer/grpo_trainer.py", "_attn_implementation"),
]


@pytest.mark.parametrize(("package", "version", "file", "name"), WRITES)
def test_what_the_table_says_is_written_to_a_config(package, version, file, name):
    assert f"config.{name} = " in (root(package, version) / file).read_text(encoding="utf-8")


def test_nothing_else_is_in_that_table():
    assert {name for *_, name in WRITES} == models.CHANGED_CONFIG
