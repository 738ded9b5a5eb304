"""The linted project: which file an import means, each file parsed at most once, and only when needed."""

from __future__ import annotations

import codecs
import re
import tokenize
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import libcst as cst
from libcst.metadata import CodeRange

from trl_lint import files
from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
from trl_lint.analysis.program.project.import_lines import occurs, program_mentions, related_mentions
from trl_lint.analysis.program.project.import_search import ImportSearch
from trl_lint.analysis.program.project.nesting import TooDeep
from trl_lint.analysis.program.project.notes import Notes, NoteT
from trl_lint.analysis.program.project.partial_trees import is_whole, parsed, partly_parsed
from trl_lint.analysis.program.project.search_path import folders_for
from trl_lint.analysis.program.project.source_text import code_of
from trl_lint.analysis.program.tree_caches import forget_after
from trl_lint.domain.engines import UNKNOWN_ENGINES, EnginesInUse, no_engines
from trl_lint.domain.kinds import Identity
from trl_lint.knowledge.backends import SEES_ONE_GPU

if TYPE_CHECKING:
    from trl_lint.analysis.program.project.classes import ClassInfo, FunctionInfo
    from trl_lint.domain.heap import Cell, Memory
    from trl_lint.domain.values import Value
    from trl_lint.knowledge.heuristics import Guess


class Module:
    """One parsed file. `names` are its global names after the interpreter has run its body."""

    def __init__(self, path: Path, name: str, tree: cst.Module, top: Path) -> None:
        self.path = path
        self.name = name
        self.tree = tree
        self.top = top  # the directory that holds the top-level package
        self.is_package = path.name == "__init__.py"
        self.names: dict[str, Value] = {}
        self.stars: list[Path] = []  # the files from which it imports all names with `from … import *`
        self.library_stars: list[str] = []  # the same, modules of libraries
        self.not_starred: set[str] = set()
        self.heap: dict[Identity, Cell] = {}
        # Which engines its project is shown to use, determined on demand.
        self.engines: Callable[[], EnginesInUse] = no_engines
        # Whether any linted file of its project has one of the texts, determined on demand.
        self.project_mentions: Callable[..., bool] = lambda *_: False
        # The same of the files that import it, and of those that any of these imports.
        self.program_mentions: Callable[..., bool] = lambda *_: False
        # The same of all linted files but other programs that have nothing to do with it.
        self.related_mentions: Callable[..., bool] = lambda *_: False
        self.trace: Any = None
        self.memory: Callable[[], Memory] | None = None  # its state while its body is run
        self.state = "new"  # new, running, done
        self.gave_up = False  # its body is nested too deeply to be followed
        self.source: bytes | None = None
        self.positions: Mapping[cst.CSTNode, CodeRange] | None = None
        # In an editor: the nodes around functions whose text has changed, by the id of the one before.
        self.replaced: Mapping[int, cst.CSTNode] = {}
        self.written: Any = None
        self.starts = False  # whether it creates a trainer, an Accelerator or a process group
        self.surely_one_process = False  # see `one_process`
        # The same, if the launches do not show otherwise, by what in it says so.
        self.one_by_option: dict[Hashable, Callable[[EnginesInUse], bool]] = {}
        self.notes = Notes()
        # Expressions and bound names whose values are requested, by the id of their statement.
        self.asked: Mapping[int, tuple[cst.CSTNode, ...]] = {}
        self.functions: list[FunctionInfo] = []
        self.classes: list[ClassInfo] = []
        self._code: bytes | None = None
        self._mentions: dict[bytes, bool] = {}
        self._shown: dict[Guess, bool] = {}

    def retype(self, source: bytes, tree: cst.Module, replaced: Mapping[int, cst.CSTNode]) -> None:
        """Replace its text; everything derived from the old one is dropped, except its names.

        replaced: the nodes of the new tree in place of old ones, by the id of the old one.
        """
        later = {old: replaced.get(id(new), new) for old, new in self.replaced.items()}
        self.replaced = {**later, **replaced}
        self.source, self.tree, self.positions, self.written = source, tree, None, None
        self._code = None
        self._mentions.clear()
        self._shown.clear()

    def remembered(self) -> tuple[dict[bytes, bool], dict[Guess, bool]]:
        """The answers of `mentions` and `shows` so far."""
        return dict(self._mentions), dict(self._shown)

    @property
    def text(self) -> str:
        """The text that was parsed."""
        return self.tree.code if self.source is None else decode(self.source)[0]

    @property
    def code(self) -> bytes:
        """The text without comments and prose."""
        if self._code is None:
            self._code = code_of(self.tree.bytes if self.source is None else self.source)
        return self._code

    def shows(self, guess: Guess) -> bool:
        """Whether a guess matches anything in the code of the file."""
        known = self._shown.get(guess)
        if known is None:
            known = self._shown[guess] = guess.found_in(self.code)
        return known

    def mentions(self, pattern: bytes, word: str = "") -> bool:
        """Whether a regular expression matches anywhere in the code of the file.

        word: a part of every match, which is looked for first: that takes a fraction of the time.
        """
        known = self._mentions.get(pattern)
        if known is None:
            known = self._mentions[pattern] = word.encode() in self.code and re.search(pattern, self.code) is not None
        return known

    @property
    def one_process(self) -> bool:
        """Whether no launch of it starts several processes; see `observers.program_starts`."""
        return self.surely_one_process or any(is_one(self.engines()) for is_one in self.one_by_option.values())

    @property
    def sees_one_gpu(self) -> bool:
        """Whether it makes one GPU visible, and no known launch starts several processes: no model is wrapped."""
        return self.one_process and self.mentions(SEES_ONE_GPU) and not self.engines().launched

    def absolute(self, relative_level: int, dotted: str) -> str:
        """The absolute name that `from ...dotted import` means in this file."""
        if not relative_level:
            return dotted
        package = self.name.split(".") if self.is_package else self.name.split(".")[:-1]
        package = package[: len(package) - relative_level + 1]
        return ".".join([*package, dotted] if dotted else package)


