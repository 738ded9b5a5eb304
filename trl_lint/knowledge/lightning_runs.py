"""Signs of code that has Lightning run a model.

A `LightningModule` without any may be a copy that is only called: what its hooks log is then never logged.
Read from lightning 2.6.6: `Trainer` and `LightningCLI` of lightning/pytorch are all that calls the hooks of a module.
"""

from __future__ import annotations

import re

# The package, as code imports it or settings name it: `pytorch_lightning`, `lightning.pytorch`, `LightningModule`.
PACKAGE = re.compile(rb"[Ll]ightning")
# In a file that names the package. A class of another package may be derived from the Trainer, so any such name counts.
WITH_PACKAGE = re.compile(rb"Trainer\b|\.fit\(")
# In any file: the trainer may come from another package, and a model's `fit` may make one.
ANYWHERE = re.compile(
    rb"\bLightningCLI\b|\b(?:lightning|fabric) run\b"
    rb"|(?i:\b(?P<owner>\w*(?:cli|engine|learner|model|runner|trainer)\w*)(?:\(\))?\.(?:fit|validate)\b)"
)
# Each match, in lower case, contains one of these; searching for them is many times faster.
_WORDS = (b".fit", b".validate", b"lightningcli", b"lightning run", b"fabric run")
# A file of the project, whose functions another file calls.
_IMPORTS_FILE = rb"(?m)^import[ \t]+%b[ \t]*(?:#.*)?\r?$"
# Code that trains without it, or a program that does something else.
RUNS_OTHERWISE = re.compile(rb"\.backward\(|Trainer\(|(?m:^if\s+__name__\s*==)")
# Calls by which a module logs.
LOGS = re.compile(rb"\.log(?:_dict)?\s*\(")
# What imports one, among the last parts of the names that a file imports.
IMPORTED = frozenset({"LightningModule", "lightning", "pytorch", "pytorch_lightning"})

# What makes a Trainer by its own name, the number of batches that it validates on, and what sets that, too.
# Source: lightning/pytorch/trainer/setup.py `_init_debugging_flags`
MAKE_OWN = frozenset({"Trainer", "from_argparse_args"})
VALIDATED_BATCHES, VALIDATES = "limit_val_batches", "validate"
OTHER_LIMITS = ("fast_dev_run", "overfit_batches")
CLI = "LightningCLI"
LIMITS_VALIDATION = re.compile(rb"\blimit_val_batches[ \t]*=[ \t]*0")
CHANGES_LIMIT = re.compile(rb"\.limit_val_batches[ \t]*=(?!=)")
# What gives a Trainer data to validate on; without it, a loader or a data module is for training only, as is what a
# `fit` is passed with these keywords.
# Source: lightning/pytorch/trainer/trainer.py `Trainer.fit`, core/hooks.py `DataHooks.val_dataloader`
GIVES_VALIDATION_DATA = re.compile(rb"(?:\bdef[ \t]+|\.)val_dataloader\b|\bval_dataloaders\b")
DATA_MODULE = re.compile(rb"(?m)^[ \t]*class[ \t]+(\w+)[ \t]*\([^()]*\bLightningDataModule[ \t]*[,)]")
PLAIN_LOADER = "DataLoader"
TRAINING_DATA = frozenset({"datamodule", "train_dataloader", "train_dataloaders"})
OTHERS_OF_FIT = frozenset({"ckpt_path", "model"})

# A strategy that runs a module in several processes, as it is named or made: also one that starts them for `fit` only.
# The keyword of a Trainer may also be a key: `settings["accelerator"] = "ddp"`, `{"strategy": "ddp"}`.
NAMES_STRATEGY = re.compile(
    rb"\b(?:strategy|accelerator|distributed_backend)(?:[\"']\]?)?[ \t]*[=:][ \t]*[\"'](?:ddp|deepspeed|fsdp)"
    rb"|\b(?:Ray)?(?:DDP|DeepSpeed|FSDP)(?:Spawn)?(?:Strategy|Plugin)\("
)


def may_run(content: bytes) -> bool:
    """Whether a file may have Lightning run a model."""
    if PACKAGE.search(content) is not None and WITH_PACKAGE.search(content) is not None:
        return True
    lowered = content.lower()
    if not any(word in lowered for word in _WORDS):
        return False
    return any(not _is_of_file(content, found["owner"]) for found in ANYWHERE.finditer(content))


def _is_of_file(content: bytes, owner: bytes | None) -> bool:
    """Whether what is called is a function of a file: `import trainer`, `trainer.validate(loader, model)`."""
    return owner is not None and re.search(_IMPORTS_FILE % re.escape(owner), content) is not None


def runs_otherwise(content: bytes) -> bool:
    """Whether a file trains, or is a program, and that not with Lightning."""
    return PACKAGE.search(content) is None and RUNS_OTHERWISE.search(content) is not None
