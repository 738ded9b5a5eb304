"""TRL011: what it reports, its messages, the applicability of its fix, and what the fix writes."""

from __future__ import annotations

from pathlib import Path

import pytest
from snippets import Snippets, loop, shown, trainer

from trl_lint import api
from trl_lint.findings import Applicability, Finding
from trl_lint.settings import Settings

SNIPPETS = Snippets("TRL011")
SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY
DISTRIBUTED = """\
import os
import torch
import torch.distributed as dist

dist.init_process_group("nccl")


def reduced(x, group, device):
    """


def plain(code: str) -> str:
    """A script on torch.distributed."""
    return DISTRIBUTED + code + "\n"


# --- the finding ----------------------------------------------------------------------------------------


def test_a_finding_says_what_where_why_and_how():
    text = loop("tokens = torch.tensor(mask.size(1))\ntotal = accelerator.gather(tokens)")
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "accelerator.gather(tokens)"
    assert (finding.code, finding.name) == ("TRL011", "wrong-device-collective")
    assert finding.message == (
        "`gather` gets a tensor on the CPU: nccl takes only tensors on the process's own GPU, so this fails on several "
        "GPUs and works on one process"
    )
    assert [step.text for step in finding.because] == ["it is put on the CPU here"]
    assert finding.because[0].start.line == finding.start.line - 1
    assert finding.help == "create it on the accelerator's device, or move it there before the collective"


@pytest.mark.parametrize(
    "code",
    [
        "accelerator.gather(torch.tensor([len(mask)]))",
        "accelerator.gather_for_metrics(loss.detach().cpu())",
        "accelerator.reduce(loss.to('cpu'))",
        "accelerator.pad_across_processes(mask.to(device='cpu'))",
        "accelerator.gather(torch.zeros(3))",
        "accelerator.gather(torch.randn(3))",
        "accelerator.gather(torch.full((2,), 1.0).sum())",
        "accelerator.gather(torch.as_tensor([1.0]))",
        "accelerator.gather(torch.stack([torch.tensor(1.0), torch.tensor(2.0)]))",
        "accelerator.gather(torch.tensor(1.0) * 3 + len(mask))",
        "accelerator.gather({'a': torch.ones(2), 'b': loss})",
        "accelerator.gather_for_metrics((torch.ones(2), loss))",
        "accelerator.reduce(torch.ones(1, device='cuda:0'))",
        "accelerator.reduce(mask.to('cuda:1'))",
        "if something.flag:\n    accelerator.reduce(torch.ones(1, device='cuda:0'))",
        "total = torch.tensor(0.0)\nfor _ in range(3):\n    total += loss.item()\naccelerator.reduce(total)",
        "sums = torch.zeros(2)\nsums[0] = loss\naccelerator.reduce(sums)",
        "def summed(x):\n    return accelerator.reduce(x)\n\nsummed(loss)\nsummed(loss.cpu())",
    ],
)
def test_it_speaks(code: str):
    assert SNIPPETS.findings(loop(code))


@pytest.mark.parametrize(
    "code",
    [
        "accelerator.gather(torch.tensor([len(mask)], device=accelerator.device))",
        "accelerator.gather(torch.tensor([len(mask)]).to(accelerator.device))",
        "accelerator.gather(torch.tensor([len(mask)]).to(mask.device))",
        "accelerator.gather(torch.zeros_like(loss))",
        "accelerator.gather(loss.new_tensor(1.0))",
        "accelerator.gather(loss).cpu()",
        "accelerator.gather(loss.cpu().cuda())",
        "accelerator.gather(torch.as_tensor(loss))",
        "accelerator.gather(torch.tensor(loss))",
        "accelerator.gather(torch.cat([torch.zeros(1), loss]))",
        "accelerator.gather(torch.tensor(0.0) + loss)",
        "accelerator.gather(something)",
        "if accelerator.process_index == 0:\n    accelerator.reduce(torch.ones(1, device='cuda:0'))",
        "sums = torch.zeros(2, device=accelerator.device)\nsums[0] = loss.cpu()\naccelerator.reduce(sums)",
        "accelerator.gather(torch.zeros(1) if something else loss)",
        "from accelerate.utils import gather_object\ngather_object([torch.zeros(1)])",
        "accelerator.gather_for_metrics([torch.zeros(1), 'text'])",
        "accelerator.gather(torch.zeros(1, device='cuda'))",
        "total = torch.tensor(0.0)\nfor _ in range(3):\n    total += loss\naccelerator.reduce(total)",
        # None is the rank of a process that is alone.
        "def one(row, rank=None):\n    dist.all_reduce(row.cpu().to(rank))\n\n\none(mask, None)",
    ],
)
def test_right_code_is_silent(code: str):
    assert not SNIPPETS.findings(loop(code))


