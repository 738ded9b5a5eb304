"""For editors: python-lsp-server with its flake8 plugin, driven over its protocol."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from samples import BASE, BROKEN, MINE, marks

pytest.importorskip("pylsp", reason="python-lsp-server is not installed")
from pylsp_jsonrpc.streams import JsonRpcStreamReader, JsonRpcStreamWriter

# pycodestyle and pyflakes are on by default, flake8 is not.
SETTINGS = {
    "pylsp": {
        "plugins": {"flake8": {"enabled": True}, "pycodestyle": {"enabled": False}, "pyflakes": {"enabled": False}}
    }
}
SECONDS = 600


class Editor:
    """The parts of an editor that show diagnostics."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The server starts `flake8` by that name.
        path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
        self.server = subprocess.Popen(
            [sys.executable, "-m", "pylsp"],
            cwd=folder,
            env={**os.environ, "PATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.messages: queue.Queue[dict[str, Any]] = queue.Queue()
        self.writer = JsonRpcStreamWriter(self.server.stdin)
        reader = JsonRpcStreamReader(self.server.stdout)
        threading.Thread(target=reader.listen, args=(self.messages.put,), daemon=True).start()
        self.request("initialize", {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}})
        self.notify("initialized", {})
        self.notify("workspace/didChangeConfiguration", {"settings": SETTINGS})

    def notify(self, method: str, params: object) -> None:
        self.writer.write({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, method: str, params: object) -> None:
        self.writer.write({"jsonrpc": "2.0", "id": method, "method": method, "params": params})
        while self.messages.get(timeout=SECONDS).get("id") != method:
            pass

    def open(self, name: str, text: str) -> None:
        document = {"uri": self.uri(name), "languageId": "python", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})

    def change(self, name: str, text: str, version: int) -> None:
        """Give a buffer new content, which is not saved."""
        document = {"uri": self.uri(name), "version": version}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def shown(self, name: str) -> list[dict[str, Any]]:
        """The next diagnostics of our rules that the server sends for a file."""
        while True:
            message = self.messages.get(timeout=SECONDS)
            params = message.get("params")
            if message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == self.uri(name):
                return [each for each in params["diagnostics"] if str(each["code"]).startswith("TRL")]

    def close(self) -> None:
        self.request("shutdown", None)
        self.notify("exit", None)
        self.server.wait(timeout=SECONDS)


@pytest.fixture
def editor(tmp_path) -> Iterator[Editor]:
    editor = Editor(tmp_path)
    yield editor
    editor.close()


def places(diagnostics: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    """Line and column, counted from 1, and the code."""
    starts = [(each["range"]["start"], each["code"]) for each in diagnostics]
    return [(start["line"] + 1, start["character"] + 1, code) for start, code in starts]


def test_saved_and_unsaved(editor, tmp_path):
    """First the content of the disk, then unsaved changes, then both rules and the base class next to it."""
    path = tmp_path / "x.py"
    path.write_text(BROKEN["item_before_gather"])
    editor.open("x.py", path.read_text())
    (first, *_) = places(editor.shown("x.py"))
    assert (first[0], first[2]) == marks(BROKEN["item_before_gather"])[0]
    for version, (name, text) in enumerate(BROKEN.items(), 2):
        moved = f"# typed\n{text}"
        editor.change("x.py", moved, version)
        assert [(line, code) for line, _, code in places(editor.shown("x.py"))] == marks(moved), name
    assert path.read_text() == BROKEN["item_before_gather"]


def test_a_new_file_with_its_base_in_another(editor, tmp_path):
    (tmp_path / "base.py").write_text(BASE)
    editor.open("mine.py", "")
    assert editor.shown("mine.py") == []
    editor.change("mine.py", MINE, 2)
    (diagnostic,) = editor.shown("mine.py")
    assert places([diagnostic]) == [(7, 9, "TRL003")]
    assert (diagnostic["source"], diagnostic["severity"]) == ("flake8", 2)
    assert diagnostic["message"].startswith(
        "TRL003 [wrong-number] unreduced-metric: `loss` is computed from this rank's own data"
    )
    assert not (tmp_path / "mine.py").exists()
