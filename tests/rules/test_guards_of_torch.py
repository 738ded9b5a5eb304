"""TRL008's fix in files for torch.distributed that have no condition for the main process of their own."""

from __future__ import annotations

import textwrap

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")
ALWAYS = "not dist.is_initialized() or dist.get_rank() == 0"
PROGRAM = """\
{imports}
from torch.nn.parallel import DistributedDataParallel


def start(args):
    dist.init_process_group("nccl")


def main(model, args):
{body}


main(None, None)
"""
WRAP = "model = DistributedDataParallel(model)\n"
SAVE = 'torch.save(model.state_dict(), args.folder + "/last.pt")\n'


def mended(body: str, imports: str = "import torch\nimport torch.distributed as dist") -> str:
    """The body of the program after its fix."""
    text = SNIPPETS.mended(PROGRAM.format(imports=imports, body=textwrap.indent(body, 4 * " ")), unsafe=True)
    body = text.partition("def main(model, args):\n")[2].partition("\n\n\nmain(")[0]
    return textwrap.dedent(body).rstrip()


@pytest.mark.parametrize(
    ("start", "condition"),
    [
        ('dist.init_process_group("nccl")\n', "dist.get_rank() == 0"),
        # On one process there may be no group.
        ('if args.several:\n    dist.init_process_group("nccl")\n', ALWAYS),
        ("start(args)\n", ALWAYS),
        ('dist.init_process_group("nccl")\ndist.destroy_process_group()\n', ALWAYS),
    ],
)
def test_torch_is_asked_for_the_rank(start, condition):
    assert mended(start + WRAP + SAVE) == f"{start}{WRAP}if {condition}:\n{textwrap.indent(SAVE, 4 * ' ')}".rstrip()


@pytest.mark.parametrize(
    ("imports", "name"),
    [
        ("import torch\nimport torch.distributed as dist", "dist"),
        ("import torch\nimport torch.distributed", "torch.distributed"),
        ("import torch\nfrom torch import distributed", "distributed"),
        # With torch comes torch.distributed.
        ("import torch", "torch.distributed"),
    ],
)
def test_it_is_called_as_the_file_does(imports, name):
    text = mended(f'{name}.init_process_group("nccl")\n' + WRAP + SAVE, imports)
    assert f"if {name}.get_rank() == 0:" in text


def test_a_condition_around_it_gets_another_part():
    start = "start(args)\n" + WRAP
    text = mended(f"{start}if args.saves:\n    {SAVE}")
    assert f"if args.saves and ({ALWAYS}):" in text


def test_before_the_group_the_launcher_tells_the_rank():
    body = 'torch.save(args, args.folder + "/args.pt")\n'
    text = mended(f'{body}dist.init_process_group("nccl")\n{WRAP}')
    assert text.startswith('if int(os.environ.get("RANK", 0)) == 0:\n    torch.save(args')
