"""Tokenizers that a program trains itself, and calls that write them. Read from tokenizers 0.21."""

from __future__ import annotations

from trl_lint.knowledge.schema import NOTHING, Class, Effect, Function, Parameter, Row, created, instance

_BASE = "tokenizers.BaseTokenizer"
_TOKENIZER = "tokenizers.Tokenizer"
_BASE_SOURCE = "implementations/base_tokenizer.py::BaseTokenizer"
_TOKENIZER_SOURCE = "__init__.pyi::Tokenizer"
# All of these are saved in the same way.
_IMPLEMENTATIONS = (
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
)


def _writes(name: str, source: str, path: Parameter) -> Row:
    return Function(name=name, source=source, returns=NOTHING, effect=Effect("writes the same files", path))


ROWS: tuple[Row, ...] = (
    Class(name=_BASE, source=_BASE_SOURCE),
    Class(name=_TOKENIZER, source=_TOKENIZER_SOURCE),
    *(
        Function(name=f"{_TOKENIZER}.{name}", source=f"{_TOKENIZER_SOURCE}.{name}", returns=created(_TOKENIZER))
        for name in ("from_buffer", "from_file", "from_pretrained", "from_str")
    ),
    *(
        Class(name=f"tokenizers.{name}", source=f"implementations::{name}", makes=instance(_BASE))
        for name in _IMPLEMENTATIONS
    ),
    _writes(f"{_BASE}.save", f"{_BASE_SOURCE}.save", (0, "path")),
    _writes(f"{_BASE}.save_model", f"{_BASE_SOURCE}.save_model", (0, "directory")),
    _writes(f"{_TOKENIZER}.save", f"{_TOKENIZER_SOURCE}.save", (0, "path")),
)
