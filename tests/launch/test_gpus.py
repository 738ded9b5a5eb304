"""What launches say about the number of GPUs, and in which words."""

from __future__ import annotations

import pytest
from launching import only_start, starts

from trl_lint.launch.judge.gpus import gpus

SAID = {
    "python x.py": "unknown ",
    "CUDA_VISIBLE_DEVICES=0 python x.py": "one CUDA_VISIBLE_DEVICES=0",
    "CUDA_VISIBLE_DEVICES=0,1 python x.py": "several CUDA_VISIBLE_DEVICES=0,1",
    "CUDA_VISIBLE_DEVICES='0, 1' python x.py": "several CUDA_VISIBLE_DEVICES=0, 1",
    "CUDA_VISIBLE_DEVICES=0,-1,1 python x.py": "one CUDA_VISIBLE_DEVICES=0,-1,1",
    "CUDA_VISIBLE_DEVICES=GPU-8f-1 python x.py": "one CUDA_VISIBLE_DEVICES=GPU-8f-1",
    "CUDA_VISIBLE_DEVICES= python x.py": "cpu CUDA_VISIBLE_DEVICES=",
    "CUDA_VISIBLE_DEVICES=-1 python x.py": "cpu CUDA_VISIBLE_DEVICES=-1",
    "CUDA_VISIBLE_DEVICES=$GPU python x.py": "unknown CUDA_VISIBLE_DEVICES=…",
    "export CUDA_VISIBLE_DEVICES=${GPUS:-0,1}\npython x.py": "several CUDA_VISIBLE_DEVICES=0,1",
    "export CUDA_VISIBLE_DEVICES=0,1\nenv CUDA_VISIBLE_DEVICES=1 python x.py": "one CUDA_VISIBLE_DEVICES=1",
    "export CUDA_VISIBLE_DEVICES=0\npython x.py": "one CUDA_VISIBLE_DEVICES=0",
    "CUDA_VISIBLE_DEVICES=0\npython x.py": "unknown ",
    "HIP_VISIBLE_DEVICES=0 python x.py": "one HIP_VISIBLE_DEVICES=0",
    "python x.py --use_cpu": "cpu --use_cpu",
    "python x.py --use_cpu False": "unknown ",
    "python x.py --no_cuda": "cpu --no_cuda",
    "python x.py --device cpu": "cpu --device cpu",
    "python x.py --nproc_per_node=8": "own launcher --nproc_per_node=8",
    "python x.py --local_rank $i": "own launcher --local_rank",
    "python x.py --local_rank -1": "unknown ",
    "python x.py --local_rank=-1": "unknown ",
    "python x.py --local_rank=0": "own launcher --local_rank=0",
    "python x.py --num_gpus 2": "own launcher --num_gpus",
    "python x.py --device_map auto": "own launcher --device_map auto",
    "python x.py --load_in_8bit": "own launcher --load_in_8bit",
    "python x.py --gpu 3": "own launcher --gpu",
    "python x.py --gpu_id=3": "own launcher --gpu_id=3",
    "python x.py --cuda_device 0": "own launcher --cuda_device",
    "python x.py --gpu_memory_utilization 0.9": "unknown ",
    "python x.py --gpu-memory 8": "unknown ",
    "RANK=0 WORLD_SIZE=2 python x.py": "own launcher RANK=0",
    "export WORLD_SIZE=$N\npython x.py": "own launcher WORLD_SIZE=…",
    "docker run --gpus all i python x.py": "several --gpus all",
    "docker run --gpus=2 i python x.py": "several --gpus=2",
    "docker run --gpus 1 i python x.py": "one --gpus 1",
    "docker run --gpus '\"device=0\"' i python x.py": "one --gpus '\"device=0\"'",
    "docker run --gpus all -e CUDA_VISIBLE_DEVICES=0 i python x.py": "one CUDA_VISIBLE_DEVICES=0",
    "docker run --gpus all i bash -c 'python x.py'": "several --gpus all",
    "srun --gres=gpu:4 python x.py": "several --gres=gpu:4",
    "srun --gres=gpu:4 -n 4 python x.py": "own launcher srun, -n 4",
    "srun -n4 python x.py": "own launcher srun, -n4",
    "srun -N 2 python x.py": "own launcher srun, -N 2",
    "srun --ntasks=1 --gres=gpu:a100:2 python x.py": "several --gres=gpu:a100:2",
    "srun --gpus-per-task=1 --gres=gpu:4 python x.py": "one --gpus-per-task=1",
    "srun -G 1 python x.py": "one -G 1",
    "#SBATCH --gres=gpu:1\npython x.py": "one #SBATCH --gres=gpu:1",
    "#SBATCH --gres gpu:4\n#SBATCH --ntasks 4\npython x.py": "several #SBATCH --gres gpu:4",
    "#SBATCH --ntasks-per-node=4\nsrun python x.py": "own launcher srun, #SBATCH --ntasks-per-node=4",
    "#SBATCH --nodes=2\nsrun python x.py": "own launcher srun, #SBATCH --nodes=2",
    "#SBATCH --gpus-per-node=h100:8\nsrun python x.py": "several #SBATCH --gpus-per-node=h100:8",
    "#SBATCH --gres=gpu:4\nsbatch --gres=gpu:1 --wrap='python x.py'": "one --gres=gpu:1",
    "#SBATCH --mem=4G\npython x.py": "unknown ",
    "# on a single GPU\npython x.py": "one # on a single GPU",
    "# single GPU or multi-GPU\npython x.py": "unknown ",
    "# Single-HPU training\npython x.py": "one # Single-HPU training",
    "# one model card\npython x.py": "unknown ",
    "# on a single CPU\npython x.py": "one # on a single CPU",
    "# in Google Colab\npython x.py": "one # in Google Colab",
    "# a day on one RTX 3060\npython x.py": "one # a day on one RTX 3060",
    "# an hour on a single tesla V100 16GB\npython x.py": "one # an hour on a single tesla V100 16GB",
    "# a multilingual model on a single GPU\npython x.py": "one # a multilingual model on a single GPU",
    "# on one GPU or multiple\npython x.py": "unknown ",
    "# on 4 RTX 3060 cards\npython x.py": "unknown ",
    "if [ $NGPU -gt 1 ]; then\ntorchrun x.py\nelse\npython x.py\nfi": "unknown if [ $NGPU -gt 1 ];",
    "if test $A; then\nls\nelif [ $GPUS ]\nthen\npython x.py\nfi": "unknown elif [ $GPUS ]",
    "case $NUM_GPUS in\n1) python x.py ;;\nesac": "unknown case $NUM_GPUS",
    "if test $GPUS; then\nls\nfi\npython x.py": "unknown ",
    "if test $FAST; then\npython x.py\nfi": "unknown ",
    "if test $GPUS; then\nCUDA_VISIBLE_DEVICES=0,1 python x.py\nfi": "several CUDA_VISIBLE_DEVICES=0,1",
    "ALL=0,1\nif test $GPUS; then\nCUDA_VISIBLE_DEVICES=$ALL python x.py\nfi": "unknown if test $GPUS;",
    "# a single GPU\nls\npython x.py": "one # a single GPU",
    # A comment at the top of a script, not right above a command, applies to the whole script.
    "#!/bin/bash\n# a row of a table\n# Time on a single A100: 15 min\n\nset -e\n\npython x.py":
        "one a row of a table Time on a single A100: 15 min",
    "#!/bin/bash\n# 3 h on a single A100, less on several GPUs\n\nset -e\n\npython x.py": "unknown ",
    "#!/bin/bash\n# on a single GPU\nls\n\n# all\npython x.py": "unknown ",
    "# on a single GPU\n\nset -e\n\npython x.py": "unknown ",
    "# a single GPU\nls\n\npython x.py": "unknown ",
    "# a single GPU\nls\n# all\npython x.py": "unknown ",
    "python x.py  # 1 GPU": "one # 1 GPU",
    "# 8 GPUs\npython x.py": "unknown ",
}  # fmt: skip


