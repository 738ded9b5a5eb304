"""TRL004: which launches are wrong, what is reported, and the results of `--fix`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from notebooks import line_in_file

from trl_lint.findings import Applicability, Finding
from trl_lint.frontends.cli import main
from trl_lint.linter.linter import Linter
from trl_lint.linter.results import FixResult
from trl_lint.rules import find_rule
from trl_lint.settings import Settings

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FOLDER = Path(__file__).parents[2] / "fixtures" / "bare_python_launch"
EXPECTED = tomllib.loads((FOLDER / "expectations.toml").read_text(encoding="utf-8"))
TRAINER = "from trl import SFTTrainer\ntrainer = SFTTrainer('tiny')\ntrainer.train()\n"
LOOP = "from accelerate import Accelerator\naccelerator = Accelerator()\naccelerator.backward(loss)\n"
TWO = "export CUDA_VISIBLE_DEVICES=0,1\n"


def linter(root: Path, **settings) -> Linter:
    rule = find_rule("TRL004")
    assert rule is not None
    return Linter(Settings(root=root, **settings), (root, root / "src"), [rule])


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(root: Path, text: str, name: str = "run.sh", program: str = TRAINER, **settings) -> list[Finding]:
    """The findings in a file next to a `train.py`."""
    write(root, {"train.py": program})
    return linter(root, **settings).check(root / name, text.encode())


def fixed(root: Path, source: bytes, name: str = "run.sh", *, unsafe: bool = False) -> FixResult:
    write(root, {"train.py": TRAINER})
    return linter(root).fix(root / name, source, unsafe=unsafe)


def lint(*args: str, stdin: str | bytes | None = None):
    try:
        runs = CliRunner(mix_stderr=False)
    except TypeError:  # click 8.2 and later never mix the streams
        runs = CliRunner()
    done = runs.invoke(main, ["--output-format=concise", "--no-cache", *args], input=stdin)
    return done.exit_code, done.stdout, done.stderr


# The fixtures


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_fixture(name: str) -> None:
    folder = FOLDER / "launches"
    path, known = folder / name, {"certain": Applicability.SAFE, "unknown": Applicability.UNSAFE}
    wanted = {
        (int(line), known[said.partition(",")[0]] if said in known else Applicability.DISPLAY)
        for line, rows in EXPECTED[name].items()
        for said in ([rows] if isinstance(rows, str) else rows)
        if said.partition(",")[0] in known
    }
    checker = linter(folder)
    findings = checker.check(path, path.read_bytes())
    text = path.read_text(encoding="utf-8")
    starts = [line_in_file(text, each.start.cell, each.start.line) for each in findings]
    assert {(line, each.fix and each.fix.applicability) for line, each in zip(starts, findings, strict=True)} == wanted
    assert len(findings) == len(wanted)
    for unsafe, twins in ((False, "fixed"), (True, "fixed_unsafe")):
        result = checker.fix(path, path.read_bytes(), unsafe=unsafe)
        twin = FOLDER / twins / name
        assert result.source == (twin if twin.exists() else path).read_bytes()
        assert not result.withheld
        assert len(result.applied) + len(result.remaining) == len(findings)
        assert checker.fix(path, result.source, unsafe=unsafe).source == result.source


@pytest.mark.parametrize("folder", ["fixed", "fixed_unsafe"])
def test_fixture_by_the_command_line(folder, tmp_path, monkeypatch) -> None:
    for path in (FOLDER / "launches").iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    monkeypatch.chdir(tmp_path)
    options = ["--isolated", "--select=TRL004", "--fix", *["--unsafe-fixes"] * (folder == "fixed_unsafe")]
    assert lint(*options)[0] == 1
    for path in (FOLDER / "launches").iterdir():
        twin = FOLDER / folder / path.name
        assert (tmp_path / path.name).read_bytes() == (twin if twin.exists() else path).read_bytes()
    assert "Fixed" not in lint(*options)[1]


# What is reported


def test_a_launch_on_several_gpus(tmp_path) -> None:
    (finding,) = found(tmp_path, TWO + "python train.py --packing\n")
    assert finding.message == (
        "bare python starts the training `train.py` as one process for several GPUs (`CUDA_VISIBLE_DEVICES=0,1`): "
        "Trainer wraps the model in DataParallel, which, depending on the release, fails, trains on a part of each "
        "batch, or is slow"
    )
    assert (finding.start.line, finding.start.column, finding.end.column) == (2, 1, 26)
    assert finding.help == "start it with `accelerate launch` (or `torchrun`), which makes one process per GPU"
    assert finding.fix is not None and finding.fix.applicability is Applicability.SAFE
    (because,) = finding.because
    assert (because.text, Path(because.path).name, because.start.line) == ("it trains with `SFTTrainer`", "train.py", 2)


def test_a_launch_that_says_nothing_of_gpus(tmp_path) -> None:
    (finding,) = found(tmp_path, "python train.py\n")
    assert "as one process: if more than one GPU is visible, Trainer wraps" in finding.message
    assert finding.fix is not None
    assert (finding.fix.applicability, finding.fix.reason) == (
        Applicability.UNSAFE,
        "nothing says how many GPUs there are",
    )


def test_a_loop_around_an_accelerator(tmp_path) -> None:
    (finding,) = found(tmp_path, "python train.py\n", program=LOOP)
    assert finding.message.endswith("if more than one GPU is visible, all but one of them stay idle")


def test_a_script_that_is_known_by_its_path(tmp_path) -> None:
    (finding,) = found(tmp_path, "python trl/scripts/sft.py\n")
    assert "`trl/scripts/sft.py`" in finding.message
    assert finding.because == ()


def test_a_known_script_with_a_loop_of_its_own(tmp_path) -> None:
    (finding,) = found(tmp_path, "python examples/scripts/ppo/ppo.py\n")
    assert finding.message.endswith("if more than one GPU is visible, all but one of them stay idle")


def test_the_setting(tmp_path) -> None:
    assert not found(tmp_path, "python train.py\n", launch_unknown_gpus=False)
    assert found(tmp_path, TWO + "python train.py\n", launch_unknown_gpus=False)


def test_a_line_that_is_right_elsewhere_is_a_hint(tmp_path) -> None:
    text = (
        "services:\n  all:\n    image: x\n    command: &start [python, train.py]\n"
        "    environment: {CUDA_VISIBLE_DEVICES: '0,1'}\n"
        "  one:\n    image: x\n    command: *start\n    environment: {CUDA_VISIBLE_DEVICES: '0'}\n"
    )
    (finding,) = found(tmp_path, text, "compose.yaml")
    assert finding.fix is not None
    assert (finding.fix.applicability, finding.fix.reason) == (
        Applicability.DISPLAY,
        "the same line also starts other programs",
    )
    assert fixed(tmp_path, text.encode(), "compose.yaml", unsafe=True).source == text.encode()


# What trains


@pytest.mark.parametrize(
    "program",
    [
        "import trl\ntrl.SFTTrainer('tiny').train()\n",
        "from transformers import Trainer as T\nt = T(model)\nt.train()\n",
        "from trl import SFTTrainer\ndef main():\n    trainer = SFTTrainer('x')\n    trainer.train()\n"
        "if __name__ == '__main__':\n    main()\n",
        "import fire\nfrom trl import SFTTrainer\ndef main():\n    SFTTrainer('x').train()\nfire.Fire(main)\n",
        "import typer\nfrom trl import SFTTrainer\napp = typer.Typer()\n"
        "@app.command()\ndef main():\n    SFTTrainer('x').train()\napp()\n",
        "from transformers import Trainer\nclass Mine(Trainer):\n    pass\nmine = Mine()\nmine.train()\n",
        "from lib.own import Mine\nmine = Mine()\nmine.train()\n",
        "import lib.own as own\nown.main()\n",
        "from lib import main\nmain()\n",
        "from lib.own import *\nmain()\n",
        "from lib.own import Runner\nRunner().run()\n",
        "from lib.own import make\nit = make()\nit.train()\n",
        "from accelerate import Accelerator\na = Accelerator()\na.prepare(model, optimizer)\nloss.backward()\n",
        "from lib.own import Inherited\nInherited().run()\n",
        "from lib.own import Model\nmodel = Model.load()\nmodel.fit()\n",
        f"model = load(device_map={{'': 0}})\n{TRAINER}",
        f"model = load(device_map=get_kbit_device_map() if quantized else None)\n{TRAINER}",
        f"device_map = None\nmodel = load(device_map=device_map)\n{TRAINER}",
        f"from optimum.onnxruntime import ORTModel\n{TRAINER}",
    ],
)
def test_trains(tmp_path, program) -> None:
    own = (
        "from transformers import Trainer\nclass Mine(Trainer):\n    pass\n"
        "def main():\n    trainer = Mine()\n    trainer.train()\n"
        "def make():\n    return Mine()\n"
        "class Runner:\n    def run(self):\n        self.trainer = Mine()\n        self.trainer.train()\n"
        "class Inherited(Runner):\n    pass\n"
        "class Model:\n    def fit(self):\n        self.own = Mine()\n        self.go()\n"
        "    def go(self):\n        self.own.train()\n"
        "    @classmethod\n    def load(cls):\n        return cls()\n"
    )
    write(tmp_path, {"lib/__init__.py": "from .own import main\n", "lib/own.py": own})
    assert found(tmp_path, "python train.py\n", program=program)


@pytest.mark.parametrize(
    "program",
    [
        "print()\n",
        "def (:\n",
        "from trl import SFTTrainer\nSFTTrainer('x').evaluate()\n",
        "from trl import SFTTrainer\ndef main():\n    SFTTrainer('x').train()\n",
        "import typer\nfrom trl import SFTTrainer\napp = typer.Typer()\n"
        "@app.command()\ndef main():\n    SFTTrainer('x').train()\n@app.command()\ndef other():\n    pass\napp()\n",
        "from lightning import Trainer\ntrainer = Trainer()\ntrainer.train()\n",
        "from transformers import TFTrainer\ntrainer = TFTrainer()\ntrainer.train()\n",
        "from trl import SFTTrainer\nisinstance(x, SFTTrainer)\nmodel.train()\n",
        "from accelerate import Accelerator\na = Accelerator()\na.prepare(model)\n",
        f"model = load(device_map='auto')\n{TRAINER}",
        f"model = load(device_map='cuda')\n{TRAINER}",  # not Trainer's own cuda:0: it then wraps nothing
        f"import os\nos.environ['CUDA_VISIBLE_DEVICES'] = '0'\n{TRAINER}",
        f"from accelerate import notebook_launcher\nnotebook_launcher(main)\n{TRAINER}",
        f"from torch.multiprocessing import spawn\nspawn(main)\n{TRAINER}",
        f"import deepspeed\ndeepspeed.init_distributed()\n{TRAINER}",
        f"subprocess.run(['/opt/bin/torchrun', 'other.py'])\n{TRAINER}",
        f"args = TrainingArguments(use_cpu=True)\n{TRAINER}",
        f"from unsloth import FastLanguageModel\n{TRAINER}",
        "from optimum.habana import GaudiConfig\nfrom optimum.habana.trl import GaudiSFTTrainer\n" + TRAINER,
        f"def load(device_map='auto'):\n    return read(device_map=device_map)\nload()\n{TRAINER}",
        f"def load(device_map):\n    return read(device_map=device_map)\nload('auto')\n{TRAINER}",
        f"options = {{'device_map': 'auto'}}\nmodel = load(**options)\n{TRAINER}",
        f"options['device_map'] = chosen()\nmodel = load(**options)\n{TRAINER}",
        f"parser.add_argument('--device_map', default='auto')\n{TRAINER}",
        f"model = load(device_map=args.device_map)\n{TRAINER}",
        f"model = load(device_map=infer_auto_device_map(model))\n{TRAINER}",
        f"model = Model.from_pretrained('x', load_in_8bit=True)\n{TRAINER}",
        f"setattr(model, 'model_parallel', True)\n{TRAINER}",
        f"model.is_parallelizable = True\n{TRAINER}",
        f"args._n_gpu = 1\n{TRAINER}",
        f"args._n_gpu = 0\n{TRAINER}",
        "from trl import SFTTrainer\nclass Model:\n    def predict(self):\n        pass\n"
        "    def fit(self):\n        SFTTrainer('x').train()\nModel().predict()\n",
    ],
)
def test_does_not_train_on_several_gpus(tmp_path, program) -> None:
    assert not found(tmp_path, "python train.py\n", program=program)


@pytest.mark.parametrize(
    ("helper", "count"),
    [
        ("from unsloth import FastLanguageModel\n\ndef load():\n    return FastLanguageModel.load()\n", 0),
        ("def load():\n    from unsloth import FastLanguageModel\n    return FastLanguageModel.load()\n", 0),
        ("def load():\n    return 1\n\ndef fast():\n    import unsloth\n    return unsloth.load()\n", 1),
        ("from unsloth_like import load\n", 1),
        ("from .unsloth import load\n", 1),
    ],
)
def test_unsloth_is_imported_by_what_loads_the_model(tmp_path, helper, count) -> None:
    write(tmp_path, {"lib/__init__.py": "", "lib/models.py": helper})
    program = f"from lib.models import load\nmodel = load()\n{TRAINER}"
    assert len(found(tmp_path, "python train.py\n", program=program)) == count


@pytest.mark.parametrize(
    "program",
    [
        "class Model:\n    def __init__(self):\n        self.model_parallel = False\nmodel = Model()\n",
        "model.is_parallelizable = False\n",
        "setattr(model, 'model_parallel', False)\n",
    ],
)
def test_an_attribute_that_is_false_keeps_nothing_from_being_wrapped(tmp_path, program) -> None:
    assert found(tmp_path, "python train.py\n", program=program + TRAINER)


OWN_LOSS = """\
import torch
from transformers import Trainer

