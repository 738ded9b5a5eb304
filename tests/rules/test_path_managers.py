"""TRL008: path managers of iopath and fvcore open, remove and look for files as the functions of os do."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")

OWN = "from iopath.common.file_io import PathManager as Base\n\nPathManager = Base()"
OF_FACTORY = 'from iopath.common.file_io import PathManagerFactory\n\nPathManager = PathManagerFactory.get("x")'
PROGRAM = """\
import torch.distributed as dist
{}


def convert(args):
    dist.barrier()
    if {}:
        {}
"""


@pytest.mark.parametrize(
    "imported",
    [
        OWN,
        OF_FACTORY,
        "from detectron2.utils.file_io import PathManager",
        "from fvcore.common.file_io import PathManager",
        "from iopath.common.file_io import g_pathmgr as PathManager",
    ],
)
@pytest.mark.parametrize(
    ("test", "line", "is_reported"),
    [
        ("PathManager.isfile(args.path)", "PathManager.rm(args.path)", True),
        ("args.path", 'PathManager.open(args.path, "w")', True),
        ("args.path", 'PathManager.open(args.path, "r")', False),
        ("args.path", 'PathManager.open(f"{args.path}-{dist.get_rank()}", "w")', False),
        ("args.path", "PathManager.mkdirs(args.path)", False),
        ("args.path", "PathManager.copy(args.path, args.other, overwrite=True)", True),
        ("args.path", "PathManager.copy_from_local(args.path, f'{args.other}{dist.get_rank()}')", False),
        ("dist.get_rank() == 0", "PathManager.rm(args.path)", False),
    ],
)
def test_what_a_path_manager_does(imported, test, line, is_reported):
    assert bool(SNIPPETS.findings(PROGRAM.format(imported, test, line))) is is_reported
