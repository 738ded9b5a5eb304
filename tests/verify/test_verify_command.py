"""The command `trl-lint verify`: exit codes, streams, and that the user's files stay unchanged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest
from commands import call, in_forks
from processes import left, with_words

from trl_lint.verify.processes import environment

MISSING = [name for name in ("torch", "accelerate") if not find_spec(name)]
needs_torch = [
    pytest.mark.torch,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
    pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork"),
]

COUNTS = '''\
"""Counts the rows of all processes."""
import sys
import torch
from accelerate import Accelerator
from helper import rows_of

accelerator = Accelerator(cpu=True)
rows = rows_of(accelerator.process_index)
total = accelerator.gather(rows.sum().item())
print(sys.argv[1:], total)
'''
HELPER = "import torch\n\n\ndef rows_of(index):\n    return torch.arange(3) + index\n"
RIGHT = COUNTS.replace("rows.sum().item()", "rows.sum()").replace("total)", "total.sum().item())")
# A bug without a fix: a broadcast that one rank never reaches, because it has failed.
RAISES = """\
import os
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
if os.environ["RANK"] == "1":
    raise ValueError("no such shard")
dist.all_reduce(torch.ones(1))
"""
# The number of rows per step is `--batch`, for this number of GPUs.
TRAINS = """\
import argparse, os
from tiny import ARGUMENTS, tiny_model, token_rows
from transformers import Trainer, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int)
own = {"per_device_train_batch_size": parser.parse_args().batch, "max_steps": int(os.environ["STEPS"])}
Trainer(tiny_model(), TrainingArguments(**{**ARGUMENTS, **own}), train_dataset=token_rows(8)).train()
"""
ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def bare_python(tmp_path_factory) -> str:
    """An interpreter without any installed packages."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home, with_pip=False, symlinks=True)
    return str(home / "bin" / "python")


# What can't be verified: one line on standard error, and exit code 2


