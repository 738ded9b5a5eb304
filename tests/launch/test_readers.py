"""Which front end reads a file, what is never parsed, and malicious input."""

from __future__ import annotations

import subprocess
import sys
from pathlib import PurePath

import pytest

from trl_lint.launch.parsers import readers

KINDS = {
    "a.sh": "shell", "a.slurm": "shell", "Makefile": "makefile", "rules.mk": "makefile", "Dockerfile": "dockerfile",
    "Dockerfile.gpu": "dockerfile", "gpu.dockerfile": "dockerfile", "a.yml": "yaml_files", "README.md": "markdown",
    "a.rst": "restructured", "a.ipynb": "notebooks", "a.py": "python_calls", "pyproject.toml": "tasks",
    "tox.ini": "tasks", "justfile": "tasks", "Snakefile": "snakemake", "Snakefile_mouse": "snakemake",
    "train.smk": "snakemake", "snakefile_of.py": "python_calls", "snakefile_notes.md": "markdown",
    "a.txt": None, "a.toml": None, "run": None,
}  # fmt: skip


@pytest.mark.parametrize("name", KINDS)
def test_front_end(name: str) -> None:
    found = readers.front_end(PurePath(name))
    assert (found and found.partition(":")[0]) == KINDS[name]


@pytest.mark.parametrize("head", [b"#!/bin/bash\n", b"#!/usr/bin/env -S sh -e\n", b"#! /bin/zsh\n"])
def test_a_shebang_makes_a_shell_script(head: bytes) -> None:
    assert readers.front_end(PurePath("run"), head) == readers.SHELL


@pytest.mark.parametrize("head", [b"#!/usr/bin/env python3\n", b"#!/usr/bin/perl\n", b"\x7fELF"])
def test_other_files_without_suffix(head: bytes) -> None:
    assert readers.front_end(PurePath("run"), head) is None


HOSTILE = {
    "binary": ("a.sh", b"\0\1python\xff", "a binary file"),
    "not UTF-8": ("a.sh", b"python tr\xe9.py", "its text is not UTF-8"),
    "one line of 5 MB": ("a.sh", b"python train.py; " * 300_000, "larger than"),
    "one line of 1 MB": ("a.sh", b"python train.py; " * 60_000, "characters is not looked at"),
    "here-documents": ("a.sh", b"<<A python " * 20_000, "here-documents"),
    "broken YAML": ("a.yml", b"run: [python\n", "no YAML: "),
    "a tab in YAML": ("a.yml", b"run:\n\t- python\n", "no YAML: "),
    "deep YAML": ("a.yml", b"[" * 1000 + b"python", "no YAML"),
    "broken notebook": ("a.ipynb", b'{"cells": [{"cell_type": "code", "source": ["!python', "not a notebook"),
    "no notebook": ("a.ipynb", b'["python"]', "not a notebook"),
    "broken TOML": ("pyproject.toml", b"[tool.poe.tasks]\na = 'python\n", "no TOML: "),
}
SILENT = {
    "parentheses": ("a.sh", b"(" * 50_000 + b"python"),
    "substitutions": ("a.sh", b"$(python " * 5_000),
    "quotes": ("a.sh", b"python '" * 20_001),
    "growing variable": ("a.sh", b"A=python\n" + b"A=$A$A\n" * 60 + b"$A train.py"),
    "growing array": ("a.sh", b"A=(python)\n" + b'A=("${A[@]}" "${A[@]}")\n' * 40 + b'"${A[@]}" train.py'),
    "open strings": ("Snakefile", b'\\"""python' * 20_000),
    "open quotes": ("Snakefile", b"shell: 'python" * 10_000),
    "long words of rules": ("Snakefile", b"python resources: " + b"gpu" * 50_000),
    "calls": ("a.sh", b"".join(b"f%d() { f%d; f%d; python; }\n" % (i, i + 1, i + 1) for i in range(60)) + b"f0\n"),
    "variables of themselves": ("Makefile", b"A=$(A)$(A)\na:\n\t$(A) python\n"),
    "quoted Markdown": ("a.md", b"> " * 5_000 + b"python"),
    "aliases": ("a.yml", b"a: &a [python, *a]\nrun: *a\n"),
    "syntax error": ("a.py", b"subprocess.run(['python'"),
    "deep Python": ("a.py", b"subprocess.run(" * 3_000 + b"'python'"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_one_clear_line(case: str) -> None:
    name, data, problem = HOSTILE[case]
    reading = readers.read(PurePath(name), data)
    assert problem in reading.problem
    assert "\n" not in reading.problem


@pytest.mark.parametrize("case", SILENT)
def test_survived(case: str) -> None:
    name, data = SILENT[case]
    readers.read(PurePath(name), data)


PARSERS = ("tree_sitter", "tree_sitter_bash", "tree_sitter_make", "ruamel", "markdown_it", "ast")
LOADED = {
    ("a.sh", "echo hello"): set(),
    ("a.yml", "run: echo hello"): set(),
    ("a.sh", "python x.py"): {"tree_sitter", "tree_sitter_bash"},
    ("Dockerfile", 'CMD ["python", "x.py"]'): set(),
    ("a.rst", "A python text."): set(),
    ("a.yml", "a: python"): {"ruamel"},
    ("a.md", "A python text."): {"markdown_it"},
}


@pytest.mark.parametrize(("name", "text"), LOADED)
def test_parsers_are_imported_when_needed(name: str, text: str) -> None:
    program = (
        "import sys; from pathlib import PurePath\n"
        "from trl_lint.launch import rewrite; from trl_lint.launch.judge import gpus\n"
        "from trl_lint.launch.parsers import readers\n"
        f"before = set(sys.modules); readers.read(PurePath({name!r}), {text.encode()!r})\n"
        f"print(*sorted({set(PARSERS) - {'ast'}!r} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == LOADED[name, text]
