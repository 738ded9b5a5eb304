"""`python rank/ JOB`: runs one rank of a job and writes its trace; `python rank/ fork_server` forks them."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

PACKAGE = "trl_lint_rank"


def load(name: str) -> ModuleType:
    """A module of this folder, loaded as a separate package, so that the folder is not added to the import path."""
    init = Path(__file__).with_name("__init__.py")
    spec = importlib.util.spec_from_file_location(PACKAGE, init, submodule_search_locations=[str(init.parent)])
    assert spec is not None and spec.loader is not None  # the file exists
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{PACKAGE}.{name}")


if __name__ == "__main__":
    if sys.argv[1:] == ["fork_server"]:
        load("fork_server").main()
    else:
        load("supervisor").main(sys.argv[1])
