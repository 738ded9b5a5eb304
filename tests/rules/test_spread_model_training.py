"""TRL018: which models are spread over all GPUs, what shows that several processes train them, and the message."""

from __future__ import annotations

from pathlib import Path

import pytest
from started import findings_in

from trl_lint.findings import Consequence, Finding

IMPORTS = """\
import os
import torch
from accelerate import Accelerator
from peft import LoraConfig, get_peft_model, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, Trainer
from trl import DPOTrainer, SFTTrainer

"""
LOAD = 'model = AutoModelForCausalLM.from_pretrained(name, device_map="auto")\n'
TRAIN = "Trainer(model=model).train()\n"
ON_TWO = {"run.sh": "torchrun --nproc_per_node 2 train.py\n"}
SEVERAL = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 4\n"
ONE = "compute_environment: LOCAL_MACHINE\ndistributed_type: 'NO'\nnum_processes: 1\n"


def of_program(folder: Path, text: str, files: dict[str, str] = ON_TWO) -> list[Finding]:
    return findings_in(folder, {"train.py": IMPORTS + text, **files}, "train.py", "TRL018")


def test_a_finding_is_at_the_load_and_names_the_launch(tmp_path):
    text = IMPORTS + LOAD + TRAIN
    (finding,) = of_program(tmp_path, LOAD + TRAIN)
    assert text.splitlines()[finding.start.line - 1] == LOAD.rstrip()
    assert finding.message == (
        "a model that is spread over all GPUs is passed to a Trainer on several processes (see `run.sh`): Accelerate "
        "raises ValueError, as each process would use all GPUs"
    )
    assert [each.text for each in finding.because] == ["it is passed to a Trainer here"]
    assert finding.consequence is Consequence.CRASH
    assert finding.by_default
    assert finding.fix is None


@pytest.mark.parametrize(
    "text",
    [
        LOAD.replace("auto", "balanced_low_0") + TRAIN,
        LOAD + "SFTTrainer(model).train()\n",
        LOAD + "DPOTrainer(model=model, ref_model=None).train()\n",
        LOAD + "model = prepare_model_for_kbit_training(model)\nmodel = get_peft_model(model, LoraConfig())\n" + TRAIN,
        LOAD + "model.config.use_cache = False\nmodel.gradient_checkpointing_enable()\n" + TRAIN,
        'options = dict(device_map="auto")\n' + LOAD.replace('device_map="auto"', "**options") + TRAIN,
        "def load(name):\n    " + LOAD.replace("model =", "return") + "\nmodel = load('m')\n" + TRAIN,
        LOAD + "accelerator = Accelerator()\nmodel = accelerator.prepare(model)\n",
        LOAD + "accelerator = Accelerator()\nmodel = accelerator.prepare_model(model)\n",
        "class Own(Trainer):\n    pass\n\n" + LOAD + "Own(model).train()\n",
        # Several processes need GPUs.
        LOAD.replace('"auto"', '"auto" if torch.cuda.is_available() else None') + TRAIN,
        LOAD.replace('"auto"', '"cpu" if not torch.cuda.is_available() else "auto"') + TRAIN,
        'device_map = "auto" if torch.cuda.is_available() else "cpu"\n' + LOAD.replace('"auto"', "device_map") + TRAIN,
        'place = "auto"\n' + LOAD.replace('"auto"', 'place if torch.cuda.is_available() else "cpu"') + TRAIN,
    ],
)
def test_a_spread_model_that_is_trained(text, tmp_path):
    assert len(of_program(tmp_path, text)) == 1


@pytest.mark.parametrize(
    "text",
    [
        LOAD.replace('"auto"', '{"": 0}') + TRAIN,
        LOAD.replace('"auto"', '"cuda:0"') + TRAIN,
        LOAD.replace('"auto"', "None") + TRAIN,
        LOAD.replace(', device_map="auto"', "") + TRAIN,
        # The launch decides.
        'device_map = {"": 0} if int(os.environ["WORLD_SIZE"]) > 1 else "auto"\n'
        + LOAD.replace('"auto"', "device_map")
        + TRAIN,
        "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--device_map', default='auto')\n"
        + LOAD.replace('"auto"', "parser.parse_args().device_map")
        + TRAIN,
        "if int(os.environ['WORLD_SIZE']) == 1:\n    "
        + LOAD
        + "else:\n    "
        + LOAD.replace(', device_map="auto"', "")
        + TRAIN,
        LOAD.replace('"auto"', '"auto" if torch.cuda.is_available() and not ddp else None') + TRAIN,
        LOAD.replace('"auto"', '"cuda" if torch.cuda.is_available() else "auto"') + TRAIN,
        LOAD.replace('"auto"', '"auto" if args.spread else None') + TRAIN,
        'place = "auto"\nif "RANK" in os.environ:\n    place = {"": int(os.environ["LOCAL_RANK"])}\n'
        + LOAD.replace('"auto"', 'place if torch.cuda.is_available() else "cpu"')
        + TRAIN,
        # Nothing wraps it.
        LOAD + "model.generate(**inputs)\n",
        LOAD + "Trainer(model=other, judge=model).train()\n",
        # No model.
        'tokenizer = AutoTokenizer.from_pretrained(name, device_map="auto")\nTrainer(model=tokenizer)\n',
        "os.environ['ACCELERATE_BYPASS_DEVICE_MAP'] = 'true'\n" + LOAD + TRAIN,
    ],
)
def test_other_models_are_right(text, tmp_path):
    assert of_program(tmp_path, text) == []