@pytest.mark.parametrize("change", ["Accelerator(cpu=True", "torch.set_default_device('cuda'); Accelerator("])
def test_a_program_for_the_cpu_or_with_another_default_is_silent(change: str):
    text = loop("accelerator.gather(torch.zeros(1))")
    assert SNIPPETS.findings(text)
    text = text.replace('Accelerator(log_with="wandb"', change)
    assert not SNIPPETS.findings(text)


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("Accelerator(cpu=True)", False),
        ("PartialState(cpu=True)", False),
        ("TrainingArguments(use_cpu=True)", False),
        ("MyArguments(use_cpu=True)", False),
        ("TrainingArguments(ddp_backend='gloo')", False),
        ("InitProcessGroupKwargs(backend='gloo')", False),
        ("InitProcessGroupKwargs(**settings)", False),
        ("with torch.device('cuda'):\n    pass", False),
        ("device = torch.device('cuda')\nwith device:\n    pass", False),
        ("with torch.device('cuda'):\n    net, zero = torch.nn.Linear(2, 1), torch.zeros(1)", False),
        ("with torch.device('cuda'):\n    main()", False),
        ("with torch.device('cuda'):\n    Own()", False),
        # What they make has no contents, or is only a model.
        ("with torch.device('meta'):\n    zero = torch.zeros(1)", True),
        ("with torch.device('cuda'):\n    net = AutoModel.from_config(config).train()", True),
        # Only mentioned, or about something else.
        ("print('gloo, or cpu=True')", True),
        ("Accelerator(cpu=False)", True),
        # Accelerate chooses the backend itself, and only waits longer.
        ("InitProcessGroupKwargs(timeout=timedelta(hours=2))", True),
        ("InitProcessGroupKwargs(backend='nccl')", True),
        ("TrainingArguments(ddp_backend='nccl')", True),
        ("torch.load('x', map_location=torch.device('cpu'))", True),
        ("made(cpu=True)", True),
    ],
)
def test_only_what_chooses_the_backend_counts(line: str, speaks: bool):
    text = (
        "from accelerate import PartialState\nfrom accelerate.utils import InitProcessGroupKwargs\n"
        "from transformers import AutoModel, TrainingArguments\nclass MyArguments(TrainingArguments):\n    pass\n"
        "class Own(torch.nn.Module):\n    pass\n"
    )
    text += loop("accelerator.gather(torch.zeros(1))") + f"\n{line}\n"
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("moved", "speaks"), [(".cpu()", True), ("", False), (".to(accelerator.device)", False), (".cpu().cuda()", False)]
)
def test_what_comes_of_a_helper_that_gives_back_one_thing_or_another(moved: str, speaks: bool):
    text = loop(f"terms = terms_of(model, batch)\naccelerator.gather(terms['loss'].mean(){moved})")
    text += "\ndef terms_of(model, batch):\n    out = model(**batch)\n    if model.training:\n"
    text += "        return {'loss': out.loss}\n    return out.loss, out.logits\n"
    assert bool(SNIPPETS.findings(text)) is speaks


def test_a_unit_test_is_one_process():
    text = (
        "import unittest\nimport torch\nfrom accelerate.utils import gather\n\n"
        "class TestGather(unittest.TestCase):\n    def test_gather(self):\n        gather(torch.zeros(1))\n"
    )
    assert not SNIPPETS.findings(text)
    assert SNIPPETS.findings(text.replace("unittest.TestCase", "object"))


def test_what_a_step_returns_is_found_where_it_is_made():
    text = trainer("""
        def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
            loss, logits, _ = super().prediction_step(model, inputs, False)
            if prediction_loss_only:
                return loss, None, None
            labels = torch.zeros(len(inputs["input_ids"]))
            return loss, logits, labels
    """)
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == 'torch.zeros(len(inputs["input_ids"]))'
    assert finding.message.startswith(
        "`prediction_step` returns the labels on the CPU, and the evaluation loop gathers them: nccl takes"
    )
    mended = text.replace('["input_ids"]))', '["input_ids"]), device=self.accelerator.device)')
    assert SNIPPETS.mended(text) == mended
    assert not SNIPPETS.findings(text.replace("return loss, logits, l", "return loss, logits, self._prepare_input(l)#"))
    loop_of_its_own = "    def evaluation_loop(self, dataloader, description):\n        pass\n"
    assert not SNIPPETS.findings(text + loop_of_its_own)
    assert SNIPPETS.findings(text + loop_of_its_own.replace("pass", "return super().evaluation_loop(dataloader)"))


@pytest.mark.parametrize(
    ("logits", "place"),
    [
        ("(out.first, out.second.cpu())", "out.second.cpu()"),
        ("tuple(each.cpu() for each in out[:2])", "each.cpu()"),
        ("tuple([each.cpu() for each in out[:2]])", "each.cpu()"),
        ("[each.cpu() for each in out[:2]]", "each.cpu()"),
        ('{"first": out.first.cpu()}', "out.first.cpu()"),
        ("tuple(each.detach() for each in out[:2])", ""),
        ("[len(each.cpu()) for each in out[:2]]", ""),
    ],
)
def test_a_step_returns_several_of_a_kind(logits: str, place: str):
    text = trainer(f"""
        def prediction_step(self, model, inputs, prediction_loss_only, ignore_keys=None):
            out = model(**inputs)
            return out.loss, {logits}, inputs["labels"]
    """)
    assert [shown(text, each) for each in SNIPPETS.findings(text)] == ([place] if place else [])


