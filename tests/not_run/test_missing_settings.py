"""Findings in a program whose settings are missing are not in the default set: hydra does not start it."""

import pytest
from small_projects import found, written

PROGRAM = """\
import hydra
import torch.distributed as dist


@hydra.main(config_path="./config", config_name="main")
def main(cfg):
    dist.init_process_group("nccl")
    with open(cfg.out, "w") as file:
        file.write(cfg.text)


if __name__ == "__main__":
    main()
"""
WRITTEN = [("train.py", 8, "TRL008")]


@pytest.fixture
def project(tmp_path):
    return written(tmp_path, {"train.py": PROGRAM, "config/other.yaml": "out: a.txt\n"})


def test_a_program_without_its_settings(project):
    assert not found(project)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config/main.yaml", "out: a.txt\n"),
        ("config/main.example.yaml", "out: a.txt\n"),
        ("start.sh", "torchrun --nproc_per_node 2 train.py --config-name=other\n"),
        ("README.md", "```bash\ntorchrun --nproc_per_node 2 train.py -cn other\n```\n"),
        ("test.py", "import torch.distributed as dist\nfrom train import main\ndist.init_process_group('nccl')\n"),
        (".gitignore", "config/main.yaml\n"),
        ("settings.py", "from hydra.core.config_store import ConfigStore\nimport torch.distributed as dist\n"),
    ],
)
def test_a_program_that_may_be_started(project, name, text):
    written(project, {name: text})
    assert WRITTEN[0] in found(project)


def test_without_any_settings_in_the_folder_they_are_not_shown(tmp_path):
    assert found(written(tmp_path, {"train.py": PROGRAM})) == WRITTEN
