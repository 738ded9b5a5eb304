"""The facts' own tests: small programs that state the rank fact of each value, independent of any rule."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from reveals import differences, fact, marks, revealed, unmarked  # noqa: E402

PROGRAMS = HERE / "reveal"
FILES = sorted(PROGRAMS.glob("*.py"))
PACKAGES = sorted(path for path in PROGRAMS.iterdir() if path.is_dir() and any(path.glob("*.py")))
# The releases for which programs are analysed; rows that changed since are tested with other releases below.
VERSIONS = {"trl": "0.17.0", "transformers": "4.51.3"}


def check(paths: list[Path]) -> None:
    found = revealed(paths, VERSIONS)
    wrong = [line for path in paths for line in differences(path, marks(path.read_text("utf-8")), found[path])]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_values_have_the_facts_that_are_marked(path: Path) -> None:
    check([path])


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_facts_cross_files_in_any_order(package: Path) -> None:
    paths = sorted(package.glob("*.py"))
    check(paths)
    check(paths[::-1])


def test_every_reveal_is_marked() -> None:
    texts = {str(path): path.read_text("utf-8") for path in PROGRAMS.rglob("*.py")}
    assert {path: lines for path, text in texts.items() if (lines := unmarked(text))} == {}


def test_there_are_many_of_them() -> None:
    texts = [path.read_text("utf-8") for path in PROGRAMS.rglob("*.py")]
    assert sum(len(marks(text)) for text in texts) >= 200


INHERITED = """\
from trl import DPOTrainer

class Mine(DPOTrainer):
    def get_batch_loss_metrics(self, model, batch, train_eval="train"):
        loss, metrics = super().get_batch_loss_metrics(model, batch, train_eval)
        reveal_rank(metrics["logps/chosen"])
        return loss, metrics
"""


@pytest.mark.parametrize(
    ("release", "wanted"),
    [("0.13.0", "local(data)"), ("0.14.0", "same"), ("0.17.0", "same")],
)
def test_rows_hold_for_their_releases(release: str, wanted: str, tmp_path: Path) -> None:
    assert fact(INHERITED, tmp_path, {"trl": release}) == wanted
