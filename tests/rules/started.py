"""Projects that show how their programs are started, and the findings in one of their files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from snippets import SETTINGS

from trl_lint.findings import Finding
from trl_lint.linter.linter import Linter
from trl_lint.rules import find_rule

MAIN = '\n\nif __name__ == "__main__":\n    train()\n'


def by_default_in(folder: Path, files: Mapping[str, str], name: str, rule: str = "TRL008") -> bool:
    """Whether the one finding of a rule in a file of a project is in the default set."""
    (finding,) = findings_in(folder, files, name, rule)
    return finding.by_default


def findings_in(folder: Path, files: Mapping[str, str], name: str, rule: str = "TRL008") -> list[Finding]:
    for each, content in files.items():
        (folder / each).parent.mkdir(parents=True, exist_ok=True)
        (folder / each).write_text(content, encoding="utf-8")
    linter = Linter(replace(SETTINGS, root=folder), (folder,), (find_rule(rule),))
    return linter.check(folder / name, files[name].encode())
