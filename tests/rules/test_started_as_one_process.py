"""Findings in programs that all known commands start as one process are only reported on request."""

from __future__ import annotations

from dataclasses import replace
from textwrap import indent

import pytest
from snippets import SETTINGS, loop
from started import MAIN, by_default_in, findings_in

from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

IMPORTS_SPREAD = "from spread import go\n"
ON = "import pytorch_lightning as pl\n\n\ndef go(args):\n    return pl.Trainer(callbacks=[seen()], devices={})\n"
IMPORTS_TRAIN = "from train import train\n\nif __name__ == '__main__':\n    train()\n"

WRITES = loop('open("losses.txt", "w")')

ONE = "import os\n\nos.system('python -m torch.distributed.launch --nproc_per_node 1 train.py --lr {}'.format(1e-4))\n"
TWO = ONE.replace("per_node 1", "per_node 2")
WITH_SCRIPT = "```bash\npython train.py\n./run.sh --launcher torchrun\n```\n"


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({}, True),
        ({"run.sh": "python train.py --epochs 3\n"}, False),
        ({"README.md": "```bash\nCUDA_VISIBLE_DEVICES=0 python3 ./train.py\n```\n"}, False),
        ({"run.sh": "python train.py\ntorchrun --nproc_per_node 8 train.py\n"}, True),
        ({"run.sh": "python train.py\ntorchrun --nproc_per_node 8 $SCRIPT\n"}, True),
        ({"run.sh": "python train.py\ntorchrun --nproc_per_node 8 other.py\n"}, False),
        ({"run.sh": "python -m torch.distributed.run train.py\n"}, True),
        ({"run.sh": "python other.py\n"}, True),
        ({"run.sh": "python launch.py -- accelerate launch train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 1 train.py\n"}, False),
        ({"run.sh": "python train.py\naccelerate launch --num_processes=1 train.py\n"}, False),
        ({"run.sh": "deepspeed --include localhost:3 train.py\n"}, False),
        ({"run.sh": "deepspeed --include localhost:0,1 train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 1 train.py\ntorchrun --nproc_per_node 2 train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 1 --nnodes $NODES train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node ${GPUS:-1} train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node 8 train.py --num_gpus 1\n"}, True),
        ({"run.sh": "torchrun train.py\n"}, True),
        ({"run.sh": "python train.py\npython -m torch.distributed.launch --nproc_per_node=8 train.py\n"}, True),
        ({"run.sh": "python -m torch.distributed.launch --nproc_per_node=1 train.py\n"}, False),
        ({"run.sh": "python train.py\npython -m accelerate.commands.launch train.py\n"}, True),
        ({"run.sh": "python train.py\nsrun --ntasks=8 python train.py\n"}, True),
        ({"README.md": "```\nsrun python -u train.py --ddp\n```\n"}, True),  # in an allocation of any size
        ({"run.sh": "#!/bin/bash\n#SBATCH --mem=4G\nsrun python -u train.py\n"}, False),
        ({"run.sh": "python train.py\nRANK=0 WORLD_SIZE=4 python train.py\n"}, True),
        ({"run.sh": "python train.py --device_map auto\n"}, False),
        ({"run.sh": "llamafactory-cli train a.yaml\npython train.py\n"}, False),  # a program of its library
        ({"run.sh": "axolotl $ACTION a.yaml\npython train.py\n"}, True),
        ({"run.sh": "uv run train.py\n"}, False),
        ({"run.sh": "python \\\n  train.py --epochs 3\n"}, False),
        ({"Snakefile": "rule train:\n    shell: 'python train.py {output}'\n"}, False),
        ({"rules/x.smk": 'rule train:\n    shell:\n        """\n        torchrun train.py\n        """\n'}, True),
        ({"rules/x.smk": "rule train:\n    script: '../train.py'\n"}, False),
        ({"Makefile": "train:\n\tpython train.py\n\tdeepspeed --module train\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=5 accelerate launch --config_file many.yaml \\\n  -m train --bf16\n"}, False),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=5,6 accelerate launch train.py\n"}, True),
        ({"run.sh": "submit --gpus 1 --name a -- accelerate launch train.py\n"}, False),
        ({"run.sh": "submit --gpus 8 --name a -- accelerate launch train.py\n"}, True),
        ({"run.sh": "submit --gpus 1 --nodes 2 -- accelerate launch train.py\n"}, True),
        ({"run.sh": "submit --gpus 1 -- torchrun train.py\n"}, True),
        ({"run.sh": 'RUN="submit --gpus 1 --name a"\n$RUN -- accelerate launch train.py\n'}, False),
        ({"run.sh": 'RUN="submit --gpus 8 --name a"\n$RUN -- accelerate launch train.py\n'}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=$GPU accelerate launch train.py\n"}, True),
        ({"run.sh": "python train.py\n", "spread.py": "mp.spawn(train)", "other.py": "import spread"}, False),
        ({"run.sh": "python train.py\n", "spread.py": "go = mp.spawn(train)", "train.py": IMPORTS_SPREAD}, True),
        ({"run.sh": "python train.py\n", "spread.py": ON.format("args.n"), "train.py": IMPORTS_SPREAD}, True),
        ({"run.sh": "python train.py\n", "spread.py": ON.format("[0, 1]"), "train.py": IMPORTS_SPREAD}, True),
        ({"run.sh": "python train.py\n", "spread.py": ON.format("1"), "train.py": IMPORTS_SPREAD}, False),
        ({"run.sh": "python train.py\n", "spread.py": ON.format("[3]"), "train.py": IMPORTS_SPREAD}, False),
        ({"run.sh": "python train.py\ntorchrun --nproc_per_node 8 many.py\n", "many.py": IMPORTS_TRAIN}, True),
        ({"other/run.sh": "python train.py\n", "other/train.py": MAIN}, True),
        ({"tune.py": ONE}, False),
        ({"tune.py": ONE, "base.py": TWO}, True),
        ({"tune.py": ONE + TWO}, True),
        ({"tune.py": ONE, "other/base.py": TWO, "other/train.py": MAIN}, False),
        ({"run.sh": "python train.py\n", "base.py": TWO}, True),
        ({"README.md": WITH_SCRIPT, "run.sh": "torchrun --nproc_per_node 8 other.py\n"}, False),
        ({"README.md": WITH_SCRIPT, "run.sh": "torchrun --nproc_per_node 8 train.py\n"}, True),
        ({"README.md": WITH_SCRIPT, "run.sh": "$LAUNCHER train.py\n"}, True),
        ({"README.md": WITH_SCRIPT}, True),
        ({"README.md": "```\npython train.py\n(deepspeed or python)\n```\n"}, False),
    ],
)
def test_a_program_that_is_started_as_one_process_is_asked_for(files, by_default, tmp_path):
    text = loop('open("losses.txt", "w")') + MAIN
    files = {**files, "train.py": files.get("train.py", "") + text}
    assert by_default_in(tmp_path, files, "train.py") is by_default


