"""Events about paths that ranks name, for the rules; see `events.py`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trl_lint.analysis.events import Event
from trl_lint.knowledge import mentions

if TYPE_CHECKING:
    from trl_lint.domain.provenance import Step
    from trl_lint.domain.values import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class PathOfEachRank(Event):
    """Each rank makes a name for itself (`path`), where `user` needs one folder for all ranks.

    of_trainer: whether `user` is the arguments of a Trainer. loads_best: whether that loads its best checkpoint in the
    end. in_parts: whether each rank writes a part of the model or its optimizer. engine_given: whether the arguments
    choose an engine for which that may be so. on_some_way: whether the name is another one, which all ranks know, on
    some way here. without: the option without which it is made, if there is one.
    """

    mentions = (mentions.STARTED, mentions.ONE_FOLDER)
    anywhere = True

    path: Value
    user: str
    of_trainer: bool = False
    loads_best: bool = False
    in_parts: bool = False
    engine_given: bool = False
    on_some_way: bool = False
    without: str = ""
    accelerator: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileUnawaited(Event):
    """All ranks use, at the node, a file or folder that only some of them have written, and none waits for it.

    name: what uses it. written: the place where it is written. makes_folder: whether that makes a folder alone.
    """

    mentions = (mentions.TELLS_RANKS_APART, mentions.SIDE_EFFECTS)

    name: str
    written: Step
    makes_folder: bool = False
    accelerator: str = ""
