"""A trainer is started with bare `python`: one process for several GPUs.

## What it does
Reports a command that starts a training script with plain `python` where more than one GPU is, or may be, visible. It
searches the places people launch from: shell scripts, Makefiles, Snakemake files, Dockerfiles, CI and compose YAML,
Markdown, reStructuredText, notebooks, task tables (`pyproject.toml`, `tox.ini`, `justfile`), and Python that starts
other programs (`subprocess`, `os.system`). A script counts if it, or code that it calls in the project, trains with a
`transformers.Trainer`, a trainer of TRL, or an `Accelerator`. TRL's and Transformers' own scripts count even if they
are not in the project.

## Why is this bad?
In one process that sees several GPUs, `transformers.Trainer` silently wraps the model in `nn.DataParallel`. The result
depends on the releases, and is slow at best:

| trl | transformers | what happens |
| --- | --- | --- |
| 0.13.0 | 4.47.1 | nothing fails, and the loss is silently halved |
| 0.16.1 to 0.20.0: `SFTTrainer` | 4.51 to 4.56 | `The size of tensor a (2) must match the size of tensor b (4)` |
| 0.16.1, 0.20.0: `DPOTrainer`, `KTOTrainer`, … | 4.51, 4.54 | the loss is right; one process does all the work |
| none: plain `Trainer` | 4.51 to 4.56 | nothing fails, and only one share of each batch is trained on |
| 1.16.0 | any it works with | `ValueError: SFTTrainer does not support nn.DataParallel` |

A loop with an `Accelerator` uses one GPU and leaves the others idle.

## Example
```shell
export CUDA_VISIBLE_DEVICES=0,1
python train.py --packing --eos_token '<|im_end|>'
```

## Use instead
```shell
export CUDA_VISIBLE_DEVICES=0,1
accelerate launch train.py --packing --eos_token '<|im_end|>'
```

## Fix safety
The interpreter is replaced with `accelerate launch`; arguments, redirections, quotes and line breaks stay byte for
byte. Python flags that a launcher does not accept (`-u`, `-O`) become environment variables.

- *Safe* if the command itself shows several GPUs (`CUDA_VISIBLE_DEVICES=0,1`, `--gpus all`, `--gres=gpu:4`).
- *Unsafe* if nothing shows how many there are, or if the program names one GPU by its number (`device="cuda:0"`), which
  is that of one process only.
- A *hint* if no exact rewrite is known, or if the same line also starts other programs.

## Limits
These are correct and not reported:

- one GPU or the CPU, also if the heading, paragraph or comment above says so;
- ranks that are set by hand, and launchers (`accelerate launch`, `torchrun`, `deepspeed`, `trl`, `srun` with several
  tasks, …);
- scripts that choose their own devices or processes: they set `CUDA_VISIBLE_DEVICES`, use a `device_map` that is
  `"auto"` or unreadable, or call `notebook_launcher`;
- commands that do not train (`--do_train False`, `--do_eval` alone, settings with `do_train: false`), and scripts
  outside the project.

Commands that mention GPUs in an unreadable way are not reported. Commands that do not mention GPUs are not in the
default set: select TRL004 by its code, or set `launch-unknown-gpus`, to report them. They are never reported in a file
that also starts the same script with a launcher, where bare `python` is meant for one GPU. Accelerate's configuration
files are not read.

## References
- https://github.com/huggingface/trl/issues/3392 and https://github.com/huggingface/trl/issues/3344
- transformers, `trainer.py`: `Trainer._wrap_model` wraps where `args.n_gpu > 1`; `training_args.py`:
  `TrainingArguments._setup_devices` counts the GPUs
"""

from __future__ import annotations

from trl_lint.findings import Consequence
from trl_lint.rules.base import LaunchRule


class BarePythonLaunch(LaunchRule):
    code = "TRL004"
    name = "bare-python-launch"
    consequences = (Consequence.CRASH, Consequence.WRONG_TRAINING, Consequence.WASTE)
