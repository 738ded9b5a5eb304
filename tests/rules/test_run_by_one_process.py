"""Code that one process runs, as the way it is built or called says: findings there are to be asked for."""

from __future__ import annotations

import pytest
from snippets import loop
from started import MAIN, by_default_in

WRITES = loop('open("losses.txt", "w")')

TESTS = """
import torch
from accelerate import Accelerator
{imports}

class Training({base}):
    def test_step(self):
        model = Accelerator().prepare(make_model())
        model.enable_adapters()
        model(torch.ones(1)).loss.backward()
"""


@pytest.mark.parametrize(
    ("base", "imports", "by_default"),
    [
        ("unittest.TestCase", "import unittest", False),
        ("unittest.TestCase", "import unittest, torch.multiprocessing as mp\n\ndef run(): mp.spawn(run)\n", True),
        ("MultiProcessTestCase", "from torch.testing._internal.common_distributed import MultiProcessTestCase", True),
        ("object", "", True),
    ],
)
def test_a_unit_test_is_run_by_one_process(base, imports, by_default, tmp_path):
    text = TESTS.format(base=base, imports=imports)
    assert by_default_in(tmp_path, {"training.py": text}, "training.py", "TRL002") is by_default


BUILDS = "import hydra\n\ndef train(cfg):\n    hydra.utils.instantiate(cfg.task).run()\n" + MAIN
TASK = "task:\n  _target_: tasks.Training\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK}, False),
        ({"run.sh": "python main.py\n", "conf/task.yaml": '- "_target_": "own.tasks.Training"  # one\n'}, False),
        # Nothing says that hydra builds it, or it builds another one.
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK.replace("_target_", "# _target_")}, True),
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK.replace("tasks", "others")}, True),
        ({"run.sh": "python main.py\n", "conf/task.yaml": TASK, "main.py": MAIN}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 main.py\n", "conf/task.yaml": TASK}, True),
        ({"run.sh": "python main.py\ntorchrun --nproc_per_node 8 main.py\n", "conf/task.yaml": TASK}, True),
    ],
)
def test_what_hydra_builds_is_a_part_of_the_program_that_has_it_built(files, by_default, tmp_path):
    assert by_default_in(tmp_path, {"tasks.py": WRITES, "main.py": BUILDS, **files}, "tasks.py") is by_default
