"""The command of issue 3392 of huggingface/trl, on a tiny model: it fails as bare python; rewritten, its own shell runs
it.

It runs the script `trl/scripts/sft.py` of trl 0.17.0 as it was released.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.environments import packages_of, python_of
from evaluation.releases import IndexUnreachable

ROOT = Path(__file__).parents[2]
RELEASE = "0.17.0"
RUN = """\
#!/bin/bash
export CUDA_VISIBLE_DEVICES=0,1  # both of them

python trl/scripts/sft.py \\
    --model_name_or_path ./tiny \\
    --dataset_name ./data \\
    --learning_rate 2.0e-3 \\
    --packing \\
    --max_length 16 \\
    --per_device_train_batch_size 2 \\
    --max_steps 3 \\
    --logging_steps 1 \\
    --eos_token '<eos>' \\
    --report_to none --disable_tqdm true \\
    --output_dir out 2>&1 | tee log.txt
"""
WORDS = ["red", "green", "blue", "cat", "dog", "runs"]
LAUNCHED = RUN.replace("python trl", "accelerate launch trl")
# The configuration that `accelerate config` writes for two GPUs.
CONFIG = "distributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: 2\nuse_cpu: false\nmixed_precision: 'no'\n"
MAKE = """
import sys
sys.path.append(sys.argv[1])
import tiny
tiny.tiny_model().save_pretrained("tiny")
tiny.tiny_tokenizer().save_pretrained("tiny")
"""

pytestmark = [pytest.mark.index, pytest.mark.released, pytest.mark.slow]


@pytest.fixture(scope="module")
def python() -> Path:
    try:
        return python_of(RELEASE)
    except IndexUnreachable as error:
        pytest.skip(f"no environment for trl: {error}")


@pytest.fixture
def folder(tmp_path, python, monkeypatch):
    """The folder of a checkout, with everything that the command names."""
    (tmp_path / "trl" / "scripts").mkdir(parents=True)
    shutil.copy(packages_of(RELEASE) / "trl" / "scripts" / "sft.py", tmp_path / "trl" / "scripts")
    (tmp_path / "data").mkdir()
    rows = [{"text": " ".join(WORDS[index % 5 :] * 4)} for index in range(40)]
    (tmp_path / "data" / "train.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "home" / "accelerate").mkdir(parents=True)
    (tmp_path / "home" / "accelerate" / "default_config.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "run.sh").write_text(RUN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    subprocess.run([python, "-c", MAKE, ROOT / "fixtures"], check=True, capture_output=True)
    return tmp_path


def bash(command: list[str], python: Path, folder: Path) -> list[float]:
    """Run it with `python` and `accelerate` from the release; return the losses that it logs."""
    environment = {
        **os.environ,
        "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}",
        "HF_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "1",
        "ACCELERATE_USE_CPU": "true",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stdout + done.stderr
    return [float(loss) for loss in re.findall(r"'loss': ([\d.]+)", done.stdout)]


def lint(*args: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trl_lint", "--no-cache", "--isolated", "--select", "TRL004", *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_reported_command_fails_and_its_rewrite_trains(folder, python):
    options = ["--isolated", "--python", str(python), "--output-format", "json"]
    command = [sys.executable, "-m", "trl_lint", "verify", *options, "run.sh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    bare, launched = json.loads(done.stdout)["subjects"][0]["runs"]
    assert (bare["label"], bare["holds"]) == ("bare python, 2 emulated GPUs", False)
    assert "The size of tensor a (2) must match the size of tensor b (4)" in bare["verdicts"][0]["summary"]
    assert (launched["label"], launched["holds"]) == ("accelerate launch", True)

    assert lint("--fix", "run.sh").returncode == 0
    assert (folder / "run.sh").read_text(encoding="utf-8") == LAUNCHED

    on_two = bash(["bash", "-o", "pipefail", "run.sh"], python, folder)
    line = RUN.partition("\n\n")[2].replace("batch_size 2", "batch_size 4")
    on_one = bash(["bash", "-o", "pipefail", "-c", line], python, folder)
    assert len(on_two) == 3 and on_two == pytest.approx(on_one, abs=1e-4)


def test_where_nothing_tells_of_gpus_it_is_an_unsafe_fix(folder):
    silent = RUN.replace("export CUDA_VISIBLE_DEVICES=0,1  # both of them\n", "")
    (folder / "run.sh").write_text(silent, encoding="utf-8")
    assert lint("--fix", "run.sh").returncode == 1
    assert (folder / "run.sh").read_text(encoding="utf-8") == silent
    assert lint("--fix", "--unsafe-fixes", "run.sh").returncode == 0
    assert (folder / "run.sh").read_text(encoding="utf-8") == silent.replace("python trl", "accelerate launch trl")
