"""Commands that run another command: `nohup`, `env A=1`, `uv run`, `docker run … image`, `srun`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from trl_lint.launch.commands.commands import Word

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=(.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prefix:
    """The words a command begins with, up to the command that it runs.

    Attributes:
        valued: Options whose value is the next word.
        operands: The number of words before the command that is run.
        assigns: Whether `NAME=value` words may come before that command.
        strings: Options whose value is a whole script; a command that has one also reads scripts from its input.
        environment: Whether the program that is run inherits the environment.
    """

    words: tuple[str, ...]
    valued: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    strings: frozenset[str] = frozenset()
    environment: bool = True


def _options(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _shell(name: str) -> Prefix:
    return Prefix((name,), _options("-o +o -O +O --rcfile --init-file"), strings=frozenset({"-c"}))


_SBATCH = _options(
    "-A --account -a --array -c --cpus-per-task -C --constraint -D --chdir -d --dependency -e --error -G --gpus -J "
    "--job-name -L --licenses -M --clusters -N --nodes -n --ntasks -o --output -p --partition -q --qos -t --time -w "
    "--nodelist -x --exclude --export --export-env --gres --gpus-per-node --gpus-per-task --gpus-per-socket --mem "
    "--mem-per-cpu --mem-per-gpu --ntasks-per-node --ntasks-per-gpu --cpus-per-gpu --gpu-bind --cpu-bind --mpi "
    "--container-image --container-mounts --container-workdir --container-name --jobid --mail-type --mail-user "
    "--reservation --signal --label --kill-on-bad-exit --input -i -K -m --distribution --hint --ntasks-per-socket -r"
)
_DOCKER = _options(
    "-a --attach --add-host --annotation --cap-add --cap-drop --cgroup-parent --cidfile --cpus --cpu-shares -c "
    "--cpuset-cpus --device --dns -e --env --env-file --entrypoint --expose --gpus --group-add -h --hostname --ip "
    "--ipc --label -l --label-file --link --log-driver --log-opt -m --memory --memory-swap --mount --name --network "
    "--net --network-alias --oom-score-adj --pid --pids-limit --platform -p --publish --pull --restart --runtime "
    "--security-opt --shm-size --stop-signal --storage-opt --sysctl --tmpfs --ulimit -u --user --userns --uts -v "
    "--volume --volume-driver --volumes-from -w --workdir"
)

# fmt: off
PREFIXES = (
    *(Prefix((name,)) for name in ("nohup", "time", "/usr/bin/time", "command", "builtin", "setsid", "unbuffer", "exec",
                                   "catchsegv", "caffeinate", "tini", "dumb-init")),
    Prefix(("env",), _options("-u --unset -C --chdir"), assigns=True),
    Prefix(("sudo",), _options("-u --user -g --group -h --host -p --prompt -C -D --chdir"), assigns=True),
    Prefix(("stdbuf",), _options("-i -o -e --input --output --error")),
    *(Prefix((name,), _options("-f")) for name in ("proxychains", "proxychains4")),
    Prefix(("timeout",), _options("-s --signal -k --kill-after"), operands=1),
    Prefix(("nice",), _options("-n --adjustment")),
    Prefix(("ionice",), _options("-c --class -n --classdata")),
    Prefix(("taskset",), operands=1),
    Prefix(("numactl",), _options("-C -m -N -i --cpunodebind --membind --physcpubind --interleave")),
    Prefix(("chrt",), operands=1),
    Prefix(("xvfb-run",), _options("-s --server-args -n --server-num")),
    Prefix(("tini", "--")),
    *(_shell(name) for name in ("bash", "sh", "zsh", "dash", "ksh")),
    *(_shell(f"{folder}/{name}") for folder in ("/bin", "/usr/bin") for name in ("bash", "sh")),
    Prefix(("sbatch",), _SBATCH - {"-w"}, strings=frozenset({"--wrap"})),
    Prefix(("salloc",), _SBATCH),
    Prefix(("srun",), _SBATCH),
    Prefix(("uv", "run"), _options("--with --with-requirements --with-editable --extra --group --only-group --no-group "
                                   "--python -p --env-file --project --directory --index --index-url --default-index "
                                   "--extra-index-url --package --cache-dir --config-file -i -f --find-links")),
    Prefix(("poetry", "run")),
    Prefix(("pdm", "run"), _options("-p --project --venv")),
    Prefix(("pipenv", "run")),
    Prefix(("rye", "run")),
    Prefix(("hatch", "run")),
    Prefix(("pixi", "run"), _options("-e --environment --manifest-path")),
    *(Prefix((name, "run"), _options("-n --name -p --prefix --cwd")) for name in ("conda", "mamba", "micromamba")),
    *(Prefix((name, "run"), _DOCKER, operands=1, environment=False) for name in ("docker", "podman", "nvidia-docker")),
    Prefix(("docker", "container", "run"), _DOCKER, operands=1, environment=False),
    *(Prefix((name, "exec"), _options("-e --env --env-file -u --user -w --workdir"), operands=1, environment=False)
      for name in ("docker", "podman")),
    *(Prefix(("docker", "compose", verb), _options("-e --env -u --user -w --workdir --name -v --volume -p --publish "
                                                   "--entrypoint -l --label --index"), operands=1, environment=False)
      for verb in ("run", "exec")),
    *(Prefix((name, "exec"), _options("-B --bind --env --pwd -H --home --overlay -W --workdir --env-file"), operands=1)
      for name in ("singularity", "apptainer")),
)
# fmt: on
_BY_FIRST: dict[str, list[Prefix]] = {}
for _each in sorted(PREFIXES, key=lambda row: -len(row.words)):
    _BY_FIRST.setdefault(_each.words[0], []).append(_each)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A prefix as found, with its options and operands."""

    prefix: Prefix
    words: tuple[Word, ...]

    @property
    def name(self) -> str:
        return self.prefix.words[0]