@pytest.mark.parametrize(("runs", "by_default"), [("python -u train.py\n", False), ("python other.py\n", True)])
def test_a_script_without_a_main_block_is_a_program_where_a_command_names_it(runs, by_default, tmp_path):
    text = loop('open("losses.txt", "w")') + "\n\ntrain()\n"
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": runs}, "train.py") is by_default


PART_OF_PROGRAMS = {
    "part.py": loop('open("losses.txt", "w")'),
    "train.py": "from part import train" + MAIN,
    "tune.py": "from part import train" + MAIN,
}


@pytest.mark.parametrize(
    ("runs", "by_default"),
    [
        ("python train.py\npython tune.py\n", False),
        ("python train.py\ntorchrun --nproc_per_node 1 tune.py\n", False),
        # Nothing is known about the other program.
        ("python train.py\n", False),
        ("python train.py\ntorchrun --nproc_per_node 8 $SCRIPT\n", True),
        ("python train.py\ntorchrun --nproc_per_node 8 tune.py\n", True),
        ("", True),
    ],
)
def test_a_part_of_programs_that_are_started_as_one_process_is_asked_for(runs, by_default, tmp_path):
    assert by_default_in(tmp_path, PART_OF_PROGRAMS | {"run.sh": runs}, "part.py") is by_default


@pytest.mark.parametrize(("runs", "by_default"), [("tune.py", True), ("other.py", False)])
def test_a_part_of_a_program_that_is_started_and_makes_its_ranks_runs_as_several(runs, by_default, tmp_path):
    """Whatever another program is that it is part of; nobody is known to start one that no command names."""
    tune = "from part import train" + MAIN.replace("train()", "torch.multiprocessing.spawn(train, nprocs=8)")
    commands = {"run.sh": f"python train.py\npython {runs}\n"}
    assert by_default_in(tmp_path, PART_OF_PROGRAMS | {"tune.py": tune} | commands, "part.py") is by_default


@pytest.mark.parametrize(("runs", "by_default"), [("python train.py\n", False), ("torchrun train.py\n", True)])
def test_a_part_of_programs_that_can_be_run_by_itself_is_one_of_theirs(runs, by_default, tmp_path):
    part = PART_OF_PROGRAMS["part.py"] + '\n\nif __name__ == "__main__":\n    print(train)\n'
    assert by_default_in(tmp_path, PART_OF_PROGRAMS | {"part.py": part, "run.sh": runs}, "part.py") is by_default


@pytest.mark.parametrize(("runs", "by_default"), [("python train.py\n", False), ("torchrun train.py\n", True)])
def test_a_part_of_a_script_without_a_main_block_is_that_of_a_program_where_a_command_names_it(
    runs, by_default, tmp_path
):
    files = {"part.py": PART_OF_PROGRAMS["part.py"], "train.py": "from part import train\n\ntrain()\n"}
    assert by_default_in(tmp_path, files | {"run.sh": runs}, "part.py") is by_default


@pytest.mark.parametrize(
    ("runs", "by_default"), [("python train.py\npython tune.py\n", False), ("python train.py\n", True)]
)
def test_a_crash_in_a_part_is_told_as_long_as_one_program_may_be_more_than_one_process(runs, by_default, tmp_path):
    part = "from accelerate import Accelerator\n\ndef train(model):\n    Accelerator().gather(model.loss.item())\n"
    files = PART_OF_PROGRAMS | {"part.py": part, "run.sh": runs}
    assert by_default_in(tmp_path, files, "part.py", "TRL001") is by_default


