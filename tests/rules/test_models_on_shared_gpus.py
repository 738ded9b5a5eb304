"""TRL011: a model that is wrapped on a GPU which all processes of a machine take."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from trl_lint import api
from trl_lint.findings import Finding
from trl_lint.knowledge.backends import CHOOSES_OWN_GPU
from trl_lint.settings import EVERY_RULE, Settings

PROGRAM = """\
import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
from torch.nn.parallel import DistributedDataParallel as DDP


def main(args):
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    {setup}
    {wrap}
    train(model)


parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
main(parser.parse_args())
"""
CPU_OR_GPU = 'device = torch.device("cuda" if torch.cuda.is_available() else "cpu")'
WRAP = "model = DDP(Net().to(device))"
CHOSEN = "torch.cuda.set_device(local_rank); model = Net()"


def program(setup: str, wrap: str = WRAP) -> str:
    return PROGRAM.format(setup=setup, wrap=wrap.replace("\n", "\n    "))


def check(folder: Path, texts: dict[str, str], *, all_rules: bool = False) -> list[Finding]:
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "pyproject.toml").touch()
    settings = Settings(root=folder, select=(EVERY_RULE,)) if all_rules else Settings(root=folder)
    return api.check(folder, settings)


@pytest.mark.parametrize(("setup", "wrap", "place"), [
    (CPU_OR_GPU, WRAP, "cuda"),
    ('device = "cuda:0"', WRAP, "cuda:0"),
    ('device = torch.device("cuda", 0)', WRAP, "cuda:0"),
    ("device = torch.device(args.device)", WRAP, "cuda"),
    ("device = args.device", "model = FSDP(Net().to(device))", "cuda"),
    ("model = Net().cuda()", "model = DDP(model, device_ids=[local_rank])", "cuda"),
    ("model = Net(); model.cuda()", "model = DDP(model)", "cuda"),
    ("model = Net().cuda().to(torch.bfloat16)", "model = DDP(model)", "cuda"),
    ("model = Net(); model.to(torch.device('cuda:0')).train()", "model = DDP(model)", "cuda:0"),
    ("model = Net()", "model = DDP(model, device_ids=[0])", "cuda:0"),
    ("model = Net().cuda()", "if dist.get_world_size() > 1:\n    model = DDP(model)", "cuda"),
    ("device = 'cuda'", "if local_rank == 0:\n    device = 'cuda'\nmodel = DDP(Net().to(device))", "cuda"),
])  # fmt: skip
def test_a_model_on_the_first_gpu_of_all_processes_is_reported(tmp_path, setup, wrap, place):
    [finding] = check(tmp_path, {"train.py": program(setup, wrap)})
    assert (finding.code, finding.by_default) == ("TRL011", True)
    assert finding.message == (
        f"`{'FullyShardedDataParallel' if 'FSDP' in wrap else 'DistributedDataParallel'}` gets a model on `{place}`, "
        "which is the first GPU in every process, as nothing gives a process a GPU of its own: with several processes "
        "on one machine NCCL fails, or that GPU runs out of memory"
    )
    assert finding.help == (
        'call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` before anything is moved to `cuda`'
    )


@pytest.mark.parametrize(("setup", "wrap"), [
    ("torch.cuda.set_device(local_rank); device = 'cuda'", WRAP),
    ("os.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank); device = 'cuda'", WRAP),
    ("device = torch.device('cuda', local_rank)", WRAP),
    ("device = f'cuda:{local_rank}'", WRAP),
    ("device = choose(args)", WRAP),
    ("device = 'cuda'", "if local_rank > 0:\n    device = f'cuda:{local_rank}'\nmodel = DDP(Net().to(device))"),
    ("device = args.gpu", WRAP),
    ("device = 'cpu'", WRAP),
    ("args.device = f'cuda:{{local_rank}}'; device = args.device", WRAP),
    ("device = device_of_process", WRAP),
    ("args.device, args.rank = start(); device = args.device", WRAP),
    ("setattr(args, 'device', start()); device = args.device", WRAP),
    ("vars(args)['device'] = start(); device = args.device", WRAP),
    ("device = 'cuda'; device, count = start()", WRAP),
    ("device = 'cuda'; device += f':{{local_rank}}'", WRAP),
    ("from mmcv.runner import init_dist; init_dist('pytorch'); device = 'cuda'", WRAP),
    (f"{CPU_OR_GPU}; device = torch.device(f'cuda:{{local_rank}}') if local_rank >= 0 else device", WRAP),
    ("model = Net().cuda(local_rank)", "model = DDP(model)"),
    ("model = Net().cuda()", "model.to(local_rank)\nmodel = DDP(model)"),
    ("model = Net()", "model = DDP(model)"),
    ("model = Net().cuda()", "model = torch.nn.DataParallel(model)"),
    ("with torch.cuda.device(local_rank): model = Net().cuda()", "model = DDP(model)"),
])  # fmt: skip
def test_a_gpu_of_the_process_and_what_is_unknown_are_not_reported(tmp_path, setup, wrap):
    assert [each.code for each in check(tmp_path, {"train.py": program(setup, wrap)})] == []


def test_a_parameter_is_unknown_whatever_the_module_has_of_that_name(tmp_path):
    text = program("", "model = wrapped(Net(), choose())") + (
        'device = "cuda"\n\n\ndef wrapped(net, device):\n    return DDP(net.to(device))\n'
    )
    assert check(tmp_path, {"train.py": text}) == []


@pytest.mark.parametrize(("setup", "helper", "is_reported"), [
    ("device = chosen()", "return torch.device('cuda')", True),
    ("device = chosen()", "device = 'cuda:0' if torch.cuda.is_available() else 'cpu'\n    return device", True),
    ("number, device = chosen()", "return dist.get_rank(), torch.device('cuda')", True),
    ("device = chosen()[1]", "return dist.get_rank(), torch.device('cuda')", True),
    ("device = chosen()[0x1]", "return dist.get_rank(), torch.device('cuda')", True),
    # Another place of the tuple, or all of it.
    ("device, number = chosen()", "return own_device(), 'cuda'", False),
    ("device, *numbers = chosen()", "return 'cuda', 0, 1", False),
    ("device = chosen()", "return 'cuda', 0", False),
    ("device, number = chosen()", "return 'cuda'", False),
    # One of two, a GPU of the process, and what its caller passes.
    ("device = chosen()", "if dist.get_rank():\n        return own_device()\n    return 'cuda'", False),
    ("device = chosen()", "return torch.device('cuda', int(os.environ['LOCAL_RANK']))", False),
    ("device = chosen(own_device())", "return device", False),
])  # fmt: skip
def test_a_gpu_that_a_function_of_the_file_chooses_is_known_if_it_returns_one_thing(
    tmp_path, setup, helper, is_reported
):
    parameters = "device" if helper == "return device" else ""
    text = program(setup).replace("def main", f"def chosen({parameters}):\n    {helper}\n\n\ndef main")
    text = text.replace("def main", 'device = "cuda"\n\n\ndef main', 1) if parameters else text
    assert [each.code for each in check(tmp_path, {"train.py": text})] == ["TRL011"] * is_reported


@pytest.mark.parametrize(("parameters", "is_reported"), [("args", True), ("args, chosen=own_device", False)])
def test_a_function_that_is_passed_is_not_the_one_of_the_file(tmp_path, parameters, is_reported):
    text = program("device = chosen()").replace("def main(args)", f"def main({parameters})")
    text = text.replace("def main", "def chosen():\n    return 'cuda'\n\n\ndef main")
    assert [each.code for each in check(tmp_path, {"train.py": text})] == ["TRL011"] * is_reported


@pytest.mark.parametrize(("setup", "wrap"), [
    ('device = torch.device("cuda:0")', WRAP),
    ("device = 0", "model = DDP(Net().to(device))"),
    ("model = Net().cuda()", "model = DDP(model, device_ids=[0], output_device=0)"),
    ("model = Net().to('cuda:0')", "model = DDP(model, device_ids=[local_rank])"),
    ("if not dist.is_initialized(): model = Net().cuda()\n    else: model = Net().to('cuda:0')", "model = DDP(model)"),
])  # fmt: skip
@pytest.mark.parametrize("number", ["local_rank", "args.gpu", 'f"cuda:{local_rank}"', "dist.get_rank() % 8"])
def test_a_model_beside_the_gpu_that_the_process_has_chosen_is_reported(tmp_path, setup, wrap, number):
    text = program(f"torch.cuda.set_device({number}); {setup}" if "if" not in setup else setup, wrap)
    text = text.replace("    train(model)", f"    torch.cuda.set_device({number})\n    train(model)")
    [finding] = check(tmp_path, {"train.py": text})
    assert (finding.code, finding.by_default, "and not on the GPU" in finding.message) == ("TRL011", True, True)
    assert finding.help == "move it to the process's own GPU: to `cuda`, once `torch.cuda.set_device` has chosen it"


@pytest.mark.parametrize(("setup", "wrap"), [
    ("torch.cuda.set_device(local_rank); device = 'cuda:0' if local_rank < 0 else 'cuda'", WRAP),
    ("torch.cuda.set_device('cuda:0'); device = 'cuda:0'", WRAP),
    ("os.environ['CUDA_VISIBLE_DEVICES'] = str(local_rank); torch.cuda.set_device(args.gpu); device = 'cuda:0'", WRAP),
    (CHOSEN, "if args.alone:\n    model.to('cuda:0')\nelse:\n    model = DDP(model)"),
    (CHOSEN, "if args.alone:\n    model.to('cuda:0')\n    return\nmodel = DDP(model)"),
    ("device = 'cuda:0'", "torch.cuda.set_device(device)\nmodel = DDP(Net(), device_ids=[0])"),
    ("torch.cuda.set_device(local_rank); model = Net().to('cuda:0')", "model.to(local_rank)\nmodel = DDP(model)"),
])  # fmt: skip
def test_a_model_that_may_be_on_the_process_own_gpu_is_not_reported(tmp_path, setup, wrap):
    assert check(tmp_path, {"train.py": program(setup, wrap)}) == []


def test_a_device_that_is_made_of_the_rank_is_the_process_own(tmp_path):
    wrap = "torch.cuda.set_device(mine)\nmodel = DDP(Net(), device_ids=[0])"
    [finding] = check(tmp_path, {"train.py": program("mine = f'cuda:{local_rank}'", wrap)})
    assert (finding.code, "and not on the GPU" in finding.message) == ("TRL011", True)


def test_a_name_of_another_function_says_nothing(tmp_path):
    text = program("", WRAP) + 'def evaluate(path):\n    device = "cuda"\n    return torch.load(path, device)\n'
    assert check(tmp_path, {"train.py": text}) == []


@pytest.mark.parametrize("lines", [
    'if "LOCAL_RANK" in os.environ:\n    device = os.environ["LOCAL_RANK"]\n',
    "def start(own):\n    global device\n    device = own\n",
    "for device in devices():\n    print(device)\n",
])  # fmt: skip
def test_a_name_that_the_module_binds_again_says_nothing(tmp_path, lines):
    text = f'{program("", WRAP)}device = "cuda"\n'
    assert [each.code for each in check(tmp_path, {"train.py": text})] == ["TRL011"]
    assert check(tmp_path, {"train.py": text + lines}) == []


@pytest.mark.parametrize("backend", ['"gloo"', "args.backend"])
def test_another_backend_takes_processes_on_one_gpu(tmp_path, backend):
    assert check(tmp_path, {"train.py": program(CPU_OR_GPU).replace('"nccl"', backend)}) == []


def test_without_a_sign_of_several_processes_on_a_machine_it_is_reported_on_request(tmp_path):
    text = program(CPU_OR_GPU).replace('local_rank = int(os.environ["LOCAL_RANK"])', "pass")
    assert check(tmp_path, {"train.py": text}) == []
    assert [each.code for each in check(tmp_path, {"train.py": text}, all_rules=True)] == ["TRL011"]


SETUP = "import torch\nimport os\n\n\ndef start():\n    torch.cuda.set_device(int(os.environ['LOCAL_RANK']))\n"
HELPER = """\
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP


