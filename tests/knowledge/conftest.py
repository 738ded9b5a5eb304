"""The evaluation's cache of releases is used here too: add its package to the path. Each release is read once."""

import sys
from pathlib import Path

import pytest
from once import once

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="session", autouse=True)
def shared_releases(tmp_path_factory):
    """What one worker has read of a release the others do not read again."""
    import sources

    def shared(package, version, make):
        return once(tmp_path_factory, ("release", package, version), lambda folder: make())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "shared", shared)
        yield
