"""TRL008: commands of the shell that change files which all ranks share."""

from __future__ import annotations

import pytest
from snippets import Snippets, loop

from trl_lint.analysis.program.idioms.shell_lines import change_of_line

SNIPPETS = Snippets("TRL008")

IMPORTS = """\
import os
import shlex
import subprocess
import tempfile
from subprocess import check_call
"""


def places(body: str) -> list[str]:
    return SNIPPETS.places(IMPORTS + loop(body))


@pytest.mark.parametrize(
    "call",
    [
        "os.system('rm -rf ' + {})",
        "os.system('rm -rf {{}}'.format({}))",
        "os.system('rm -rf %s' % {})",
        "os.popen('rm -rf ' + {})",
        "subprocess.getoutput('rm -rf ' + {})",
        "subprocess.run(['rm', '-rf', {}])",
        "subprocess.run(('rm', '-rf', {}))",
        "subprocess.call('rm -rf ' + {}, shell=True)",
        "subprocess.Popen('rm -rf ' + {}, shell=True)",
        "subprocess.run(['cp', 'a', 'b'], cwd={})",
        "check_call(['mkdir', {}])",
        "subprocess.run(['mkdir', {}], check=True)",
        "subprocess.run(('rm -rf ' + {}).split())",
        "subprocess.run(shlex.split('rm -rf ' + {}))",
        "subprocess.run(' '.join(['rm', '-rf', {}]), shell=True)",
    ],
)
def test_a_command_that_is_the_same_everywhere(call):
    same = call.format("os.path.join(args.output_dir, 'x')")
    assert places(same) == [same]
    assert places(f"if accelerator.is_main_process:\n    {same}") == []
    assert places(call.format("f'x-{accelerator.process_index}'")) == []
    assert places(call.format("f'x-{os.getpid()}'")) == []
    assert places(call.format("f'x-{time.time()}'")) == []
    assert places(call.format("tempfile.mkdtemp()")) == []
    assert places(call.format("path_of(batch)")) == []


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("command = 'rm -rf ' + args.output_dir\nos.system(command)", True),
        ("command = ['rm', '-rf']\ncommand.append(args.output_dir)\nsubprocess.run(command)", True),
        ("command = f'rm -rf {path_of(batch)}'\nos.system(command)", False),
        ("os.system(args.command)", False),
        ("subprocess.run('rm -rf out')", False),  # there is no program of that name
        ("subprocess.run(['rm', '-rf', 'out'], shell=True)", False),
        ("subprocess.run(['bash', '-c', 'rm -rf out'])", False),
        ("subprocess.run(['rm', '-rf', 'out'], cwd=path_of(batch))", False),
        ("subprocess.run(['rm', '-rf', 'out'], cwd=None)", True),
    ],
)
def test_what_is_known_of_the_command(body, is_reported):
    assert bool(places(body)) is is_reported


@pytest.mark.parametrize(
    ("line", "name", "does"),
    [
        ("rm -rf out", "rm", "removes"),
        ("/bin/rm out/*", "rm", "removes"),
        ("sudo rm -rf out", "rm", "removes"),
        ("LC_ALL=C mv a b", "mv", "moves"),
        ("cp -r a b", "cp", "writes the same copy"),
        ("cp a b && rm -rf out", "rm", "removes"),  # the copy alone is a waste
        ("mkdir -p out; rm -f out/x", "rm", "removes"),
        ("cd data\ntar xzf a.tgz", "tar", "writes the same files"),
        ("tar -I pigz \\\n -xf a.tgz", "tar", "writes the same files"),
        ("tar -czf a.tgz out", "tar", "writes the same file"),
        ("unzip -q a.zip -d out", "unzip", "writes the same files"),
        ("gunzip a.gz", "gunzip", "writes the same files"),
        ("zip -r a.zip out", "zip", "writes the same file"),
        ("wget -P out https://a.org/x", "wget", "downloads"),
        ("curl -Lo x https://a.org/x", "curl", "downloads"),
        ("git clone https://a.org/x", "git clone", "clones"),
        ("nvidia-smi | tee usage.txt", "tee", "writes the same file"),
        ("nvidia-smi -q > usage.txt", "nvidia-smi", "writes the same file"),
        ("cat a b > 'c d' 2> errors", "cat", "writes the same file"),
        ("rm $HOME/x", "rm", "removes"),
    ],
)
def test_what_a_line_changes(line, name, does):
    effect, found = change_of_line(line, checked=False)
    assert (found, effect.does[: len(does)]) == (name, does)


