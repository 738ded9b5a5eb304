"""What file systems of libraries open, make, move and remove is done by each rank (TRL008)."""

from __future__ import annotations

import pytest
from snippets import Snippets

SNIPPETS = Snippets("TRL008")
PROGRAM = """\
import torch.distributed as dist
{}


def convert(args):
    dist.barrier()
    {}
    if {}:
        {}
"""
MAKERS = [
    ("import fsspec", 'fs = fsspec.filesystem("file")'),
    ("import fsspec", "fs, _ = fsspec.core.url_to_fs(args.path)"),
    ("from fsspec.core import url_to_fs", "fs, _ = url_to_fs(args.path)"),
    ("from fsspec.implementations.local import LocalFileSystem", "fs = LocalFileSystem()"),
    ("from lightning_fabric.utilities.cloud_io import get_filesystem", "fs = get_filesystem(args.path)"),
    ("from lightning.fabric.utilities import cloud_io", "fs = cloud_io.get_filesystem(args.path)"),
    ("from pytorch_lightning.utilities.cloud_io import get_filesystem", "fs = get_filesystem(args.path)"),
]


def is_found(imported: str, made: str, line: str, test: str = "args.path") -> bool:
    return bool(SNIPPETS.findings(PROGRAM.format(imported, made, test, line)))


@pytest.mark.parametrize(("imported", "made"), MAKERS)
def test_who_makes_a_file_system(imported, made):
    assert is_found(imported, made, "fs.makedirs(args.path)")
    assert is_found(imported, made, 'fs.open(args.path, "w")')
    assert not is_found(imported, made, "fs.makedirs(args.path, exist_ok=True)")
    assert not is_found(imported, made, 'fs.open(args.path, "w")', "dist.get_rank() == 0")


@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ("fs.makedirs(args.path, True)", False),
        ("fs.makedirs(args.path, False)", True),
        ("fs.mkdirs(args.path)", True),
        ("fs.mkdir(args.path)", True),
        ("fs.rm(args.path, recursive=True)", True),
        ("fs.mv(args.path, args.other)", True),
        ("fs.put(args.path, args.other)", True),
        ("fs.put(args.path, f'{args.other}/{dist.get_rank()}')", False),
        ("fs.copy(args.path, args.other)", True),
        ('fs.pipe(args.path, b"done")', True),
        ('fs.open(args.path, mode="wb")', True),
        ('fs.open(f"{args.path}/{dist.get_rank()}", "w")', False),
        ("fs.open(args.path)", False),
        ("fs.ls(args.path)", False),
        ("fs.get(args.path, args.other)", False),
    ],
)
def test_what_a_file_system_does(line, is_reported):
    assert is_found(*MAKERS[0], line) is is_reported


@pytest.mark.parametrize(
    ("made", "is_reported"),
    [
        ("fs = something(args)", False),
        ('fs = fsspec.filesystem("memory")', False),
        ('fs = fsspec.filesystem(protocol="memory")', False),
        ("fs = fsspec.filesystem(args.protocol)", True),
    ],
)
def test_other_objects_and_systems_in_memory(made, is_reported):
    assert is_found("import fsspec", made, "fs.mv(args.path, args.other)") is is_reported


def test_the_path_of_a_url_is_that_of_the_url():
    made = "fs, path = fsspec.core.url_to_fs({})"
    assert is_found("import fsspec", made.format("args.path"), 'fs.open(path, "w")')
    assert not is_found("import fsspec", made.format('f"{args.path}{dist.get_rank()}"'), 'fs.open(path, "w")')


def test_what_is_made_if_it_is_missing():
    imported, made = MAKERS[0]
    assert is_found(imported, made, "fs.makedirs(args.path)", "not fs.exists(args.path)")
    assert is_found(imported, made, 'fs.open(args.path, "w")', "not fs.isfile(args.path)")


@pytest.mark.parametrize("imported", ["import tensorflow as tf", "from tensorflow import io"])
@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ('io.gfile.GFile(args.path, "w")', True),
        ('io.gfile.GFile(args.path, "rb")', False),
        ("io.gfile.makedirs(args.path)", False),
        ("io.gfile.mkdir(args.path)", True),
        ("io.gfile.remove(args.path)", True),
        ("io.gfile.rename(args.path, args.other)", True),
        ("io.gfile.copy(args.path, args.other)", True),
        ("io.gfile.exists(args.path)", False),
    ],
)
def test_gfile(imported, line, is_reported):
    assert is_found(imported, "", line if "import io" in imported else f"tf.{line}") is is_reported


@pytest.mark.parametrize(
    ("line", "is_reported"),
    [
        ("epath.Path(args.path).mkdir()", True),
        ("epath.Path(args.path).mkdir(parents=True, exist_ok=True)", False),
        ('(epath.Path(args.path) / "a.txt").write_text("done")', True),
        ("epath.Path(args.path).rmtree()", True),
        ("epath.Path(args.path).rmtree(missing_ok=True)", False),
        ('(epath.Path(args.path) / f"{dist.get_rank()}.txt").write_text("done")', False),
    ],
)
def test_paths_of_etils(line, is_reported):
    assert is_found("from etils import epath", "", line) is is_reported


def test_smart_open():
    assert is_found("from smart_open import open", "", 'open(args.path, "w")')
    assert not is_found("from smart_open import open", "", "open(args.path)")
