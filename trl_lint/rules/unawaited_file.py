"""All ranks read a file that one writes, without waiting.

## What it does
Reports the use of a file or folder on all ranks after only some of them have written it, at the same path, if nothing
in between makes the others wait.

## Why is this bad?
The other ranks get there while the first one still writes: they find no file and fail, load an old one, or load a part
of one. On one process, and whenever the others happen to be late, it works.

## Example
```python
if accelerator.is_main_process:
    torch.save(build_table(), "table.pt")
table = torch.load("table.pt")
```

## Use instead
```python
if accelerator.is_main_process:
    torch.save(build_table(), "table.pt")
accelerator.wait_for_everyone()
table = torch.load("table.pt")
```

## Fix safety
There is only a hint: where all ranks can wait depends on what they do besides.

## Limits
Only files whose paths are written alike, or known, in one function or in functions that it calls. Any collective,
forward or backward pass of a wrapped model, pause or unknown call that may wait in between silences it, and so does a
handler for a missing file. Not reported: files that the next round of a loop reads; one rank that reads what the others
write.

## References
- https://huggingface.co/docs/accelerate/concept_guides/deferring_execution
- https://docs.pytorch.org/tutorials/intermediate/ddp_tutorial.html#save-and-load-checkpoints
- https://github.com/Pointcept/Pointcept/commit/0f57866111ca5b9bea51375935a95110987cf2cf
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.analysis.path_events import FileUnawaited
from trl_lint.findings import Consequence
from trl_lint.rules.base import Rule, Violation


class UnawaitedFile(Rule[FileUnawaited]):
    code = "TRL032"
    name = "unawaited-file"
    consequences = (Consequence.RACE,)
    preview = True

    def check(self, event: FileUnawaited) -> Iterator[Violation]:
        if event.module.one_process:
            return
        if event.makes_folder:
            problem = "in a folder that only some ranks make, and the others do not wait for it: it may be missing"
        else:
            problem = (
                "what only some ranks write, and the others do not wait for it: they may find no file, an old one or a "
                "part of one"
            )
        verb = "writes" if event.makes_folder else "uses"
        wait = f"{event.accelerator}.wait_for_everyone()" if event.accelerator else "dist.barrier()"
        yield Violation(
            event=event,
            message=f"`{event.name}` {verb} {problem}",
            provenance=event.written,
            help=f"let all ranks wait in between: `{wait}` after the write, where all of them get",
        )
