"""A path's methods read the file system (no row makes a `Path` an instance)."""

from pathlib import Path

reveal_rank(Path("last").exists())  # revealed: local(io)
reveal_rank((Path("out") / "last").is_dir())  # revealed: local(io)
