"""Which releases are installed: what is found on the path is what Python's own search finds."""

from __future__ import annotations

import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest

from trl_lint import releases
from trl_lint.releases import are_still_installed, installed


def put(
    folder: Path, entry: str, text: str = "Metadata-Version: 2.1\nName: Our.Pack\nVersion: 1.2\n\nVersion: 3\n"
) -> None:
    (folder / entry).mkdir(parents=True)
    (folder / entry / "METADATA").write_text(text)


@pytest.fixture
def site(tmp_path, monkeypatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_all_that_is_installed_is_found():
    names = {each.metadata["Name"] for each in distributions()}
    assert len(names) > 20
    assert [name for name in names if not are_still_installed({name: installed(name)})] == []
    assert are_still_installed({name: installed(name) for name in names})


@pytest.mark.parametrize("name", ["our.pack", "Our-Pack", "our_pack"])
def test_it_is_found_without_pythons_search(site, monkeypatch, name):
    put(site, "our_pack-1.2.dist-info")
    assert installed(name) == "1.2"
    monkeypatch.setattr(releases, "installed", lambda name: pytest.fail("asked"))
    assert are_still_installed({name: "1.2"})
    assert are_still_installed({"not-there-at-all": ""})


def test_another_release_is_noticed(site):
    put(site, "our_pack-1.2.dist-info")
    assert not are_still_installed({"our-pack": "1.1"})
    assert not are_still_installed({"our-pack": ""})


@pytest.mark.parametrize(
    "entries",
    [["our_pack-1.2.dist-info", "our_pack-1.3.dist-info"], ["our_pack-1.2.egg-info"], ["Our.Pack-1.2.dist-info"]],
)
def test_what_is_unclear_is_what_python_says(site, entries):
    for entry in entries:
        put(site, entry)
    assert are_still_installed({"our-pack": installed("our-pack")})


def test_another_finder_is_asked(monkeypatch):
    class Finder:
        def find_spec(self, *args): ...

        def find_distributions(self, context): ...

    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    monkeypatch.setattr(releases, "installed", lambda name: "9.9")
    assert are_still_installed({"not-there-at-all": "9.9"})
    assert not are_still_installed({"not-there-at-all": ""})