@pytest.mark.parametrize(
    ("body", "by_default"),
    [
        ('dist.init_process_group("nccl")\ntrain(make())', True),
        ('torch.distributed.init_process_group(backend="nccl")\ntrain(make())', True),
        ('def start():\n    dist.init_process_group("nccl")', False),
        ("train(make())", False),
    ],
)
def test_a_script_that_starts_the_process_group_in_its_body_is_a_program(body, by_default, tmp_path):
    part = "from accelerate import Accelerator\n\ndef train(model):\n    Accelerator().gather(model.loss.item())\n"
    several = f"import torch\nimport torch.distributed as dist\nfrom part import train\n\n{body}\n"
    files = {"part.py": part, "train.py": PART_OF_PROGRAMS["train.py"], "several.py": several}
    assert by_default_in(tmp_path, files | {"run.sh": "python train.py\n"}, "part.py", "TRL001") is by_default


@pytest.mark.parametrize(
    ("runs", "by_default"),
    [
        ("python -m tools\n", False),
        ("python tools/__main__.py\n", False),
        ("python -m tools.other\n", True),
        ("torchrun --nproc_per_node 8 -m tools\n", True),
        ("python -m tools\ntorchrun --nproc_per_node 8 tools/__main__.py\n", True),
    ],
)
def test_a_package_is_a_program_that_its_name_starts(runs, by_default, tmp_path):
    files = {"tools/__init__.py": "", "tools/__main__.py": loop('open("losses.txt", "w")') + MAIN, "run.sh": runs}
    assert by_default_in(tmp_path, files, "tools/__main__.py") is by_default


def test_a_program_that_makes_processes_itself_is_more_than_one(tmp_path):
    text = loop('open("losses.txt", "w")') + MAIN.replace("train()", "torch.multiprocessing.spawn(train, nprocs=8)")
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    (tmp_path / "run.sh").write_text("python train.py\n", encoding="utf-8")
    linter = Linter(replace(SETTINGS, root=tmp_path), (tmp_path,), (find_rule("TRL008"),))
    assert all(finding.by_default for finding in linter.check(tmp_path / "train.py", text.encode()))


@pytest.mark.parametrize(
    ("visible", "ranks", "by_default"),
    [
        ("0", "torch.cuda.device_count()", False),
        ("0,1", "torch.cuda.device_count()", True),
        ("$GPUS", "torch.cuda.device_count()", True),
        ("0", "8", True),
    ],
)
def test_a_rank_for_each_gpu_is_one_process_where_one_gpu_is_seen(visible, ranks, by_default, tmp_path):
    start = f"torch.multiprocessing.spawn(train, nprocs={ranks})"
    files = {"train.py": WRITES + MAIN.replace("train()", start)}
    files["run.sh"] = f"CUDA_VISIBLE_DEVICES={visible} python train.py\n"
    assert by_default_in(tmp_path, files, "train.py") is by_default


@pytest.mark.parametrize(
    ("before", "ranks"),
    [
        ('os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"', "torch.cuda.device_count()"),
        ('os.environ.update({"CUDA_VISIBLE_DEVICES": "0,1"})', "torch.cuda.device_count()"),
        ("print(torch.cuda.device_count())", "8"),
    ],
)
def test_code_that_chooses_its_gpus_or_their_number_starts_ranks_all_the_same(before, ranks, tmp_path):
    start = f"{before}\n    torch.multiprocessing.spawn(train, nprocs={ranks})"
    files = {"train.py": "import os\n" + WRITES + MAIN.replace("train()", start)}
    files["run.sh"] = "CUDA_VISIBLE_DEVICES=0 python train.py\n"
    assert by_default_in(tmp_path, files, "train.py")


SPAWNS = """
import argparse

import torch.multiprocessing as mp

parser = argparse.ArgumentParser()
parser.add_argument("--multiprocessing-distributed", action="{action}", help="a process for each GPU (or one)")


def main():
    args = parser.parse_args()
    {before}if args.multiprocessing_distributed:
        # With as many processes as there are GPUs.
        mp.spawn(train, nprocs=8)
    else:
        train()
"""
OFF = {"action": "store_true", "before": ""}


@pytest.mark.parametrize(
    ("run", "program", "by_default"),
    [
        ("python train.py --epochs 3\n", OFF, False),
        ("CUDA_VISIBLE_DEVICES=0 python train.py --epochs $EPOCHS\n", OFF, False),
        ("python train.py --multiprocessing-distributed\n", OFF, True),
        ("python train.py --epochs 3\npython train.py --multiproc\n", OFF, True),
        ("python train.py --epochs 3 $OPTIONS\n", OFF, True),
        ("python train.py --config train.yaml\n", OFF, True),
        ("python train.py --world-size 2 --rank 1\n", OFF, True),
        ("srun python train.py --epochs 3\n", OFF, True),
        ('RUN="python train.py --epochs 3"\n', OFF, True),
        ("bash other.sh\n", OFF, True),
        ("python train.py --epochs 3\n", {**OFF, "action": "store_false"}, True),
        ("python train.py --epochs 3\n", {**OFF, "before": "args.multiprocessing_distributed = True\n    "}, True),
        ("python train.py --epochs 3\n", {**OFF, "before": "vars(args).update(settings())\n    "}, True),
        ("python train.py --epochs 3\n", {**OFF, "before": "mp.spawn(train, nprocs=8)\n    "}, True),
    ],
)
def test_a_program_that_makes_processes_with_an_option_only(run, program, by_default, tmp_path):
    text = WRITES + SPAWNS.format(**program) + MAIN.replace("train()", "main()")
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": run}, "train.py") is by_default


