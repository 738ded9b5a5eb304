"""The cache of releases, without the index."""

import io
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from evaluation import releases
from evaluation.releases import IndexUnreachable, Release, fetch


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv(releases.CACHE_VARIABLE, str(tmp_path))
    return tmp_path


@pytest.fixture
def no_index(monkeypatch):
    """A pip that is called but can't connect."""
    calls = []

    def refuse(command, **_):
        calls.append(command)
        return subprocess.CompletedProcess(command, 1, "", "ERROR: no such host")

    monkeypatch.setattr(releases.subprocess, "run", refuse)
    return calls


def make_wheel(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr("demo/__init__.py", "x = 1\n")


def make_sdist(folder: Path, name: str, stem: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(folder / name, "w:gz") as sdist:
        member = tarfile.TarInfo(f"{stem}/examples/loop.py")
        member.size = 6
        sdist.addfile(member, io.BytesIO(b"x = 1\n"))


def test_a_wheel_in_the_cache_is_unpacked_once_and_pip_is_not_asked(cache, no_index):
    make_wheel(cache / "archives", "demo-1.0.0-py3-none-any.whl")
    root = fetch(Release("demo", "1.0.0"))
    assert (root / "demo" / "__init__.py").read_text() == "x = 1\n"
    (cache / "archives" / "demo-1.0.0-py3-none-any.whl").unlink()
    assert fetch(Release("demo", "1.0.0")) == root
    assert not no_index


def test_an_sdist_is_told_from_a_wheel(cache, no_index):
    make_wheel(cache / "archives", "demo-1.0.0-py3-none-any.whl")
    make_sdist(cache / "archives", "demo-1.0.0.tar.gz", "demo-1.0.0")
    assert (fetch(Release("demo", "1.0.0", "sdist")) / "examples" / "loop.py").is_file()
    assert not no_index


def test_the_name_in_an_sdist_may_be_written_otherwise(cache, no_index):
    make_sdist(cache / "archives", "my_demo-1.0.0.tar.gz", "my_demo-1.0.0")
    assert (fetch(Release("My-Demo", "1.0.0", "sdist")) / "examples" / "loop.py").is_file()


def test_a_longer_version_is_another_release(cache, no_index):
    make_wheel(cache / "archives", "demo-1.0.0.1-py3-none-any.whl")
    with pytest.raises(IndexUnreachable):
        fetch(Release("demo", "1.0.0"))


def test_what_pip_can_not_fetch_is_said_with_its_reason(cache, no_index):
    with pytest.raises(IndexUnreachable, match=r"demo 1\.0\.0 .* no such host"):
        fetch(Release("demo", "1.0.0"))
    assert "demo==1.0.0" in no_index[0]
    assert not (cache / "unpacked" / "demo-1.0.0-wheel").exists()


@pytest.mark.parametrize(
    ("package", "filename"),
    [
        ("demo", "demo-1.0.0-py3-none-any.whl"),
        ("Demo", "demo-1.0.0-py3-none-any.whl"),
        ("my-demo", "my_demo-1.0.0-py3-none-any.whl"),
    ],
)
def test_archive_names(package, filename):
    assert Release(package, "1.0.0").is_archive(filename)