def one_line(done) -> str:
    assert (done.exit_code, done.stdout) == (2, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("trl-lint: ")
    return line


def test_a_script_that_is_not_there():
    assert one_line(call("nosuch.py")) == "trl-lint: nosuch.py: cannot read: No such file or directory"


def test_a_folder(folder):
    assert "cannot read: Is a directory" in one_line(call("."))


def test_a_script_that_is_no_python(folder):
    (folder / "train.py").write_text("x = (\n")
    assert one_line(call("train.py")).startswith("trl-lint: train.py:1:5: cannot parse: ")


def test_a_rule_that_is_not_there():
    assert "TRL999" in one_line(call("TRL999"))


@pytest.mark.parametrize("args", [["train.py"], [], ["TRL001"]])
def test_an_environment_without_torch(folder, bare_python, args):
    (folder / "train.py").write_text("print(1)\n")
    line = one_line(call("--python", bare_python, *args))
    assert "needs torch" in line and "install them" in line and bare_python in line


@pytest.mark.parametrize("python", ["no/such/python", "/bin/false"])
def test_an_interpreter_that_is_none(folder, python):
    (folder / "train.py").write_text("print(1)\n")
    assert f"{python} can't be run" in one_line(call("--python", python, "train.py"))


@pytest.mark.parametrize(
    "option",
    [["--nproc", "0"], ["--nproc", "x"], ["--backend", "mpi"], ["--timeout", "0"], ["--output-format", "xml"]],
)
def test_an_option_nobody_can_act_on(option):
    done = call(*option, "train.py")
    assert done.exit_code == 2 and "Invalid value" in done.stderr and "Traceback" not in done.stderr


def test_settings_that_say_nothing(folder):
    (folder / "train.py").write_text("print(1)\n")
    (folder / "pyproject.toml").write_text("[tool.trl-lint]\nselct = []\n")
    assert "selct" in one_line(call("train.py"))


def test_nothing_that_runs_programs_is_imported_to_lint(folder):
    """The harness costs a lint nothing."""
    (folder / "train.py").write_text(RIGHT)
    program = (
        "import sys\nfrom trl_lint.frontends.cli import main\n"
        "try:\n    main(['train.py'])\nexcept SystemExit:\n    pass\n"
        "print([name for name in sys.modules if name.startswith('trl_lint.verify')])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_torch_is_not_asked_for_gpus_that_are_hidden(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    monkeypatch.delenv("HIP_VISIBLE_DEVICES", raising=False)
    assert environment.gpus("no/such/python") == 0
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "0")
    with pytest.raises(environment.Unusable):
        environment.gpus("no/such/python")


# What can


@pytest.fixture
def forked(server, folder, monkeypatch) -> None:
    in_forks(server, folder, monkeypatch)


@pytest.fixture(scope="module")
def counted(server, tmp_path_factory):
    """A script that fails as it is and passes when fixed: the output of the command, and its folder."""
    folder = tmp_path_factory.mktemp("counted")
    (folder / "train.py").write_text(COUNTS)
    (folder / "helper.py").write_text(HELPER)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        in_forks(server, folder, patch)
        done = call("--keep", "kept", "--output-format", "json", "train.py", "--steps", "2")
    assert done.stderr == ""
    return done, folder, json.loads(done.stdout)


class TestFixed:
    pytestmark = needs_torch

    def test_the_bug_is_shown_and_the_fix_proven(self, counted):
        done, _, document = counted
        (subject,) = document["subjects"]
        before, after = subject["runs"]
        assert (done.exit_code, document["holds"], document["nproc"]) == (1, False, 2)
        assert [run["label"] for run in (before, after)] == ["as it is", "fixed"]
        assert before["verdicts"][0]["way"] == "exception"
        assert "train.py:9 (<module>)" in before["verdicts"][0]["evidence"][0]
        assert after["passed"] and subject["fixes"] == ["train.py:9:9: TRL001 item-before-gather"]

    def test_the_users_files_are_as_they_were(self, counted):
        _, folder, _ = counted
        assert (folder / "train.py").read_text() == COUNTS
        assert (folder / "helper.py").read_text() == HELPER
        assert {path.name for path in folder.iterdir()} <= {"train.py", "helper.py", "kept", "__pycache__"}

    def test_the_script_gets_its_arguments(self, counted):
        _, folder, _ = counted
        (run,) = (folder / "kept").glob("*-fixed")
        assert (run / "rank0.out").read_text().splitlines()[-1] == "['--steps', '2'] 9"

    def test_the_traces_are_kept(self, counted):
        _, folder, _ = counted
        (run,) = (folder / "kept").glob("*-fixed")
        kinds = [json.loads(line)["kind"] for line in (run / "rank1.jsonl").read_text().splitlines()]
        assert kinds[0] == "start" and kinds[-1] == "exit" and {"call", "done", "end"} <= set(kinds)


class TestOthers:
    pytestmark = needs_torch

    def test_nccl_needs_a_gpu_per_process(self, folder, monkeypatch):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        (folder / "train.py").write_text("print(1)\n")
        line = one_line(call("--backend", "nccl", "--nproc", "3", "train.py"))
        assert line == "trl-lint: --backend nccl needs a GPU per process: 0 for --nproc 3"

    def test_right_code_passes(self, folder, forked):
        (folder / "train.py").write_text(RIGHT)
        (folder / "helper.py").write_text(HELPER)
        done = call("--no-one-process", "train.py")
        assert done.exit_code == 0, done.stdout
        assert "Nothing wrong was seen" in done.stdout and "fixed" not in done.stdout

    def test_a_module(self, folder, forked):
        (folder / "pkg").mkdir()
        (folder / "pkg" / "__init__.py").touch()
        (folder / "pkg" / "helper.py").write_text(HELPER)
        (folder / "pkg" / "train.py").write_text(COUNTS.replace("from helper", "from .helper"))
        done = call("--no-one-process", "--output-format", "markdown", "-m", "pkg.train", "--steps", "2")
        assert done.exit_code == 1, done.stdout
        assert "| pkg.train | fixed | passes |" in done.stdout

    def test_a_folder_for_traces_that_cannot_be_made(self, folder):
        (folder / "train.py").write_text("print(1)\n")
        (folder / "afile").touch()
        assert "afile/x: cannot write" in one_line(call("--keep", "afile/x", "train.py"))

    def test_a_module_that_is_not_there(self):
        assert one_line(call("-m", "no.such")) == "trl-lint: no module named no.such"

    def test_a_link_finds_what_lies_beside_it(self, folder, forked):
        (folder / "real").mkdir()
        (folder / "real" / "train.py").write_text(
            "from pathlib import Path\nPath(__file__).with_name('x').read_text()\n"
        )
        (folder / "real" / "helper.py").touch()
        (folder / "train.py").symlink_to("real/train.py")
        (folder / "x").touch()
        assert call("--no-one-process", "train.py").exit_code == 0

    def test_nothing_is_left_running_when_it_is_told_to_stop(self, folder):
        (folder / "train.py").write_text("import os, time\nopen(os.environ['RANK'], 'w')\ntime.sleep(600)\n")
        command = [sys.executable, "-m", "trl_lint", "verify", str(folder / "train.py")]
        environment = {**os.environ, "TMPDIR": str(folder)}
        with subprocess.Popen(command, cwd=folder, env=environment) as process:
            while not ((folder / "0").exists() and (folder / "1").exists()):
                time.sleep(0.1)
            process.terminate()
            assert process.wait(300) == 128 + signal.SIGTERM
        assert not left(with_words(str(folder)))
        assert not list(folder.glob("trl-lint-verify-*"))

    @pytest.mark.slow
    @pytest.mark.skipif(not find_spec("trl"), reason="not installed: trl")
    def test_bare_python_on_several_gpus(self, monkeypatch, forked):
        """The report of trl issue 3392, with its messages: SFT of trl 0.17.0 with transformers 4.51.3."""
        program = Path(__file__).parents[2] / "fixtures" / "unreduced_metric" / "quiet_sft.py"
        monkeypatch.setenv("PYTHONPATH", str(program.parents[1]))
        done = call("--bare", "--output-format", "json", str(program))
        bare, launched = json.loads(done.stdout)["subjects"][0]["runs"]
        assert (bare["label"], bare["holds"], launched["holds"]) == ("bare python, 2 emulated GPUs", False, True)
        (said,) = {verdict["data"].get("said") for verdict in bare["verdicts"] if verdict["oracle"] == "ends"}
        assert "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0" in said

    @pytest.mark.slow
    @pytest.mark.skipif(not find_spec("transformers"), reason="not installed: transformers")
    def test_a_launch_file(self, folder, monkeypatch, forked):
        """Plain Trainer, whose launch gives all of the program's settings except the GPUs."""
        monkeypatch.setenv("PYTHONPATH", str(ROOT / "fixtures"))
        (folder / "train.py").write_text(TRAINS)
        (folder / "run.sh").write_text("STEPS=1 CUDA_VISIBLE_DEVICES=0,1 python train.py --batch '2'\n")
        done = call("--output-format", "json", "run.sh")
        assert done.exit_code == 1, done.output
        (subject,) = json.loads(done.stdout)["subjects"]
        bare, launched = subject["runs"]
        assert subject["name"] == "run.sh:1"
        assert (bare["label"], launched["label"]) == ("bare python, 2 emulated GPUs", "accelerate launch")
        (rows,) = [verdict["data"] for verdict in bare["verdicts"] if verdict["outcome"] == "failed"]
        assert rows == {"given": 4, "kept": 2}
        assert launched["holds"]

    @pytest.mark.slow
    def test_accelerate_starts_the_processes(self, folder):
        (folder / "helper.py").write_text(HELPER)
        (folder / "train.py").write_text(RIGHT)
        done = call("--launcher", "accelerate", "--no-one-process", "--keep", "kept", "--nproc", "3", "train.py")
        assert (done.exit_code, done.stderr) == (0, "")
        assert "on 3 processes" in done.stdout
        started = (next((folder / "kept").iterdir()) / "rank2.out").read_text()
        assert started == "[] 18\n"

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("accelerate launch train.py\n", "run.sh: it does not start a training with bare python"),
            ("python train.py --batch $BATCH\n", "run.sh:1: what `$BATCH` stands for is not known here"),
            ("python trl/scripts/sft.py\n", "run.sh:1: trl/scripts/sft.py does not lie in this project"),
        ],
    )
    def test_a_launch_file_that_can_not_be_run(self, folder, monkeypatch, text, said):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
        (folder / "train.py").write_text(TRAINS)
        (folder / "run.sh").write_text(text)
        assert said in one_line(call("run.sh"))

    def test_a_launch_file_takes_no_arguments(self, folder):
        (folder / "run.sh").write_text("python train.py\n")
        assert "has the arguments itself" in one_line(call("run.sh", "--batch", "2"))

    def test_accelerate_launch_on_several_machines(self, folder):
        (folder / "train.py").write_text("")
        done = call("--launcher", "accelerate", "--nnodes", "2", "train.py")
        assert done.exit_code == 2 and "several machines need --launcher torchrun" in done.stderr

    def test_a_bug_without_a_fix(self, folder, forked):
        (folder / "train.py").write_text(RAISES)
        done = call("--no-one-process", "train.py")
        assert done.exit_code == 1
        assert "rank 1: ValueError: no such shard" in " ".join(done.stdout.split())
        assert "trl-lint has no fix to try" in done.stdout
        assert call("--no-one-process", "--exit-zero", "train.py").exit_code == 0
