# Only the main process may have lines: the file is opened by all ranks, and the others add nothing to it.
import torch.distributed as dist


def evaluate(names):
    lines, rows = [], {}
    for name in names:
        if dist.get_rank() == 0:
            lines.append(f"{name}\n")
            rows[name] = len(lines)
    dist.barrier()
    with open("lines.txt", "a") as file:
        for line in lines:
            print(line, file=file)
    table = open("rows.txt", "a")  # noqa: SIM115
    for name, row in rows.items():
        table.write(f"{name}: {row}\n")
    table.flush()
    table.close()
    with open("lines.txt", "w") as file:  # expect: TRL008
        for line in lines:
            file.write(line)


def evaluate_nothing(names):
    lines = []
    dist.barrier()
    with open("lines.txt", "a") as file:
        for line in lines:
            file.write(line)
        if dist.get_rank() == 0:
            file.write(f"{len(names)}\n")


def evaluate_everywhere(names):
    lines = []
    if dist.get_rank() == 0:
        lines.append("names\n")
    for name in names:
        lines.append(name)
    dist.barrier()
    with open("names.txt", "a") as file:  # expect: TRL008
        for line in lines:
            file.write(line)


def evaluate_either(names):
    lines, rows = [], {}
    if dist.get_rank() == 0:
        lines.append("names\n")
    else:
        lines.append("other names\n")
    dist.barrier()
    with open("names.txt", "a") as file:  # expect: TRL008
        for line in lines:
            file.write(line)
    if dist.get_rank() == 0:
        rows["first"] = 1
    rows["second"] = 2
    with open("rows.txt", "a") as file:  # expect: TRL008
        for name in rows:
            file.write(name)


def evaluate_with_end(names):
    lines = []
    if dist.get_rank() == 0:
        lines.append("names\n")
    dist.barrier()
    with open("names.txt", "a") as file:  # expect: TRL008
        for line in lines:
            file.write(line)
        file.write("\n")
