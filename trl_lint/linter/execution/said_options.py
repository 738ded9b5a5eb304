"""What files of a project that are no code say of options: settings, commands, documents.

    conf/train.yaml    save_images: 0           save_images: 0
                       report: {wandb: false}   wandb: False
    run.sh             python main.py logger.wandb=true          wandb is on
    README.md          Pass `--save-images 8` for pictures.      save_images is on, too

A name that a file mentions in another way is on: what says nothing of its value may give it any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePath

from trl_lint.domain.engines import SaidOptions
from trl_lint.launch.judge.scanned_files import JSON
from trl_lint.linter.store.cache import digest

# Larger JSON files are data.
_LARGEST = 50_000
_IS_CODE = re.compile(rb"^[ \t]*(?:class|def|from|import)\b", re.M)
_GIVEN = re.compile(rb"(?<![\w-])--([A-Za-z][\w-]*)")
_SAID = re.compile(rb"(?<!\w)([A-Za-z_]\w*)[\"']?[ \t]*[:=](?=[ \t]*([^\s,;#(){}]*))")
# As yacs reads commands: `TRAIN.SAVE_IMAGES True`.
_APART = re.compile(rb"\.([A-Za-z_]\w*)[ \t]+(?:[Tt]rue\b|[\"']?\d)")
_OFF: dict[bytes, object] = {
    **dict.fromkeys((b"false", b"False", b"FALSE", b"no", b"off"), False),
    **dict.fromkeys((b"null", b"None", b"~"), None),
    **dict.fromkeys((b"0", b"0.0", b"0."), 0),
    **dict.fromkeys((b"''", b'""'), ""),
}

Said = tuple[frozenset[str], frozenset[tuple[str, object]]]


def said_in(path: PurePath, content: bytes) -> Said:
    """The options that a file turns on, and those that it turns off, with their values.

    Python that defines and imports nothing is settings, too, as mmcv has them.
    """
    is_code = path.suffix == ".py" and _IS_CODE.search(content) is not None
    if is_code or (path.suffix == JSON and len(content) > _LARGEST):
        return frozenset(), frozenset()
    said = _SAID.findall(content)
    on = {name for name, value in said if value not in _OFF}
    on.update(each.replace(b"-", b"_") for each in _GIVEN.findall(content))
    on.update(_APART.findall(content))
    off = {(name.decode(), _OFF[value]) for name, value in said if value in _OFF}
    return frozenset(each.decode() for each in on), frozenset(off)


def said_by(found: Iterable[Said]) -> SaidOptions:
    """What several files say together: an option that one of them turns on is on."""
    pairs = list(found)
    on = frozenset[str]().union(*(each for each, _ in pairs))
    off = frozenset[tuple[str, object]]().union(*(each for _, each in pairs))
    known = frozenset((name, value) for name, value in off if name not in on)
    return SaidOptions(on, known, digest(repr((sorted(on), sorted(map(repr, known)))).encode()))
