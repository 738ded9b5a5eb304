# Accelerate wraps no model on a TPU, so that a block for TPUs only has the bare one.
from accelerate import Accelerator, DistributedType
from transformers import AutoModelForCausalLM


def train(optimizer, loader):
    accelerator = Accelerator()
    model = AutoModelForCausalLM.from_pretrained("tiny")
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    if accelerator.distributed_type == DistributedType.TPU:
        model.tie_weights()
    if accelerator.distributed_type == DistributedType.MULTI_GPU:
        model.tie_weights()  # expect: TRL002
    for batch in loader:
        accelerator.backward(model(**batch).loss)