@pytest.mark.parametrize(
    ("code", "index"),
    [
        ("torch.cuda.set_device(dist.get_rank())", " (`dist.get_rank()`)"),
        ("torch.device(f'cuda:{dist.get_rank()}')", " (`f'cuda:{dist.get_rank()}'`)"),
        ("torch.device('cuda', int(os.environ['RANK']))", " (`int(os.environ['RANK'])`)"),
        ("rank = int(os.environ['RANK'])\n    x.to(rank)", " (`rank`)"),
        ("torch.nn.parallel.DistributedDataParallel(x, device_ids=[dist.get_rank()])", " (`[dist.get_rank()]`)"),
        ("torch.zeros(1, device=dist.get_rank())", " (`dist.get_rank()`)"),
        ("x.cuda(dist.get_rank())", " (`dist.get_rank()`)"),
        ("x.cuda(dist.get_rank(group=None))", " (`dist.get_rank(group=None)`)"),
        ("load(x, device_map={'': dist.get_rank()})", " (`{'': dist.get_rank()}`)"),
        ("return f'cuda:{dist.get_rank()}'", ""),
        ("get_accelerator().device_name(dist.get_rank())", " (`dist.get_rank()`)"),
        ("torch.load('x', map_location=f'cuda:{dist.get_rank()}')", " (`f'cuda:{dist.get_rank()}'`)"),
        (
            "torch.load('x', map_location={'cuda:%d' % 0: 'cuda:%d' % dist.get_rank()})",
            " (`{'cuda:%d' % 0: 'cuda:%d' % dist.get_rank()}`)",
        ),
        ("x.to('cuda:{}'.format(dist.get_rank()))", " (`'cuda:{}'.format(dist.get_rank())`)"),
        ("x.to('cuda:' + str(dist.get_rank()))", " (`'cuda:' + str(dist.get_rank())`)"),
        (
            "x.to(f'cuda:{dist.get_rank()}' if torch.cuda.is_available() else 'cpu')",
            " (`f'cuda:{dist.get_rank()}' if torch.cuda.is_available() el...`)",
        ),
        (
            "at = 'cpu'\n    if x:\n        at = 'cuda:%d' % dist.get_rank()\n    torch.load('x', map_location=at)",
            " (`at`)",
        ),
    ],
)
def test_the_rank_in_the_job_is_no_index_of_a_device(code: str, index: str):
    finding = SNIPPETS.finding(plain(code))
    assert finding.message == (
        f"the global rank is used as a GPU index{index}: on a second node there is no such GPU (with 8 GPUs per node, "
        "rank 8 asks for `cuda:8`)"
    )


@pytest.mark.parametrize(
    ("number", "speaks"),
    [
        ("int(os.environ['RANK'])", True),
        ("int(os.environ['LOCAL_RANK'])", False),
        ("comm.get_rank()", True),
        ("comm.get_local_rank()", False),
    ],
)
def test_a_rank_is_known_where_nothing_else_of_torch_distributed_is_named(number: str, speaks: bool):
    text = (
        f"import os\nimport torch\nfrom deepspeed import comm\n\n\ndef start():\n    torch.cuda.set_device({number})\n"
    )
    assert bool(SNIPPETS.findings(text)) is speaks
    if "comm" not in number:
        assert bool(SNIPPETS.findings(text.replace("from deepspeed import comm\n", ""))) is speaks


@pytest.mark.parametrize(("variable", "speaks"), [("RANK", True), ("LOCAL_RANK", False)])
@pytest.mark.parametrize("condition", ["not dist.is_initialized()", "not dist.is_initialized() and size > 1"])
def test_a_rank_that_is_read_where_the_group_is_started_once(condition: str, variable: str, speaks: bool):
    text = f"""\
import os
import torch
import torch.distributed as dist


def start(size):
    if {condition}:
        rank = int(os.environ["{variable}"])
        torch.accelerator.set_device_index(rank)
        dist.init_process_group("nccl")
"""
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("place", "is_one_node"),
    [
        ('os.environ["MASTER_ADDR"] = "localhost"', True),
        ('os.environ.setdefault("MASTER_ADDR", "127.0.0.1")', True),
        ('dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500")', True),
        ('os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "localhost", "29500"', True),
        ('os.environ["MASTER_ADDR"] = os.environ.get("MASTER_ADDR", "localhost")', False),
        ("os.environ['MASTER_ADDR'] = os.getenv('MASTER_ADDR', '127.0.0.1')", False),
        ('os.environ["MASTER_ADDR"] = "10.0.0.1"', False),
        ('os.environ["MASTER_ADDR"], os.environ["NAME"] = "10.0.0.1", "localhost"', False),
    ],
)
def test_processes_that_only_their_own_machine_can_reach_are_on_one_node(place: str, is_one_node: bool):
    found = SNIPPETS.findings(plain(f"{place}\n    torch.cuda.set_device(dist.get_rank())"))
    assert not found if is_one_node else len(found) == 1


@pytest.mark.parametrize(("made", "speaks"), [("torch.Tensor(x.to(device))", False), ("torch.Tensor([1.0])", True)])
def test_a_tensor_that_is_made_of_another_one_stays_beside_it(made: str, speaks: bool):
    assert bool(SNIPPETS.findings(plain(f"dist.all_reduce({made})"))) is speaks


ON_ONE_NODE = "torchrun --standalone --nproc_per_node 8 job.py"


def findings_of_job(folder: Path, lines: str, launches: str) -> list[Finding]:
    """The findings in a program with these lines, and a script that launches it."""
    main = '\n\nif __name__ == "__main__":\n    reduced(1, None, None)'
    (folder / "job.py").write_text("import os\n" + plain(lines + main))
    (folder / "run.sh").write_text(launches + "\n")
    return api.check(folder, Settings(root=folder, select=("TRL011",)))