@pytest.mark.parametrize(
    ("usage", "by_default"),
    [
        ("Usage: python train.py --epochs 3", False),
        ("    CUDA_VISIBLE_DEVICES=0 python \\\\\n        tools/train.py --epochs 3", False),
        ("run `python train.py`, or `torchrun --nproc_per_node 8 train.py`", True),
        ("    torchrun --nproc_per_node 1 train.py", False),
        ("    torchrun --nproc_per_node 8 \\\\\n        train.py", True),
        ("python prepare.py, then python pretrain.py", True),
        ("python train.py --gpu 0", False),
        ("python train.py --gpus 2", True),
    ],
)
def test_a_program_says_itself_how_it_is_started(usage, by_default, tmp_path):
    text = f'"""Trains.\n\n{usage}\n"""\n{WRITES}{MAIN}'
    assert by_default_in(tmp_path, {"tools/train.py": text}, "tools/train.py") is by_default


def test_what_a_program_says_of_itself_says_nothing_of_what_it_imports(tmp_path):
    files = PART_OF_PROGRAMS | {"train.py": f'"""python train.py"""\nfrom part import train{MAIN}'}
    del files["tune.py"]
    assert by_default_in(tmp_path, files, "part.py")


def test_what_a_program_says_of_itself_is_not_all_there_is(tmp_path):
    files = {"train.py": f"# python train.py\n{WRITES}{MAIN}", "run.sh": "torchrun --nproc_per_node 8 train.py\n"}
    assert by_default_in(tmp_path, files, "train.py")


PREDICTS = """\
import argparse

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--do_pred", {declared})
    args = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    if {test}:
        open("predicted.txt", "w")

if __name__ == "__main__":
    main()
"""
STARTS_BOTH = "torchrun --nproc_per_node 8 train.py --epochs 3\npython train.py --do-pred\n"


@pytest.mark.parametrize(
    ("declared", "test", "runs", "by_default"),
    [
        ('action="store_true"', "args.do_pred", STARTS_BOTH, False),
        ('action="store_true"', "args.do_pred and not args.dry", STARTS_BOTH, False),
        ("type=str, default=None", "args.do_pred is not None", STARTS_BOTH, False),
        ('action="store_true"', "not args.do_pred", STARTS_BOTH, True),
        ('action="store_true"', "args.do_pred or args.dry", STARTS_BOTH, True),
        ('type=str, default="all"', "args.do_pred", STARTS_BOTH, True),
        ('action="store_true"', "args.epochs", STARTS_BOTH, True),
        ('action="store_true"', "args.do_pred", STARTS_BOTH.replace("epochs 3", "do_pred"), True),
        ('action="store_true"', "args.do_pred", STARTS_BOTH.replace("--epochs 3", '"$@"'), True),
        ('action="store_true"', "args.do_pred", STARTS_BOTH.replace("python train.py", "torchrun train.py"), True),
        (
            'action="store_true"',
            "args.do_pred",
            STARTS_BOTH.replace("python train.py", "python other.py"),
            False,
        ),  # not given
    ],
)
def test_what_only_an_option_of_one_process_leads_to_is_asked_for(declared, test, runs, by_default, tmp_path):
    text = "import torch\n" + PREDICTS.format(declared=declared, test=test)
    assert by_default_in(tmp_path, {"train.py": text, "run.sh": runs}, "train.py") is by_default


PREDICTS_BY_CALL = """\
import argparse

import torch
import predicting
from predicting import predict

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--do_pred", action="store_true")
    parser.add_argument("--pred_dir", default=None)
    parser.add_argument("--epochs")
    args = parser.parse_args()
    torch.distributed.init_process_group("nccl")
    {body}

if __name__ == "__main__":
    main()
"""
PREDICTING = """\
def predict():
    write("predicted.txt")

def write(path):
    open(path, "w")
"""


@pytest.mark.parametrize(
    ("body", "by_default"),
    [
        ("if args.do_pred: predict()", False),
        ("if args.do_pred or args.pred_dir is not None: predict()", False),
        ("if args.do_pred or args.epochs: predict()", True),
        ("predict()", True),
        ("if args.do_pred: predict()\n    predict()", True),
        ("if args.do_pred: run = predict\n    run()", True),
        # An option of the same name is not the function, that of its module is.
        ("args.predict = True\n    if args.do_pred: predict()", False),
        ("predicting.predict()\n    if args.do_pred: predict()", True),
    ],
)
def test_what_is_only_called_with_an_option_of_one_process_is_asked_for(body, by_default, tmp_path):
    runs = f"{STARTS_BOTH}python train.py --pred_dir out\n"
    files = {"train.py": PREDICTS_BY_CALL.format(body=body), "predicting.py": PREDICTING, "run.sh": runs}
    assert by_default_in(tmp_path, files, "predicting.py") is by_default


