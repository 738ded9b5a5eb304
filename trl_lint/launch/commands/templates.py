"""Placeholders of template languages and of documentation, masked before a shell grammar parses them."""

from __future__ import annotations

import re

from trl_lint.launch.commands.source_map import Passage, opaque

# `${{ matrix.gpus }}` of GitHub, `{{ .Values.x }}` of Jinja, Helm and just.
_TEMPLATE = re.compile(r"\$?\{\{[^{}\n]*\}\}")
# `<your-model>`: to a shell that would be a redirection.
_BRACES = re.compile(r"(?<!\$)\{[^{}\n]*\}")
_PLACEHOLDER = re.compile(r"<[A-Za-z][\w ./-]*>")
# `--seed=[a number; if blank, a random one]`: several words, which may have brackets, marks and quotes of any kind.
_WORDS = re.compile(r"(?<=[=\s-])\[[A-Za-z][\w'-]* (?:[^\[\]\n]|\[[^\[\]\n]*\])*\]")


def without_templates(passage: Passage) -> Passage:
    return passage.replaced(_TEMPLATE, opaque) if "{{" in passage.text else passage


def without_placeholders(passage: Passage) -> Passage:
    """Mask templates, and placeholders that documentation leaves to the reader."""
    passage = without_templates(passage)
    passage = passage.replaced(_PLACEHOLDER, opaque) if "<" in passage.text else passage
    return passage.replaced(_WORDS, opaque) if "[" in passage.text else passage


def without_braces(passage: Passage) -> Passage:
    """Mask `{posargs}` of tox, `{name}` of an f-string."""
    return without_templates(passage).replaced(_BRACES, opaque)
