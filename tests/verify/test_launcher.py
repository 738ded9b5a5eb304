"""How a job is started; `test_torchrun.py` tests the start with torchrun."""

from __future__ import annotations

import json
import os
import sys

import pytest
from processes import Clock, asleep

from trl_lint.verify.processes import launcher
from trl_lint.verify.processes.launcher import Launch, LaunchError
from trl_lint.verify.proof import fixtures
from trl_lint.verify.rank.job import Job

PYTHON = "/venv/bin/python"
STAND_INS = str(fixtures.folder() / "stand_ins")


def options(launch, tmp_path):
    """The options between `python -m torch.distributed.run` and the program."""
    command = launcher.torchrun(launch, tmp_path / "job.json")
    assert command[:3] == [PYTHON, "-m", "torch.distributed.run"]
    assert command[-2:] == [str(launcher.RANK_PROGRAM), str(tmp_path / "job.json")]
    return command[3:-2]


def test_one_machine_has_a_port_of_its_own(tmp_path):
    given = options(Launch(PYTHON, nproc=4), tmp_path)
    assert given[:3] == ["--nproc-per-node=4", "--max-restarts=0", "--master-addr=127.0.0.1"]
    assert given[3].startswith("--master-port=")
    assert len(given) == 4


@pytest.mark.parametrize(
    ("fields", "given"),
    [
        (
            {"nnodes": "2", "rdzv_endpoint": "head:29400", "rdzv_backend": "c10d", "node_rank": 1},
            ["--nnodes=2", "--rdzv-endpoint=head:29400", "--rdzv-backend=c10d", "--node-rank=1"],
        ),
        ({"nnodes": "1:4"}, ["--nnodes=1:4"]),
        ({"rdzv_endpoint": "localhost:0"}, ["--rdzv-endpoint=localhost:0"]),
        ({"nnodes": "2", "node_rank": 0}, ["--nnodes=2", "--node-rank=0"]),
    ],
)
def test_torchruns_own_options_are_handed_on_as_given(fields, given, tmp_path):
    assert options(Launch(PYTHON, **fields), tmp_path) == ["--nproc-per-node=2", "--max-restarts=0", *given]


@pytest.mark.parametrize("nnodes", ["1", "1:1"])
def test_one_node_is_one_machine(nnodes, tmp_path):
    given = options(Launch(PYTHON, nnodes=nnodes), tmp_path)
    assert f"--nnodes={nnodes}" in given
    assert any(each.startswith("--master-port=") for each in given)


def plain(tmp_path, text, *args, **fields):
    """The one rank of a script that runs as a plain process."""
    script = tmp_path / "script.py"
    script.write_text(text)
    job = Job(str(script), args, str(tmp_path / "traces"), str(tmp_path))
    run = launcher.run(Launch(sys.executable, **fields), job, plain=True)
    (rank,) = run.ranks
    return rank


def said(rank):
    """The last line that a script printed, parsed as JSON."""
    return json.loads(rank.output.splitlines()[-1])


def test_a_script_runs_as_python_runs_it(tmp_path):
    (tmp_path / "beside.py").write_text("value = 'beside'\n")
    rank = plain(
        tmp_path,
        "import json, sys\nimport beside\n"
        "import __main__\n"
        "print(json.dumps([__name__, __file__, sys.argv, beside.value, sys.path[0], __main__.__file__]))\n",
        "--lr=1",
        "a b",
    )
    script = str(tmp_path / "script.py")
    assert said(rank) == ["__main__", script, [script, "--lr=1", "a b"], "beside", str(tmp_path), script]
    assert rank.ended_well


def test_a_script_imports_nothing_of_ours(tmp_path):
    rank = plain(
        tmp_path,
        "import json, sys\nnames = ('trl_lint', 'libcst', 'torch')\n"
        "print(json.dumps([name for name in names if name in sys.modules]))",
    )
    assert said(rank) == []


def test_a_plain_process_belongs_to_no_group(tmp_path, monkeypatch):
    for name in launcher.GROUP_VARIABLES:
        monkeypatch.setenv(name, "1")
    rank = plain(tmp_path, "import json, os\nprint(json.dumps(sorted(os.environ)))\n")
    assert not set(said(rank)) & set(launcher.GROUP_VARIABLES)


