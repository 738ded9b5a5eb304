"""TRL008 in code without an Accelerator: the guard is the test of the rank that the code has, in its words."""

from __future__ import annotations

from collections import Counter

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")
TORCH_NAMES = ("dist", "torch.distributed")
HEAD = """\
import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler

def is_main_process():
    return not dist.is_initialized() or dist.get_rank() == 0

def train(args, model, data, path):
    dist.init_process_group("nccl")
    model = DistributedDataParallel(model)
    for batch in DataLoader(data, sampler=DistributedSampler(data)):
        model(batch).mean().backward()
"""


# How torch is asked where the code has no test that can be asked.
OF_TORCH = ("dist.get_rank() == 0", *(f"not {name}.is_initialized() or {name}.get_rank() == 0" for name in TORCH_NAMES))


def guards(text: str) -> list[str]:
    """The guards in the words of the text that the fixes insert."""
    after = Counter(line.strip() for line in SNIPPETS.mended(HEAD + text, unsafe=True).split("\n"))
    after.subtract(line.strip() for line in (HEAD + text).split("\n"))
    others = {f"if {each}:" for each in OF_TORCH if each not in text}
    return [line for line in after.elements() if line.startswith("if ") and line not in others]


def helps(text: str) -> list[str]:
    return [finding.help.partition("only: ")[2] for finding in SNIPPETS.findings(HEAD + text)]


RANKED = "    rank = dist.get_rank()\n    if rank == 0:\n        print(1)\n"
ASKED = "    if is_main_process():\n        print(1)\n"


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        # In the same function.
        (RANKED + '    torch.save(1, "a.pt")\n', "if rank == 0:"),
        (ASKED + '    torch.save(1, "a.pt")\n', "if is_main_process():"),
        (
            '    if not is_main_process():\n        data = data[:1]\n    torch.save(1, "a.pt")\n',
            "if is_main_process():",
        ),
        (
            '    if path and is_main_process():\n        print(1)\n    torch.save(1, "a.pt")\n',
            "if is_main_process():",
        ),
        (
            '    torch.save(1, "a.pt")\n    if dist.get_rank() == 0:\n        print(1)\n',
            "if dist.get_rank() == 0:",
        ),
        # The group is always there.
        (
            '    if path:\n        if dist.get_rank() == 0:\n            print(1)\n    torch.save(1, "a.pt")\n',
            "if dist.get_rank() == 0:",
        ),
        # The nearer one, and the one for the job.
        (
            f'{ASKED}{ASKED}{RANKED}    save()\n\ndef save():\n    torch.save(1, "a.pt")\n',
            "if is_main_process():",
        ),
        (
            "    local_rank = int(os.environ['LOCAL_RANK'])\n    if local_rank == 0:\n        print(1)\n"
            f'{ASKED}    torch.save(1, "a.pt")\n',
            "if is_main_process():",
        ),
    ],
)
def test_the_guard_is_the_test_that_the_code_has(text: str, guard: str):
    assert guards(text) == [guard]
    assert helps(text) == [f"`{guard}`"]


@pytest.mark.parametrize(
    "text",
    [
        # The name has its value later, or not always, or another one.
        '    torch.save(1, "a.pt")\n' + RANKED,
        "    if path:\n        rank = dist.get_rank()\n        if rank == 0:\n            print(1)\n"
        '    torch.save(1, "a.pt")\n',
        RANKED + '    rank = 1\n    torch.save(1, "a.pt")\n',
        # It is of another function.
        RANKED + '    save()\n\ndef save():\n    torch.save(1, "a.pt")\n',
        '    if dist.get_rank() == 0:\n        print(1)\n    save(1)\n\ndef save(dist):\n    torch.save(1, "a.pt")\n',
        # Others may need the file.
        ASKED + '    torch.save(1, "a.pt")\n    return torch.load("a.pt")\n',
        ASKED + '    torch.save(1, "best.pt")\n    return read()\n\ndef read():\n    return torch.load("best.pt")\n',
        f'{ASKED}    name = torch.save(1, "a.pt")\n',
    ],
)
def test_what_cannot_be_asked_there_is_not_asked(text: str):
    assert SNIPPETS.findings(HEAD + text)
    assert guards(text) == []


