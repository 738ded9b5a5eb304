"""`python -m PROGRAM` in a fork of one process that has already imported what our programs import first.

Most of the cost of a short run is its imports. A run uses the streams, the folder, the arguments and the exit code as
in a separate process. Tests of what is imported, how an interpreter starts or how it ends need a separate process, and
a few tests of each program use one.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import runpy
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NoReturn

IMPORTED = (
    "flake8.api.legacy",
    "flake8.formatting.default",
    "flake8.main.cli",
    "flake8.plugins.pycodestyle",
    "flake8.plugins.pyflakes",
    "libcst.codemod",
    "libcst.codemod.commands",
    "libcst.display",
    "mccabe",
    "multiprocessing.pool",
)
# Our own modules that may run; packages with everything in them.
OURS = ("codemods", "analysis", "fixes", "frontends", "launch", "linter", "reports", "rules")


def module(
    name: str,
    *args: str | Path,
    folder: Path | None = None,
    stdin: bytes | None = None,
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `python -m name args` in a folder, with this environment instead of ours."""
    words = [name, *map(str, args)]
    if not hasattr(os, "fork"):
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=folder, input=stdin, env=environment, capture_output=True, check=False
        )
        return subprocess.CompletedProcess(words, done.returncode, done.stdout.decode(), done.stderr.decode())
    with tempfile.TemporaryDirectory() as streams:
        Path(streams, "0").write_bytes(stdin or b"")
        request = words, os.path.abspath(folder or "."), dict(os.environ if environment is None else environment)
        code = _answer(json.dumps([streams, *request]))
        out, err = (Path(streams, each).read_bytes().decode() for each in "12")
        return subprocess.CompletedProcess(words, code, out, err)


@cache
def _server() -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    atexit.register(_close, server)
    return server


def _answer(request: str) -> int:
    """The exit code for a request."""
    server = _server()
    print(request, file=server.stdin, flush=True)
    return int(server.stdout.readline())


def _close(server: subprocess.Popen[str]) -> None:
    with contextlib.suppress(OSError):
        server.stdin.close()
    server.wait()


def serve() -> list[object] | None:
    """Answer requests until there are no more; in a fork, return the request that it handles."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return json.loads(line)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return None


def become(streams: str, words: list[str], folder: str, environment: dict[str, str]) -> NoReturn:
    """Run a program as if this process had been started for it."""
    for number in range(3):
        flags = os.O_WRONLY | os.O_CREAT if number else os.O_RDONLY
        opened = os.open(os.path.join(streams, str(number)), flags)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.path[:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    sys.argv[1:] = words[1:]
    try:
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
        code = 1
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)  # without freeing all shared objects


def import_all() -> None:
    """Import what programs import first."""
    for name in IMPORTED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for name in OURS:
        with contextlib.suppress(ImportError):
            package = importlib.import_module(f"trl_lint.{name}")
            for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                importlib.import_module(each.name)
    gc.collect()
    gc.freeze()  # otherwise garbage collection in a fork would copy all shared memory


if __name__ == "__main__":
    import_all()
    if request := serve():
        become(*request)
