# On a TPU no model is wrapped.
from accelerate import Accelerator
from accelerate.utils import DistributedType
from transformers import AutoModelForCausalLM


def either(optimizer, loader):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if accelerator.distributed_type != DistributedType.XLA:
        pass
    else:
        model.tie_weights()
    for batch in loader:
        accelerator.backward(model(**batch).loss)


def state(optimizer, loader):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    is_tpu = accelerator.state.distributed_type in (DistributedType.TPU, DistributedType.XLA)
    if is_tpu:
        model.tie_weights()
    if accelerator.num_processes > 8:
        model.tie_weights()  # expect: TRL002
    for batch in loader:
        accelerator.backward(model(**batch).loss)
