# Rows that each rank appends on purpose: it locks the file, or holds a lock around it.
import fcntl

from accelerate import Accelerator
from filelock import FileLock


def append(path, lines):
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            for line in lines:
                file.write(line)
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)


def append_by_number(path, lines):
    file = open(path, "a")  # noqa: SIM115
    fcntl.lockf(file.fileno(), fcntl.LOCK_EX)
    file.write("".join(lines))
    file.close()


def append_in_lock(path, lines):
    lock = FileLock(f"{path}.lock")
    with lock, open(path, "a") as file:
        file.write("".join(lines))
    with FileLock(f"{path}.lock"):
        lines = [*lines, "end"]
        with open(path, "a") as file:
            file.write("".join(lines))


def append_freely(path, other, lines):
    with open(other) as read:
        fcntl.flock(read, fcntl.LOCK_SH)
        found = read.read()
    with open(path, "a") as file:  # expect: TRL008
        file.write(found + "".join(lines))


def main(loader):
    accelerator = Accelerator()
    loader = accelerator.prepare(loader)
    for batch in loader:
        append("rows.txt", batch)
        append_by_number("rows.txt", batch)
        append_in_lock("rows.txt", batch)
        append_freely("rows.txt", "old.txt", batch)
    accelerator.wait_for_everyone()


if __name__ == "__main__":
    main([])