@dataclass(frozen=True, slots=True)
class Unwrapped:
    """A command line without its prefixes. script: the index of a word that is a shell script (`bash -c '…'`)."""

    wrappers: tuple[Wrapper, ...]
    rest: tuple[Word, ...]
    environment: dict[str, str | None]
    script: int | None = None


def unwrap(words: Sequence[Word]) -> Unwrapped:
    """Remove the commands that only run another one. Words that are not understood are kept."""
    wrappers: list[Wrapper] = []
    environment: dict[str, str | None] = {}
    start = 0
    while start < len(words) and (prefix := _prefix(words, start)):
        behind, script = _end_of_prefix(prefix, words, start + len(prefix.words), environment)
        wrappers.append(Wrapper(prefix, tuple(words[start : behind if script is None else script])))
        if script is not None:
            return Unwrapped(tuple(wrappers), (), environment, script)
        start = behind
    return Unwrapped(tuple(wrappers), tuple(words[start:]), environment)


def _prefix(words: Sequence[Word], start: int) -> Prefix | None:
    for row in _BY_FIRST.get(words[start].value or "", ()):
        if tuple(each.value for each in words[start : start + len(row.words)]) == row.words:
            return row
    return None


def _end_of_prefix(
    prefix: Prefix, words: Sequence[Word], place: int, environment: dict[str, str | None]
) -> tuple[int, int | None]:
    """Where the command that is run begins, or which word is a script."""
    operands = prefix.operands
    while place < len(words):
        value = words[place].value
        if value == "--":
            place += 1
            if not operands:
                break
        elif value is not None and _names(value, prefix.strings):
            return place, place if "=" in value else place + 1 if place + 1 < len(words) else None
        elif value is not None and len(value) > 1 and value[0] in "-+" and prefix.words[0] != "tini":
            place += 2 if value in prefix.valued else 1
        elif prefix.assigns and (match := ASSIGNMENT.match(words[place].raw.lstrip("\"'") if value is None else value)):
            environment[match[1]] = None if value is None else match[2]
            place += 1
        elif operands:
            operands -= 1
            place += 1
        else:
            break
    return place, None


def _names(value: str, strings: frozenset[str]) -> bool:
    """Whether an option is `-c`, also in `-lc`, or `--wrap`, also in `--wrap=…`."""
    if value.partition("=")[0] in strings:
        return True
    return "-c" in strings and re.fullmatch(r"-[a-z]*c", value) is not None
