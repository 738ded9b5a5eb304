"""Items that this rank's number selects or starts at, and strings joined from lists."""

from accelerate import Accelerator

accelerator = Accelerator()
rank, world = accelerator.process_index, accelerator.num_processes

reveal_rank(("a", "b")[rank])  # revealed: local(rank)
reveal_rank(("a", "b")[world - 1])  # revealed: same
reveal_rank({0: "a"}.get(rank, "b"))  # revealed: local(rank)
reveal_rank({0: "a"}.get(world, "b"))  # revealed: same
reveal_rank([number for number in range(rank, 10, world)][0])  # revealed: local(rank)
reveal_rank([number for number in range(0, 10, world)][0])  # revealed: same
reveal_rank([number for number in range(rank)][0])  # revealed: same
reveal_rank("-".join(["a", str(rank)]))  # revealed: local(rank)
reveal_rank("-".join(map(str, ("a", world))))  # revealed: same
