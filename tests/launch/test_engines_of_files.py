"""What a Python file shows about how it is run: whether it starts processes itself."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from trl_lint.launch.judge.engines import of_file


@pytest.mark.parametrize(
    "line",
    [
        "mp.spawn(main, nprocs=8)",
        "mp.spawn(main, nprocs=16, args=(1,))",
        "mp.spawn(main, args=(f(g(1)),), nprocs=count)",
        "workers = [Process(target=main, args=(rank,)) for rank in range(8)]",
        "start_processes(main, nprocs=8)",
        "notebook_launcher(main, num_processes=8)",
        "debug_launcher(main)",
        "elastic_launch(config, main)()",
        "import ray",
        "    from pytorch_lightning import Trainer",
        "from lightning import Fabric",
        "from lightning.pytorch import seed_everything, Trainer",
        "import composer",
        "import submitit",
        "subprocess.run(['torchrun', __file__])",
        "os.system('accelerate launch train.py')",
        "command = ['accelerate',\n           'launch', 'train.py']",
        "subprocess.run([sys.executable, '-m', 'torch.distributed.run', 'train.py'])",
        "os.system('python -m torch.distributed.launch train.py')",
    ],
)
def test_code_that_makes_processes(line):
    text = f"import os\n\n\ndef start():\n    pass\n\n\n{line}\n"
    assert of_file(PurePath("start.py"), text.encode()).spawns
    assert of_file(PurePath("start.py"), text.rstrip().encode()).spawns


@pytest.mark.parametrize(
    "line",
    [
        "respawn(main)",
        "mp.spawn(main, nprocs=1, args=(config,))",
        "mp.spawn(main, args=(config,), nprocs=1)",
        "seeds = np.random.SeedSequence(seed).spawn(3)",
        "own, shared = seed_seq.spawn(len(names))",
        "SubProcess(main)",
        "process = psutil.Process(os.getpid())",
        "from array import array",
        "import layout, ray_cast",
        "from ray import tune",
        "from ray.tune.schedulers import ASHAScheduler",
        "from ray.air.integrations.wandb import WandbLoggerCallback",
        "from lightning.pytorch import seed_everything",
        "from pytorch_lightning import seed_everything  # for all of them",
    ],
)
def test_code_that_makes_none(line):
    assert not of_file(PurePath("start.py"), f"{line}\n".encode()).spawns


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("os.system('python train.py')", {"train.py"}),
        ("os.system(f'python train.py --seed {seed} '\n          f'--steps {steps}')", {"train.py"}),
        ("subprocess.run([sys.executable, 'tools/train.py'], check=True)", {"tools/train.py"}),
        ("os.system('python train.py --seed {} --out {out}'.format(seed, out=1))", {"train.py"}),
        ("os.system('python train.py --seed %d --lr %(lr).2f' % steps)", {"train.py"}),
        ("line = ('python run.py {}').format(seed)\nos.system(line)", {"run.py"}),
        ("os.system('torchrun --nproc_per_node 1 train.py')", {"train.py"}),
        ("os.system('torchrun --nproc_per_node {} train.py'.format(steps))", set()),
        ("os.system('torchrun --nproc_per_node 1 %s' % seed)", set()),
        ("print('python train.py')", set()),
        # A condition may choose between them.
        ("os.system('python train.py')\nos.system('torchrun train.py')", set()),
        ("os.system('python train.py' if few else 'ls')\nos.system('torchrun train.py')", set()),
    ],
)
def test_programs_that_code_starts_as_one_process(line, programs):
    text = f"import os, subprocess, sys\n\n\ndef run(seed, steps):\n    {line.replace(chr(10), chr(10) + '    ')}\n"
    assert {each.program for each in of_file(PurePath("start.py"), text.encode()).bare} == programs


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("os.system('torchrun --nproc_per_node 1 train.py')", set()),
        ("os.system('torchrun --nproc_per_node {} train.py'.format(count))", {"train.py"}),
        ("os.system('torchrun --nproc_per_node 1 train.py')\nos.system('deepspeed tune.py')", {"tune.py"}),
        ("os.system('torchrun --nproc_per_node 4 %s' % program)", set()),
        # Settings may be for one process.
        ("os.system('accelerate launch --config_file one.yaml train.py')", set()),
        ("os.system('accelerate launch --num_processes 4 train.py')", {"train.py"}),
    ],
)
def test_programs_that_code_starts_as_several_processes(line, programs):
    assert of_file(PurePath("start.py"), f"import os\n\n{line}\n".encode()).spread == programs


@pytest.mark.parametrize(
    ("line", "programs"),
    [
        ("deepspeed train.py", ["train.py"]),
        ("deepspeed --num_gpus 8 $PROGRAM", [""]),
        ("torchrun", [""]),
        ("(deepspeed or python directly)", []),
        ("./run.sh --launcher torchrun --devices 0,1", ["./run.sh"]),
        ("bash tools/run.sh --launcher torchrun", ["tools/run.sh"]),
        ("bash tools/run.sh torchrun train.py", ["train.py"]),
        ("submit --launcher torchrun", [""]),
        ("python -m torch.distributed.run train.py", ["train.py"]),
        ("python -mtorch.distributed.run train.py", ["train.py"]),
    ],
)
def test_the_programs_of_launches(line, programs):
    found = of_file(PurePath("README.md"), f"```bash\n{line}\n```\n".encode())
    assert [each.program for each in found.launches] == programs


@pytest.mark.parametrize("flags", ["-m ", "-m", "-um ", "-um"])
def test_a_module_that_bare_python_starts(flags):
    found = of_file(PurePath("run.sh"), f"python prepare.py\npython {flags}package.train --lr 1\n".encode())
    assert {(each.program, *each.options) for each in found.bare} == {("prepare.py",), ("package/train.py", "lr")}


@pytest.mark.parametrize(
    "options",
    [
        "--multi_gpu --num_machines 1",
        "--use_fsdp --gpu_ids 0",
        "--use_deepspeed --zero_stage 3",
        "--deepspeed_config_file zero.json",
        "--config_file fsdp.yaml --num_processes 1",
        "--num_machines ${MACHINES:-1}",
    ],
)
def test_options_with_dashes_are_those_with_underscores(options):
    plain, expected, found = (
        of_file(PurePath("run.sh"), f"accelerate launch {each} train.py\n".encode()).launches
        for each in ("", options, options.replace("_", "-"))
    )
    assert found == expected != plain
