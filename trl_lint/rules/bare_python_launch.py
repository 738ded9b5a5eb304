"""A trainer is started with bare `python`, as one process for several GPUs.

## What it does
Reports a command that starts a training script with plain `python` where more than one GPU is, or may be,
visible. It looks wherever people launch from: shell scripts, Makefiles, Dockerfiles, CI and compose YAML,
Markdown, reStructuredText, notebooks, task tables (`pyproject.toml`, `tox.ini`, `justfile`), and Python that
starts other programs (`subprocess`, `os.system`). The script counts when it, or what it calls in the linted
project, trains with a `transformers.Trainer`, a trainer of TRL or an `Accelerator`; of scripts that are not in
the project, TRL's and Transformers' own.

## Why is this bad?
In one process that sees several GPUs `transformers.Trainer` wraps the model in `nn.DataParallel` without a
word. What comes of it depends on the releases, and at best it is slow:

| trl | transformers | what happens |
| --- | --- | --- |
| 0.13.0 | 4.47.1 | nothing fails, and the loss is silently halved |
| 0.16.1 to 0.20.0: `SFTTrainer` | 4.51 to 4.56 | `The size of tensor a (2) must match the size of tensor b (4)` |
| 0.16.1, 0.20.0: `DPOTrainer`, `KTOTrainer`, … | 4.51, 4.54 | the loss is right; one process does all the work |
| none: plain `Trainer` | 4.51 to 4.56 | nothing fails, and one share of each batch is all that is trained on |
| 1.16.0 | any it works with | `ValueError: SFTTrainer does not support nn.DataParallel` |

A loop around an `Accelerator` uses one of the GPUs and leaves the others idle.

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
The interpreter becomes `accelerate launch`; arguments, redirections, quotes and line breaks stay to the
byte. Flags of Python that a launcher does not take (`-u`, `-O`) become variables of the environment. The fix is

- *safe* where the launch itself says that there are several GPUs (`CUDA_VISIBLE_DEVICES=0,1`, `--gpus all`,
  `--gres=gpu:4`);
- *unsafe* where nothing says how many there are;
- a *hint* where no exact rewrite is known, and where the same line starts other programs, too.

## Limits
One GPU, the CPU, ranks that are set by hand, and launchers (`accelerate launch`, `torchrun`, `deepspeed`, `trl`,
`srun` with several tasks, …) are right code; the heading, the paragraph or the comment above may say that there is
one GPU. So is a script that chooses its own devices or processes: one that sets `CUDA_VISIBLE_DEVICES`, spreads its
model with `device_map="auto"` or with one that can't be read, or calls `notebook_launcher`. Launches that ask for no
training (`--do_train False`, `--do_eval` alone, settings that say `do_train: false`) are silent, and so are scripts
out of sight.
Launches that speak of GPUs in a way that can't be read are silent; those that say nothing of them are not in the
default set: they are reported where TRL004 is selected by its code, and by the setting `launch-unknown-gpus`, but not
in a file that starts the same script with a launcher, too: there bare `python` is for one GPU.
Configuration files of Accelerate are not read.

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