@pytest.mark.parametrize(
    ("launches", "speaks"),
    [
        ("torchrun --nnodes=1 --nproc_per_node 8 job.py", False),
        ("torchrun --standalone --nproc_per_node 8 job.py\naccelerate launch --num_machines 1 job.py", False),
        ("torchrun --nproc_per_node 8 job.py", True),
        ("torchrun --nnodes=2 job.py\ntorchrun --nnodes=1 job.py", True),
        ("torchrun --nnodes=${NODES:-1} job.py", True),
        ("torchrun --nnodes=1 other.py", True),
        ("torchrun --master_addr 127.0.0.1 job.py", False),
    ],
)
def test_a_program_whose_launches_say_so_is_on_one_node(launches: str, speaks: bool, tmp_path: Path):
    assert bool(findings_of_job(tmp_path, "torch.cuda.set_device(dist.get_rank())", launches)) is speaks


STARTER = """
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, main, size):
    dist.init_process_group("nccl", init_method="tcp://127.0.0.1:29500", world_size=size, rank=rank)
    main()

def start(main, size):
    mp.spawn(worker, args=(main, size), nprocs=size)
"""
STARTED = """
import torch
import torch.distributed as dist
from starter import start

def main():
    torch.cuda.set_device(dist.get_rank())

if __name__ == "__main__":
    start(main, 8)
"""


@pytest.mark.parametrize(
    ("address", "size", "more", "launch", "speaks"),
    [
        ("tcp://127.0.0.1", "size", "", "", False),
        ("tcp://127.0.0.1", "size", "", "CUDA_VISIBLE_DEVICES=0,1 python job.py", False),
        ("tcp://127.0.0.1", "size", "", "torchrun --nproc_per_node 8 job.py", True),
        ("tcp://10.0.0.1", "size", "", "", True),
        ("tcp://127.0.0.1", "size * num_nodes", "", "", True),
        ("tcp://127.0.0.1", "size", "def other():\n    dist.init_process_group('nccl')\n", "", True),
    ],
)
def test_a_program_that_starts_its_processes_with_another_file_is_on_one_node(
    address: str, size: str, more: str, launch: str, speaks: bool, tmp_path: Path
):
    starter = STARTER.replace("tcp://127.0.0.1", address).replace("world_size=size", f"world_size={size}")
    (tmp_path / "starter.py").write_text(starter)
    (tmp_path / "job.py").write_text(STARTED.replace("if __name__", f"{more}\nif __name__"))
    (tmp_path / "run.sh").write_text(f"{launch}\n")
    assert bool(api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))) is speaks


@pytest.mark.parametrize(("divisor", "speaks"), [("dist.get_world_size()", True), ("torch.cuda.device_count()", False)])
def test_a_rank_modulo_all_processes_is_still_the_rank_in_the_job(divisor: str, speaks: bool, tmp_path: Path):
    lines = f"global SIZE\n    SIZE = {divisor}\n    local = dist.get_rank() % SIZE\n    torch.cuda.set_device(local)"
    assert bool(findings_of_job(tmp_path, lines, ON_ONE_NODE)) is speaks


@pytest.mark.parametrize(("variable", "speaks"), [("LOCAL_RANK", True), ("MODE", False)])
def test_code_that_tells_nodes_apart_is_for_several_however_it_is_launched(variable: str, speaks: bool, tmp_path: Path):
    lines = f"local = int(os.environ[{variable!r}])\n    torch.cuda.set_device(local)\n    tensor.to(dist.get_rank())"
    assert bool(findings_of_job(tmp_path, lines, ON_ONE_NODE)) is speaks


OTHER = "import job\nimport torch.distributed as dist\n\n\ndef launch(ranks):\n"


@pytest.mark.parametrize(
    ("code", "other", "speaks"),
    [
        ("", "", True),
        # Somebody makes the group of a node.
        ("def launch(groups):\n    global _OF_NODE\n    _OF_NODE = groups[0]\n", "", False),
        ("if os.environ.get('NODES'):\n    _OF_NODE = dist.new_group([0, 1])\n", "", False),
        ("", OTHER + "    job._OF_NODE = dist.new_group(ranks)\n", False),
        ("", OTHER + "    setattr(job, '_OF_NODE', dist.new_group(ranks))\n", False),
    ],
)
def test_the_group_of_a_node_that_nobody_makes(code: str, other: str, speaks: bool, tmp_path: Path):
    lines = "import os\nimport torch\nimport torch.distributed as dist\n\n_OF_NODE = None\n" + code
    lines += "def local_rank():\n    return dist.get_rank(group=_OF_NODE)\n\n\ndef init():\n"
    lines += "    dist.init_process_group('nccl')\n    torch.cuda.set_device(local_rank())\n"
    (tmp_path / "job.py").write_text(lines)
    (tmp_path / "launch.py").write_text(other)
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [Path(each.path).name for each in found] == ["job.py"] * speaks


def test_pytest_runs_its_tests_on_one_node(tmp_path: Path):
    for name in ("test_job.py", "job.py"):
        (tmp_path / name).write_text(plain("torch.cuda.set_device(dist.get_rank())"))
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [Path(each.path).name for each in found] == ["job.py"]


