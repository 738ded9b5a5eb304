"""Shell: the words of commands, and the state in which they run."""

from __future__ import annotations

import pytest
from launching import commands

WORDS = {
    "python x.py": [["python", "x.py"]],
    "python \\\n  x.py --a": [["python", "x.py", "--a"]],
    "python -u\\  \n  x.py \\\t\n --é \\ \n --a": [["python", "-u", "x.py", "--é", "--a"]],
    "python 'a b.py' \"c d\" e\\ f": [["python", "a b.py", "c d", "e f"]],
    'python x.py "$A" $(date) `b`': [["date"], ["b"], ["python", "x.py", None, None, None]],
    "A=1; python x$A.py ${A} ${B:-2}": [["python", "x1.py", "1", "2"]],
    "P='python -u'; $P x.py": [["python", "-u", "x.py"]],
    'P=(python -u "a b"); "${P[@]}" x.py': [["python", "-u", "a b", "x.py"]],
    "P=(python); P+=(x.py); ${P[@]}": [["python", "x.py"]],
    "P=python\nif a; then P=torchrun; fi\n$P x.py": [["a"], [None, "x.py"]],
    "P=python\nif a; then P=b; else P=b; fi\n$P x.py": [["a"], ["b", "x.py"]],
    'A=1; python " $A $A"': [["python", " 1 1"]],
    # What is unknown in a variable is a word of its own, or a part of one.
    'P="x.py --a b_$((2 * C))_d $E -f"; python $P 1': [["python", "x.py", "--a", None, None, "-f", "1"]],
    'P="-u"; P+=" $A"; P+=" x.py"; python $P': [["python", "-u", None, "x.py"]],
    'P="x.py $(date)"; python "$P" -$P': [["date"], ["python", None, None]],
    'P="$A"; python $P': [["python", None]],
    "P=(x.py); P+=$A; python $P": [["python", None]],
    "for i in 1 2; do python x$i.py; done": [["python", None]],
    "a && python x.py || b; python y.py | tee c": [["a"], ["python", "x.py"], ["b"], ["python", "y.py"], ["tee", "c"]],
    "(cd x && python y.py)": [["cd", "x"], ["python", "y.py"]],
    "! python x.py > log 2>&1 < in": [["python", "x.py"]],
    "# python x.py\npython y.py # python z.py": [["python", "y.py"]],
    'f() { python "$@"; }\nf x.py 1': [["python", "x.py", "1"]],
    "function f { python $1 --b; }\nf x.py": [["python", "x.py", "--b"]],
    'f() { python "$1"; }\nf x.py\nf y.py': [["python", None]],
    'f() { python "$1"; }': [["python", None]],
    "f() { f; python x.py; }\nf": [["python", "x.py"]],
    "alias p='python -u'\np x.py": [["python", "-u", "x.py"]],
    "eval 'python x.py'": [],
    "bash -c 'python x.py'": [["bash", "-c", "python x.py"], ["python", "x.py"]],
    'sh -ec "python \\"x y.py\\""': [["sh", "-ec", 'python "x y.py"'], ["python", "x y.py"]],
    "bash <<EOF\npython x.py\nEOF": [["bash"], ["python", "x.py"]],
    "/usr/bin/bash <<EOF\npython x.py\nEOF": [["/usr/bin/bash"], ["python", "x.py"]],
    "cat <<EOF\npython x.py\nEOF": [["cat"]],
    "cat > job.sh <<EOF\npython x.py\nEOF": [["cat"], ["python", "x.py"]],
    "python x.py <<< text": [["python", "x.py"]],
    'echo é; python "ü.py"': [["echo", "é"], ["python", "ü.py"]],
    "case a in b) python x.py;; esac": [["python", "x.py"]],
    "while read a; do python x.py; done < f": [["read", "a"], ["python", "x.py"]],
}


@pytest.mark.parametrize("text", WORDS)
def test_words(text: str) -> None:
    found = [each for each in commands(f"{text}\n: python\n") if each.words[0].value != ":"]
    assert sorted([[word.value for word in each.words] for each in found], key=repr) == sorted(WORDS[text], key=repr)


ENVIRONMENTS = {
    "A=1 python x.py": {"A": "1"},
    "A=1; python x.py": {},
    "export A=1 B; python x.py": {"A": "1", "B": None},
    "A=1; export A; python x.py": {"A": "1"},
    "declare -x A=1; declare B=2; python x.py": {"A": "1"},
    "export A=1; unset A; python x.py": {},
    "(export A=1); python x.py": {},
    "export A=1; if b; then export A=2; fi; python x.py": {"A": None},
    "b && export A=1 && python x.py": {"A": "1"},
    "export A=$(nproc); python x.py": {"A": None},
    "export A=1; A=2 python x.py": {"A": "2"},
    "f() { python x.py; }\nexport A=1\nf": {"A": "1"},
    "f() { python x.py; }\nA=1 f": {"A": "1"},
    "f() { python x.py; }\nA=1 f; A=2 f": {"A": None},
    "export A=1\nf() { python x.py; }": {"A": "1"},
    "export A=1\nbash -c 'python x.py'": {"A": "1"},
    "A=1 bash -c 'B=2 python x.py'": {"A": "1", "B": "2"},
    "export A=1\ndocker run image bash -c 'python x.py'": {},
}


@pytest.mark.parametrize("text", ENVIRONMENTS)
def test_environment(text: str) -> None:
    (found,) = [each for each in commands(text) if each.words[0].value == "python"]
    assert found.environment == ENVIRONMENTS[text]


def test_comments_and_batch_options_are_hints() -> None:
    text = "#!/bin/sh\n#SBATCH -n 4 --gres=gpu:1\n\n# one note\n# another\npython x.py # behind\n#SBATCH --late\n"
    (found,) = commands(text)
    hints = [(each.kind.value, each.value) for each in found.surroundings.hints]
    assert hints == [("slurm", "-n=4"), ("slurm", "--gres=gpu:1"), ("note", "another"), ("note", "one note"),
                     ("note", "behind")]  # fmt: skip


def test_what_a_command_is_handed_to() -> None:
    outer, inner = commands("docker run --gpus all image bash -c 'python x.py'")
    assert [[word.value for word in each] for each in inner.surroundings.around] == [
        ["docker", "run", "--gpus", "all", "image", "bash", "-c"]
    ]
    assert outer.surroundings.around == ()
