"""Names by which code deals with models: their classes, attributes and methods, and engines around them.

Read from torch 2.13.0 (nn/modules/module.py), transformers 5.23.0 (modeling_utils.py) and peft 0.21.2.
"""

from __future__ import annotations

# A subclass of one of these in the linted project is a model.
MODULE_CLASSES = frozenset({
    "torch.nn.Module", "torch.nn.Sequential", "torch.nn.modules.module.Module", "transformers.PreTrainedModel",
})
# `isinstance(model, …)` with one of the first is true of a wrapped model, with the others false.
WRAPPER_CLASSES = ("DistributedDataParallel", "DataParallel")
PLAIN_CLASSES = ("PreTrainedModel", "PeftModel", "PeftMixedModel", "PeftModelForCausalLM")

# Attributes only models have among the things that are prepared.
ONLY_MODELS_HAVE = frozenset({
    "base_model", "config", "generate", "generation_config", "get_input_embeddings", "get_output_embeddings",
    "gradient_checkpointing_enable", "push_to_hub", "resize_token_embeddings", "save_pretrained",
})
# Attributes that are plain data; all others may be modules or methods.
DATA = frozenset({"config", "device", "dtype", "generation_config", "name_or_path", "peft_config", "training"})
# Methods that return the model itself.
RETURN_THE_MODEL = frozenset({
    "bfloat16", "cpu", "cuda", "double", "eval", "float", "half", "requires_grad_", "to", "train",
})
# Methods that list what the model consists of: the same on all ranks.
LIST_PARTS = frozenset({
    "buffers", "children", "modules", "named_modules", "named_parameters", "parameters", "state_dict",
})

# Words in a condition by which code asks whether an engine other than DDP wraps the model.
ENGINES = ("deepspeed", "fsdp", "zero3", "zero_stage", "is_zero", "megatron", "tensor_parallel", "sagemaker")
