"""Numbers that are another one in each process: drawn from a generator that the file has not seeded, or the time.

For example:

    number = np.random.randint(1000)         drawn
    np.random.seed(args.seed)
    number = np.random.randint(1000)         the same on all ranks, and so is one after `set_seed(args.seed)`
    number = random.random()                 drawn, as NumPy has a generator of its own
    np.random.seed(args.seed + rank)         does not count, nor what a function such as `set_seed` does
    f"run_{time.time()}"                     a time with parts of a second counts as drawn
    now.strftime("%H-%M-%S-%f")              so does this one, and `datetime.now().isoformat()`
    f"run_{int(time.time())}"                one without does not, as processes that start together share it
"""

from __future__ import annotations

import re

from trl_lint.knowledge.heuristics import SEEDS_ALL, SEEDS_APART
from trl_lint.knowledge.python import READ_FINELY
from trl_lint.knowledge.random_draws import ALL, DRAW_NUMBERS, SEEDERS

_CALL = re.compile(r"(?<![\w.])((?:\w+\.)*)(\w+)\(")
_SHORT = re.compile(r"^np\.")
# A function, with its body.
_FUNCTION = re.compile(r"^([ \t]*)def (\w+)\([^\n]*\n((?:\1[ \t]+[^\n]*\n|[ \t]*\n)*)", re.MULTILINE)
# Names of these functions without their modules, as code may import them.
_BARE = {name.rpartition(".")[2]: name for name in DRAW_NUMBERS if name.startswith("random.")}
# What stands before or after a time that is put into a text without the parts of a second.
_CUTS_BEFORE = re.compile(r"\b(?:int|round)\($|%[di]")
_CUTS_AFTER = re.compile(r"\)[ \t]*(?::|//)")
# A time as a text that has the parts of a second.
FINE_TEXT = re.compile(r"\.(?:strftime\((?=[^()\n]*%f)|(?<=now\(\)\.)isoformat\((?=\)))")
# What stands in a text for such a call.
DRAWN, SEEDED = "drawn_number", "seeded_number"


def marked(code: str) -> str:
    """The code of a file with other names for the calls that draw numbers, in the order of the text."""
    seeded: set[str] = set()
    code = _FUNCTION.sub(lambda each: "" if SEEDS_ALL.fits(each[2]) else each[0], code)
    code = FINE_TEXT.sub(f".{DRAWN}(", code)
    return _CALL.sub(lambda call: _marked(call, seeded), code)


def _marked(call: re.Match[str], seeded: set[str]) -> str:
    dotted = _SHORT.sub("numpy.", f"{call[1]}{call[2]}")
    generator = DRAW_NUMBERS.get(_BARE.get(dotted, dotted))
    if generator is not None:
        return f"{SEEDED if generator in seeded else DRAWN}("
    if dotted in READ_FINELY and not _is_cut(call):
        return f"{DRAWN}("
    if SEEDS_ALL.fits(call[2]) and not _is_apart(call):
        seeded |= SEEDERS.get(dotted, ALL)
    return call[0]


def _is_cut(call: re.Match[str]) -> bool:
    """Whether a time is put into a text in whole seconds."""
    line = call.string.rfind("\n", 0, call.start()) + 1
    is_cut_before = _CUTS_BEFORE.search(call.string[line : call.start()]) is not None
    return is_cut_before or _CUTS_AFTER.match(call.string, call.end()) is not None


def _is_apart(call: re.Match[str]) -> bool:
    """Whether the rest of its line says that it seeds each process otherwise."""
    end = call.string.find("\n", call.end())
    return SEEDS_APART.fits(call.string[call.end() : end if end >= 0 else None])
