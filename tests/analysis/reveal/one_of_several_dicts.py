"""An entry that is set in one of several dicts, of which some have entries under names that are not known."""

from accelerate import Accelerator
from helpers import kind_of

accelerator = Accelerator()
loader = accelerator.prepare(make_loader())


def parts_of(outputs, kind):
    if kind == "named":
        return {"loss": outputs["x"].mean(), "norm": outputs["x"].mean()}
    found = {"kind": 1.5}
    found.update({name: value.mean() for name, value in outputs.items()})
    return found


for batch in loader:
    parts = parts_of(batch, kind_of(batch))
    parts["rate"] = 0.1
    reveal_rank(parts["rate"])  # revealed: same
    parts["rate"] = batch["x"].mean()
    reveal_rank(parts["rate"])  # revealed: local(data)
    parts["norm"] = 0.1
    reveal_rank(parts["norm"])  # revealed: local(data)
    reveal_rank(parts["loss"])  # revealed: partial(mean)