@pytest.mark.parametrize(
    ("files", "is_shown"),
    [
        ({}, False),
        ({"run.sh": "python train.py\n"}, False),
        ({"run.sh": "torchrun train.py\n"}, False),
        ({"run.sh": "accelerate launch train.py\n"}, False),
        ({"run.sh": "torchrun --nproc_per_node 1 train.py\n"}, False),
        ({"run.sh": "accelerate launch --num_processes=1 train.py\n"}, False),
        # Each machine may have one GPU.
        ({"run.sh": "torchrun --nnodes=1:8 --nproc-per-node=1 train.py\n"}, False),
        ({"run.sh": "torchrun --nnodes=8 --nproc-per-node=2 train.py\n"}, True),
        ({"run.sh": "CUDA_VISIBLE_DEVICES=0 torchrun --nproc_per_node 2 other.py\n"}, False),
        ({"run.sh": "accelerate launch --num_processes=4 train.py\n"}, True),
        ({"run.sh": "torchrun --nproc_per_node $GPUS train.py\n"}, True),
        # Whoever changes the variable starts several; as it is written, it is one.
        ({"run.sh": 'n="1"\naccelerate launch --num_processes=${n} train.py\n'}, False),
        ({"run.sh": 'n="2"\naccelerate launch --num_processes=${n} train.py\n'}, True),
        ({"run.sh": "torchrun --nproc_per_node ${GPUS:-1} train.py\n"}, False),
        ({"run.sh": 'n=2\nrun="train.py --out a_$((8 * n))_b --lr 1"\naccelerate launch --num_processes=$n $run\n'},
         True),
        ({"README.md": "```bash\npython train.py\ntorchrun --nproc_per_node=8 train.py\n```\n"}, True),
        ({"run.sh": "accelerate launch --config_file many.yaml train.py\n", "many.yaml": SEVERAL}, True),
        ({"run.sh": "accelerate launch --config_file one.yaml train.py\n", "one.yaml": ONE}, False),
        ({"run.sh": "accelerate launch --config_file one.yaml train.py\n", "many.yaml": SEVERAL}, False),
        ({"run.sh": "accelerate launch --config_file many.yaml --num_processes 1 train.py\n", "many.yaml": SEVERAL},
         False),
    ],
)  # fmt: skip
def test_a_launch_has_to_say_that_it_starts_several_processes(files, is_shown, tmp_path):
    assert bool(of_program(tmp_path, LOAD + TRAIN, files)) is is_shown


OPTION = """\
import argparse
parser = argparse.ArgumentParser()
parser.add_argument("--num_gpus", type=int, default=1)
parser.add_argument("--out", default="out")
args = parser.parse_args()
"""
WRITE = "with open('out.json', 'w') as file:\n    file.write('{}')\n"
CHOSEN = (
    "device_map = 'auto' if args.num_gpus > 1 else {'': 0}\n" + LOAD.replace('"auto"', "device_map"),
    LOAD.replace('"auto"', "'auto' if args.num_gpus > 1 else None"),
    "if args.num_gpus == 1:\n    device_map = None\nelse:\n    device_map = 'auto'\n"
    + LOAD.replace('"auto"', "device_map"),
    f"if args.num_gpus > 1:\n    {LOAD}else:\n    " + LOAD.replace('"auto"', "None"),
)
LAUNCH = "torchrun --nproc_per_node 2 train.py --out x"


@pytest.mark.parametrize("chosen", CHOSEN)
@pytest.mark.parametrize(
    ("command", "is_spread", "is_written_by_all"),
    [
        (f"{LAUNCH} --num_gpus 1", False, True),
        (f"{LAUNCH} --num-gpus=1", False, True),
        (LAUNCH, False, True),  # the default
        (f"{LAUNCH} --num_gpus 2", True, False),
        (f"{LAUNCH} --num_gpus $N", False, False),
        (f"{LAUNCH} --num_gpus 2\n{LAUNCH} --num_gpus 1", False, True),
        ("python train.py --num_gpus 2", False, False),
    ],
)
def test_an_option_for_the_number_of_gpus_is_what_the_launches_give(
    chosen, command, is_spread, is_written_by_all, tmp_path
):
    files = {"train.py": IMPORTS + OPTION + chosen + TRAIN + WRITE, "run.sh": f"{command}\n"}
    assert bool(findings_in(tmp_path, files, "train.py", "TRL018")) is is_spread
    assert bool(findings_in(tmp_path, files, "train.py", "TRL008")) is is_written_by_all


def test_a_default_that_python_refuses_is_not_known(tmp_path):
    option = OPTION.replace("default=1", "default={[]: 1}")
    files = {"train.py": IMPORTS + option + CHOSEN[0] + TRAIN, "run.sh": f"{LAUNCH}\n"}
    assert findings_in(tmp_path, files, "train.py", "TRL018") == []


def test_a_model_from_another_file_is_reported_where_it_is_passed_on(tmp_path):
    loads = IMPORTS + "def load(name):\n    " + LOAD.replace("model =", "return")
    files = {"models.py": loads, "train.py": IMPORTS + "from models import load\nmodel = load('m')\n" + TRAIN, **ON_TWO}
    (finding,) = findings_in(tmp_path, files, "train.py", "TRL018")
    assert finding.start.line == files["train.py"].splitlines().index(TRAIN.rstrip()) + 1
    assert [(Path(each.path).name, each.text) for each in finding.because] == [
        ("models.py", '`device_map="auto"` spreads the model over all GPUs here')
    ]


def test_a_model_that_is_trained_in_two_ways_is_one_finding(tmp_path):
    in_two_ways = f"if os.environ.get('DPO'):\n    DPOTrainer(model)\nelse:\n    {TRAIN}"
    assert len(of_program(tmp_path, LOAD + in_two_ways)) == 1
