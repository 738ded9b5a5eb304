"""How long is it from a keystroke to its diagnostics? The server is driven over its protocol, as by an editor.

    python -m bench.editor [--keys N] [--release X] [--file F]

A large trainer of a released package is opened, and keys are pressed in one function after another: a name is begun,
gets another letter, and is undone again. The output is the wall-clock time in milliseconds from each key to its
diagnostics and the CPU time of the server, separately for the first lint; and whether the final diagnostics are those
of the command line. Exit code 1 when the median is above the limit, or anything differs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evaluation.common import FAILED, PASSED
from evaluation.releases import Release, fetch

LIMIT_MS = 300
_BODY = re.compile(r"^( {8,})(?=\w)(?!(?:elif|else|except|finally|case)\b)", re.MULTILINE)


class Client:
    """The server's process, and its messages."""

    def __init__(self, folder: Path) -> None:
        self.server = subprocess.Popen(
            [sys.executable, "-m", "trl_lint", "server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=folder
        )
        self._asked = 0
        self.request("initialize", {"processId": os.getpid(), "rootUri": folder.as_uri(), "capabilities": {}})
        self.notify("initialized", {})

    def notify(self, method: str, params: object) -> None:
        self._send({"method": method, "params": params})

    def request(self, method: str, params: object) -> Any:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        while (said := self.read()).get("id") != self._asked:
            pass
        return said.get("result")

    def diagnostics(self, version: int) -> Any:
        """The diagnostics of a version of the document."""
        while True:
            said = self.read()
            if said.get("method") == "textDocument/publishDiagnostics" and said["params"].get("version") == version:
                return said["params"]["diagnostics"]

    def cpu(self) -> float:
        """The CPU seconds that the server has used so far."""
        fields = Path(f"/proc/{self.server.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _send(self, message: dict[str, object]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def read(self) -> dict[str, Any]:
        assert self.server.stdout is not None
        length = 0
        while line := self.server.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        found: dict[str, Any] = json.loads(self.server.stdout.read(length))
        return found


def keystrokes(text: str, count: int) -> Iterator[str]:
    """Texts that differ by one key each, at places spread over the functions of a text."""
    places = [match.end() for match in _BODY.finditer(text)]
    step = max(len(places) // (count // 3 + 1), 1)
    for place in places[step // 2 :: step]:
        indentation = text[text.rfind("\n", 0, place) + 1 : place]
        for typed in (f"x\n{indentation}", f"xs\n{indentation}", ""):
            yield text[:place] + typed + text[place:]


def measured(client: Client, uri: str, text: str, count: int) -> tuple[list[float], list[float], list[Any]]:
    """By keystroke: wall-clock and CPU milliseconds; and the diagnostics at the end."""
    walls, cpus = [], []
    found: list[Any] = []
    for version, typed in enumerate([*keystrokes(text, count), text], 2):
        begun, before = time.perf_counter(), client.cpu()
        document = {"textDocument": {"uri": uri, "version": version}, "contentChanges": [{"text": typed}]}
        client.notify("textDocument/didChange", document)
        found = client.diagnostics(version)
        walls.append((time.perf_counter() - begun) * 1000)
        time.sleep(0.2)  # people do not type faster for long; what the server does after an answer counts as well
        cpus.append((client.cpu() - before) * 1000)
    return walls, cpus, found


def of_command_line(path: Path) -> list[tuple[int, int, str]]:
    command = [sys.executable, "-m", "trl_lint", "--no-cache", "--output-format", "json", str(path)]
    rows = json.loads(subprocess.run(command, capture_output=True, check=False).stdout)
    return [(row["location"]["row"], row["location"]["column"], row["code"]) for row in rows]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--release", default="1.16.0")
    parser.add_argument("--file", default="trl/trainer/grpo_trainer.py")
    options = parser.parse_args()
    path = fetch(Release("trl", options.release)) / options.file
    text = path.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        client = Client(Path(folder))
        begun = time.perf_counter()
        document = {"uri": path.as_uri(), "languageId": "python", "version": 1, "text": text}
        client.notify("textDocument/didOpen", {"textDocument": document})
        client.diagnostics(1)
        first = (time.perf_counter() - begun) * 1000
        walls, cpus, found = measured(client, path.as_uri(), text, options.keys)
        client.request("shutdown", None)
        client.notify("exit", None)
        client.server.wait(60)
    last = [(row["range"]["start"]["line"] + 1, row["range"]["start"]["character"] + 1, row["code"]) for row in found]
    agrees = last == of_command_line(path)
    files = len(list((path.parents[1]).rglob("*.py")))
    print(f"{options.file} of trl {options.release}: {text.count(chr(10))} lines, in a package of {files} files")
    print(f"first diagnostics: {first:.0f} ms; {len(walls)} keystrokes after that, in ms:")
    for name, taken in (("clock", walls), ("processor", cpus)):
        ordered = sorted(taken)
        most = ordered[len(ordered) * 9 // 10]
        print(f"  {name}: median {statistics.median(taken):.0f}, 90 % {most:.0f}, worst {ordered[-1]:.0f}")
    print(f"the diagnostics at the end are those of the command line: {'yes' if agrees else 'no'}")
    return PASSED if agrees and statistics.median(walls) <= LIMIT_MS else FAILED


if __name__ == "__main__":
    sys.exit(main())