SEVERAL = [
    "    if args.num_gpus > 1:\n        if rank == 0:\n            print(1)\n    else:\n        print(2)\n",
    "    several = dist.get_world_size() > 1\n    if several and rank == 0:\n        print(1)\n",
    "    if args.local_rank != -1:\n        if rank == 0:\n            print(1)\n",
    "    several = dist.get_world_size() > 1\n    if several:\n        if rank == 0:\n            print(1)\n",
]


@pytest.mark.parametrize("asked", SEVERAL)
def test_what_is_asked_of_several_processes_is_not_asked_of_one(asked: str):
    text = "    rank = dist.get_rank()\n" + asked
    condition = asked.partition("    if ")[2].partition(":")[0].partition(" and ")[0]
    named = text.replace("args.num_gpus > 1", "args.distributed").replace("several and", "args.distributed and")
    for each in (text, named):
        assert SNIPPETS.findings(HEAD + each + '    torch.save(1, "a.pt")\n')
        assert guards(each + '    torch.save(1, "a.pt")\n') == []
    # It is where the code is for several processes as well, or where it is asked elsewhere without the condition.
    assert guards(f'{text}    if {condition}:\n        torch.save(1, "a.pt")\n') == [f"if {condition} and rank == 0:"]
    assert guards(RANKED + asked + '    torch.save(1, "a.pt")\n') == ["if rank == 0:"]


@pytest.mark.parametrize(
    ("parameter", "calls", "guard"),
    [
        ("rank", "report(dist.get_rank())", ["if rank == 0:"]),
        ("rank", "report(dist.get_rank())\n    report(None)", []),
        ("rank", "report(dist.get_rank())\n    again()\n\ndef again(rank=None):\n    report(rank)", []),
        ("rank=None", "report(dist.get_rank())", []),
    ],
)
def test_a_parameter_that_may_be_none_is_not_asked(parameter: str, calls: str, guard: list[str]):
    text = f"    {calls}\n\ndef report({parameter}):\n    if rank == 0:\n        print(1)\n    torch.save(1, 'a.pt')\n"
    assert SNIPPETS.findings(HEAD + text)
    assert guards(text) == guard


def test_methods_ask_their_object():
    text = """
class Runner:
    def __init__(self):
        self.rank = dist.get_rank()
        SAVE

    def log(self):
        if self.rank == 0:
            print(1)

    def save(self):
        torch.save(1, "b.pt")
        dist.barrier()

def run():
    dist.init_process_group("nccl")
    runner = Runner()
    runner.log()
    runner.save()
"""
    assert guards(text.replace("SAVE", "pass")) == ["if self.rank == 0:"]
    # While the object is made, it may not know yet.
    assert guards(text.replace("SAVE", 'torch.save(1, "a.pt")')) == ["if self.rank == 0:"]


OPENED = '    with open("a.json", "w") as file:\n'


@pytest.mark.parametrize(
    "body",
    [
        "        json.dump({'x': 1}, file)\n",
        "        # What was measured.\n        for name, value in sorted(args.items()):\n"
        "            file.write(f'{name}: {value}\\n')\n        print('done', file=file)\n",
        "        writer = csv.writer(file)\n        writer.writerow(['a', ', '.join(args)])\n",
    ],
)
def test_a_file_that_a_block_writes_is_written_by_the_main_process(body: str):
    text = "\n\nimport csv\nimport json\n\ndef save(args):\n" + OPENED + body + "\nif __name__ == '__main__':\n    "
    text = ASKED + "    save(args)\n" + text + "train({}, Net(), [], '')\n"
    fixed = SNIPPETS.mended(HEAD + text, unsafe=True)
    assert "    if is_main_process():\n    " + OPENED in fixed
    assert "".join(f"    {line}\n" for line in body.rstrip("\n").split("\n")) in fixed