@pytest.mark.parametrize(
    "line",
    [
        "ls out",
        "rm",
        "mkdir -p out",
        "mkdir out",  # the others go on after the error
        "ln -s a b",
        "rmdir out",
        "touch out",
        "chmod +x x.sh",
        "python setup.py build",
        "bash rm.sh",
        "echo rm -rf out",
        "rm -rf out/$RANK",
        "rm -rf out/$$",
        "rm -rf `cat path`",
        "rm -rf $(cat path)",
        "[ -d out ] || git clone https://a.org/x",
        "if test -d out; then rm -rf out; fi",
        "for x in *; do rm -rf $HOME/a; done",
        "flock lock rm -rf out",
        "tar tf a.tar",
        "tar cf - out | ssh host",
        "tar -xOf a.tar x",
        "gunzip -c a.gz | head",
        "unzip -l a.zip",
        "wget -qO- https://a.org | sh",
        "wget -O - https://a.org",
        "wget --spider https://a.org",
        "curl https://a.org",
        "curl -so /dev/null https://a.org",
        "git pull",
        "nvidia-smi > /dev/null 2>&1",
        "nvidia-smi 2> errors",
        "nvidia-smi >> usage.txt",
        "nvidia-smi | tee -a usage.txt",
        "rm 'out",
        "",
        "\0",
        "\0 out",
    ],
)
def test_what_a_line_does_not_change(line):
    assert change_of_line(line, checked=False) is None


@pytest.mark.parametrize(
    ("line", "fails"),
    [
        ("mkdir out", True),
        ("ln -s a b", True),
        ("rmdir out", True),
        ("mv a b", True),
        ("rm out", True),
        ("rm -f out", False),
        ("git clone https://a.org/x", True),
        ("tar xf a.tar", False),
    ],
)
def test_which_commands_fail_on_the_other_ranks(line, fails):
    effect, _ = change_of_line(line, checked=True)
    assert effect.fails is fails


@pytest.mark.parametrize("line", ["mkdir -p out", "mkdir --parents out", "ln -sf a b"])
def test_what_all_ranks_may_do(line):
    assert change_of_line(line, checked=True) is None


def test_what_the_others_have_made_since_is_removed():
    (finding,) = SNIPPETS.findings(IMPORTS + loop("os.system('rm -rf out')"))
    assert finding.consequence == "race"
    assert finding.by_default
    assert finding.message == (
        "`rm` runs on all processes: each of them removes the same files, with what another one has put there since"
    )


def test_an_error_of_the_others_is_raised():
    (finding,) = SNIPPETS.findings(IMPORTS + loop("check_call(['mkdir', args.output_dir])"))
    assert finding.consequence == "crash"
    assert finding.message == (
        "`mkdir` runs on all processes: each of them creates the same folder, and all but the first fail"
    )
    assert finding.help == "let all ranks create it: `mkdir -p`"


def test_a_command_without_a_name_is_that_of_its_call():
    (finding,) = SNIPPETS.findings(IMPORTS + loop("os.system(f'{args.tool} > out.txt')"))
    assert finding.message.startswith("`os.system` runs on all processes: each of them writes the same file ")


@pytest.mark.parametrize(
    ("body", "is_reported"),
    [
        ("if not os.path.exists('a'): os.system('git clone https://a.org/a')", None),
        ("if os.path.exists('out'): os.system('rm -rf out')", True),
        ("try:\n    check_call(['mkdir', 'out'])\nexcept subprocess.CalledProcessError:\n    pass", False),
        ("with accelerator.main_process_first():\n    os.system('tar xf a.tar')", False),
        ("with accelerator.main_process_first():\n    check_call(['mkdir', 'out'])", True),
    ],
)
def test_conditions_on_the_files(body, is_reported):
    """None: it is reported, but not by default."""
    found = SNIPPETS.findings(IMPORTS + loop(body))
    assert [each.by_default for each in found] == ([] if is_reported is False else [bool(is_reported)])


def test_only_the_main_process_is_told_to():
    text = IMPORTS + loop("os.system('rm -rf out')")
    assert SNIPPETS.mended(text, unsafe=True) == IMPORTS + loop(
        "if accelerator.is_main_process:\n    os.system('rm -rf out')"
    )
