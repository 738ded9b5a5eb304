"""What Accelerate does on the main process only: trackers, and functions with its decorators."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop, shown

from trl_lint.findings import Applicability

DIVERGENT = Snippets("TRL006")
METRICS = Snippets("TRL003")
LOG = 'accelerator.log({"loss": loss.detach().item()})'
GATHERED = "mean_loss = accelerator.gather(loss.detach()).mean()\n"
USED = 'accelerator.log({"loss": mean_loss.item()})'


def found(body: str) -> list[str]:
    text = "from accelerate.tracking import WandBTracker\n" + loop(body)
    return [shown(text, finding) for finding in DIVERGENT.findings(text)]


# --- trackers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "if accelerator.trackers:",
        "if len(accelerator.trackers) > 0:",
        "if not len(accelerator.trackers) == 0:",
        "if len(accelerator.trackers):",
        "if step % 5 == 0 and accelerator.trackers:",
        "for tracker in accelerator.trackers:",
        "for index, tracker in enumerate(accelerator.trackers):",
        "if any(tracker.name == 'wandb' for tracker in accelerator.trackers):",
        "if isinstance(accelerator.get_tracker('wandb'), WandBTracker):",
        "if hasattr(accelerator.get_tracker('wandb', unwrap=True), 'log'):",
    ],
)
def test_a_gather_where_only_the_main_process_has_trackers(line) -> None:
    assert found(f"{line}\n    accelerator.gather(loss)") == ["accelerator.gather(loss)"]


@pytest.mark.parametrize(
    "line",
    [
        "if accelerator.log_with:",
        # Another tracker replaces it on the other ranks.
        "if accelerator.get_tracker('wandb') is not None:",
        "if accelerator.get_tracker('wandb'):",
        "if accelerator.get_tracker('wandb', unwrap=True) is not None:",
    ],
)
def test_what_all_ranks_have_of_a_tracker(line) -> None:
    assert found(f"{line}\n    accelerator.gather(loss)") == []


def test_ranks_without_trackers_that_leave() -> None:
    assert found("if not accelerator.trackers:\n    continue\naccelerator.gather(loss)") == ["continue"]


@pytest.mark.parametrize(
    ("body", "fixed"),
    [
        (f"if len(accelerator.trackers) > 0:\n    {LOG}", f"{GATHERED}if len(accelerator.trackers) > 0:\n    {USED}"),
        (f"if accelerator.trackers:\n    {LOG}", f"{GATHERED}if accelerator.trackers:\n    {USED}"),
        ('for tracker in accelerator.trackers:\n    tracker.log({"loss": loss.detach().item()}, step=step)',
         f'{GATHERED}for tracker in accelerator.trackers:\n    tracker.log({{"loss": mean_loss.item()}}, step=step)'),
        # An unknown part of a condition does not change which ranks get there.
        (f"if wanted() and accelerator.is_main_process:\n    {LOG}",
         f"{GATHERED}if wanted() and accelerator.is_main_process:\n    {USED}"),
        (f"if accelerator.is_main_process and wanted():\n    {LOG}",
         f"{GATHERED}if accelerator.is_main_process and wanted():\n    {USED}"),
        (f"show = wanted() and accelerator.is_main_process\nif show:\n    {LOG}",
         f"show = wanted() and accelerator.is_main_process\n{GATHERED}if show:\n    {USED}"),
        (f"if not wanted() or not accelerator.is_main_process:\n    continue\n{LOG}",
         f"{GATHERED}if not wanted() or not accelerator.is_main_process:\n    continue\n{USED}"),
    ],
)  # fmt: skip
def test_a_metric_is_gathered_before_what_only_some_ranks_get_to(body, fixed) -> None:
    assert METRICS.mended(loop(body), unsafe=True) == loop(fixed)


@pytest.mark.parametrize(
    "body",
    [
        f"if mask.any() and accelerator.trackers:\n    {LOG}",
        f"while accelerator.trackers:\n    {LOG}",
        f"for tracker in accelerator.trackers:\n    for x in tracker.names:\n        {LOG}",
        "for tracker in accelerator.trackers:\n    tracker.log({'loss': (loss.detach() * tracker.scale).item()})",
    ],
)
def test_a_metric_that_has_no_place_on_all_ranks_is_left_to_the_author(body) -> None:
    text = loop(body)
    assert METRICS.mended(text, unsafe=True) == text
    for finding in METRICS.findings(text):
        assert finding.fix.applicability is Applicability.DISPLAY and finding.fix.reason


# --- decorators -----------------------------------------------------------------------------------------

HEAD = """\
from accelerate import Accelerator, PartialState
accelerator = Accelerator()
state = PartialState()

"""
DECORATORS = [
    "accelerator.on_main_process",
    "accelerator.on_local_main_process",
    "accelerator.on_last_process",
    "accelerator.on_process(process_index=1)",
    "accelerator.on_local_process(local_process_index=1)",
    "PartialState().on_main_process",
    "PartialState().on_local_main_process",
    "state.on_process(process_index=1)",
]


@pytest.mark.parametrize("decorator", DECORATORS)
@pytest.mark.parametrize(
    ("result", "test"),
    [("1.0", "score is not None"), ("1.0", "score"), ("'x'", "score == 'x'"), ("step + 1", "score > 3")],
)
def test_the_other_ranks_get_none_from_a_function_that_one_of_them_runs(decorator, result, test) -> None:
    text = (
        f"{HEAD}@{decorator}\ndef best(step):\n    return {result}\n\n"
        f"def main():\n    score = best(3)\n    if {test}:\n        accelerator.wait_for_everyone()\n"
    )
    assert [shown(text, each) for each in DIVERGENT.findings(text)] == ["accelerator.wait_for_everyone()"]
    assert DIVERGENT.findings(text.replace(f"@{decorator}\n", "")) == []


@pytest.mark.parametrize("decorator", DECORATORS)
def test_a_function_that_one_rank_runs_and_that_returns_nothing(decorator) -> None:
    text = (
        f"{HEAD}@{decorator}\ndef show(step):\n    print(step)\n\n"
        "def main():\n    score = show(3)\n    if score is None:\n        accelerator.wait_for_everyone()\n"
    )
    assert DIVERGENT.findings(text) == []


@pytest.mark.parametrize("decorator", DECORATORS)
@pytest.mark.parametrize("nested", [False, True])
def test_the_body_of_a_decorated_function_runs_on_some_ranks(decorator, nested) -> None:
    """Both as a decorator and as a call of the decorator."""
    name, _, rest = decorator.rpartition("(") if decorator.endswith("=1)") else (decorator, "", ")")
    call = f"{name}(show, {rest}" if rest != ")" else f"{name}(show)"
    text = (
        f"{HEAD}def main(x):\n    def show(x):\n        accelerator.gather(x)\n    {call}(x)\n"
        if nested
        else f"{HEAD}@{decorator}\ndef show(x):\n    accelerator.gather(x)\n\ndef main(x):\n    show(x)\n"
    )
    speaks = DIVERGENT.findings(text)
    assert len(speaks) == 1 and "only ranks on which the decorator runs it reach `gather`" in speaks[0].message


def test_a_metric_that_a_decorated_function_logs_is_left_to_the_author() -> None:
    text = loop("""
        @accelerator.on_main_process
        def show():
            accelerator.log({"loss": loss.detach().item()})
        show()
    """)
    assert METRICS.mended(text, unsafe=True) == text
    finding = METRICS.finding(text)
    assert finding.fix.applicability is Applicability.DISPLAY
    assert finding.fix.reason == "not all ranks call the function that logs it"
