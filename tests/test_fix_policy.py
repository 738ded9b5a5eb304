"""The applicability of fixes, and that no fix is loaded before there is a finding."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from whole_trees import check_trust

from trl_lint.domain.control import Uniformity
from trl_lint.findings import Applicability
from trl_lint.fixes import fix_of
from trl_lint.fixes.support.edits import FixPlan, NoFix
from trl_lint.fixes.support.policy import DIVERGENT, NOT_KNOWN, trust
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.rules.base import Rule
from trl_lint.settings import Settings

FIXTURES = Path(__file__).parent.parent / "fixtures"
SAFE, UNSAFE, DISPLAY = Applicability
ROUNDS = FixPlan((), caution="it rounds")
RULES = [rule for rule in all_rules() if isinstance(rule, Rule)]


@pytest.mark.parametrize(
    ("plan", "uniformity", "communication", "expected"),
    [
        (FixPlan(()), Uniformity.UNIFORM, "", (SAFE, "")),
        (ROUNDS, Uniformity.UNIFORM, "", (UNSAFE, "it rounds")),
        (FixPlan(()), Uniformity.UNKNOWN, "", (UNSAFE, NOT_KNOWN)),
        (ROUNDS, Uniformity.UNKNOWN, "", (UNSAFE, NOT_KNOWN)),
        (FixPlan(()), Uniformity.DIVERGENT, "", (DISPLAY, DIVERGENT)),
        (
            ROUNDS,
            Uniformity.DIVERGENT,
            "it gathers",
            (DISPLAY, f"{DIVERGENT}, and it gathers"),
        ),
        (FixPlan(()), Uniformity.UNIFORM, "it gathers", (SAFE, "")),
        (NoFix("no way", help="do it by hand"), Uniformity.UNIFORM, "", (DISPLAY, "no way")),
        (NoFix("no way"), Uniformity.DIVERGENT, "it gathers", (DISPLAY, "no way")),
    ],
)
def test_the_place_and_the_plan_say_how_far(plan, uniformity, communication, expected):
    assert trust(plan, uniformity, communication) == expected


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_a_fix_is_for_events_of_its_rule(rule):
    fix = fix_of(rule.fix_module)
    assert (fix is not None) == rule.has_fix
    if fix is not None:
        assert set(fix.events) <= set(rule.events)
        assert fix.uncovers <= {each.code for each in RULES} - {rule.code}


def test_no_fix_is_trusted_further_than_it_says():
    """README states the possible outcomes of a fix. `test_fix_properties.py` asks the same of every broken program."""
    seen = set()
    linter = Linter(Settings(), (FIXTURES,), RULES)
    for path in sorted(FIXTURES.glob("*/broken.py")):
        for each in linter.report(path, path.read_bytes()):
            fix = fix_of(each.rule.fix_module)
            assert (fix is not None) == each.rule.has_fix
            if fix is None:
                continue
            check_trust(each)
            seen.add((each.rule.code, each.fix.applicability))
    assert len(seen) > 20


LOOK = """
import sys
from pathlib import Path
from trl_lint.linter.linter import Linter
from trl_lint.rules import all_rules
from trl_lint.settings import Settings
path = Path(sys.argv[1])
found = Linter(Settings(), (path.parent,), all_rules()).check(path, path.read_bytes())
print(len(found), *sorted(name for name in sys.modules if name.startswith("trl_lint.fixes.") and "support" not in name))
"""


@pytest.mark.parametrize(
    ("name", "loaded"),
    [
        ("quiet.py", []),
        ("fixed.py", []),
        ("broken.py", ["trl_lint.fixes.base", "trl_lint.fixes.item_before_gather"]),
    ],
)
def test_only_the_fixes_of_what_is_found_are_loaded(name, loaded):
    path = FIXTURES / "item_before_gather" / name
    done = subprocess.run([sys.executable, "-c", LOOK, str(path)], capture_output=True, text=True, check=True)
    count, *modules = done.stdout.split()
    assert (int(count) > 0, modules) == (bool(loaded), loaded)
