"""Small programs with missed bugs in models and training loops, each line next to a similar one that is right.

`# expect: TRL0nn` is on a line that is reported; no other line is.
"""

from collections import Counter
from pathlib import Path

import pytest

from test_false_alarms import marks
from trl_lint import api
from trl_lint.settings import Settings

PROGRAMS = sorted((Path(__file__).parent / "missed_models").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_what_is_marked_is_reported_and_nothing_else(program: Path, tmp_path: Path) -> None:
    text = program.read_text()
    (tmp_path / program.name).write_text(text)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, preview=True))
    assert marks(text)
    places = (each for finding in findings for each in (finding, *finding.also))
    assert Counter((each.start.line, each.code) for each in places) == marks(text)


def test_an_imported_file_of_some_hundred_kilobytes_is_opened(tmp_path: Path) -> None:
    helpers = "def total(value):\n    return value.sum().item()\n"
    (tmp_path / "helpers.py").write_text(helpers + "# as large as some libraries' one file\n" * 6_000)
    main = (
        "from accelerate import Accelerator\nfrom helpers import total\n\naccelerator = Accelerator()\n"
        "accelerator.gather(total(open('x')))\n"
    )
    (tmp_path / "main.py").write_text(main)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path / "main.py", Settings(root=tmp_path))
    assert [finding.code for finding in findings] == ["TRL001"]


def test_an_heir_of_a_base_of_lightning_in_another_file_is_analysed(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text(
        "import lightning as L\n\nclass BaseLightningData(L.LightningDataModule):\n    pass\n"
    )
    heir = (
        "from pathlib import Path\n\nfrom base import BaseLightningData\n\nclass Data(BaseLightningData):\n"
        "    def setup(self, stage=None):\n        Path('rows.txt').write_text('rows')\n"
    )
    (tmp_path / "data.py").write_text(heir)
    (tmp_path / "pyproject.toml").touch()
    findings = api.check(tmp_path, Settings(root=tmp_path, preview=True))
    assert [(Path(finding.path).name, finding.start.line, finding.code) for finding in findings] == [
        ("data.py", 7, "TRL008")
    ]