@pytest.mark.parametrize(
    "code",
    [
        "torch.cuda.set_device(int(os.environ['LOCAL_RANK']))",
        "torch.cuda.set_device(dist.get_rank(group=group))",
        "torch.cuda.set_device(dist.get_rank(group))",
        "x.to(dist.get_rank() % torch.cuda.device_count())",
        "torch.device('cuda', dist.get_rank() % 8)",
        "print(f'rank {dist.get_rank()}')",
        "return f'rank {dist.get_rank()}'",
        "return dist.get_rank()",
        "rank = dist.get_rank()\n    if rank < torch.cuda.device_count():\n        return f'cuda:{rank}'",
        "return f'cuda:{os.environ[\"LOCAL_RANK\"]}'",
        "x.to(f'part {dist.get_rank()}')",
        "x.to('part %d' % dist.get_rank())",
        "x.to('part-' + str(dist.get_rank()))",
        "x.to('cuda:' + str(dist.get_rank() % 8))",
        "x.to('cuda:%d of %d' % (dist.get_rank(), 8))",
        "x.to('cuda:{}'.format(dist.get_rank() % 8))",
        "torch.load('part-{}'.format(dist.get_rank()), map_location='cpu')",
        "torch.load('x', map_location=f'cuda:{os.environ[\"LOCAL_RANK\"]}')",
        "x[dist.get_rank() * 4 :]",
        "torch.zeros(dist.get_rank())",
        "get_accelerator().device_name(int(os.environ['LOCAL_RANK']))",
        "get_accelerator().device_name()",
    ],
)
def test_other_ranks_and_other_uses_are_silent(code: str):
    assert not SNIPPETS.findings(plain(code))


def test_a_rank_is_one_finding_wherever_it_is_asked_for():
    text = (
        "import torch\nimport torch.distributed as dist\n\n\n"
        "def decode(x):\n    return x.to(device)\n\n\n"
        "dist.init_process_group('nccl')\nrank = dist.get_rank()\ntorch.cuda.set_device(rank)\n"
        "device = f'cuda:{rank}'\nx = torch.ones(1).to(device)\n"
        "y = load(x, device_map={'': device})\ndecode(x)\n"
    )
    assert [len(each.also) for each in SNIPPETS.findings(text)] == [3]
    other = text.replace("f'cuda:{rank}'", "f'cuda:{dist.get_rank()}'")
    assert [len(each.also) for each in SNIPPETS.findings(other)] == [0, 2]


def test_a_device_that_another_function_says_is_found_there():
    text = (
        "from accelerate import Accelerator\n\n\ndef device():\n    index = Accelerator().process_index\n"
        "    return f'cuda:{index}'\n\n\ndef load(model):\n    return model.to(device())\n"
    )
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "index = Accelerator().process_index"
    assert [step.text for step in finding.because] == ["the device is chosen here"]


RANKS = """
import torch
import torch.distributed as dist

NODE = None

def rank():
    return dist.get_rank()

def of_node():
    return dist.get_rank(group=NODE)

def modulo():
    return dist.get_rank() % dist.get_world_size()

def device():
    return f"cuda:{rank()}"
"""


@pytest.mark.parametrize(
    ("used", "place"),
    [
        ("ranks.rank()", ("job.py", 5)),
        ("f'cuda:{ranks.rank()}'", ("job.py", 5)),
        # These are written to choose a device.
        ("ranks.device()", ("ranks.py", 17)),
        ("ranks.modulo()", ("ranks.py", 14)),
        ("ranks.of_node()", ("ranks.py", 11)),
    ],
)
def test_a_function_that_tells_the_rank_is_right_where_it_is_used_as_an_index(
    used: str, place: tuple[str, int], tmp_path: Path
):
    (tmp_path / "ranks.py").write_text(RANKS)
    main = "import ranks, torch\nif ranks.rank() == 0:\n    print(1)\ndef start():\n    torch.ones(1, device={})\n"
    (tmp_path / "job.py").write_text(main.format(used))
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    # A text that is returned is the name of a device, whoever uses it.
    assert {(Path(each.path).name, each.start.line) for each in found} == {place, ("ranks.py", 17)}


def test_a_rank_that_is_kept_is_right_where_it_is_used_as_an_index():
    text = "import torch\nimport torch.distributed as dist\n\nRANK = dist.get_rank()\n\n\n"
    text += "def moved(x):\n    return x.to(RANK)\n"
    assert shown(text, SNIPPETS.finding(text)) == "x.to(RANK)"


ENVIRONMENT = """\
import os
import torch

def numbers():
    local_rank = int(os.getenv("LOCAL_RANK", -1))
    rank = int(os.getenv("RANK", -1))
    return local_rank, rank

"""


def test_a_function_that_gives_several_numbers_is_right_where_they_are_taken_for_each_other():
    text = ENVIRONMENT + "def start():\n    rank, local_rank = numbers()\n    torch.cuda.set_device(local_rank)\n"
    finding = SNIPPETS.finding(text)
    assert shown(text, finding) == "torch.cuda.set_device(local_rank)"
    assert next(step.text for step in finding.because) == "`RANK` is the number of this rank"
    assert not SNIPPETS.findings(text.replace("rank, local_rank =", "local_rank, rank ="))


