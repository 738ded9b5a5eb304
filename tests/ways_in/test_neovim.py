"""Neovim without a window: a file is opened, its diagnostics are shown, quick fixes are applied, and it is saved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from samples import BROKEN, marks, unmarked

pytest.importorskip("pygls", reason="pygls is not installed")
NVIM = shutil.which("nvim")
pytestmark = pytest.mark.skipif(NVIM is None, reason="nvim is not installed (`apt-get install neovim`)")

SCRIPT = Path(__file__).with_name("neovim.lua")


def edited(path, hover):
    """What Neovim showed while a file was fixed and saved."""
    report = path.parent / "seen.json"
    environment = {**os.environ, "PYTHON": sys.executable, "REPORT": str(report), "HOVER": hover}
    # Neither read the user's files nor leave any behind.
    environment |= {f"XDG_{each}_HOME": str(path.parent) for each in ("CACHE", "CONFIG", "DATA", "STATE")}
    command = [NVIM, "--headless", "--clean", "-n", path.name, "-c", f"luafile {SCRIPT}"]
    subprocess.run(
        command,
        cwd=path.parent,
        env=environment,
        timeout=180,
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
    )
    seen = json.loads(report.read_text(encoding="utf-8"))
    assert "problem" not in seen, seen["problem"]
    return seen


@pytest.mark.parametrize("name, hovered", [("item_before_gather", "inputs["), ("unreduced_metric", "loss, ")])
def test_a_file_is_mended_in_neovim_as_fix_mends_it(tmp_path, name, hovered):
    text = unmarked(BROKEN[name])
    mended, other = tmp_path / "broken.py", tmp_path / "other.py"
    mended.write_text(text, encoding="utf-8")
    other.write_text(text, encoding="utf-8")
    row, line = next((row, each) for row, each in enumerate(text.splitlines(), 1) if hovered in each)
    seen = edited(mended, f"{row} {line.index(hovered)}")
    assert [(row, code) for row, _, _, code, _ in seen["diagnostics"]] == marks(BROKEN[name])
    assert {source for *_, source in seen["diagnostics"]} == {"trl-lint"}
    assert seen["hover"].startswith(f"`{hovered.rstrip('[, ')}`: differs between ranks")
    assert seen["taken"]
    command = [sys.executable, "-m", "trl_lint", "--fix", "--no-cache", str(other)]
    subprocess.run(command, capture_output=True, check=False)
    assert mended.read_bytes() == other.read_bytes() != text.encode()
