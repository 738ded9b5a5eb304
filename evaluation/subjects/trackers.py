"""Trackers that are not installed: once this module is imported, stand-ins that send nothing can be imported instead.

It must be imported before the trainer, which looks for trackers on import.
"""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "stand_ins" / "site-packages"))

PROJECT = "tiny"
# For a trainer that logs a table of generated texts when it evaluates.
TABLE = {
    "report_to": ["wandb"],
    "generate_during_eval": True,
    "max_length": 24,
    "eval_strategy": "steps",
    "eval_steps": 1,
    "per_device_eval_batch_size": 2,
}
