"""The table of fixed bugs, compared with the releases."""

from __future__ import annotations

import subprocess
import sys

import pytest

from evaluation.releases import IndexUnreachable, Release, fetch
from evaluation.upstream import written
from trl_lint.knowledge.upstream import FixedBug


def test_the_table_is_python():
    row = FixedBug("TRL003", "SomeTrainer.log", "0.1.0", "0.2.0", "#7", ("a", "b"))
    names = {"FixedBug": FixedBug}
    exec(written([row]), names)
    assert names["ROWS"] == (row,)


@pytest.mark.index
@pytest.mark.released
def test_a_released_trainer_is_known(tmp_path):
    try:
        source = fetch(Release("trl", "0.13.0")) / "trl" / "trainer" / "dpo_trainer.py"
    except IndexUnreachable as error:
        pytest.skip(f"not in the cache: {error}")
    (tmp_path / "mine.py").write_text(source.read_text(encoding="utf-8").replace("class DPO", "class My"), "utf-8")
    command = [sys.executable, "-m", "trl_lint", "--isolated", "--no-cache", "--select=TRL003", "mine.py"]
    command.append("--output-format=text")
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert said.count("`DPOTrainer.get_batch_loss_metrics` as in trl up to 0.13.0; 0.14.0 fixed it") == 10