@pytest.mark.parametrize(
    ("body", "speaks"),
    [
        ("args.rank, args.gpu = numbers()", True),
        ("args.gpu, args.rank = numbers()", False),
        ("args.gpu = int(os.environ['RANK'])", True),
        ("args.gpu = int(os.environ['RANK'])\n    if args.gpu == -1:\n        return", True),
        ("args.gpu = int(os.environ['RANK'])\n    args = job(args)", False),
        ("args.gpu = int(os.environ['RANK'])\n    args.gpu = job(args)", False),
        ("args.gpu = int(os.environ['RANK']) % torch.cuda.device_count()", False),
        ("other.gpu = int(os.environ['RANK'])", False),
    ],
)
def test_the_rank_is_known_in_the_field_that_it_is_put_into(body: str, speaks: bool):
    text = f"{ENVIRONMENT}def start(args, other):\n    {body}\n    torch.cuda.set_device(args.gpu)\n"
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("code", "speaks"),
    [
        ("dist.all_reduce(torch.zeros(1))", True),
        ("dist.all_reduce(torch.zeros(1), group=group)", False),
        ("dist.all_reduce(torch.zeros(1), dist.ReduceOp.SUM, group)", False),
        ("dist.all_reduce(torch.zeros(1), group=None)", True),
        ("dist.all_reduce(torch.zeros(1), group=dist.group.WORLD)", True),
        ("dist.all_reduce(torch.zeros(1), group=dist.new_group([0, 1]))", True),
        ("dist.all_reduce(torch.zeros(1), group=dist.new_group(backend=name))", False),
        ("dist.all_gather_object([None], torch.zeros(1))", False),
        ("dist.all_reduce(torch.zeros(1, device=device))", False),
    ],
)
def test_collectives_of_torch(code: str, speaks: bool):
    assert bool(SNIPPETS.findings(plain(code))) is speaks
    assert not SNIPPETS.findings(plain(code).replace("nccl", "gloo"))
    assert not SNIPPETS.findings(plain(code).replace('dist.init_process_group("nccl")', ""))
    assert not SNIPPETS.findings(plain(code).replace('("nccl")', "()"))
    assert not SNIPPETS.findings(plain(code).replace('("nccl")', "(os.environ['BACKEND'])"))


@pytest.mark.parametrize(
    ("option", "speaks"),
    [
        ('"--dist-backend", default="nccl", type=str', True),
        ('"-b", "--dist_backend", type=str, default="NCCL"', True),
        ('"--dist-backend", default="gloo"', False),
        ('"--dist-backend"', False),
        ('"--backend", default="nccl"', False),
        ('"--dist-backend", default=os.environ["BACKEND"]', False),
    ],
)
def test_a_backend_that_is_an_option_is_the_default_of_it(option: str, speaks: bool):
    start = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument({option})\n"
    start += "args = parser.parse_args()\ndist.init_process_group(backend=args.dist_backend)"
    text = plain("dist.all_reduce(torch.zeros(1))").replace('dist.init_process_group("nccl")', start)
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("backend", "speaks"),
    [
        ('"nccl" if torch.cuda.is_available() else "gloo"', True),
        ('"gloo" if not torch.cuda.is_available() else "nccl"', True),
        ('"gloo" if torch.cuda.is_available() else "nccl"', False),
        # A choice that a machine with GPUs leaves open.
        ('"nccl" if torch.cuda.is_available() and os.environ["FAST"] else "gloo"', False),
        ('"nccl" if os.environ["FAST"] else "gloo"', False),
    ],
)
def test_a_backend_that_is_nccl_where_there_are_gpus_takes_tensors_on_gpus(backend: str, speaks: bool):
    text = plain("dist.all_reduce(torch.zeros(1))")
    assert bool(SNIPPETS.findings(text.replace('"nccl"', backend))) is speaks
    named = text.replace("dist.init_process_group", f"backend = {backend}\ndist.init_process_group", 1)
    assert bool(SNIPPETS.findings(named.replace('("nccl")', "(backend=backend)"))) is speaks


@pytest.mark.parametrize("start", ['("nccl")', '("gloo")', "()"])
def test_a_group_of_its_own_has_a_backend_of_its_own(start: str):
    code = "dist.all_reduce(torch.zeros(1), group=dist.new_group([0, 1], backend='nccl'))"
    assert SNIPPETS.findings(plain(code).replace('("nccl")', start))
    assert not SNIPPETS.findings(plain(code.replace("nccl", "gloo")).replace('("nccl")', start))


@pytest.mark.parametrize(
    ("line", "speaks"),
    [
        ("from accelerate import PartialState", True),
        ("from transformers import Trainer", True),
        ("import deepspeed; deepspeed.init_distributed()", True),
        ("import deepspeed; deepspeed.init_distributed('gloo')", False),
        ("from transformers import AutoModel", False),
        ("print('deepspeed, nccl, Trainer')", False),
    ],
)
def test_collectives_of_torch_in_a_program_that_a_library_starts(line: str, speaks: bool):
    text = plain("dist.all_reduce(torch.zeros(1))").replace('dist.init_process_group("nccl")', line)
    assert bool(SNIPPETS.findings(text)) is speaks


@pytest.mark.parametrize(
    ("outputs", "speaks"),
    [
        ("[torch.zeros(2) for _ in range(dist.get_world_size())]", True),
        ("[torch.zeros(2, device=device) for _ in range(dist.get_world_size())]", False),
        ("[torch.zeros_like(x) for _ in range(dist.get_world_size())]", False),
        ("somebodys(x)", False),
    ],
)
def test_what_a_collective_fills_is_on_the_device_too(outputs: str, speaks: bool):
    code = f"outputs = {outputs}\n    dist.all_gather(outputs, x.to(device))"
    assert bool(SNIPPETS.findings(plain(code))) is speaks


HELPER = """\
import torch
import torch.distributed as dist

def total(value):
    tensor = torch.tensor(value)
    dist.all_reduce(tensor)
    return tensor.item()
"""
STARTS = """\
import torch.distributed as dist
from transformers import Trainer, TrainingArguments
from helper import total

def main(args):
    {}
    print(total(1.0))

if __name__ == "__main__":
    main(parsed())
"""