class Mine(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss * weights({device})

def weights(device):
    return torch.ones(2, device=device)

class Unused:
    def rows(self):
        return torch.ones(2, device="cuda:0")

Mine(model, args).train()
"""


@pytest.mark.parametrize(
    ("program", "applicability"),
    [
        (OWN_LOSS.format(device="inputs['labels'].device"), Applicability.SAFE),
        (OWN_LOSS.format(device="'cuda'"), Applicability.SAFE),
        (OWN_LOSS.format(device="'cuda:0'"), Applicability.UNSAFE),
        (OWN_LOSS.format(device="torch.device('cuda', 0)"), Applicability.UNSAFE),
        (OWN_LOSS.replace("device=device", "device='cuda:0'").format(device=""), Applicability.UNSAFE),
        (f"rows = rows.cuda(0)\n{TRAINER}", Applicability.UNSAFE),
        (f"rows = rows.cuda()\n{TRAINER}", Applicability.SAFE),
        (f"model = load(device_map={{'': 0}})\n{TRAINER}", Applicability.UNSAFE),
        (f"device_map = {{'': 0}}\nmodel = load(device_map=device_map)\n{TRAINER}", Applicability.UNSAFE),
        (f"options = {{'device_map': {{'': 0}}}}\nmodel = load(**options)\n{TRAINER}", Applicability.UNSAFE),
        (f"device_map = {{'': rank}}\nmodel = load(device_map=device_map)\n{TRAINER}", Applicability.SAFE),
        (f"rows = rows{'.long()' * 900}.cuda(0)\n{TRAINER}", Applicability.UNSAFE),  # too deep to be shown
    ],
)
def test_a_gpu_with_a_number_is_that_of_one_process(tmp_path, program, applicability) -> None:
    (finding,) = found(tmp_path, f"{TWO}python train.py\n", program=program)
    assert finding.fix is not None and finding.fix.applicability is applicability
    assert ("by its number" in finding.fix.reason) == (applicability is Applicability.UNSAFE)


def test_what_a_seed_spawns_are_no_processes(tmp_path) -> None:
    assert found(tmp_path, "python train.py\n", program=f"seeds = seed_sequence.spawn(4)\n{TRAINER}")


def test_a_trainer_base_of_the_settings(tmp_path) -> None:
    program = "from mylib import BaseTrainer\ntrainer = BaseTrainer()\ntrainer.train()\n"
    assert not found(tmp_path, "python train.py\n", program=program)
    bases = (("mylib.BaseTrainer", "transformers.Trainer"),)
    assert found(tmp_path, "python train.py\n", program=program, trainer_bases=bases)


# Which file is started


@pytest.mark.parametrize(
    ("command", "place"),
    [
        ("python pkg/train.py", "pkg/train.py"),
        ("python train.py", "scripts/train.py"),
        ("python ../pkg/train.py", "pkg/train.py"),
        ("python -m pkg.train", "pkg/train.py"),
        ("python -m pkg", "pkg/__main__.py"),
        ("python -m pkg.train", "src/pkg/train.py"),
        ("python /app/pkg/train.py", "pkg/train.py"),
        ('python "$ROOT/pkg/train.py"', "pkg/train.py"),
        ("cd pkg\npython train.py", "pkg/train.py"),
        ("cd pkg && cd sub && python train.py", "pkg/sub/train.py"),
        ("(cd pkg; ls)\npython train.py", "train.py"),
        ("cd repository\npython train.py", "train.py"),
        ('cd "$(dirname "$0")"\npython train.py', "scripts/train.py"),
        ("cd ..\npython -m pkg.train", "pkg/train.py"),
        ("cd transformers/examples/pytorch/text-classification\npython run_glue.py", "other.py"),
    ],
)
def test_the_started_file(tmp_path, command, place) -> None:
    write(tmp_path, {place: TRAINER})
    assert linter(tmp_path).check(tmp_path / "scripts" / "run.sh", f"{command}\n".encode())


@pytest.mark.parametrize(
    "command",
    [
        "python other.py",
        "mkdir -p sub\ncd sub\npython train.py",
        "python -m other",
        'python "$SCRIPT"',
        "python train.py --help",
        "pytest train.py",
        "python train.py --do_train False",
        "python train.py --do_train=no --do_eval",
        "python train.py --do_eval",
        "python train.py --do_predict True --x",
        "python train.py --eval_only",
        "python train.py --do_dataprocessing_only --x",
        "python train.py --eval --x",
    ],
)
def test_nothing_is_known_to_be_started(tmp_path, command) -> None:
    (tmp_path / "sub").mkdir()
    assert not found(tmp_path, TWO + command + "\n")


@pytest.mark.parametrize(
    ("again", "count"),
    [
        ("os.execvp('torchrun', ['torchrun', '--nproc_per_node=gpu', __file__])", 0),
        ("os.execlp('accelerate', 'accelerate', 'launch', __file__)", 0),
        ("command = [sys.executable, '-m', 'torch.distributed.run', __file__]", 0),
        ("command = ['accelerate', 'launch', f'--config_file={config}', __file__]", 0),
        ("subprocess.run('torchrun --nproc_per_node 2 train.py', shell=True)", 0),
        ("os.execvp('python', ['python', '-O', __file__])", 1),
        ("words = ['torchrun']", 1),
        ("words = ['with', 'accelerate', 'launch']", 1),
    ],
)
def test_a_script_that_starts_itself_with_a_launcher(tmp_path, again, count) -> None:
    program = f"import os, subprocess, sys\n{TRAINER}if 'LOCAL_RANK' not in os.environ:\n    {again}\n"
    assert len(found(tmp_path, "python train.py\n", program=program)) == count


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("run_single_gpu.sh", 0),
        ("run_single4090.sh", 0),
        ("stage2_singleA100.sh", 0),
        ("train-1gpu.sh", 0),
        ("single_or_multi_gpu.sh", 1),
        ("run_gpu.sh", 1),
    ],
)
def test_a_file_whose_name_says_that_it_is_for_one_gpu(tmp_path, name, count) -> None:
    assert len(found(tmp_path, "python train.py\n", name)) == count
    assert len(found(tmp_path, TWO + "python train.py\n", name)) == 1


@pytest.mark.parametrize(
    ("wheels", "count"), [("whl/cpu", 0), ("whl/cpu or https://download.pytorch.org/whl/cu121", 1), ("whl/cu121", 1)]
)
def test_where_torch_is_installed_for_the_cpu_no_gpu_is_seen(tmp_path, wheels, count) -> None:
    text = f"RUN pip install torch --index-url https://download.pytorch.org/{wheels}\nCMD python train.py\n"
    assert len(found(tmp_path, text, "Dockerfile")) == count


@pytest.mark.parametrize(
    "options", ["--do_train", "--do_train --do_eval", "--do_train True", "--do_eval False", "--do_train=1 --do_predict"]
)
def test_the_options_say_that_it_trains(tmp_path, options) -> None:
    assert found(tmp_path, f"{TWO}python train.py {options}\n")


ON_REQUEST = "from trl import SFTTrainer\ntrainer = SFTTrainer('x')\nif args.do_train:\n    trainer.train()\n"


OWN_FLAG = (
    "from trl import SFTTrainer\nparser.add_argument('--train', action='store_true')\n{}\n"
    "    trainer = SFTTrainer('x')\n    trainer.train()\n"
)


@pytest.mark.parametrize(
    ("program", "options", "count"),
    [
        (ON_REQUEST, "", 0),
        (ON_REQUEST, "--output x --save_onnx", 0),
        (ON_REQUEST, "--output $FOLDER", 0),
        (ON_REQUEST, "--do_train", 1),
        (ON_REQUEST, "settings.json", 1),
        (ON_REQUEST, "--config settings.json", 1),
        (ON_REQUEST, "--queries queries.dev.json", 0),
        (ON_REQUEST, "$OPTIONS", 1),
        ("args.do_train = True\n" + ON_REQUEST, "", 1),
        ("args = TrainingArguments('x', do_train=True)\n" + ON_REQUEST, "", 1),
        ("class Arguments:\n    do_train: bool = True\n" + ON_REQUEST, "", 1),
        ("parser.add_argument('--do_train', type=bool, default=True)\n" + ON_REQUEST, "", 1),
        ("parser.add_argument('--do_train', action='store_true')\n" + ON_REQUEST, "", 0),
        (OWN_FLAG.format("if args.train:"), "--build", 0),
        (OWN_FLAG.format("if args.train:"), "--train", 1),
        (OWN_FLAG.format("if args.train:"), "--train --build", 1),
        (OWN_FLAG.format("args.train = True\nif args.train:"), "--build", 1),
        (OWN_FLAG.format("if model.train():"), "--build", 1),
        (OWN_FLAG.format("if args.build:"), "--build", 1),
        (OWN_FLAG.format("if args.train:").replace("store_true", "store"), "--build", 1),
        (TRAINER, "", 1),
        (TRAINER, "--model x ...", 0),
    ],
)
def test_a_script_that_waits_for_a_flag_trains_where_that_is_given(tmp_path, program, options, count) -> None:
    assert len(found(tmp_path, f"{TWO}python train.py {options}\n", program=program)) == count


@pytest.mark.parametrize(
    ("settings", "text", "count"),
    [
        ("eval.json", '{"do_train": false, "do_eval": true}', 0),
        ("eval.json", '{"do_eval": true}', 0),
        ("eval.json", '{"do_train": true}', 1),
        ("eval.yaml", "do_eval: true\ndo_train: false\n", 0),
        ("eval.yaml", "do_train: True\n", 1),
        ("eval.toml", "do_train = 'no'\n", 0),
        ("eval.yaml", "do_train: true  # not do_train: false\n", 1),
        ("eval.yaml", "# do_train: true\n", 0),
        ("eval.yaml", "do_train: off\n", 0),
        ("eval.yaml", "do_train: ${train}\n", 1),
        ("eval.yaml", "defaults:\n  - base\ndo_eval: true\n", 1),
        ("other.json", '{"do_train": false}', 1),  # it is unknown what the launch names
    ],
)
def test_a_script_that_waits_for_a_flag_may_get_it_from_settings(tmp_path, settings, text, count) -> None:
    (tmp_path / settings).write_text(text, encoding="utf-8")
    command = f"python train.py eval{settings[settings.index('.') :]}\n"
    assert len(found(tmp_path, TWO + command, program=ON_REQUEST)) == count


@pytest.mark.parametrize(
    ("below", "count"),
    [
        ("This took two hours on a single V100.", 0),
        ("It also runs on several GPUs with `accelerate launch`.", 0),
        ("On several GPUs, start it with torchrun:\n\n```bash\ntorchrun train.py\n```", 0),
        ("On a single GPU:\n\n```bash\nCUDA_VISIBLE_DEVICES=0 python train.py\n```", 1),
        ("The losses are in `logs`.", 1),
        ("## Single GPU", 1),
    ],
)
def test_what_stands_below_a_block_may_say_that_it_is_for_one_gpu(tmp_path, below, count) -> None:
    text = f"# Training\n\n```bash\npython train.py\n```\n\n{below}\n"
    assert len(found(tmp_path, text, "README.md")) == count


@pytest.mark.parametrize(("label", "count"), [("With LoRA:", 1), ("On a single GPU:", 0)])
def test_a_label_above_the_usage_in_a_docstring(tmp_path, label, count) -> None:
    assert len(found(tmp_path, f'"""\n{label}\npython train.py \\\n    --lora\n"""\n', "usage.py")) == count


@pytest.mark.parametrize(
    ("beside", "count"),
    [
        ("accelerate launch train.py", 0),
        ("torchrun --nproc_per_node 8 ./train.py --bf16", 0),
        ("accelerate launch other.py", 1),
        ("accelerate launch $SCRIPT", 1),
        ("python other.py", 1),
    ],
)
def test_beside_a_launch_of_the_same_script_bare_python_is_for_one_gpu(tmp_path, beside, count) -> None:
    assert len(found(tmp_path, f'"""\npython train.py\n\n{beside}\n"""\n', "usage.py")) == count
    assert len(found(tmp_path, f"{TWO}python train.py\n{beside}\n")) == 1, "that one says that there are two"


# Silencing


@pytest.mark.parametrize(
    "text",
    [
        "python train.py  # noqa\n",
        "python train.py --a \\\n    --b  # noqa: TRL004\n",
        "python train.py  # noqa: bare-python-launch\n",
        "# flake8: noqa\npython train.py\n",
    ],
)
def test_noqa(tmp_path, monkeypatch, text) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": text})
    assert lint("--isolated", "--fix", "--unsafe-fixes", "run.sh") == (0, "", "")
    assert (tmp_path / "run.sh").read_text() == text


def test_noqa_of_another_rule_or_line(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": TWO + "ls  # noqa\npython train.py  # noqa: TRL001\n"})
    assert lint("--isolated", "run.sh")[0] == 1


def test_per_file_ignores_and_selection(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": TWO + "python train.py\n"})
    assert lint("--isolated")[0] == 1
    assert lint("--isolated", "--per-file-ignores=*.sh:TRL004") == (0, "", "")
    assert lint("--isolated", "--ignore=TRL004", ".", "run.sh") == (0, "", "")
    assert lint("--isolated", "--fix", "--select=TRL001", "run.sh") == (0, "", "")


# Fixes

REPORTED = """#!/bin/bash
python trl/scripts/sft.py \\
    --model_name_or_path Qwen/Qwen2-0.5B \\
    --learning_rate 2.0e-5 --packing \\
    --eos_token '<|im_end|>' \\
    --output_dir "runs/$NAME" > log.txt 2>&1
"""


def test_the_command_of_the_report(tmp_path) -> None:
    wanted = REPORTED.replace("python trl", "accelerate launch trl").encode()
    assert fixed(tmp_path, REPORTED.encode()).source == REPORTED.encode()
    assert fixed(tmp_path, REPORTED.encode(), unsafe=True).source == wanted
    told = (b"#!/bin/bash\n", b"#!/bin/bash\nexport CUDA_VISIBLE_DEVICES=0,1\n")
    assert fixed(tmp_path, REPORTED.encode().replace(*told)).source == wanted.replace(*told)


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "run.sh",
            "CUDA_VISIBLE_DEVICES=0,1 python train.py\r\n",
            "CUDA_VISIBLE_DEVICES=0,1 accelerate launch train.py\r\n",
        ),
        (
            "pod.yaml",
            "resources:\r\n  limits:\r\n    nvidia.com/gpu: 4\r\ncommand:\r\n  - python\r\n  - -u\r\n  - train.py\r\n",
            "resources:\r\n  limits:\r\n    nvidia.com/gpu: 4\r\ncommand:\r\n  - env\r\n  - PYTHONUNBUFFERED=1\r\n"
            "  - accelerate\r\n  - launch\r\n  - train.py\r\n",
        ),
    ],
)
def test_line_ends_and_marks_are_kept(tmp_path, mark, name, before, after) -> None:
    result = fixed(tmp_path, mark + before.encode(), name)
    assert result.source == mark + after.encode()
    assert not result.remaining


def test_a_python_file_is_mended_in_both_ways(tmp_path) -> None:
    code = (
        "import subprocess\nfrom accelerate import Accelerator\n\naccelerator = Accelerator()\n"
        "total = accelerator.gather(x.sum().item())\n"
        "subprocess.run(['env', 'CUDA_VISIBLE_DEVICES=0,1', 'python', 'train.py'])\n"
    )
    write(tmp_path, {"train.py": TRAINER})
    rules = [find_rule("TRL001"), find_rule("TRL004")]
    both = Linter(Settings(root=tmp_path), (tmp_path,), rules)
    assert [each.code for each in both.check(tmp_path / "start.py", code.encode())] == ["TRL001", "TRL004"]
    result = both.fix(tmp_path / "start.py", code.encode(), unsafe=True)
    assert [each.code for each in result.applied] == ["TRL001", "TRL004"]
    assert "'accelerate', 'launch', 'train.py'" in result.source.decode()
    assert not result.remaining


# The command line


def test_standard_input(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER})
    text = TWO + "python train.py\n"
    status, out, _ = lint("--isolated", "--stdin-filename=run.sh", "-", stdin=text)
    assert (status, out.split(":")[:3]) == (1, ["run.sh", "2", "1"])
    status, out, _ = lint("--isolated", "--fix", "--stdin-filename=run.sh", "-", stdin=text)
    assert (status, out) == (0, TWO + "accelerate launch train.py\n")


def test_diff(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": "python train.py\n"})
    done = CliRunner().invoke(main, ["--isolated", "--diff", "--unsafe-fixes", "--select=TRL004", "run.sh"])
    assert done.exit_code == 1
    assert "-python train.py\n+accelerate launch train.py\n" in done.output
    assert (tmp_path / "run.sh").read_text() == "python train.py\n"


def test_json(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": TWO + "python train.py \\\n    --x\n"})
    done = CliRunner().invoke(main, ["--isolated", "--no-cache", "--output-format=json", "run.sh"])
    (row,) = json.loads(done.stdout)
    assert (row["code"], row["location"], row["noqa_row"]) == ("TRL004", {"row": 2, "column": 1}, 3)
    (edit,) = row["fix"]["edits"]
    assert (edit["content"], edit["location"], edit["end_location"]) == (
        "accelerate launch",
        {"row": 2, "column": 1},
        {"row": 2, "column": 7},
    )


def test_results_of_an_earlier_run_know_of_a_trainer_that_changed(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, {"train.py": TRAINER, "run.sh": TWO + "python train.py\n", "pyproject.toml": ""})
    for program, status in ((TRAINER, 1), (TRAINER, 1), ("print()\n", 0), (TRAINER, 1)):
        write(tmp_path, {"train.py": program})
        assert CliRunner().invoke(main, []).exit_code == status


def test_what_can_not_be_read_is_said_and_stops_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        {"train.py": TRAINER, "run.sh": TWO + "python train.py\n", "broken.yml": "run: [python train.py\n  x: }"},
    )
    (tmp_path / "binary.sh").write_bytes(b"python \0\xff train.py")
    (tmp_path / "large.sh").write_text("python train.py " * 350_000)
    status, out, err = lint("--isolated")
    assert status == 1
    assert [line.partition(":")[0] for line in out.splitlines()[:-1]] == ["run.sh"]
    assert [line.partition(": ")[0] for line in err.splitlines()] == ["binary.sh", "broken.yml", "large.sh"]
    assert err.splitlines()[1].startswith("broken.yml: launch commands not all read: no YAML: ")
    # If it is named explicitly, it is an error.
    said = "binary.sh: not looked at for launch commands: a binary file\n"
    assert lint("--isolated", "binary.sh") == (2, "", said)
    assert lint("--isolated", "--force-exclude", "binary.sh") == (0, "", said)


@pytest.mark.process
def test_python_that_only_starts_others_is_not_analysed(tmp_path) -> None:
    write(tmp_path, {"train.py": "print()\n", "start.py": "import os\nos.system('python train.py')\n"})
    script = (
        "import sys; from trl_lint.frontends.cli import main\n"
        "try: main()\n"
        "finally: print([name for name in ('libcst', 'torch') if name in sys.modules], file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, "--isolated", "--no-cache", "start.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "[]\n")


def test_libraries_beside_the_script_are_known_by_their_names(tmp_path):
    """If they are installed in a folder of the project, their own code does not count as the script's."""
    places = "class HfArgumentParser:\n    def __init__(self):\n        torch.distributed.init_process_group()\n"
    write(tmp_path, {"transformers/__init__.py": places})
    program = f"from transformers import HfArgumentParser\n{TRAINER}parser = HfArgumentParser()\n"
    assert len(found(tmp_path, "python train.py\n", program=program)) == 1
