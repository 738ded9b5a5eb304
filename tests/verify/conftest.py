"""Programs and fixtures run in forks of one process that has imported the libraries (`fork_server.py`)."""

import os
import sys
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path

import pytest
from fork_server import LIBRARIES, OneForkServer
from marks import NEVER_MEET, subject
from once import once

from trl_lint.verify.processes.launcher import Launch
from trl_lint.verify.proof import fixtures
from trl_lint.verify.proof.session import Judged, Session

MISSING = [name for name in LIBRARIES if not find_spec(name)]
# Seconds after which idle ranks are given up.
TIMEOUT = 3
# The same for programs that must not be waited for.
LONG = 3600


def pytest_collection_modifyitems(items):
    """Tests that run ranks need what these import."""
    reason = f"not installed: {', '.join(MISSING)}" if MISSING else "" if hasattr(os, "fork") else "needs os.fork"
    for item in items:
        if reason and item.get_closest_marker("torch"):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def launch():
    launch = fixtures.launch_of(Launch(sys.executable, timeout=TIMEOUT))
    return launch.with_environment(PYTHONWARNINGS="ignore")


@pytest.fixture(scope="session")
def server(launch, tmp_path_factory):
    server = OneForkServer(launch, tmp_path_factory.mktemp("server"))
    yield server
    server.close()


@dataclass
class Programs:
    """Runs each program once and judges it."""

    launch: Launch
    server: OneForkServer
    factory: pytest.TempPathFactory
    known: dict[object, Judged] = field(default_factory=dict)

    def __call__(self, name: str, *args: str, nproc: int = 2) -> Judged:
        key = (name, args, nproc)
        if key not in self.known:

            def run(folder: Path) -> Judged:
                timeout = LONG if name in NEVER_MEET else self.launch.timeout
                session = Session(
                    replace(self.launch, nproc=nproc, timeout=timeout), folder / "traces", start=self.server
                )
                return session.judge(subject(name, *args), "as it is")

            self.known[key] = once(self.factory, key, run)
        return self.known[key]


@pytest.fixture(scope="session")
def judged(launch, server, tmp_path_factory) -> Programs:
    return Programs(launch, server, tmp_path_factory)