@pytest.mark.parametrize(
    ("path", "by_default"), [("tools/train.py", False), ("train.py", True), ("own/train.py", True)]
)
def test_a_path_on_somebodys_disk_ends_like_the_programs_own(path, by_default, tmp_path):
    files = {"tools/train.py": WRITES + MAIN, "scripts/run.sh": f"python /home/me/{path}\n"}
    assert by_default_in(tmp_path, files, "tools/train.py") is by_default


ONE = "compute_environment: LOCAL_MACHINE\nnum_machines: 1\nnum_processes: 1  # of two\n"


@pytest.mark.parametrize(
    ("options", "settings", "by_default"),
    [
        ("--config_file=configs/one.yaml", {"configs/one.yaml": ONE}, False),
        ("--config_file one.yaml", {"configs/one.yaml": ONE}, False),
        ("--config_file configs/one.yaml", {}, True),
        ("--config_file configs/one.yaml", {"configs/one.yaml": ONE.replace("processes: 1", "processes: 8")}, True),
        ("--config_file configs/one.yaml", {"configs/one.yaml": ONE.replace("machines: 1", "machines: 2")}, True),
        ("--config_file configs/one.yaml", {"configs/one.yaml": "distributed_type: MULTI_GPU\n"}, True),
        ("--config_file one.yaml", {"a/one.yaml": ONE, "b/one.yaml": ONE.replace("1", "2")}, True),
        ("--config_file one.yaml --num_processes 8", {"one.yaml": ONE}, True),
        ("--config_file one.yaml --multi_gpu", {"one.yaml": ONE}, True),
        ("--config_file one.yaml --gpu_ids 0,1", {"one.yaml": ONE}, True),
        ("--config_file one.yaml --gpu-ids 0,1", {"one.yaml": ONE}, True),
        # Which file is meant is unknown, but none is for several processes.
        ("--config_file $CONFIG", {"one.yaml": ONE}, False),
        ("--config_file $CONFIG", {"one.yaml": ONE, "two.yaml": ONE.replace("processes: 1", "processes: 2")}, True),
        ('--config_file "configs/${N}.yaml"', {"configs/1.yaml": ONE, "old/2.yaml": ONE.replace("1", "2")}, False),
        ('--config_file "configs/${N}.yaml"', {"configs/1.yaml": ONE, "configs/2.yaml": ONE.replace("1", "2")}, True),
        ("", {"one.yaml": ONE}, False),
        ("", {"configs/one.yaml": ONE}, False),
        ("", {"others/theirs/one.yaml": ONE}, True),
        ("", {"one.yaml": ONE, "two.yaml": ONE.replace("processes: 1", "processes: 2")}, True),
        ("--multi_gpu", {"one.yaml": ONE}, True),
        ("--gpu_ids 3", {}, False),
        ("--gpu_ids all", {}, True),
        ("--gpu_ids $GPUS", {}, True),
        ("", {}, True),
    ],
)
def test_settings_of_accelerate_say_how_many_processes_there_are(options, settings, by_default, tmp_path):
    files = {"train.py": WRITES + MAIN, "run.sh": f"accelerate launch {options} train.py\n", **settings}
    assert by_default_in(tmp_path, files, "train.py") is by_default


WITH_TRAINER = """
from transformers import AutoModel, Trainer

def train(args):
    {}
    trainer = Trainer(policy, args, ref_model=reference)
    trainer.train()
    with open("losses.txt", "w") as file:
        file.write(str(trainer.state.log_history))
"""


@pytest.mark.parametrize(
    ("lines", "by_default"),
    [
        ("policy, reference = make().to('cuda:0'), make().to('cuda:1')", False),
        ("policy, reference = make().to('cuda:1'), make().to('cuda:1')", True),
        ("policy, reference = make().to('cuda'), make()", True),
        ("policy, reference = make().to(['cuda:0', 'cuda:1'][args.local_rank]), make()", True),
        ("policy, reference = make(), make()  # not 'cuda:0', 'cuda:1'", True),
    ],
)
def test_gpus_by_their_numbers_are_of_one_process(lines, by_default, tmp_path):
    assert by_default_in(tmp_path, {"train.py": WITH_TRAINER.format(lines)}, "train.py") is by_default


@pytest.mark.parametrize(
    ("lines", "by_default"),
    [
        ("get_ipython().run_line_magic('autoreload', '2')\n", False),
        ("def in_notebook():\n    return get_ipython() is not None\n", True),
        ("get_ipython().run_line_magic('autoreload', '2')\nnotebook_launcher(train, num_processes=2)\n", True),
    ],
)
def test_what_is_exported_from_a_notebook_is_run_by_its_kernel(lines, by_default, tmp_path):
    text = lines + loop('open("losses.txt", "w")')
    assert by_default_in(tmp_path, {"train.py": text}, "train.py") is by_default