class DecodeError(Exception):
    """A file whose bytes are not text in the encoding it declares."""


def decode(source: bytes) -> tuple[str, str]:
    """The text of a Python file, with its line ends, and its encoding (with `-sig` for a BOM).

    Raises:
        DecodeError: the encoding is unknown or the bytes are not valid in it.
    """
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(source).readline)
        text = source.decode(encoding)
        text.encode()  # some encodings yield surrogates, which no parser accepts
        return text, encoding
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise DecodeError(str(error)) from None


def encode(text: str, encoding: str) -> bytes:
    """The bytes of a text, with the BOM if the file had one."""
    if encoding == "utf-8-sig":
        return codecs.BOM_UTF8 + text.encode("utf-8")
    return text.encode(encoding)


def round_trips(text: str, encoding: str, source: bytes) -> bool:
    """Whether encoding a text reproduces the same bytes: some encodings spell a character in several ways."""
    try:
        return encode(text, encoding) == source
    except UnicodeError:
        return False


# Files larger than this that are not linted are parsed for a base class only, not for other definitions.
MAX_OPENED = 400_000


class Project(ImportSearch):
    """All files that an analysis may read."""

    def __init__(self, roots: Sequence[Path] = ()) -> None:
        super().__init__(roots)
        forget_after(self)
        self.notes = Notes()  # results that the analysis of one file keeps for that of another
        # By file: the content that was analysed, and the results.
        self.analysed: dict[Path, Any] = {}
        # Trees by file, with the content each was parsed from: projects may share them, as trees are never changed.
        self.trees: dict[Path, tuple[bytes, cst.Module]] = {}
        self._modules: dict[Path, Module | None] = {}
        # By file: the content that was asked about, and the same without comments.
        self._codes: dict[Path, tuple[bytes, bytes]] = {}
        # What was found on the disk: the content of every file that was opened (None: it can't be read), and its size.
        self.opened: dict[Path, bytes | None] = {}
        self.sizes: dict[Path, int] = {}
        # Which engines the project of a file is shown to use.
        self.engines_for: Callable[[Path], EnginesInUse] = lambda _: UNKNOWN_ENGINES

    def loaded(self, path: Path, source: bytes) -> Module | None:
        """The parsed file, if it was parsed from exactly this content."""
        module = self._modules.get(path)
        return module if module is not None and module.source == source and is_whole(module.tree) else None

    def add(self, path: Path, text: str, source: bytes | None = None, *, whole: bool = True) -> Module:
        """Parse a text as the content of a file. whole: whether all of it has to be valid.

        Raises:
            libcst.ParserSyntaxError: it is not valid Python.
            TooDeep: it is nested more deeply than can be parsed.
        """
        known = self.trees.get(path)
        if known is not None and known[0] == source and not (whole and not is_whole(known[1])):
            tree = known[1]
        else:
            tree = parsed(text) if whole else partly_parsed(text)
            if source is not None:
                self.trees[path] = (source, tree)
        top, name = self._place(path)
        module = self._modules[path] = Module(path, name, tree, top)
        module.source = source
        module.engines = partial(self.engines_for, path)
        module.project_mentions = self.mentions_anywhere
        module.program_mentions = partial(program_mentions, self, path)
        module.related_mentions = partial(related_mentions, self, path)
        return module

    def module(self, path: Path) -> Module | None:
        """The parsed file; None if it can't be read or parsed (imports from it are then unknown)."""
        if path not in self._modules:
            self._modules[path] = None
            try:
                source = self._read(path)
                self.add(path, decode(source)[0], source, whole=path in self.linted)
            except (OSError, DecodeError, TooDeep, cst.ParserSyntaxError, cst.CSTValidationError):
                return None
        return self._modules[path]

    def mentions(self, path: Path, name: str) -> bool:
        """Whether a name occurs in the text of a file: if not, the file can't define it, and need not be parsed."""
        return name.encode() in self.text(path)

    def count(self, path: Path, text: str) -> int:
        """How often a text occurs in a file."""
        return self.text(path).count(text.encode())

    def text(self, path: Path) -> bytes:
        """The content of a file, as it was parsed if it was; empty if it can't be read."""
        module = self._modules.get(path)
        if module is not None and module.source is not None:
            return module.source
        try:
            return self._read(path)
        except OSError:
            return b""

    def linted_code(self, name: str) -> Iterator[tuple[Path, bytes]]:
        """The code of the linted files whose text contains a name. Comments are removed from the code."""
        return ((path, self.code(path)) for path in self.linted if self.mentions(path, name))

    def of_linted(self, key: Hashable, work: Callable[[], NoteT]) -> NoteT:
        """The result of `work`, which depends on the texts of the linted files; again once there are more of them."""
        return self.notes.cached((key, len(self.linted)), work)

    def mentions_anywhere(self, pattern: bytes, without: bytes = b"") -> bool:
        """Whether a regular expression matches anywhere in the code of the linted files, but for what another does."""
        found = partial(occurs, self, self.linted, pattern, without)
        return self.of_linted((Project.mentions_anywhere, pattern, without), found)

    def code(self, path: Path) -> bytes:
        """The content of a file without comments and prose."""
        text = self.text(path)
        known = self._codes.get(path)
        if known is None or known[0] is not text:
            module = self._modules.get(path)
            of_module = module.code if module is not None and module.source is text else code_of(text)
            known = self._codes[path] = text, of_module
        return known[1]

    def _read(self, path: Path) -> bytes:
        """The content of a file, which is read only once."""
        known = self.overlay.get(path)
        if known is not None:
            return known
        if path not in self.opened:
            self.opened[path] = None
            self.opened[path] = files.read(path)
        content = self.opened[path]
        if content is None:
            raise OSError(f"{path} could not be read before")
        return content

    def may_open(self, path: Path) -> bool:
        """Whether the contents of a file are worth parsing it."""
        if path in self.linted or path in self.overlay:
            return True
        if path not in self.sizes:
            self.sizes[path] = files.size(path)
        return self.sizes[path] <= MAX_OPENED

    def find(self, dotted: str, importer: Module) -> Path | None:
        """The file that `import dotted` means in a parsed file; see `find_from`."""
        added = importer.notes.cached(folders_for, lambda: folders_for(self, importer.path, importer.source or b""))
        return self.find_from(dotted, importer.path, importer.top, added)