@pytest.mark.parametrize(
    ("start", "speaks"),
    [
        ('dist.init_process_group("nccl")', True),
        ("trainer = Trainer(model=args.model)", True),
        ('dist.init_process_group("gloo")', False),
        ("dist.init_process_group(args.backend)", False),
        ("dist.init_process_group()", False),
        ("trainer = Trainer(args=TrainingArguments(use_cpu=True))", False),
        ("pass", False),
    ],
)
def test_a_helper_uses_the_group_that_the_program_has_started(start: str, speaks: bool, tmp_path: Path):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(STARTS.format(start))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [(Path(each.path).name, each.start.line) for each in findings] == [("helper.py", 6)] * speaks


STARTS_OTHERS = """\
import torch.distributed as dist
import torch.multiprocessing as mp
from helper import total

def work(rank, backend):
    dist.init_process_group({}, rank=rank, world_size=2)
    print(total(1.0))

def other(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)

if __name__ == "__main__":
    mp.spawn({}, args=("nccl",), nprocs=2)
"""


@pytest.mark.parametrize(
    ("backend", "function", "speaks"),
    [
        ('"nccl"', "work", True),
        ("backend", "work", True),
        ('"gloo"', "work", False),
        ("unknown()", "work", False),
        ('"nccl"', "unknown()", False),
    ],
)
def test_a_helper_uses_the_group_that_each_process_of_a_program_starts(
    backend: str, function: str, speaks: bool, tmp_path: Path
):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(STARTS_OTHERS.format(backend, function))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [(Path(each.path).name, each.start.line) for each in findings] == [("helper.py", 6)] * speaks


SUMS = """\
import torch
import torch.distributed as dist

def summed(x):
    dist.all_reduce(x)
    return x

if __name__ == "__main__":
    dist.init_process_group("nccl")
    summed(torch.ones(1, device="cuda"))
"""
CALLS = """\
import torch
import torch.distributed as dist
from sums import summed

def worker(rank):
    {}
    summed(torch.tensor(float(rank)))
"""


@pytest.mark.parametrize(
    ("name", "start", "speaks"),
    [
        ("verify.py", 'dist.init_process_group("gloo", rank=rank)', False),
        ("verify.py", 'dist.init_process_group("nccl", rank=rank)', True),
        ("verify.py", "pass", True),
        ("test_sums.py", 'dist.init_process_group("gloo", rank=rank)', False),
        ("test_sums.py", "pass", False),
    ],
)
def test_a_tensor_is_of_the_group_of_its_own_program(name: str, start: str, speaks: bool, tmp_path: Path):
    (tmp_path / "sums.py").write_text(SUMS)
    (tmp_path / name).write_text(CALLS.format(start))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [(Path(each.path).name, each.start.line) for each in findings] == [("sums.py", 5)] * speaks


def test_a_test_on_several_processes_is_a_program_of_its_own(tmp_path: Path):
    (tmp_path / "test_sums.py").write_text(SUMS.replace(', device="cuda"', ""))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [each.start.line for each in findings] == [5]


RUN_BY = """\
import torch
import transformers
from trl import SFTTrainer
from helper import total

{made}

class Own({base}):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss, outputs = super().compute_loss(model, inputs, True, num_items_in_batch)
        self.log({{"largest": total(outputs.logits.max().item())}})
        return loss
"""


@pytest.mark.parametrize(
    ("base", "made", "speaks"),
    [
        ("SFTTrainer", "", True),
        ("transformers.Trainer", "", True),
        ("object", "", False),
        ("SFTTrainer", "args = transformers.TrainingArguments(use_cpu=True)", False),
        ("SFTTrainer", "def prepare():\n    torch.set_default_device('cuda')", False),
    ],
)
def test_a_helper_uses_the_group_of_the_trainer_that_calls_it(base: str, made: str, speaks: bool, tmp_path: Path):
    (tmp_path / "helper.py").write_text(HELPER)
    (tmp_path / "own.py").write_text(RUN_BY.format(base=base, made=made))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [(Path(each.path).name, each.start.line) for each in findings] == [("helper.py", 6)] * speaks


HOOKS = """\
import torch
import torch.distributed as dist
from {library} import {base}

def largest(step):
    step = torch.tensor(int(step){device})
    dist.all_reduce(step, op=dist.ReduceOp.MAX)
    return step.item()

class Stops({base}):
    def on_step_end(self, args, state, control, **kwargs):
        control.should_training_stop = largest(state.global_step) > 100
"""


@pytest.mark.parametrize(
    ("library", "base", "device", "speaks"),
    [
        ("transformers", "TrainerCallback", "", True),
        ("transformers", "TrainerCallback", ", device='cuda'", False),
        ("lightning", "LightningModule", "", True),
        ("pytorch_lightning", "Callback", "", True),
        ("lightning.pytorch", "LightningModule", ", device='cuda'", False),
        ("lightning", "LightningDataModule", "", False),
        ("somewhere", "TrainerCallback", "", False),
    ],
)
def test_callbacks_use_the_group_of_the_trainer_that_runs_them(
    library: str, base: str, device: str, speaks: bool, tmp_path: Path
):
    (tmp_path / "hooks.py").write_text(HOOKS.format(library=library, base=base, device=device))
    findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [each.start.line for each in findings] == [7] * speaks


