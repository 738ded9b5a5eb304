"""The screen of Neovim with the language server: an invisible terminal, read back with its colours."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from itertools import groupby
from pathlib import Path

import pyte
from rich.style import Style
from rich.text import Text

ROWS = 22
SECONDS = 30.0
# How long the screen has to stay unchanged when everything is there.
SETTLED = 1.5
SETUP = """
vim.o.laststatus, vim.o.number, vim.o.signcolumn, vim.o.ruler, vim.o.showmode = 0, true, 'yes', false, false
vim.o.shortmess, vim.o.termguicolors, vim.o.background, vim.o.wrap = 'aoOstTWAIcFF', true, 'dark', false
vim.cmd('syntax on')
vim.cmd('highlight NormalFloat guibg=#2c313a')
vim.cmd('highlight SignColumn guibg=NONE')
vim.cmd('highlight LineNr guifg=#6b7280')
local config = { name = 'trl-lint', cmd = { vim.env.PYTHON, '-m', 'trl_lint', 'server' }, root_dir = vim.fn.getcwd() }
vim.lsp.buf_attach_client(0, vim.lsp.start_client(config))
vim.api.nvim_win_set_cursor(0, { 18, 12 })
vim.api.nvim_create_autocmd('DiagnosticChanged', {
  callback = function() vim.defer_fn(function() vim.lsp.buf.hover() end, 300) end,
})
"""
HOVERED = "differs between ranks: this rank's share"


def screen(folder: Path, width: int) -> Text:
    """The screen after train.py in a folder is opened, its findings are shown and a name is explained.

    Raises:
        TimeoutError: this takes more than half a minute.
    """
    (folder / "setup.lua").write_text(SETUP, encoding="utf-8")
    command = ["nvim", "--clean", "-n", "train.py", "-c", "luafile setup.lua"]
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.environ.update({f"XDG_{each}_HOME": str(folder) for each in ("CACHE", "CONFIG", "DATA", "STATE")})
        os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", PYTHON=sys.executable)
        os.execvp(command[0], command)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, width, 0, 0))
    try:
        return _text(_settled(terminal, pyte.Screen(width, ROWS)))
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)


def _settled(terminal: int, shown: pyte.Screen) -> pyte.Screen:
    stream = pyte.ByteStream(shown)
    end, seen = time.monotonic() + SECONDS, 0.0
    while time.monotonic() < end:
        if select.select([terminal], [], [], 0.1)[0]:
            stream.feed(os.read(terminal, 65536))
        if not seen and any(HOVERED in line for line in shown.display):
            seen = time.monotonic()
        if seen and time.monotonic() > seen + SETTLED:
            return shown
    raise TimeoutError("\n".join(shown.display))


def _text(shown: pyte.Screen) -> Text:
    text = Text(no_wrap=True)
    for row in range(shown.lines - 1):  # the last line is for messages
        chars = [shown.buffer[row][column] for column in range(shown.columns)]
        for style, alike in groupby(chars, key=_style):
            text.append("".join(char.data for char in alike), style)
        text.append("\n")
    return text


def _style(char: pyte.screens.Char) -> Style:
    return Style(color=_colour(char.fg), bgcolor=_colour(char.bg), bold=char.bold, underline=char.underscore)


def _colour(name: str) -> str | None:
    """A colour of pyte in rich's notation: six digits, or none for the default."""
    return f"#{name}" if len(name) == 6 and all(each in "0123456789abcdef" for each in name) else None
