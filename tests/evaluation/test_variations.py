"""Variations of released files."""

import pytest

from evaluation.releases import IndexUnreachable, Release, fetch
from evaluation.variations import VARIATIONS, Variation, turn_back


def test_a_mended_text_is_turned_back_at_its_one_place():
    assert turn_back(b"a\nb = gather(x.sum()).sum()\n", "gather(x.sum()).sum()", "gather(x)") == (
        b"a\nb = gather(x)\n",
        2,
    )


@pytest.mark.parametrize("text", [b"nothing", b"right right"])
def test_a_text_that_does_not_stand_once_is_refused(text):
    with pytest.raises(ValueError, match="exactly once"):
        turn_back(text, "right", "broken")


def test_a_variation_changes_its_one_place():
    variation = Variation("v", "1.0", "a.py", "right", "broken")
    assert variation.applied("é = 1\nright = 2\n") == "é = 1\nbroken = 2\n"
    with pytest.raises(ValueError, match="exactly once"):
        variation.applied("left = 2\n")


@pytest.mark.index
@pytest.mark.parametrize("name", VARIATIONS)
def test_each_variation_fits_its_release(name):
    variation = VARIATIONS[name]
    try:
        root = fetch(Release("trl", variation.release))
    except IndexUnreachable as error:
        pytest.skip(str(error))
    source = (root / variation.path).read_text(encoding="utf-8")
    varied = variation.applied(source)
    compile(varied, variation.path, "exec")
    assert variation.new in varied
    assert len(source.splitlines()) == len(varied.splitlines())