@pytest.mark.parametrize(
    "body",
    [
        "        scores = [1]\n        json.dump(scores, file)\n    return scores\n",  # others use what it binds
        "        json.dump({}, file)\n        return 1\n",
        "        json.dump(collect(), file)\n",  # a call of the project may communicate
        "        json.dump(dist.get_world_size(), file)\n",
        "        args.model.report(file)\n",
    ],
)
def test_a_block_on_which_more_depends_is_left_to_the_author(body: str):
    text = "\n\nimport json\n\ndef collect():\n    return []\n\ndef save(args):\n" + OPENED + body
    text = ASKED + "    save(args)\n" + text
    assert SNIPPETS.findings(HEAD + text)
    assert SNIPPETS.mended(HEAD + text, unsafe=True) == HEAD + text


HELPER = """\
from transformers import Trainer, TrainingArguments

def save(folder):
    tokenizer.save_pretrained("out")
    READ

def main(model, rows):
    trainer = Trainer(model, TrainingArguments("out"), train_dataset=rows)
    trainer.train()
    save("out")

main(Net(), [])
"""


def test_files_that_use_accelerate_ask_its_state():
    text = HELPER.replace("READ", "pass")
    assert SNIPPETS.mended(text) == text
    fixed = SNIPPETS.mended(text, unsafe=True)
    assert '    if PartialState().is_main_process:\n        tokenizer.save_pretrained("out")\n' in fixed
    assert fixed.startswith("from accelerate import PartialState\n")


def test_what_all_processes_read_again_is_waited_for():
    fixed = SNIPPETS.mended(HELPER.replace("READ", 'AutoTokenizer.from_pretrained("out")'), unsafe=True)
    assert "    PartialState().wait_for_everyone()\n    AutoTokenizer" in fixed


HOOK = """\
import json
import os
import torch
from transformers import TrainerCallback

class Saver(TrainerCallback):
    def on_save(self, args, {}, control, **kwargs):
        torch.save(kwargs["model"].head, os.path.join(args.output_dir, "head.bin"))
        return control
"""


@pytest.mark.parametrize("state", ["state", "trainer_state: TrainerState"])
def test_hooks_of_callbacks_ask_the_state_that_they_get(state):
    text = HOOK.format(state)
    guarded = "        if {}.is_world_process_zero:\n            torch.save("
    expected = text.replace("        torch.save(", guarded.format(state.partition(":")[0]))
    assert SNIPPETS.mended(text, unsafe=True) == expected
    other = text.replace("on_save(", "save(").replace("return control", "self.on_save = 1")
    assert "is_world_process_zero" not in SNIPPETS.mended(other, unsafe=True)
    bound = HOOK.format("state").replace("        torch.save", "        state = vars(state)\n        torch.save")
    assert SNIPPETS.findings(bound)
    assert "is_world_process_zero" not in SNIPPETS.mended(bound, unsafe=True)


FIRST = '''
def is_first({parameter}):
    """Whether this is the first process."""
    {body}

def save(model, rank):
    if {asked}:
        torch.save(model.module.state_dict(), "model.pt")
'''


@pytest.mark.parametrize(
    ("parameter", "body", "asked", "is_reported"),
    [
        ("rank=0", "return rank == 0", "is_first()", True),
        ("rank: int = 0", "return rank < 1", "is_first()", True),
        ("who=0", "return who == 0", "is_first()", True),
        ("rank=0", "return rank == 0", "is_first(rank)", False),
        ("rank=0", "return rank == 0", "is_first(dist.get_rank())", False),
        ("rank=0", "return rank == 0", "not is_first()", False),  # nobody does so
        ("rank=0", "return rank > 0", "not is_first()", True),
        ("rank=None", "return (dist.get_rank() if rank is None else rank) == 0", "is_first()", False),
        ("rank=0", "return dist.get_rank() == 0", "is_first()", False),
        ("rank=0", "return rank == dist.get_rank()", "is_first()", False),
    ],
)
def test_a_guard_that_is_not_told_the_rank(parameter, body, asked, is_reported):
    """Without an argument, a function that compares its parameter with a number has one answer on all ranks."""
    text = FIRST.format(parameter=parameter, body=body, asked=asked)
    found = SNIPPETS.findings(HEAD + "    save(model, dist.get_rank())\n" + text)
    assert bool(found) is is_reported