def test_variables_of_the_launch_come_last(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("OF_THE_JOB", "no")
    text = "import json, os\nprint(json.dumps([os.environ['OMP_NUM_THREADS'], os.environ['OF_THE_JOB']]))\n"
    assert said(plain(tmp_path, text, environment=(("OF_THE_JOB", "yes"),))) == ["3", "yes"]


@pytest.mark.parametrize(
    ("text", "status", "exit_status"),
    [
        ("pass", 0, 0),
        ("import sys; sys.exit()", 0, 0),
        ("import sys; sys.exit(3)", 3, 3),
        ("import sys; sys.exit('no')", 1, 1),
        ("1 / 0", 1, 1),
        ("import", 1, 1),
        ("import os; os._exit(4)", 4, 4),
        ("import os; os.kill(os.getpid(), 9)", None, -9),
        ("import os; os.abort()", None, -6),
    ],
)
def test_how_a_script_ends_is_written_down(tmp_path, text, status, exit_status):
    rank = plain(tmp_path, text)
    assert (rank.end.status if rank.end else None) == status
    assert rank.exit == exit_status


def test_handlers_at_exit_run_after_the_script(tmp_path):
    assert said(plain(tmp_path, "import atexit\natexit.register(print, '[1]')\nprint('[0]')\n")) == [1]


def test_a_handler_at_exit_that_hangs_changes_nothing(tmp_path):
    rank = plain(tmp_path, "import atexit, time\natexit.register(time.sleep, 600)\n")
    assert (rank.ended_well, rank.exit) == (True, 0)


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs /proc")
def test_a_run_that_takes_too_long_is_stopped_where_it_is(tmp_path, monkeypatch):
    text = "import time, wandb\ndef wait():\n    time.sleep(600)\nwandb.log({'x': 1})\nwait()\n"
    monkeypatch.setattr(launcher, "time", Clock(asleep(tmp_path, {0: "log"})))
    rank = plain(tmp_path, text, limit=3600, environment=(("PYTHONPATH", STAND_INS),))
    assert (rank.asked_to_stop, rank.exit, rank.end) == (True, -9, None)
    assert [str(place) for place in rank.stack] == ["script.py:3 (wait)"]


@pytest.mark.parametrize(
    ("python", "said"),
    [
        ("#!/bin/sh\necho some words\necho 'No module named torch'\nexit 1\n", "No module named torch"),
        ("#!/bin/sh\n", "the launcher said nothing"),
        (None, "No such file or directory"),
    ],
)
def test_a_launcher_that_starts_no_rank_says_why(tmp_path, python, said):
    program = tmp_path / "python"
    if python is not None:
        program.write_text(python)
        program.chmod(0o755)
    job = Job("train.py", (), str(tmp_path / "traces"), str(tmp_path))
    with pytest.raises(LaunchError, match=said):
        launcher.run(Launch(str(program)), job)


@pytest.mark.parametrize(
    ("visible", "gpus", "emulated", "seen"),
    [
        (None, 1, 0, "0"),
        ("2,3", 1, 0, "2"),
        ("", 1, 0, ""),
        (None, 2, 0, "0,1"),
        ("5,6,7", 2, 0, "5,6"),
        ("5,6,7", 2, 2, ""),
    ],
)
def test_the_gpus_that_a_plain_process_sees(visible, gpus, emulated, seen, tmp_path, monkeypatch):
    monkeypatch.delenv(launcher.VISIBLE, raising=False)
    if visible is not None:
        monkeypatch.setenv(launcher.VISIBLE, visible)
    script = tmp_path / "script.py"
    script.write_text(f"import json, os\nprint(json.dumps(os.environ[{launcher.VISIBLE!r}]))\n")
    job = Job(str(script), (), str(tmp_path / "traces"), str(tmp_path), gpus=emulated)
    run = launcher.run(Launch(sys.executable, gpus=gpus), job, plain=True)
    assert said(run.ranks[0]) == seen


def test_accelerate_is_told_all_that_it_would_ask_a_file_for(tmp_path):
    command = launcher.accelerate(Launch(PYTHON, nproc=4), tmp_path / "job.json")
    assert command[:4] == [PYTHON, "-m", "accelerate.commands.launch", "--multi_gpu"]
    assert command[command.index("--num_processes") + 1] == "4"
    assert command[-2:] == [str(launcher.RANK_PROGRAM), str(tmp_path / "job.json")]