@pytest.mark.parametrize("text", SAID)
def test_said(text: str) -> None:
    verdict = gpus(only_start(text))
    assert f"{verdict.gpus.value} {verdict.evidence}" == SAID[text]


FILES = {
    ("s.py", "import os\nif torch.device_count() > 1:\n    os.system('ls')\nelse:\n    os.system('python x.py')\n"):
        "unknown torch.device_count() > 1",
    ("s.py", "import os\nif fast:\n    os.system('python x.py')\n"): "unknown ",
    ("Dockerfile", 'ENV CUDA_VISIBLE_DEVICES=0\nCMD ["python", "x.py"]'): "one CUDA_VISIBLE_DEVICES=0",
    ("Dockerfile", 'ENV CUDA_VISIBLE_DEVICES 0,1\nFROM b\nCMD python x.py'): "unknown ",
    ("Makefile", "export CUDA_VISIBLE_DEVICES = 0\na:\n\tpython x.py\n"): "one CUDA_VISIBLE_DEVICES=0",
    ("Makefile", "a: export CUDA_VISIBLE_DEVICES=0,1\na:\n\tpython x.py\n"): "several CUDA_VISIBLE_DEVICES=0,1",
    ("c.yml", "s:\n  gpus: all\n  command: python x.py\n"): "several gpus: all",
    ("c.yml", "s:\n  environment: {CUDA_VISIBLE_DEVICES: 0}\n  command: python x.py\n"): "one CUDA_VISIBLE_DEVICES=0",
    ("c.yml", "resources:\n  accelerators: {A100: 1}\nrun: python x.py\n"): "one accelerators: A100:1",
    ("c.yml", "resources:\n  accelerators: A100:8\nrun: python x.py\n"): "several accelerators: A100:8",
    ("c.yml", "j:\n  runs-on: ubuntu-22.04\n  steps:\n    - run: python x.py\n"): "cpu runs-on: ubuntu-22.04",
    ("c.yml", "job:\n  variables:\n    CUDA_VISIBLE_DEVICES: '0,1'\n  script:\n    - python x.py\n"):
        "several CUDA_VISIBLE_DEVICES=0,1",
    ("c.yml", "j:\n  script:\n    - export CUDA_VISIBLE_DEVICES=0\n    - python x.py\n"): "one CUDA_VISIBLE_DEVICES=0",
    ("a.md", "# Single GPU\n```bash\npython x.py\n```\n"): "one Single GPU",
    ("a.md", "# Single GPU\n# Other\n```bash\npython x.py\n```\n"): "unknown ",
    ("a.md", "```bash\nexport CUDA_VISIBLE_DEVICES=0\n```\n```bash\npython x.py\n```\n"): "one CUDA_VISIBLE_DEVICES=0",
    ("a.py", "import os, subprocess\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\nsubprocess.run(['python', 'x.py'])"):
        "one CUDA_VISIBLE_DEVICES=0",
    ("a.py", "import subprocess\nsubprocess.run(['python', 'x.py'], env=made())"): "unknown CUDA_VISIBLE_DEVICES=…",
}  # fmt: skip


@pytest.mark.parametrize(("name", "text"), FILES)
def test_said_by_a_file(name: str, text: str) -> None:
    verdict = gpus(starts(text, name)[0])
    assert f"{verdict.gpus.value} {verdict.evidence}" == FILES[name, text]
