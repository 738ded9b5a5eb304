"""The help of every rule, in the terms of the code: a Trainer, a callback, an Accelerator loop, plain torch."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent, indent

import pytest
from snippets import Snippets, shown

from trl_lint import api
from trl_lint.settings import Settings

PLACES = {
    "trainer": """\
import os
import torch
import wandb
from transformers import Trainer, TrainerCallback


class MyTrainer(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = model(**inputs).loss
        mask = inputs["attention_mask"]
{body}
        return super().training_step(model, inputs)
""",
    "callback": """\
import os
import torch
import torch.distributed as dist
import wandb
from transformers import Trainer, TrainerCallback


class MyCallback(TrainerCallback):
    def on_step_end(self, args, its_state, control, model=None, train_dataloader=None, **kwargs):
        for batch in train_dataloader:
            mask = batch["attention_mask"]
            loss = mask.float().mean()
{body}
""",
    "loop": """\
import os
import torch
import wandb
from accelerate import Accelerator
from torch.nn.utils.rnn import pad_sequence


def train(model, optimizer, loader):
    acc = Accelerator()
    model, optimizer, loader = acc.prepare(model, optimizer, loader)
    for batch in loader:
        loss = model(**batch).loss
        mask = batch["attention_mask"]
{body}
""",
    "torch": """\
import os
import torch
import torch.distributed as dist
import wandb
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, DistributedSampler


def train(model, data):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        loss = model(**batch).loss
        mask = batch["attention_mask"]
{body}
""",
}
# Words that belong to other kinds of code.
FOREIGN = {
    "lightning": ("accelerat", "PartialState", "state.", "dist.", "acc."),
    "trainer": ("dist.", "state.", "acc."),
    "callback": ("self.accelerator", "acc.", "accelerator.", "process_zero()"),
    "loop": ("self.", "state.", "dist."),
    "torch": ("accelerat", "PartialState", "self.", "state."),
}

PLACES["lightning"] = """\
import os
import torch
import torch.distributed as dist
import wandb
import lightning as L


class Net(L.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = self.model(**batch).loss
        mask = batch["attention_mask"]
{body}
        return loss
"""


def placed(place: str, body: str) -> str:
    depth = {"callback": 12}.get(place, 8)
    text = PLACES[place].format(body=indent(dedent(body).strip("\n"), " " * depth))
    ast.parse(text)
    return text


def help_of(code: str, place: str, body: str) -> str:
    findings = Snippets(code).findings(placed(place, body))
    assert findings
    return findings[0].help


CASES = [
    ("TRL003", "wandb.log({'loss': loss.item()})", {
        "trainer": "`self.accelerator.gather(value).mean()`, then `.item()`",
        "callback": "`accelerate.utils.gather(value).mean()`",
        "loop": "`acc.gather(value).mean()`",
        "lightning": "`self.all_gather(value).mean()`, then `.item()`",
        "torch": "`dist.all_reduce(value)`, then `value.item() / dist.get_world_size()`",
    }),
    ("TRL005", "dist.all_reduce(mask)", {"callback": "accelerate.utils.pad", "torch": "dist.ReduceOp.MAX"}),
    ("TRL005", "import torch.distributed as d\nd.all_reduce(mask)",
     {"trainer": "`self.accelerator.pad", "loop": "`acc.pad"}),
    ("TRL008", "torch.save(3, 'x.pt')", {
        "trainer": "`if self.is_world_process_zero():`",
        "callback": "`if its_state.is_world_process_zero:`",
        "loop": "`if acc.is_main_process:`",
        "lightning": "`if self.trainer.is_global_zero:`",
        "torch": "`if dist.get_rank() == 0:`",
    }),
    ("TRL008", "os.makedirs('x')", dict.fromkeys(PLACES, "`exist_ok=True`")),
    ("TRL008", "os.mkdir('x')", dict.fromkeys(PLACES, "`os.makedirs(…, exist_ok=True)`")),
    ("TRL002", "model.config.use_cache", {
        "trainer": "`self.accelerator.unwrap_model(model).config`",
        "loop": "`acc.unwrap_model(model).config`",
    }),
    ("TRL002", "x = model.my_setting", {
        "trainer": "`self.accelerator.unwrap_model(model).my_setting`",
        "torch": "`model.module.my_setting`",
    }),
    ("TRL010", "model.generate(mask)", {
        "trainer": "`self.accelerator.unwrap_model(model).generate(…)`",
        "loop": "`acc.unwrap_model(model).generate(…)`",
        "torch": "`model.module.generate(…)`",
    }),
    ("TRL010", "import trl\nmodel.generate(mask)", {
        "trainer": "`with unwrap_model_for_generation(model, self.accelerator)",
        "loop": "`with unwrap_model_for_generation(model, acc)",
        "torch": "`model.module.generate(…)`",
    }),
    ("TRL011", "x = torch.zeros(3)\nimport torch.distributed as d\nd.all_reduce(x)", {
        "trainer": "`self.accelerator.device`", "loop": "on the accelerator's device", "torch": "of this process",
    }),
    ("TRL006", "import torch.distributed as d\nif mask.any():\n    d.all_reduce(loss)", {
        "trainer": "gather, reduce or broadcast", "callback": "gather, reduce or broadcast",
        "loop": "gather, reduce or broadcast", "torch": "reduce or broadcast it: `dist.all_reduce`, `dist.broadcast`",
    }),
]  # fmt: skip


@pytest.mark.parametrize(
    ("code", "body", "place", "words"),
    [(code, body, place, words) for code, body, expected in CASES for place, words in expected.items()],
)
def test_the_help_speaks_the_place_s_language(code: str, body: str, place: str, words: str):
    text = help_of(code, place, body)
    assert words in text
    assert not [each for each in FOREIGN[place] if each in text], text


IN_CALLBACK = """
import torch
from lightning.pytorch.callbacks import Callback

class Keeps(Callback):
    def on_train_epoch_end(self, trainer, pl_module):
        torch.save(pl_module.state_dict(), "x.pt")
"""


def test_a_callback_of_lightning_gets_the_trainer():
    assert Snippets("TRL008").finding(IN_CALLBACK).help.endswith("`if trainer.is_global_zero:`")


HELPERS = {
    "helpers.py": "def size(net):\n    net.get_input_embeddings()\n",
    "main.py": """\
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from helpers import size

dist.init_process_group("nccl")
size(DistributedDataParallel(build()))
""",
    "with_accelerate.py": """\
from accelerate import Accelerator
from helpers import size

def main(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    return size(model)
""",
}


@pytest.mark.parametrize(
    ("caller", "words"),
    [
        ("main.py", "`net.module.get_input_embeddings(...)`"),
        ("with_accelerate.py", "`accelerator.unwrap_model(net).get_input_embeddings(...)`"),
    ],
)
def test_a_helper_is_told_in_the_terms_of_the_file_that_calls_it(tmp_path: Path, caller: str, words: str):
    for name in ("helpers.py", caller):
        (tmp_path / name).write_text(HELPERS[name], encoding="utf-8")
    (finding,) = api.check(tmp_path, Settings(root=tmp_path, select=("TRL002",)))
    assert words in finding.help


SCENES = {
    "base.py": """\
class Scenes:
    def __init__(self, name):
        with open(f"cache/{name}.txt", "w") as file:
            file.write(name)
""",
    "small.py": """\
from base import Scenes

class Small(Scenes):
    def __init__(self):
        super().__init__("small")
""",
}
STARTS = {
    "torch": "import torch.distributed as dist\nimport torch.multiprocessing as mp\n",
    "accelerate": "import torch.distributed as dist\nimport torch.multiprocessing as mp\nimport accelerate\n",
}


@pytest.mark.parametrize(
    ("start", "words"),
    [("torch", "`if torch.distributed.get_rank() == 0:`"), ("accelerate", "`if PartialState().is_main_process:`")],
)
def test_a_helper_that_no_caller_shows_is_told_in_the_terms_of_the_project(tmp_path: Path, start: str, words: str):
    program = """
from small import Small

def train(rank):
    dist.init_process_group("gloo", rank=rank, world_size=2)
    Small()

mp.spawn(train, nprocs=2)
"""
    for name, text in {**SCENES, "train.py": STARTS[start] + program}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (finding,) = api.check(tmp_path, Settings(root=tmp_path, select=("TRL008",)))
    assert finding.path.endswith("base.py")
    assert words in finding.help


STARTED = """\
import os
import torch.distributed as dist
import wandb

def set_up(args):
    if args.distributed:
        dist.init_process_group("nccl")

def report(args):
    wandb.init(project=args.name)

def main(args):
{steps}

main(read())
"""


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ("report(args)\nset_up(args)", '`if int(os.environ.get("RANK", 0)) == 0:`'),
        ('report(args)\ndist.init_process_group("nccl")', '`if int(os.environ.get("RANK", 0)) == 0:`'),
        ("wandb.init()\nset_up(args)", '`if int(os.environ.get("RANK", 0)) == 0:`'),
        ("set_up(args)\nreport(args)", "`if dist.get_rank() == 0:`"),
        ("if args.first:\n    set_up(args)\nwandb.init()\nset_up(args)", "`if dist.get_rank() == 0:`"),
        ("report(args)\nset_up(args)\ntorch.multiprocessing.spawn(step)", "`if dist.get_rank() == 0:`"),
        ("main_process = args.rank == 0\nif main_process: print(1)\nwandb.init()\nset_up(args)", "`if main_process:`"),
    ],
)
def test_torch_is_not_asked_for_the_rank_before_there_is_a_group(steps: str, words: str):
    found = Snippets("TRL008").findings(STARTED.format(steps=indent(steps, "    ")))
    assert [each.help for each in found if "wandb" in each.message] == [f"do it on the main process only: {words}"]


CAUGHT = """\
try:
    loss = model(**batch).loss
    acc.backward(loss)
except RuntimeError:
    print("out of memory")
    continue
"""


def test_of_a_step_that_fails_the_chain_says_where_the_others_call_it():
    finding = Snippets("TRL006").finding(placed("loop", CAUGHT))
    assert finding.message.startswith("ranks where the `try` fails skip `backward`")
    assert [each.text for each in finding.because][-1] == "the other ranks call it here"


def test_what_is_downloaded_is_waited_for():
    text = placed("torch", "import gdown\ngdown.download(url, 'x.zip')")
    assert Snippets("TRL008").finding(text).help.startswith("let the main process do it first, and the others wait")


def test_what_is_used_later_is_used_where_it_is_made():
    text = placed("torch", "run = wandb.init(project='x')\nrun.log({'x': 3})")
    helps = [each.help for each in Snippets("TRL008").findings(text)]
    assert "do it, and use its result, on the main process only: `if dist.get_rank() == 0:`" in helps


LOGGED_ELSEWHERE = """\
import wandb
from accelerate import Accelerator

def train(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        wandb.log(step(model, batch))

def step(model, batch):
    loss = model(**batch).loss
    return {"loss": loss.item()}
"""


def test_a_metric_that_another_function_logs_is_marked_whole_and_says_where():
    finding = Snippets("TRL003").finding(LOGGED_ELSEWHERE)
    assert shown(LOGGED_ELSEWHERE, finding) == 'return {"loss": loss.item()}'
    last = finding.because[-1]
    assert (last.text, last.start.line) == ("it is logged here", 8)


IN_TORCH = """
import torch.distributed as dist
from datasets import load_dataset

dist.init_process_group("nccl")
dataset = load_dataset("a/b")
dataset = dataset.map(tokenize)
"""


def test_who_goes_first_is_said_in_torch_s_terms():
    finding = Snippets("TRL012").finding(IN_TORCH)
    assert "`if dist.get_rank() > 0: dist.barrier()`" in finding.help
    longer = IN_TORCH.replace("import torch.distributed as dist", "import torch.distributed").replace(
        "dist.init", "torch.distributed.init"
    )
    assert "`if torch.distributed.get_rank() > 0: " in Snippets("TRL012").finding(longer).help


@pytest.mark.parametrize(
    ("use", "words"),
    [
        ("x = acc.gather(len(mask))[0]", "`.tolist()`"),
        ("x = sum(acc.gather(len(mask)))", "`.tolist()`"),
        ("x = acc.gather(loss.item())", "`.item()` last"),
    ],
)
def test_where_a_list_is_wanted_the_help_says_so(use: str, words: str):
    assert words in help_of("TRL001", "loop", use)


def test_what_is_reduced_in_place_is_a_tensor_before():
    text = help_of("TRL001", "torch", "dist.all_reduce(loss.item())")
    assert text.startswith("put it into a tensor on the GPU of this process")


# --- ranks that diverge: which of them, where, and how to fix it ---------------------------------------------

DIVERGING = [
    ("if mask.any():\n    continue\nacc.gather(loss)", "continue",
     "ranks where `mask.any()` is true `continue` here and do not reach `gather`", "call it before ranks leave, or"),
    ("if mask.any():\n    if unknown():\n        break\nacc.gather(loss)", "break",
     "ranks where `mask.any()` is true may `break` here and not reach `gather`", "call it before ranks leave, or let"),
    ("if mask.any():\n    pass\nelse:\n    return 3\nacc.gather(loss)", "return",
     "ranks where `mask.any()` is false `return` here and do not reach `gather`", "call it before ranks leave, or let"),
    ("if mask.any():\n    continue\nmodel(**batch)", "continue",
     "ranks where `mask.any()` is true `continue` here and do not reach the forward pass of a wrapped model",
     "let the ranks agree on the condition first"),
    ("acc.gather(loss)\nif mask.any():\n    continue\nif unknown():\n    break", "continue",
     "ranks where `mask.any()` is true `continue` here, past an exit from the loop, and reach the forward pass of a "
     "wrapped model once more: with several processes they wait for the others",
     "let the ranks agree on the condition first"),
    ("try:\n    x = int(loss)\nexcept ValueError:\n    continue\nacc.gather(loss)", "continue",
     "ranks where the `try` fails `continue` here and do not reach `gather`", "let all ranks skip the step"),
    ("try:\n    x = int(loss)\nexcept ValueError:\n    acc.gather(loss)", "acc.gather(loss)",
     "only ranks where the `try` fails reach `gather`", "call it after the `try`, on every rank"),
    ("if mask.any():\n    acc.gather(loss)", "acc.gather(loss)",
     "only ranks where `mask.any()` is true reach `gather`", "call it on every rank, and use its result inside"),
    ("x = acc.gather(loss) if mask.any() else loss", "acc.gather(loss)",
     "only ranks where `mask.any()` is true reach `gather`", "call it on every rank, and use its result inside"),
    ("x = loss if mask.any() else acc.gather(loss)", "acc.gather(loss)",
     "only ranks where `mask.any()` is false reach `gather`", "call it on every rank, and use its result inside"),
    ("x = mask.any() or acc.gather(loss)", "acc.gather(loss)",
     "only ranks where `mask.any()` is false reach `gather`", "call it on every rank, and use its result inside"),
    ("while mask.sum() > 3:\n    acc.gather(loss)", "acc.gather(loss)",
     "`gather` is in a loop with `mask.sum() > 3`, which runs a different number of times on each rank",
     "let the ranks agree on the number of iterations first"),
    ("for each in mask[mask > 3]:\n    acc.gather(loss)", "acc.gather(loss)",
     "`gather` is in a loop over `mask[mask > 3]`, which runs a different number of times on each rank",
     "let the ranks agree on the number of iterations first"),
    ("with acc.main_process_first():\n    acc.gather(loss)", "acc.gather(loss)",
     "`gather` waits for all ranks, but they call it one after the other", "call it after the `with` block"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "place", "says", "helps"), DIVERGING)
def test_who_is_missing_is_said_where_it_is_decided(body: str, place: str, says: str, helps: str):
    text = placed("loop", body)
    finding = Snippets("TRL006").finding(text)
    assert shown(text, finding) == place
    assert finding.message.startswith(says)
    assert finding.help.startswith(helps)
    assert finding.branches or place not in ("break", "continue", "return")


HELPS = [
    ("TRL006", "if mask.any():\n    acc.backward(loss)", "let the ranks agree on the condition first"),
    ("TRL006", "if acc.is_main_process:\n    acc.backward(loss)", "call it on every rank, outside the condition"),
    ("TRL006", "if acc.is_main_process:\n    with torch.no_grad():\n        model(**batch)",
     "run it on every rank, or run the bare model on one"),
    ("TRL006", "if acc.is_main_process:\n    model(**batch)", "run it on every rank"),
]  # fmt: skip


@pytest.mark.parametrize(("code", "body", "helps"), HELPS)
def test_what_is_called_has_a_help_of_its_own(code: str, body: str, helps: str):
    found = [each for each in Snippets(code).findings(placed("loop", body))]
    assert [each.help for each in found if each.help.startswith(helps)]
    assert helps != "run it on every rank" or found[0].help == helps


def test_the_accelerator_of_a_log_is_named_where_the_metric_is_built_elsewhere():
    text = """
from accelerate import Accelerator

class Loop:
    def __init__(self, model, loader):
        self.acc = Accelerator()
        self.model, self.loader = self.acc.prepare(model, loader)

    def log(self, **values):
        self.acc.log(values)

    def run(self):
        for batch in self.loader:
            self.log(loss=self.model(**batch).loss.item())
"""
    found = Snippets("TRL003").findings(text)
    assert [each.help for each in found] == [
        "gather the value over the ranks first, as a tensor: `self.acc.gather(value).mean()`, then `.item()`"
    ]


def test_an_accelerator_of_another_name_is_called_by_it():
    text = """
from accelerate import Accelerator
from torch import nn

class Loop:
    def __init__(self, model: nn.Module):
        self.fabric = Accelerator()
        self.model = self.fabric.prepare(model)

    def step(self):
        return self.model.config.depth
"""
    finding = Snippets("TRL002").finding(text)
    assert "`self.fabric.unwrap_model(self.model).config`" in finding.help
    assert "self.fabric.unwrap_model(self.model).config.depth" in Snippets("TRL002").mended(text)


def test_a_source_of_several_lines_is_shown_without_their_ends():
    body = "if torch.sum(\n    mask,\n) > 3:\n    acc.gather(loss)"
    assert "`torch.sum(mask) > 3`" in Snippets("TRL006").finding(placed("loop", body)).message


# --- the name of what a finding is about ---------------------------------------------------------------------

NAMED = [
    ("TRL001", "x = acc.gather(loss.item())", "a Python number (`loss.item()`)", ""),
    ("TRL002", "student = model\nx = student.config.use_cache", "is read from `student`", "unwrap_model(student)."),
    ("TRL009", "bare = acc.unwrap_model(model)\nacc.backward(bare(**batch).loss)", "`bare` is the module inside", ""),
    ("TRL010", "student = model\nstudent.generate(mask)", "is called on `student`", "unwrap_model(student).generate("),
]  # fmt: skip


@pytest.mark.parametrize(("code", "body", "says", "helps"), NAMED)
def test_what_a_finding_is_about_has_the_name_that_it_has_there(code: str, body: str, says: str, helps: str):
    findings = Snippets(code).findings(placed("loop", body))
    assert findings and says in findings[0].message
    assert helps in findings[0].help


def test_a_fix_says_by_which_conditions_it_is_not_safe():
    text = placed("loop", "if mask.any():\n    if unknown():\n        continue\nx = acc.gather(loss.item())")
    fix = Snippets("TRL001").finding(text).fix
    assert fix is not None and fix.reason == "some ranks may not get here"
    assert [(each.text, each.start.line) for each in fix.conditions] == [("`mask.any()` differs between ranks", 14)]


def test_a_fabric_reduces_what_it_logs():
    text = """
import lightning as L

def main(net, rows):
    fabric = L.Fabric(devices=2)
    loader = fabric.setup_dataloaders(rows)
    for batch in loader:
        fabric.log("accuracy", net(batch).float().mean().item())
"""
    finding = Snippets("TRL003").finding(text)
    assert '`fabric.all_reduce(value, reduce_op="mean")`' in finding.help
