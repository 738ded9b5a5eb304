"""Launch files that are randomly cut, duplicated, shuffled and extended: each is read and fixed without an error."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from trl_lint.launch.checker import apply_fixes, checked
from trl_lint.launch.training.launch_project import LaunchProject
from trl_lint.settings import Settings

FOLDER = Path(__file__).parents[2] / "fixtures" / "bare_python_launch" / "launches"
FILES = sorted(path.name for path in FOLDER.iterdir() if path.name not in ("train.py", "prepare.py"))
MUTANTS = 40
LONG = b"a" * 300
# Text that is inserted between the lines and words of a file.
SALT = [
    b"python train.py",
    b"CUDA_VISIBLE_DEVICES=0,1 python " + LONG + b".py",
    b"python -m " + LONG,
    b"python -m ..",
    b"python ..",
    b"python -m train",
    b"python /train.py",
    b"python ../../../../train.py",
    b"cd " + LONG,
    b"cd ..\npython train.py",
    b"? [a, b]\n: run: python train.py\n",
    b"? {a: b}\n: c\n",
    b"&x ",
    b"*x",
    b"<<: *x",
    b"!!python ",
    b"? ",
    b"- ",
    b": ",
    b"<<A",
    b"<<'A'\npython train.py\nA\n",
    b"$(",
    b")",
    b"`",
    b"'",
    b'"',
    b"\\",
    b"\\\n",
    b"{{",
    b"}}",
    b"${",
    b"$@",
    b"$1",
    b"\\u0000",
    b"\\ud83d",
    b"\\x00",
    b"\xc3\xa9",
    b"\xf0\x9f\x98\x80",
    b"\xe2\x80\xa8",
    b"\x0c",
    b"\r",
    b"\r\n",
    b"\t",
    b"\n\n",
    b"[",
    b"]",
    b"{",
    b"}",
    b",",
    b"null",
    b"export A=$(A)\n",
    b"define A\nendef\n",
    b"bash -c '",
    b"sbatch --wrap=",
    b"env ",
    b"```",
    b"```bash\n",
    b"> ",
    b"::\n\n  ",
    b".. code-block:: bash\n\n  ",
    b"#!",
    b"#SBATCH -n",
    b"RUN ",
    b"FROM a AS a\n",
    b"ENTRYPOINT [",
    b"%%bash\n",
    b"!python train.py",
    b"%env A",
    b"\x1b[2J",
]


def mutant(source: bytes, chance: random.Random) -> bytes:
    """The file with one to six changes."""
    for _ in range(chance.randint(1, 6)):
        start, end = sorted(chance.randrange(len(source) + 1) for _ in range(2))
        end = min(end, start + chance.choice((1, 5, 40, 400)))
        lines = source.splitlines(keepends=True) or [b""]
        line = chance.randrange(len(lines))
        change = chance.randrange(7)
        if change == 0:
            source = source[:start] + source[end:]
        elif change == 1:
            source = source[:start] + source[start:end] * chance.randint(2, 4) + source[end:]
        elif change in (2, 3):
            source = source[:start] + chance.choice(SALT) + source[start:]
        elif change == 4:
            lines.insert(line, chance.choice((b"", lines[line][: len(lines[line]) // 3])) + chance.choice(SALT) + b"\n")
            source = b"".join(lines)
        elif change == 5:
            lines.insert(chance.randrange(len(lines)), lines.pop(line))
            source = b"".join(lines)
        else:
            source = source[:start]
        source = source or b"python train.py\n"
    return source


@pytest.fixture(scope="module")
def project() -> LaunchProject:
    return LaunchProject.of(Settings(root=FOLDER), [FOLDER])


@pytest.mark.parametrize("name", FILES)
def test_mutants(project: LaunchProject, name: str) -> None:
    source = (FOLDER / name).read_bytes()
    chance = random.Random(name)
    for _ in range(MUTANTS):
        text = mutant(source, chance)
        found = checked(FOLDER / name, text, project)
        assert "\n" not in found.remark
        wanted = [each for each in found.launches if each.edits]
        if wanted:
            new, withheld = apply_fixes(FOLDER / name, text, project, wanted)
            assert new.decode("utf-8") or withheld


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yml", "? [a, b]\n: run: python train.py\n"),
        ("a.yml", "? {a: b}\n: - env: {A: 1}\n  run: python train.py\n"),
        ("a.sh", f"CUDA_VISIBLE_DEVICES=0,1 python {'a' * 300}.py\n"),
        ("a.sh", f"CUDA_VISIBLE_DEVICES=0,1 python -m {'a' * 300}\n"),
        ("a.sh", "cd /\nCUDA_VISIBLE_DEVICES=0,1 python -m a..b\n"),
        ("a.sh", "CUDA_VISIBLE_DEVICES=0,1 python -m a.\n"),
        ("a.md", f"```bash\nCUDA_VISIBLE_DEVICES=0,1 python {'a' * 300}.py\n```\n"),
        ("Dockerfile", 'ENV CUDA_VISIBLE_DEVICES=0,1\nCMD ["python", "a\\u0000.py"]\n'),
        ("a.yml", 'env: {CUDA_VISIBLE_DEVICES: "0,1"}\ncommand: [python, "a\\0.py"]\n'),
    ],
)
def test_read_without_an_error(project: LaunchProject, name: str, text: str) -> None:
    checked(FOLDER / name, text.encode(), project)


def test_a_launch_below_a_list_that_is_a_key(project: LaunchProject) -> None:
    text = '? [a, b]\n: run: CUDA_VISIBLE_DEVICES="0,1" python train.py\n'
    assert len(checked(FOLDER / "a.yml", text.encode(), project).launches) == 1
