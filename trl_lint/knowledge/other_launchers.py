"""The ranks of processes that MPI, Horovod or BMTrain start, and those that PhysicsNeMo, once Modulus, asks for.

Read from mpi4py 4.1 (`src/mpi4py/MPI.src/Comm.pyx`), horovod 0.28 (`horovod/common/basics.py`,
`horovod/torch/mpi_ops.py`), bmtrain 1.0 (`bmtrain/global_var.py`) and physicsnemo 1.1
(`physicsnemo/distributed/manager.py`).
"""

from __future__ import annotations

from trl_lint.knowledge.schema import (
    ALL_PROCESSES,
    GLOBAL_RANK_INDEX,
    RANK_INDEX,
    Attribute,
    Class,
    Function,
    Row,
    instance,
)

_COMM = "mpi4py.MPI.Intracomm"
_MANAGER, _OF_MANAGER = "physicsnemo.distributed.DistributedManager", "physicsnemo/distributed/manager.py"
# fmt: off
ROWS: tuple[Row, ...] = (
    Class(name=_COMM, source="mpi4py/MPI.src/Comm.pyx::Intracomm"),
    Attribute(name="mpi4py.MPI.COMM_WORLD", source="mpi4py/MPI.src/Comm.pyx::COMM_WORLD", value=instance(_COMM)),
    Function(name=f"{_COMM}.Get_rank", source="mpi4py/MPI.src/Comm.pyx::Comm.Get_rank", returns=GLOBAL_RANK_INDEX),
    Function(name=f"{_COMM}.Get_size", source="mpi4py/MPI.src/Comm.pyx::Comm.Get_size", returns=ALL_PROCESSES),
    Attribute(name=f"{_COMM}.rank", source="mpi4py/MPI.src/Comm.pyx::Comm.rank", value=GLOBAL_RANK_INDEX),
    Attribute(name=f"{_COMM}.size", source="mpi4py/MPI.src/Comm.pyx::Comm.size", value=ALL_PROCESSES),
    *(
        Function(name=f"{package}.{name}", source=source, returns=value)
        for package, source in (
            ("horovod.torch", "horovod/common/basics.py::HorovodBasics"), ("bmtrain", "bmtrain/global_var.py"),
        )
        for name, value in (("rank", GLOBAL_RANK_INDEX), ("local_rank", RANK_INDEX), ("world_size", ALL_PROCESSES))
    ),
    Class(name=_MANAGER, source=f"{_OF_MANAGER}::DistributedManager"),
    *(
        Attribute(name=f"{_MANAGER}.{name}", source=f"{_OF_MANAGER}::DistributedManager.{name}", value=value)
        for name, value in (("rank", GLOBAL_RANK_INDEX), ("local_rank", RANK_INDEX), ("world_size", ALL_PROCESSES))
    ),
    Function(name="horovod.torch.size", source="horovod/common/basics.py::HorovodBasics.size", returns=ALL_PROCESSES),
)
# fmt: on
