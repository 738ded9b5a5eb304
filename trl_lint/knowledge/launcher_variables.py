"""The environment variables by which launchers tell a process which one it is."""

from __future__ import annotations

# Where a program finds them.
ENVIRON = "os.environ"
# The names by which code reads a variable: `os.environ[name]`, `os.getenv(name)`.
READ_ENVIRONMENT = frozenset({"environ", "getenv"})

# fmt: off
# Environment variables that torchrun sets: `os.environ[name]`, `os.environ.get(name)`, `os.getenv(name)`.
# Strings: RANK differs between ranks, WORLD_SIZE is the number of them.
RANK_VARIABLES = frozenset({
    "GROUP_RANK", "LOCAL_RANK", "NODE_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK",
    "ROLE_RANK", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_PROCID",
})
# Of these, the ones for the global rank.
GLOBAL_RANK_VARIABLES = frozenset({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "RANK", "SLURM_PROCID"})
# And those for the rank among the processes on one node.
LOCAL_RANK_VARIABLES = frozenset({"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"})
WORLD_VARIABLES = frozenset({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", "WORLD_SIZE"})
# Those that each process has only if a launcher has started it as one of the ranks.
# Sources: https://docs.pytorch.org/docs/stable/elastic/run.html#environment-variables,
# https://slurm.schedmd.com/srun.html#SECTION_OUTPUT-ENVIRONMENT-VARIABLES
REQUIRED_VARIABLES = frozenset({
    "LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE",
    "RANK", "SLURM_LOCALID", "SLURM_PROCID", "WORLD_SIZE",
})
# Of these, the ones that torchrun and the launchers built on it set, all three of them.
SET_BY_TORCHRUN = frozenset({"LOCAL_RANK", "RANK", "WORLD_SIZE"})
# And the one of these from which torch takes how many processes there are.
NUMBER_OF_PROCESSES = "WORLD_SIZE"
# fmt: on
