"""Calls that change a repository of the Hugging Face hub. Read from huggingface_hub 0.30, 1.31 and 2.4 (hf_api.py).

A `Repository` is a local clone of one, until 1.0 (repository.py of 0.36.2). `upload_large_folder` is gone in 2.4.
"""

from __future__ import annotations

from trl_lint.findings import Consequence
from trl_lint.knowledge.schema import SAME, UNKNOWN, Class, Effect, Function, Row

_API = "huggingface_hub.HfApi"
_CLONE = "huggingface_hub.Repository"
_CREATES = Effect(
    "creates the same repository",
    (0, "repo_id"),
    fails=True,
    unless=("exist_ok",),
    makes=True,
    instead="let all ranks create it: `exist_ok=True`",
)
_DELETES = Effect("deletes the same on the hub", (0, "repo_id"), fails=True, unless=("missing_ok",))
# An argument that differs between ranks may be the content, or the path in the repository.
_UPLOADS = Effect("uploads the same files", apart=True, consequence=Consequence.WASTE)
# The ranks that come second push to what has changed since they looked, and are refused.
_PUSHES = Effect("pushes to the same repository", apart=True)

# Each is a method of the API, and a function of the same name.
ROWS: tuple[Row, ...] = (
    Class(name=_API, source="hf_api.py::HfApi"),
    *(
        Function(name=f"{owner}.{name}", source=f"hf_api.py::HfApi.{name}", returns=SAME, effect=effect)
        for owner in (_API, "huggingface_hub")
        for name, effect in (
            ("create_branch", _CREATES._replace(does="creates the same branch")),
            ("create_bucket", _CREATES._replace(does="creates the same bucket", path=(0, "bucket_id"))),
            ("create_repo", _CREATES),
            ("create_tag", _CREATES._replace(does="creates the same tag")),
            ("delete_bucket", _DELETES._replace(path=(0, "bucket_id"))),
            ("delete_file", _DELETES._replace(path=(0, "path_in_repo"), unless=())),
            ("delete_repo", _DELETES),
            ("upload_file", _UPLOADS),
            ("upload_folder", _UPLOADS),
            ("upload_large_folder", _UPLOADS),
        )
    ),
    Class(name=_CLONE, source="repository.py::Repository"),
    *(
        Function(name=f"{_CLONE}.{name}", source=f"repository.py::Repository.{name}", returns=UNKNOWN, effect=_PUSHES)
        for name in ("commit", "git_push", "push_to_hub")  # `commit` is a context that pushes at its end
    ),
)
