"""A plot of the metrics of a run: by step, what rank 0 logs, the values of the others, and their mean.

If one process trains the same way, its value on the same global batch is drawn as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trl_lint.verify.oracles import true_value
from trl_lint.verify.oracles.logged_metrics import Metric, is_control, metrics_of
from trl_lint.verify.oracles.tolerance import BETWEEN_RANKS, all_same, mean
from trl_lint.verify.processes.environment import Unusable
from trl_lint.verify.record.verdicts import Outcome

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

    from trl_lint.verify.proof.proofs import Column, Proof

ENDINGS = (".pdf", ".png", ".svg")
# The number of metrics on a page, those that differ most first.
MOST = 4
LOGGED, OTHERS, MEAN, TRUE = "#d1495b", "#9aa5b1", "#30638e", "#2e8b57"


@dataclass(frozen=True, slots=True)
class Series:
    """One metric in one run: by step, the values of all ranks, and those of one process, if known."""

    rows: Sequence[Sequence[float]]
    true: Sequence[float] = ()

    @property
    def differs(self) -> int:
        """The number of steps at which it is not the same on all ranks."""
        return sum(not all_same(row, BETWEEN_RANKS) for row in self.rows)


class Plot:
    """Draws the first proof that has metrics.

    Raises:
        Unusable: it can't be drawn.
    """

    def __init__(self, target: Path) -> None:
        check(target)
        self._target = target
        self._is_drawn = False

    def add(self, proof: Proof) -> None:
        self._is_drawn = self._is_drawn or draw(proof, self._target)

    @property
    def remark(self) -> str:
        """The remark at the end; "" if a plot was drawn."""
        return "" if self._is_drawn else f"warning: {self._target} was not drawn: no metric was logged by all ranks"


def check(target: Path) -> None:
    """Check that a plot can be drawn, before anything is run for it.

    Raises:
        Unusable: it can't.
    """
    from importlib.util import find_spec

    if target.suffix.lower() not in ENDINGS:
        raise Unusable(f"--plot {target}: it has to end in one of {', '.join(ENDINGS)}")
    if not target.parent.is_dir():
        raise Unusable(f"--plot {target}: there is no folder {target.parent}")
    if find_spec("matplotlib") is None:
        raise Unusable("--plot needs matplotlib: pip install matplotlib")


def draw(proof: Proof, target: Path) -> bool:
    """Draw the runs of a proof, one below the other. Return whether there was anything to draw.

    Raises:
        Unusable: the file can't be written.
    """
    names = metrics_to_draw(proof)
    if not names:
        return False
    import matplotlib

    matplotlib.use("agg")
    matplotlib.rcParams.update({"svg.hashsalt": "trl-lint", "font.size": 10, "svg.fonttype": "path"})
    from matplotlib import pyplot

    size = (2.5 + 4.5 * len(names), 1.2 + 2.7 * len(proof.columns))
    figure, axes = pyplot.subplots(
        len(proof.columns), len(names), figsize=size, layout="constrained", squeeze=False, sharey="col"
    )
    for row, column in zip(axes, proof.columns, strict=True):
        found = series_of(proof, column)
        for axis, name in zip(row, names, strict=True):
            _panel(axis, found.get(name), f"{name}, {column.judged.label}")
    labelled = {label: handle for row in axes for axis in row for handle, label in _legend(axis)}
    figure.legend(labelled.values(), labelled.keys(), loc="outside upper center", ncols=2 * len(names), frameon=False)
    try:
        figure.savefig(target, metadata={"Date": None} if target.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise Unusable(f"{target}: cannot write: {error.strerror}") from None
    finally:
        pyplot.close(figure)
    return True


def metrics_to_draw(proof: Proof) -> list[str]:
    """The metrics that differ between ranks at most steps of any run, otherwise those that the program logs at all."""
    worst: dict[str, int] = {}
    for column in proof.columns:
        for name, each in series_of(proof, column).items():
            worst[name] = max(worst.get(name, 0), each.differs)
    chosen = sorted(worst, key=lambda name: -worst[name])
    return [name for name in chosen if worst[name] or not any(worst.values())][:MOST]


def series_of(proof: Proof, column: Column) -> dict[str, Series]:
    """The metrics of one run that all of its ranks log, except those that Trainer itself averages."""
    run = column.judged.run
    true = _true(proof, column)
    ranks = {rank.number for rank in run.ranks}
    found = {}
    for metric in metrics_of(run).values():
        rows = [values for _, values in metric.rows(ranks)]
        if rows and not is_control(metric):
            single = true.get(metric.key)
            found[metric.name] = Series(rows, [values[0] for _, values in single.rows({0})] if single else ())
    return found


def _true(proof: Proof, column: Column) -> Mapping[tuple[str, str], Metric]:
    """The metrics of the one process, if it is known to train the same way."""
    verdict = column.judged.verdict(true_value.ORACLE)
    if proof.single is None or verdict is None or verdict.outcome is Outcome.UNKNOWN:
        return {}
    return metrics_of(proof.single())


def _panel(axis: Axes, series: Series | None, title: str) -> None:
    from matplotlib.ticker import MaxNLocator

    axis.set_title(title, loc="left", fontsize=11)
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_xlabel("log")
    axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    if series is None:
        return
    steps = range(1, len(series.rows) + 1)
    for rank in range(1, len(series.rows[0])):
        axis.plot(steps, [row[rank] for row in series.rows], ".", color=OTHERS, label="other ranks")
    axis.plot(steps, [mean(row) for row in series.rows], "-", color=MEAN, linewidth=1.4, label="mean over all ranks")
    axis.plot(
        steps, [row[0] for row in series.rows], "o", fillstyle="none", color=LOGGED, label="rank 0, what is logged"
    )
    if series.true:
        true = list(series.true)[: len(series.rows)]
        axis.plot(range(1, len(true) + 1), true, "x", color=TRUE, label="one process, same global batch")


def _legend(axis: Axes) -> list[tuple[Artist, str]]:
    return list(zip(*axis.get_legend_handles_labels(), strict=True))