def wrapped(model):
    return DDP(model.cuda())


def average(value):
    dist.all_reduce(value)
"""
CALLER = """\
import os
import torch.distributed as dist
from helper import wrapped

LOCAL_RANK = int(os.environ["LOCAL_RANK"])
dist.init_process_group("nccl")
model = wrapped(Net())
"""


@pytest.mark.parametrize("start", ["", "from setup import start\n\nstart()\n"])
def test_another_file_of_the_program_may_choose_the_gpu(tmp_path, start):
    texts = {"setup.py": SETUP, "train.py": start + program(CPU_OR_GPU)}
    assert [each.path.endswith("train.py") for each in check(tmp_path, texts)] == [True] * (not start)


@pytest.mark.parametrize("start", ["", "from setup import start\n\nstart()\n"])
def test_a_helper_is_run_on_the_gpu_that_its_caller_chooses(tmp_path, start):
    texts = {"setup.py": SETUP, "helper.py": HELPER, "train.py": start + CALLER}
    findings = check(tmp_path, texts, all_rules=True)
    assert [(Path(each.path).name, each.start.line) for each in findings] == [("helper.py", 7)] * (not start)


def test_a_unit_test_is_one_process(tmp_path):
    text = program(CPU_OR_GPU).replace("def main(args)", "def test_main(args)").replace("\nmain(", "\ntest_main(")
    assert check(tmp_path, {"test_train.py": text}) == []


def test_a_long_line_of_code_is_searched_at_once():
    assert re.search(CHOOSES_OWN_GPU, b"x = cuda rank, " * 5000) is None  # took minutes without bounds