@pytest.mark.parametrize(
    ("lines", "by_default"),
    [
        ("prompt = input('Prompt: ')", False),
        ("prompt = input('Prompt: ') if int(os.environ['RANK']) == 0 else ''", True),
        ("prompt = tokenizer.input('Prompt: ')", True),
        ("prompt = 'read by input()'", True),
        ("# prompt = input('Prompt: ')", True),
        ("prompt, rank = input('Prompt: '), 0\n    for _ in prompt:\n        rank += 1", False),
        ("prompt, rank = input('Prompt: '), args.local_rank\n    rank += 1", True),
        ("prompt, rank = input('Prompt: '), dist.get_rank()", True),
    ],
)
def test_who_asks_somebody_at_the_terminal_runs_once(lines, by_default, tmp_path):
    assert by_default_in(tmp_path, {"train.py": WITH_TRAINER.format(lines)}, "train.py") is by_default


@pytest.mark.parametrize(
    ("name", "by_default"),
    [("train_single_gpu.py", False), ("train_1gpu.py", False), ("train.py", True), ("train_multi_gpu.py", True)],
)
def test_a_program_says_by_its_name_that_it_is_for_one_gpu(name, by_default, tmp_path):
    assert by_default_in(tmp_path, {name: WITH_TRAINER.format("pass")}, name) is by_default


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"jobs/other.py": MAIN, "README.md": "```\npython jobs/other.py\n```\n"}, False),
        ({"jobs/other.py": MAIN, "README.md": "```\npython -m jobs.other\n```\n"}, False),
        # It is not started either.
        ({"jobs/other.py": MAIN}, True),
        # It is of another kind.
        ({"tools/other.py": MAIN, "README.md": "```\npython tools/other.py\n```\n"}, True),
        # Some program, it may be this one, is started on several.
        ({"jobs/other.py": MAIN, "more.py": MAIN, "run.sh": "python jobs/other.py\ntorchrun $MORE\n"}, True),
        ({"jobs/other.py": MAIN, "run.sh": "python jobs/other.py\n", "a.yaml": "distributed_type: MULTI_GPU\n"}, True),
        ({"jobs/other.py": "import ray\n" + MAIN, "run.sh": "python jobs/other.py\n"}, True),
    ],
)
def test_a_program_is_started_as_those_beside_it(files, by_default, tmp_path):
    assert by_default_in(tmp_path, {"jobs/train.py": WRITES + MAIN, **files}, "jobs/train.py") is by_default


TRAINS = "def main(loss):\n    loss.backward()\n" + MAIN


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "python tune.py\n", "tune.py": TRAINS}, False),
        ({"run.sh": "python tune.py\n", "tune.py": "from lib.tuning import main" + MAIN, "lib/tuning.py": TRAINS},
         False),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=3 python tune.py\n", "tune.py": TRAINS}, False),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=2,3 python tune.py\n", "tune.py": TRAINS}, True),
        ({"run.sh": "python plot.py\n", "plot.py": MAIN, "tune.py": TRAINS}, True),
        ({"tune.py": TRAINS}, True),
        ({"run.sh": "python tune.py\n", "many.sh": "torchrun $SCRIPT\n", "tune.py": TRAINS}, True),
        ({"run.sh": "python tune.py\n", "spread.py": "mp.spawn(main)", "tune.py": TRAINS}, True),
        ({"run.sh": "python tune.py\n", "zero.json": '{"zero_optimization": {"stage": 2}}', "tune.py": TRAINS}, True),
        ({"run.sh": "python tune.py\n", "many.yaml": "distributed_type: MULTI_GPU\nnum_processes: 8\n",
          "tune.py": TRAINS}, True),
    ],
)  # fmt: skip
def test_a_project_that_trains_as_one_process_and_shows_no_other_way(files, by_default, tmp_path):
    assert by_default_in(tmp_path, {"jobs/train.py": WRITES + MAIN, **files}, "jobs/train.py") is by_default


@pytest.mark.parametrize(
    ("folder", "by_default"), [("$CODE/", False), ('"${CODE}"/', False), ("code/", True), ("$CODE/jobs/", False)]
)
def test_a_program_below_an_unknown_folder_is_known_by_its_name(folder, by_default, tmp_path):
    files = {"jobs/train.py": WRITES + MAIN, "shell/run.sh": f"python {folder}train.py\n"}
    assert by_default_in(tmp_path, files, "jobs/train.py") is by_default


COMM = """
import torch.distributed as dist

class Comm:
    @property
    def rank(self):
        return dist.get_rank() if dist.is_initialized() else 0

    def is_main_process(self):
        return self.rank == 0

comm = Comm()
"""
WRAPS = """
def wrapped(model):
    return DistributedDataParallel(model) if dist.is_initialized() else model
"""
BEGIN = """
def start():
    dist.init_process_group("nccl")
"""
EVALUATES = """
from comm import comm

def main(args):
    if comm.is_main_process():
        print(args)
    {}
    with open("results.json", "w") as file:
        file.write(str(args))

if __name__ == "__main__":
    main(3)
"""


