"""Loggers of one's own for Lightning: the trainer calls them on every process."""

from __future__ import annotations

from pathlib import Path

import pytest
from snippets import Snippets

from trl_lint import api
from trl_lint.settings import Settings

WRITERS = Snippets("TRL008")

WRITES = """\
from pathlib import Path

import lightning.pytorch as pl
from lightning.pytorch.loggers import CSVLogger, Logger
from lightning.pytorch.loggers.logger import rank_zero_experiment
from lightning.pytorch.utilities import rank_zero_only
from pytorch_lightning.loggers.logger import Logger as Named


class Table({base}):
    def __init__(self, path):
        super().__init__()
        self.path = Path(path)
        self.rows = {{}}
        self.file = None

    @property
    @rank_zero_experiment
    def experiment(self):
        if self.file is None:
            self.file = open(self.path, "w")
        return self.file

    {decorator}
    def {method}(self, *args, **kwargs):
        {body}


trainer = pl.Trainer({trainer})
trainer.fit(model)
"""
ON_ALL = 'strategy="ddp", devices=4, logger=Table("table.txt")'


def writes(
    base: str = "Logger",
    method: str = "finalize",
    decorator: str = "# by all",
    body: str = "self.path.write_text(str(self.rows))",
    trainer: str = ON_ALL,
) -> bool:
    return bool(
        WRITERS.findings(WRITES.format(base=base, method=method, decorator=decorator, body=body, trainer=trainer))
    )


@pytest.mark.parametrize("base", ["Logger", "Named", "pl.loggers.Logger"])
@pytest.mark.parametrize("method", ["finalize", "log_metrics", "log_hyperparams", "save"])
def test_all_processes_write(base, method):
    assert writes(base=base, method=method)


def test_a_logger_may_leave_it_to_the_first_process():
    assert not writes(decorator="@rank_zero_only")
    assert not writes(body="if rank_zero_only.rank == 0:\n            self.path.write_text(str(self.rows))")
    assert not writes(method="log_metrics", body='self.experiment.write("x")')


def test_what_is_called_on_the_first_process_and_what_nobody_calls():
    assert not writes(method="after_save_checkpoint")
    assert not writes(method="export")
    assert not writes(base="object")


def test_one_process_has_its_logger_for_itself():
    assert not writes(trainer='devices=1, logger=Table("table.txt")')
    assert not writes(trainer='strategy="ddp", logger=Table("table.txt") if rank_zero_only.rank == 0 else None')


@pytest.mark.parametrize(
    ("base", "is_reported"),
    [("from lightning.pytorch.loggers import Logger", True), ("class Logger:\n    uses = 'lightning'", False)],
)
def test_a_logger_may_inherit_from_one_in_another_file(tmp_path: Path, base: str, is_reported: bool) -> None:
    (tmp_path / "shared.py").write_text(f"{base}\n\nclass Shared(Logger):\n    pass\n")
    (tmp_path / "table.py").write_text(
        "from pathlib import Path\n\nfrom shared import Shared\n\nclass Table(Shared):\n"
        "    def finalize(self, status):\n        Path('table.txt').write_text(status)\n"
    )
    (tmp_path / "pyproject.toml").touch()
    found = [(Path(each.path).name, each.start.line) for each in api.check(tmp_path, Settings(root=tmp_path))]
    assert found == [("table.py", 7)] * is_reported
