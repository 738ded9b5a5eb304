"""The edit, byte for byte; it changes only the interpreter and its flags."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from launching import commands, launchers, rewritten, starts

from trl_lint.launch.rewrite import applied, rewrite

REWRITTEN = {
    "python x.py": "accelerate launch x.py",
    "python3 -m a.b --c 'd e' > log 2>&1 &": "accelerate launch -m a.b --c 'd e' > log 2>&1 &",
    "A=1 python  x.py\t\\\n   --a  \"$B\" \\\r\n\n": "A=1 accelerate launch  x.py\t\\\n   --a  \"$B\" \\\r\n\n",
    "python -u x.py": "PYTHONUNBUFFERED=1 accelerate launch x.py",
    "A=1 python -uO x.py": "A=1 PYTHONUNBUFFERED=1 PYTHONOPTIMIZE=1 accelerate launch x.py",
    "python -u \\\n  x.py": "PYTHONUNBUFFERED=1 accelerate launch \\\n  x.py",
    "python \\\n  -u x.py": "PYTHONUNBUFFERED=1 accelerate launch \\\n  x.py",
    "python -X dev -X faulthandler x.py":
        "PYTHONDEVMODE=1 PYTHONFAULTHANDLER=1 accelerate launch x.py",
    "nohup python -u x.py": "nohup env PYTHONUNBUFFERED=1 accelerate launch x.py",
    ".venv/bin/python x.py": ".venv/bin/accelerate launch x.py",
    "python3.11 x.py": "python3.11 -m accelerate.commands.launch x.py",
    "$PYTHON x.py": "$PYTHON -m accelerate.commands.launch x.py",
    "P=python\n$P x.py": "P=python\n$P -m accelerate.commands.launch x.py",
    "$VENV/bin/python -u x.py": "PYTHONUNBUFFERED=1 $VENV/bin/python -m accelerate.commands.launch x.py",
    "uv run python x.py": "uv run accelerate launch x.py",
    "bash -c \"python x.py $A\"": "bash -c \"accelerate launch x.py $A\"",
    "bash -c 'python -u x.py'": "bash -c 'PYTHONUNBUFFERED=1 accelerate launch x.py'",
    "echo ü; python x.py --ä": "echo ü; accelerate launch x.py --ä",
}  # fmt: skip
NEVER = ["python -W ignore x.py", "python -i x.py", "python -I x.py", "python -mx.y", "python -um x.y", "uv run x.py",
         "P='python -u'\n$P x.py", "F=-u\npython $F x.py", "alias p='python x.py'\np"]  # fmt: skip
FILES = {
    ("Dockerfile", 'CMD ["python", "-u", "x.py", "<|a|>\\n"]'):
        'CMD ["env", "PYTHONUNBUFFERED=1", "accelerate", "launch", "x.py", "<|a|>\\n"]',
    ("Dockerfile", 'ENTRYPOINT [ "python" ]\nCMD ["x.py"]'): 'ENTRYPOINT [ "accelerate", "launch" ]\nCMD ["x.py"]',
    ("Dockerfile", "RUN a && \\\n # c\n python x.py"): "RUN a && \\\n # c\n accelerate launch x.py",
    ("Dockerfile", "RUN <<EOF\npython x.py\nEOF\n"): "RUN <<EOF\naccelerate launch x.py\nEOF\n",
    ("Makefile", "a:\n\t@python x.py $$A\n"): "a:\n\t@accelerate launch x.py $$A\n",
    ("Makefile", "P = python\na:\n\t$(P) x.py\n"): "P = python\na:\n\t$(P) -m accelerate.commands.launch x.py\n",
    ("a.yml", "command: python -u x.py"): "command: env PYTHONUNBUFFERED=1 accelerate launch x.py",
    ("a.yml", "command: 'python ''x.py'''"): "command: 'accelerate launch ''x.py'''",
    ("a.yml", 'run: "python \\"x.py\\""'): 'run: "accelerate launch \\"x.py\\""',
    ("a.yml", "run: >\n  a &&\n  python\n  x.py\n"): "run: >\n  a &&\n  accelerate launch\n  x.py\n",
    ("a.yml", "a:\n  - run: |\n        python -u x.py \\\n          --b\n"):
        "a:\n  - run: |\n        PYTHONUNBUFFERED=1 accelerate launch x.py \\\n          --b\n",
    ("a.yml", "command: [python, 'x.py']"): "command: [accelerate, launch, 'x.py']",
    ("a.yml", "command:\n- python\n- -u\n- x.py\n"):
        "command:\n- env\n- PYTHONUNBUFFERED=1\n- accelerate\n- launch\n- x.py\n",
    ("a.yml", "command: [bash, -c]\nargs: ['python x.py']"): "command: [bash, -c]\nargs: ['accelerate launch x.py']",
    ("a.md", "> ```sh\n> $ python x.py\n> ```\n"): "> ```sh\n> $ accelerate launch x.py\n> ```\n",
    ("a.rst", "A::\n\n  $ python x.py\n"): "A::\n\n  $ accelerate launch x.py\n",
    ("a.py", "import os\nos.system('python x.py')"): "import os\nos.system('accelerate launch x.py')",
    ("a.py", "import os\nos.system(\n    f'cd {there}; python x.py '  # here\n    '--a \\'b\\''\n)"): (
        "import os\nos.system(\n    f'cd {there}; accelerate launch x.py '  # here\n    '--a \\'b\\''\n)"
    ),
    ("a.py", "import subprocess\nsubprocess.run('python -u x.py'.split())"):
        "import subprocess\nsubprocess.run('env PYTHONUNBUFFERED=1 accelerate launch x.py'.split())",
    ("a.py", "import sys, subprocess\nsubprocess.run([sys.executable, '-u', 'x.py'])"):
        "import sys, subprocess\nsubprocess.run(['env', 'PYTHONUNBUFFERED=1', sys.executable, '-m', "
        "'accelerate.commands.launch', 'x.py'])",
    ("justfile", "a:\n  @python x.py {{b}}\n"): "a:\n  @accelerate launch x.py {{b}}\n",
    ("Snakefile", "rule a:\n  shell: 'python x.py {b} '\n    f\"{{c}} $(awk '{{{{print}}}}')\"\n"):
        "rule a:\n  shell: 'accelerate launch x.py {b} '\n    f\"{{c}} $(awk '{{{{print}}}}')\"\n",
    ("Snakefile", "rule a:\n  run:\n    shell(r'python -u x.py --a \"b\"')\n"):
        "rule a:\n  run:\n    shell(r'PYTHONUNBUFFERED=1 accelerate launch x.py --a \"b\"')\n",
    ("Snakefile", "rule a:\n  shell: 'set -e\\npython x.py \\'b\\''\n"):
        "rule a:\n  shell: 'set -e\\naccelerate launch x.py \\'b\\''\n",
    ("tox.ini", "[testenv]\ncommands = python x.py\n"): "[testenv]\ncommands = accelerate launch x.py\n",
}  # fmt: skip


@pytest.mark.parametrize("text", REWRITTEN)
def test_rewritten(text: str) -> None:
    assert rewritten(text) == REWRITTEN[text]
    assert not starts(REWRITTEN[text])
    assert launchers(REWRITTEN[text] + "\n# python")


@pytest.mark.parametrize("text", NEVER)
def test_never_rewritten(text: str) -> None:
    assert starts(text)
    assert rewritten(text) is None


@pytest.mark.parametrize(("name", "text"), FILES)
def test_rewritten_in_a_file(name: str, text: str) -> None:
    new = rewritten(text, name)
    assert new is not None and new.split("\n") == _quoted(FILES[name, text], text).split("\n")
    assert not starts(new, name)


def _quoted(new: str, old: str) -> str:
    """Words that replace a name have no neighbour whose quotes they could copy: they get double ones."""
    if "sys.executable" not in old:
        return new
    return re.sub(r"'(env|PYTHONUNBUFFERED=1|-m|accelerate\.commands\.launch)'", r'"\1"', new)


_WORD = st.sampled_from(["--a", "'b c'", '"d $E"', "$F", "é", "\\\n ", "--g=1", "$(h)", "i.py", "{j}"])
_LINE = st.builds(
    lambda before, python, flags, script, after: " ".join([*before, python, *flags, script, *after]),
    st.lists(st.sampled_from(["A=1", "B='c d'", "C=$D"]), max_size=2),
    st.sampled_from(["python", "python3", "./venv/bin/python", "python3.12", "$PYTHON"]),
    st.lists(st.sampled_from(["-u", "-O", "\\\n", "-B"]), max_size=2),
    st.sampled_from(["x.py", "'a b.py'", "-m a.b", '"$D/x.py"']),
    st.lists(_WORD, max_size=5),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_LINE, min_size=1, max_size=4), st.sampled_from(["sh", "yml", "md", "ipynb"]))
def test_only_the_interpreter_and_its_flags_change(lines: list[str], kind: str) -> None:
    text = _hosted("# python\n" + "\n".join(lines) + "\n", kind)
    found = starts(text, f"x.{kind}")
    assert len(found) == len(lines)
    edits = []
    for start in found:
        plan = rewrite(start, text)
        assert plan is not None and start.interpreter is not None
        for edit in plan:
            own = [start.interpreter, *start.flags]
            assert any(edit.start <= word.start and word.end <= edit.end for word in own)
            assert not text[edit.start : edit.end].strip().replace("\\", "").strip().startswith(("x.py", "a.b"))
        edits += plan
    new = applied(text, edits)
    assert not starts(new, f"x.{kind}")
    assert len(launchers(new, f"x.{kind}")) == len(lines)


@settings(max_examples=150, deadline=None)
@given(st.lists(_LINE, max_size=4), st.sampled_from(["sh", "yml", "md", "ipynb"]))
def test_words_stand_where_they_say(lines: list[str], kind: str) -> None:
    text = _hosted("\n".join(["python", *lines]) + "\n", kind)
    for command in commands(text, f"x.{kind}"):
        for word in command.words:
            assert not word.exact or text[word.start : word.end] == word.raw
            assert 0 <= word.start <= word.end <= len(text)


def _hosted(script: str, kind: str) -> str:
    if kind == "yml":
        return "jobs:\n  - run: |\n" + "".join(f"      {line}\n" for line in script.splitlines())
    if kind == "md":
        return "- item\n\n  ```bash\n" + "".join(f"  {line}\n" for line in script.splitlines()) + "  ```\n"
    if kind == "ipynb":
        source = ["%%bash\n", *script.splitlines(keepends=True)]
        return json.dumps({"cells": [{"cell_type": "code", "source": source}]}, indent=1)
    return script
