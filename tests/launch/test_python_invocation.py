"""Which commands are a bare start of a script or module."""

from __future__ import annotations

import pytest
from launching import launchers, only_start, starts

BARE = {
    "python train.py": "train.py",
    "python3 a/train.py --x": "a/train.py",
    "python3.11 train.py": "train.py",
    ".venv/bin/python train.py": "train.py",
    "$VENV/bin/python train.py": "train.py",
    "$PYTHON train.py": "train.py",
    '"${PYTHON_BIN}" train.py': "train.py",
    "python $ROOT/train.py": "/train.py",
    "python -u -W ignore -X dev train.py": "train.py",
    "python -m pkg.train --x": "pkg.train",
    "python -um pkg.train": "pkg.train",
    "python -mpkg.train": "pkg.train",
    "python -umpkg.train": "pkg.train",
    "nohup nice -n 5 env A=1 timeout -k 1 10 stdbuf -oL time python train.py": "train.py",
    "sudo -u me python train.py": "train.py",
    "exec python train.py": "train.py",
    "uv run python train.py": "train.py",
    "uv run --with trl --python 3.11 train.py": "train.py",
    "poetry run python train.py": "train.py",
    "conda run -n env --no-capture-output python train.py": "train.py",
    "docker run --rm -v a:b --gpus all image python train.py": "train.py",
    "docker compose run --rm train python train.py": "train.py",
    "srun --gres gpu:4 python train.py": "train.py",
    "apptainer exec --nv image.sif python train.py": "train.py",
}
NOT = [
    "python", "python -", "python -c 'import train'", "python -V", "python train", "python $SCRIPT", "python *.py",
    "python -m pip install x", "python -m pytest tests/x.py", "python -mpytest x.py", "python setup.py install",
    "python -m venv x",
    "python $FLAGS train.py", "ipython train.py", "echo python train.py", "which python", "unknown python train.py",
    "uv run pytest x", "uv pip install python", "python --help train.py", "bash train.py", "env | grep python",
]  # fmt: skip
OWN = {
    "accelerate launch train.py # python": "accelerate launch",
    "/opt/python/bin/accelerate launch train.py": "accelerate launch",
    "uv run python -m accelerate.commands.launch train.py": "python -m accelerate.commands.launch",
    "torchrun train.py # python": "torchrun",
    "python -m torch.distributed.run --nproc_per_node=2 train.py": "python -m torch.distributed.run",
    "python -u -m torch.distributed.launch train.py": "python -m torch.distributed.launch",
    "python -mtorch.distributed.run train.py": "python -m torch.distributed.run",
    "deepspeed train.py # python": "deepspeed",
    "trl sft --x # python": "trl",
    "mpirun -np 2 python train.py": "mpirun",
    "horovodrun -np 2 python train.py": "horovodrun",
    "ray job submit -- python train.py": "ray job submit",
    "sky launch python train.py": "sky launch",
    "llamafactory-cli train x # python": "llamafactory-cli",
    "axolotl train x # python": "axolotl",
    "L='accelerate launch'; $L train.py # python": "accelerate launch",
    "python xla_spawn.py --num_cores 8 train.py": "xla_spawn.py",
    "alias python='accelerate launch'; python train.py": "accelerate launch",
}


@pytest.mark.parametrize("text", BARE)
def test_bare(text: str) -> None:
    start = only_start(text)
    assert (start.path or start.module_name) == BARE[text]


@pytest.mark.parametrize("text", NOT)
def test_not_bare(text: str) -> None:
    assert not starts(text)
    assert not launchers(text)


@pytest.mark.parametrize("text", OWN)
def test_own_launcher(text: str) -> None:
    assert launchers(text) == [OWN[text]]
    assert not starts(text)


def test_the_parts_of_a_start() -> None:
    start = only_start("A=1 env B=2 nohup python -u -W ignore x.py --a 1")
    assert [each.value for each in start.flags] == ["-u", "-W", "ignore"]
    assert [each.value for each in start.arguments] == ["--a", "1"]
    assert [each.name for each in start.wrappers] == ["env", "nohup"]
    assert start.environment == {"A": "1", "B": "2"}
