"""The plot: a metric of DPO as rank 0 logs it, and the mean over all ranks, before the fix and after it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from evaluation.proof.cases import CASES
from evaluation.proof.facts import Fact, rows
from evaluation.proof.trials import FIXED, RELEASED, Trials
from trl_lint.verify.record.traces import Run

METRIC = "rewards/accuracies"
STEPS = 200
# Tiny texts are learned in a few steps. Slow training on contradicting pairs leaves something to plot.
OPTIONS = {"rate": 2e-5, "noise": 0.35}
# The colours of what a reader sees first; dots need no legend of many colours.
LOGGED, MEAN, BETWEEN = "#d1495b", "#30638e", "#c8c8c8"


@dataclass(frozen=True)
class Curve:
    """By step, what rank 0 logs, and the mean over the ranks of what they logged as released."""

    logged: list[float]
    means: list[float]

    @property
    def off(self) -> int:
        """The number of steps at which the logged value is not the mean."""
        return sum(ours != theirs for ours, theirs in zip(self.logged, self.means, strict=True))

    @property
    def distance(self) -> float:
        """The average distance of the logged values from the mean."""
        return fmean(abs(ours - theirs) for ours, theirs in zip(self.logged, self.means, strict=True))


def curves(trials: Trials) -> tuple[Curve, Curve]:
    """The first case, trained for longer: as released, and after the fix."""
    case = CASES[0]
    before = _run(trials, RELEASED, {})
    after = _run(trials, FIXED, trials.mended(case, {}).sources)
    means = [fmean(row) for row in rows(before, METRIC)]
    return Curve(_of_rank_0(before), means), Curve(_of_rank_0(after), means)


def _run(trials: Trials, label: str, sources: dict[str, str]) -> Run:
    return trials.judged(CASES[0], f"{label}, {STEPS} steps", sources, steps=STEPS, **OPTIONS).run


def _of_rank_0(run: Run) -> list[float]:
    return [row[0] for row in rows(run, METRIC)]


def fact(before: Curve, after: Curve) -> Fact:
    seen = ", ".join(f"{value:g}" for value in sorted(set(before.logged)))
    text = (
        f"As released, rank 0 logs {seen} in {len(before.logged)} steps, and nothing between. {before.off} times that "
        f"is not the mean over the ranks; on average it is {before.distance:.2f} off. "
        f"After `--fix` it is not the mean {after.off} times."
    )
    return Fact(len(before.logged) == STEPS and before.off > 0 == after.off, text)


def draw(before: Curve, after: Curve, target: Path) -> None:
    """Write the plot as SVG; the same curves give the same file."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "trl-lint", "font.size": 11, "svg.fonttype": "path"})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 1, figsize=(10, 6.4), sharex=True, layout="constrained")
    case = CASES[0]
    panels = ((before, f"trl {case.release} as released"), (after, f"trl {case.release} after trl-lint --fix"))
    for axis, (curve, title) in zip(axes, panels, strict=True):
        _panel(axis, curve, f"{title}: {curve.distance:.2f} from the mean on average")
    axes[-1].set_xlabel("training step")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=2, frameon=False)
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def _panel(axis: Any, curve: Curve, title: str) -> None:
    steps = range(1, len(curve.logged) + 1)
    axis.vlines(steps, curve.means, curve.logged, color=BETWEEN, linewidth=1.2, zorder=1)
    axis.scatter(steps, curve.means, s=10, color=MEAN, zorder=3, label="mean over all ranks")
    axis.scatter(
        steps, curve.logged, s=34, facecolors="none", edgecolors=LOGGED, zorder=2, label="logged, what a tracker shows"
    )
    axis.set_title(title, loc="left", fontsize=12)
    axis.set_ylabel(METRIC)
    axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    axis.set_ylim(-0.08, 1.08)
    axis.set_xlim(0, len(curve.logged) + 1)
    axis.grid(axis="y", color="#ececec")
    axis.spines[["top", "right"]].set_visible(False)