# --- the fix --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("x = accelerator.gather(torch.tensor([1]))",
         "x = accelerator.gather(torch.tensor([1], device=accelerator.device))"),
        ("x = accelerator.gather(torch.ones(1, device='cpu')).sum()",
         "x = accelerator.gather(torch.ones(1, device=accelerator.device)).sum()"),
        ("x = accelerator.gather(loss.cpu()).numpy()", "x = accelerator.gather(loss).cpu().numpy()"),
        ("x = torch.ones(1)\ny = accelerator.reduce(x, 'sum')",
         "x = torch.ones(1)\ny = accelerator.reduce(x.to(accelerator.device), 'sum')"),
        ("x = accelerator.gather(torch.tensor(\n    [1],\n    dtype=torch.long,\n))",
         "x = accelerator.gather(torch.tensor(\n    [1],\n    dtype=torch.long,\n    device=accelerator.device,\n))"),
        ("x = accelerator.gather(torch.tensor(\n    [1],\n))",
         "x = accelerator.gather(torch.tensor(\n    [1],\n    device=accelerator.device,\n))"),
        ("x = accelerator.gather(torch.tensor(\n    [1],\n    dtype=torch.long\n))",
         "x = accelerator.gather(torch.tensor(\n    [1],\n    dtype=torch.long,\n    device=accelerator.device\n))"),
        ("x = accelerator.gather(torch.tensor(\n    [1],  # one\n    dtype=torch.long,  # whole\n))",
         "x = accelerator.gather(torch.tensor(\n    [1],  # one\n    dtype=torch.long,  # whole\n"
         "    device=accelerator.device,\n))"),
        ("x = accelerator.gather(torch.tensor([1],\n    dtype=torch.long  # whole\n))",
         "x = accelerator.gather(torch.tensor([1],\n    dtype=torch.long,  # whole\n    device=accelerator.device\n))"),
    ],
)  # fmt: skip
def test_the_tensor_is_made_or_moved_where_it_is_needed(broken: str, mended: str):
    assert SNIPPETS.finding(loop(broken)).fix.applicability is SAFE
    assert SNIPPETS.mended(loop(broken)) == loop(mended)


def test_where_it_is_not_known_that_all_ranks_get_there_the_fix_is_unsafe():
    text = loop("if something:\n    accelerator.gather(torch.ones(1))")
    assert SNIPPETS.finding(text).fix.applicability is UNSAFE


@pytest.mark.parametrize(
    "code",
    [
        "accelerator.gather(torch.ones(1)).numpy()",
        "accelerator.gather({'a': torch.ones(1)})",
        "if accelerator.is_main_process:\n    accelerator.gather(torch.ones(1))",
    ],
)
def test_elsewhere_there_is_a_hint(code: str):
    text = loop(code)
    assert SNIPPETS.finding(text).fix.applicability is DISPLAY
    assert SNIPPETS.mended(text, unsafe=True) == text


def test_a_rank_that_a_module_computes_is_reported_where_it_becomes_an_index(tmp_path: Path):
    (tmp_path / "envs.py").write_text(
        'import os\nKNOWN = ("RANK", "LOCAL_RANK")\ndef __getattr__(name):\n    return int(os.environ[name])\n'
    )
    program = "import torch\nimport torch.distributed as dist\nimport envs\ntorch.cuda.set_device(envs.{})\n"
    for name in ("RANK", "LOCAL_RANK"):
        (tmp_path / f"{name.lower()}.py").write_text(program.format(name))
    found = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
    assert [(Path(each.path).name, each.start.line) for each in found] == [("rank.py", 4)]


MAKES_MODEL = """
import torch
import torch.distributed as dist
from net import Net

dist.init_process_group("nccl")
with torch.device("cuda"):
    net = Net().to(torch.bfloat16)
dist.all_reduce(torch.zeros(1))
net.reduce()
"""
NET = """
import torch
import torch.distributed as dist

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.total = torch.zeros(1)

    def reduce(self):
        dist.all_reduce(self.total)
"""


def test_a_model_is_made_on_another_device_and_nothing_else(tmp_path: Path):
    """The tensors that the class of the model makes are there, too."""
    (tmp_path / "train.py").write_text(MAKES_MODEL)
    (tmp_path / "net.py").write_text(NET)

    def found() -> list[tuple[str, int]]:
        findings = api.check(tmp_path, Settings(root=tmp_path, select=("TRL011",)))
        return [(Path(each.path).name, each.start.line) for each in findings]

    assert found() == [("train.py", 9)]
    (tmp_path / "train.py").write_text(MAKES_MODEL.replace("net = ", "zero = torch.zeros(1)\n    net = "))
    assert found() == []


def test_a_tensor_stays_on_its_device_where_a_collective_fills_it():
    """In each iteration but the first it has been reduced before."""
    reduces = "for each in x:\n        {}\n        dist.all_reduce(total)\n        total.zero_()"
    assert SNIPPETS.finding(plain("total = torch.zeros(1)\n    " + reduces.format("total += each.detach().cpu()")))
    assert not SNIPPETS.findings(
        plain("total = torch.zeros(1, device=device)\n    " + reduces.format("total += each.detach()"))
    )
    moved = "total = torch.zeros(1).to(device)\n    dist.all_reduce(total)\n    dist.all_reduce(total)"
    assert not SNIPPETS.findings(plain(moved))
