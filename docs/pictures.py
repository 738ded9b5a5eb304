"""The pictures of the documentation, drawn from real output: `python docs/pictures.py`.

Each is the output of one command on a program of the fixtures, with its colours, as SVG. A test fails if one of them is
out of date. The editor's picture is the screen of Neovim with the language server (`neovim_screen.py`), if that is
installed.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "docs" / "pictures"
WIDTH = 110
# Colours that are distinguishable on the dark background on which they are drawn, whatever theme the page has.
THEME = TerminalTheme(
    (24, 26, 32),
    (222, 224, 228),
    [
        (24, 26, 32),
        (239, 107, 115),
        (143, 201, 58),
        (229, 192, 123),
        (97, 175, 239),
        (198, 146, 233),
        (86, 200, 209),
        (222, 224, 228),
    ],
)
# CSS that fetches a font: a page should not, and the terminal's own font is good enough.
_WEB_FONTS = re.compile(r"\s*@font-face \{\{.*?\}\}", re.DOTALL)


@dataclass(frozen=True)
class Picture:
    """The output of a command. fixture: the program that is linted, named train.py in the picture."""

    name: str
    fixture: str
    command: str


PICTURES = (
    Picture("finding", "fixtures/divergent_collective/broken_loop.py", "trl-lint train.py"),
    Picture("diff", "fixtures/item_before_gather/broken.py", "trl-lint --diff train.py"),
    Picture("explain", "fixtures/unreduced_metric/broken_loop.py", "trl-lint explain train.py:26"),
)


def drawn(picture: Picture) -> str:
    """The picture as SVG: the same output produces the same file."""
    shown = Text.assemble(("$ ", "dim"), (picture.command, "bold"), "\n", Text.from_ansi(_output(picture)))
    return as_svg(shown, picture.command, picture.name)


def as_svg(shown: Text, title: str, name: str) -> str:
    """The text of a terminal in a window."""
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"), force_terminal=True)  # noqa: SIM115
    console.print(shown)
    picture_format = _WEB_FONTS.sub("", CONSOLE_SVG_FORMAT).replace("Fira Code", "ui-monospace")
    return console.export_svg(title=title, theme=THEME, code_format=picture_format, unique_id=f"trl-lint-{name}")


def _output(picture: Picture) -> str:
    """The output of the command on a terminal with colours."""
    with tempfile.TemporaryDirectory() as folder:
        set_up(Path(folder), picture.fixture)
        words = [sys.executable, "-m", "trl_lint", *shlex.split(picture.command)[1:]]
        if "--diff" not in words:
            words += ["--output-format", "text"]  # as on a terminal, which this is not
        environment = {**os.environ, "FORCE_COLOR": "1", "TRL_LINT_NO_CACHE": "1", "COLUMNS": str(WIDTH)}
        done = subprocess.run(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
    if done.returncode > 1:
        raise RuntimeError(done.stdout)
    return done.stdout.rstrip()


def set_up(folder: Path, fixture: str) -> None:
    """A folder with a program of the fixtures as train.py, without its marks, and with its imports."""
    text = (ROOT / fixture).read_text(encoding="utf-8")
    lines = [line.partition("  # expect:")[0] for line in text.splitlines()]
    (folder / "train.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for beside in (ROOT / "fixtures").glob("*.py"):
        shutil.copy(beside, folder)


def draw_editor() -> None:
    """The screen of Neovim, if that and pyte are installed."""
    if shutil.which("nvim") is None or find_spec("pyte") is None:
        print("not drawn: editor.svg (it takes nvim and pyte)")
        return
    from neovim_screen import screen

    with tempfile.TemporaryDirectory() as folder:
        set_up(Path(folder), "fixtures/divergent_collective/broken_loop.py")
        shown = screen(Path(folder), WIDTH)
    (FOLDER / "editor.svg").write_text(as_svg(shown, "nvim train.py", "editor"), encoding="utf-8")


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    draw_editor()
    for picture in PICTURES:
        (FOLDER / f"{picture.name}.svg").write_text(drawn(picture), encoding="utf-8")


if __name__ == "__main__":
    main()
