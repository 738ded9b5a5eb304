"""Reading Markdown: code blocks, sections and the rows of tables."""

from __future__ import annotations

import re

FENCE = re.compile(r"^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def block(page: str, name: str) -> str:
    """The code block after the comment `<!-- name -->`."""
    _, _, rest = page.partition(f"<!-- {name} -->\n")
    fence = FENCE.match(rest)
    assert fence, name
    return fence["text"]


def section(page: str, heading: str) -> str:
    """The text below a heading, up to the next one."""
    _, found, rest = f"\n{page}".partition(f"\n{heading}\n")
    assert found, heading
    return re.split(r"^#+ ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def cells(text: str) -> list[list[str]]:
    """The rows of the tables in a text, without their heads."""
    rows = [re.split(r"(?<!\\) \| ", line[2:-2]) for line in text.splitlines() if line.startswith("|")]
    heads = {index - 1 for index, row in enumerate(rows) if set(row) == {"---"}}
    return [row for index, row in enumerate(rows) if index not in heads and set(row) != {"---"}]