@pytest.mark.parametrize(
    ("files", "line", "is_told"),
    [
        ({}, "pass", False),
        ({"other.py": "from comm import comm\nimport deepspeed\n"}, "pass", False),  # another program's
        ({"names.py": "NAMES = ['strainer', 'lightning', 'ray', 'fabric']\n"}, "import names", False),
        ({"wraps.py": WRAPS}, "from wraps import wrapped", False),
        ({}, "dist.init_process_group('nccl')", True),
        (
            {"train.py": f"from run import main\nfrom begin import start\nstart()\n{MAIN}", "begin.py": BEGIN},
            "pass",
            True,
        ),
        ({"begin.py": "def begin():\n    dist.init_process_group('nccl')\n"}, "import begin", True),
        ({"begin.py": BEGIN}, "from begin import start\n    start()", True),
        # Nobody calls the function that starts one.
        ({"begin.py": BEGIN}, "from begin import start", False),
        ({"begin.py": BEGIN + WRAPS}, "from begin import start, wrapped", False),
        ({"comm.py": BEGIN + COMM}, "import os\n    from comm import start\n    os.environ['LOCAL_RANK']", False),
        ({"begin.py": BEGIN, "job.sh": "# start the job\n"}, "from begin import start", True),
        (
            {"begin.py": BEGIN, "setup.cfg": "console_scripts =\n    go = begin:start\n"},
            "from begin import start",
            True,
        ),
        ({"begin.py": BEGIN, "app/setup.py": "", "app/do.py": "start()\n"}, "from begin import start", True),
        ({"begin.py": f"{BEGIN}class Runs:\n    def start(self):\n        start()\n"}, "import begin", True),
        ({"begin.py": "class Runs:" + indent(BEGIN, "    ")}, "from begin import Runs", True),
        ({"begin.py": f"{BEGIN}dist.init_process_group('gloo')\n"}, "from begin import start", True),
        ({"begin.py": "from accelerate import Accelerator\n"}, "from begin import accelerator", True),
        ({"run.sh": "torchrun --nproc_per_node 8 run.py\n"}, "pass", True),
    ],
)
def test_who_asks_for_a_process_group_that_nothing_starts_is_one_process(files, line, is_told, tmp_path):
    files = {"comm.py": COMM, "run.py": EVALUATES.format(line), **files}
    assert bool(findings_in(tmp_path, files, "run.py")) is is_told


MAKES = """
import os
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

def make(args):
    model = torch.nn.Linear(8, 2).cuda()
    if args.ddp:
        rank = int(os.environ["LOCAL_RANK"])
        model = DDP(model, device_ids=[rank])
    return model
"""
FITS = """
import torch
from models import make
{}
def fit(args, loader, optimizer):
    model = make(args)
    for batch in loader:
        model(batch["x"]).mean().backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")

if __name__ == "__main__":
    fit(parser().parse_args(), [], None)
"""
STARTS_ITSELF = FITS.format("import torch.distributed as dist\ndist.init_process_group('nccl')")
OPTIONS = "import argparse\ndef parser():\n    found = argparse.ArgumentParser()\n    found.add_argument({})\n"
RANK_OPTION = OPTIONS.format("'--local_rank', type=int")


@pytest.mark.parametrize(
    ("files", "line", "is_told"),
    [
        ({"train.py": STARTS_ITSELF}, "", False),
        ({"train.py": STARTS_ITSELF, "run.sh": "python fit.py --num_gpu ${GPUS} &\n"}, "", False),
        (
            {"train.py": "from options import parser\n" + STARTS_ITSELF, "options.py": RANK_OPTION},
            "from options import parser",
            False,
        ),
        ({"train.py": f"from fit import fit\nfrom begin import start\n{MAIN}", "begin.py": BEGIN}, "", True),
        ({"train.py": STARTS_ITSELF, "options.py": RANK_OPTION}, "from options import parser", True),
        ({"train.py": STARTS_ITSELF, "run.sh": "torchrun --nproc_per_node 8 fit.py\n"}, "", True),
        ({"train.py": STARTS_ITSELF, "begin.py": BEGIN}, "from begin import start", True),
        ({"train.py": STARTS_ITSELF}, "from accelerate import PartialState", True),
        ({"train.py": STARTS_ITSELF}, "import os\nos.environ['WORLD_SIZE'] = '2'", True),
        ({"begin.py": BEGIN}, "", True),  # no program shows that it is for another one
        ({}, "", True),
    ],
)
def test_a_wrapper_in_a_helper_is_for_the_programs_that_start_the_group(files, line, is_told, tmp_path):
    files = {"models.py": MAKES, "fit.py": FITS.format(line), **files}
    assert bool(findings_in(tmp_path, files, "fit.py")) is is_told


SHARDS = """
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP

def train(model, loader, optimizer):
    \"\"\"Call init_process_group before this on several GPUs, or use Trainer(fsdp="full_shard").\"\"\"
    model = FSDP(model)
    for batch in loader:
        model(**batch).loss.backward()
        optimizer.step()
    torch.save(model.state_dict(), "model.pt")
"""
RUNS = "from shards import train\n{}\nif __name__ == '__main__':\n    train(None, [], None)\n"


@pytest.mark.parametrize(
    ("files", "is_told"),
    [
        ({"run.py": RUNS.format("")}, False),
        ({"run.py": RUNS.format("import torch.distributed as dist\ndist.init_process_group('nccl')")}, True),
        ({"run.py": RUNS.format("from begin import start\nstart()"), "begin.py": BEGIN}, True),
        (
            {"run.py": RUNS.format("from begin import mesh"), "begin.py": "mesh = init_device_mesh('cuda', (8,))\n"},
            True,
        ),
        ({"run.py": RUNS.format("from begin import setup_fsdp"), "begin.py": "from other import setup_fsdp\n"}, True),
        (
            {"run.py": RUNS.format(""), "other.py": RUNS.format("from begin import start\nstart()"), "begin.py": BEGIN},
            True,
        ),
        ({}, True),
    ],
)
def test_a_program_that_shards_a_model_and_starts_no_group_fails_however_it_is_started(files, is_told, tmp_path):
    files = {"shards.py": SHARDS, "run.sh": "torchrun --nproc_per_node 8 run.py\n", **files}
    assert bool(findings_in(tmp_path, files, "shards.py")) is is_told


