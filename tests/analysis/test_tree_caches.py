"""What is kept of trees goes with the project that they belong to: an editor opens and drops many."""

from __future__ import annotations

import gc
import weakref

from trl_lint.analysis.program.tree_caches import tree_cache
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings

TEXT = "from accelerate import Accelerator\n\n\ndef total(x):\n    return Accelerator().gather(x.sum().item())\n"


def test_a_project_that_is_gone_takes_what_is_known_of_its_trees_along(tmp_path):
    asked = []
    kept = tree_cache(8)(asked.append)

    def lint() -> weakref.ref:
        linter = Linter(Settings(root=tmp_path), (tmp_path,), all_rules())
        assert linter.check(tmp_path / "train.py", TEXT.encode())
        kept("a tree")
        kept("a tree")
        return weakref.ref(linter._tools()[0])

    project = lint()
    gc.unfreeze()
    gc.collect()
    assert project() is None
    assert asked == ["a tree"]
    kept("a tree")
    assert asked == ["a tree", "a tree"]
