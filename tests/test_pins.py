"""The releases of trl and transformers that a project pins."""

from __future__ import annotations

import pytest

from trl_lint.config import load_settings
from trl_lint.pins import pinned_releases

PINS = "transformers==4.29.2\n"


@pytest.mark.parametrize(
    ("files", "pinned"),
    [
        ({"requirements.txt": PINS}, {"transformers": "4.29.2"}),
        ({"requirements.txt": "torch\ntrl[peft] === 0.17.0 ; python_version > '3.9'\n"}, {"trl": "0.17.0"}),
        (
            {"pyproject.toml": '[project]\ndependencies = ["trl == 0.17.0", "transformers==4.51.3"]\n'},
            {"trl": "0.17.0", "transformers": "4.51.3"},
        ),
        ({"setup.py": 'setup(install_requires=["transformers==4.29.2",])'}, {"transformers": "4.29.2"}),
        ({"environment.yml": "dependencies:\n  - transformers=4.29.2\n"}, {"transformers": "4.29.2"}),
        ({"requirements.txt": PINS, "setup.cfg": "install_requires =\n    " + PINS}, {"transformers": "4.29.2"}),
        # Of pytorch_lightning all that is asked is whether it is one before 0.8 ("0"), of 1.4 to 1.6, or before 2.0.
        ({"requirements.txt": "pytorch-lightning==0.7.5\n"}, {"pytorch_lightning": "0"}),
        ({"requirements.txt": "pytorch-lightning==0.8.1\n"}, {"pytorch_lightning": "1"}),
        ({"requirements.txt": "pytorch-lightning==0.10.0\n"}, {"pytorch_lightning": "1"}),
        ({"requirements.txt": "pytorch-lightning>=0.7.5\n"}, {}),
        ({"requirements.txt": "pytorch-lightning==1.9.5\n"}, {"pytorch_lightning": "1"}),
        ({"setup.py": 'setup(install_requires=["pytorch_lightning>=1.6,<2.0"])'}, {"pytorch_lightning": "1"}),
        ({"pyproject.toml": '[tool.poetry.dependencies]\npytorch-lightning = "^1.8"\n'}, {"pytorch_lightning": "1"}),
        ({"environment.yml": "dependencies:\n  - pytorch-lightning=1.6\n"}, {"pytorch_lightning": "1.6"}),
        ({"requirements.txt": "pytorch-lightning==1.4.2\n"}, {"pytorch_lightning": "1.6"}),
        ({"requirements.txt": "pytorch-lightning~=1.5.0\n"}, {"pytorch_lightning": "1.6"}),
        ({"requirements.txt": "pytorch-lightning~=1.5\n"}, {"pytorch_lightning": "1"}),
        ({"requirements.txt": "pytorch-lightning==1.3.8\n"}, {"pytorch_lightning": "1"}),
        (
            {"requirements.txt": "pytorch-lightning==1.9.5\n", "setup.cfg": "pytorch-lightning==1.5.10\n"},
            {"pytorch_lightning": "1"},
        ),
        ({"requirements.txt": "pytorch-lightning~=2.2\n"}, {"pytorch_lightning": "2"}),
        ({"requirements.txt": "pytorch_lightning >= 2.0.0, < 3\n"}, {"pytorch_lightning": "2"}),
        ({"requirements.txt": "pytorch-lightning\ntorch==1.13\n"}, {}),
        ({"requirements.txt": "pytorch-lightning>=1.6\nlightning-utilities==1.1\n"}, {}),
        # No release, another library, or a comment.
        ({"requirements.txt": "transformers>=4.29.2\ntrl~=0.17\n"}, {}),
        ({"requirements.txt": "transformers!=4.29.2\n"}, {}),
        ({"requirements.txt": "transformers==4.29.*\n"}, {}),
        ({"requirements.txt": "sentence-transformers==4.29.2\ntrl-lint==0.1.0\n"}, {}),
        ({"requirements.txt": "# transformers==4.29.2\n"}, {}),
        ({"requirements-train.txt": PINS, "pyproject.toml": ""}, {"transformers": "4.29.2"}),
        ({"requirements/train.txt": PINS}, {"transformers": "4.29.2"}),
        ({"requirements.txt": "", "requirements/notes.md": PINS}, {}),
        # Folders in the folder, where its own files say nothing.
        ({"requirements.txt": "torch\n", "factory/requirements.txt": PINS}, {"transformers": "4.29.2"}),
        (
            {"setup.py": "", "apps/factory/setup.py": f'setup(install_requires=["{PINS.strip()}"])'},
            {"transformers": "4.29.2"},
        ),
        ({"setup.py": "", "apps/factory/deep/requirements.txt": PINS}, {}),
        ({"requirements.txt": PINS, "factory/requirements.txt": "transformers==4.51.3\n"}, {"transformers": "4.29.2"}),
        ({"setup.py": "", "a/requirements.txt": PINS, "b/requirements.txt": "transformers==4.51.3\n"}, {}),
        ({"setup.py": "", ".hidden/requirements.txt": PINS}, {}),
        # Two releases.
        ({"requirements.txt": PINS, "setup.cfg": "install_requires =\n    transformers==4.51.3\n"}, {}),
    ],
)
def test_the_nearest_files_pin_releases(files, pinned, tmp_path):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "src").mkdir()
    assert pinned_releases(tmp_path / "src" / "train.py") == pinned_releases(tmp_path) == pinned


def test_another_repository_is_not_looked_at(tmp_path):
    (tmp_path / "requirements.txt").write_text(PINS)
    (tmp_path / "other" / ".git").mkdir(parents=True)
    assert not pinned_releases(tmp_path / "other")


def test_settings_come_before_pins(tmp_path):
    (tmp_path / "requirements.txt").write_text(PINS + "trl==0.17.0\n")
    assert load_settings(tmp_path).target_trl == "0.17.0"
    assert load_settings(tmp_path, isolated=True).target_trl is None
    (tmp_path / "trl-lint.toml").write_text('target-trl = "0.14.0"\n')
    settings = load_settings(tmp_path)
    assert (settings.target_trl, settings.target_transformers) == ("0.14.0", "4.29.2")