@pytest.mark.parametrize(
    ("launch", "by_default"),
    [
        ("accelerate launch --config_file a.yaml pkg.other --bf16\n", False),
        ("accelerate launch --config_file a.yaml pkg.train --bf16\n", True),
        ("accelerate launch --config_file a.yaml $SCRIPT --data b.json\n", True),
        ("accelerate launch $SCRIPT rows.csv\n", True),
        ("accelerate launch --multi_gpu pkg.other\n", True),  # the value of the option, maybe
    ],
)
def test_a_module_that_is_launched_without_the_option_for_one(launch, by_default, tmp_path):
    files = {"pkg/train.py": loop('open("losses.txt", "w")') + MAIN, "pkg/other.py": MAIN}
    files["run.sh"] = "python -m pkg.train\n" + launch
    assert by_default_in(tmp_path, files, "pkg/train.py") is by_default


LIGHTNING = """
import pytorch_lightning as pl

class Classifier(pl.LightningModule):
    def validation_step(self, batch, index):
        open("scores.txt", "w")

def train():
    pl.Trainer.from_argparse_args(parser.parse_args()).fit(Classifier(), batches, val_dataloaders=others)
"""


@pytest.mark.parametrize(
    ("commands", "by_default"),
    [
        ("python train.py --gpus 1", False),
        ('python train.py --gpus "3,"', False),
        ("python train.py --trainer.devices 1", False),
        ("python train.py trainer.devices=1 seed=3", False),
        ("python train.py +trainer.gpus=[2]", False),
        ("python train.py --gpus 1\npython train.py --gpus 0", False),
        ("python train.py", True),
        ("python train.py --gpus 3", True),
        ("python train.py --gpus -1", True),
        ("python train.py --gpus $GPUS", True),
        ("python train.py trainer.devices=4", True),
        ("python train.py --gpus 1 --num_nodes 2", True),
        ("RANK=1 WORLD_SIZE=2 python train.py --gpus 1", True),
        ("srun -n 2 python train.py --gpus 1", True),
        ("python train.py --gpus 1 --world_size 2", True),
        ("python train.py --gpus 1\npython train.py", True),
        ("python train.py --gpus 1\npython train.py --gpus 2", True),
        ("python train.py --gpus 1\npython train.py trainer.devices=4", True),
        ("torchrun --nproc_per_node 2 train.py --gpus 1", True),
    ],
)
def test_a_program_that_lightning_may_spread_is_given_one_gpu(commands, by_default, tmp_path):
    files = {"train.py": LIGHTNING + MAIN, "run.sh": f"{commands}\n"}
    assert by_default_in(tmp_path, files, "train.py") is by_default


WRAPPED = """
from transformers import Trainer

class Own(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs, lengths=model.get_lengths(inputs["mask"])).loss

def train():
    Own(model=make(), train_dataset=rows).train()
"""


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py --seed 3\n"}, False),
        ({"run.sh": "#!/bin/bash\n#SBATCH --gres=gpu:1\npython train.py\n"}, False),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0 python tune.py\n", "tune.py": "from train import Own" + MAIN}, False),
        # One process that sees several GPUs wraps the model, too.
        ({"run.sh": "python train.py\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0,1 python train.py\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=$GPUS python train.py\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py\npython train.py --seed 3\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0 python train.py\ntorchrun --nproc_per_node 2 train.py\n"}, True),
        ({"run.sh": "accelerate launch --num_processes 1 train.py\n"}, True),
    ],
)
def test_a_process_that_sees_one_gpu_wraps_nothing(files, by_default, tmp_path):
    assert by_default_in(tmp_path, {**files, "train.py": WRAPPED + MAIN}, "train.py", "TRL002") is by_default


@pytest.mark.parametrize(
    ("files", "by_default"),
    [
        ({"tests/data/README.md": "To create the model run `python make.py` (after the data).\n"}, False),
        ({"tests/data/make.sh": "torchrun --nproc_per_node 1 make.py\n"}, False),
        ({"tests/data/README.md": "Run `torchrun make.py`.\n"}, True),
        ({"tests/data/README.md": "Run `python make.py`.\n", "run.sh": "torchrun tests/data/make.py\n"}, True),
        # Other folders say nothing of it.
        ({"tests/README.md": "Run `python make.py`.\n"}, True),
        ({"tests/data/README.md": "Run `python other.py`.\n"}, True),
        ({}, True),
    ],
)
def test_a_program_in_a_folder_of_tests_is_started_as_the_files_next_to_it_say(files, by_default, tmp_path):
    files = {"pyproject.toml": "", "tests/data/make.py": WRITES + MAIN, **files}
    assert by_default_in(tmp_path, files, "tests/data/make.py") is by_default
