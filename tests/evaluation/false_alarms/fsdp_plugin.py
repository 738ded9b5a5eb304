# An Accelerator with a plugin for FSDP uses that as wrapper, which forwards the attributes of the model.
from accelerate import Accelerator
from accelerate.utils import FullyShardedDataParallelPlugin
from transformers import AutoModelForCausalLM


def sharded(loader):
    accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
    for batch in accelerator.prepare(loader):
        accelerator.backward(model(**batch).loss)
        print(model.config.hidden_size)


def sharded_if_asked(settings, loader):
    model = AutoModelForCausalLM.from_pretrained("x")
    if settings.shard:
        accelerator = Accelerator(fsdp_plugin=FullyShardedDataParallelPlugin())
        model = accelerator.prepare(model)
    else:
        accelerator = Accelerator()
    print(model.config.hidden_size)
    for batch in accelerator.prepare(loader):
        accelerator.backward(model(**batch).loss)


def one_or_the_other(settings, loader):
    plugin = FullyShardedDataParallelPlugin()
    accelerator = Accelerator(fsdp_plugin=plugin) if settings.shard else Accelerator()
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
    for batch in accelerator.prepare(loader):
        accelerator.backward(model(**batch).loss)
        print(model.config.hidden_size)  # expect: TRL002


def replicated(loader):
    accelerator = Accelerator(fsdp_plugin=None)
    model = accelerator.prepare(AutoModelForCausalLM.from_pretrained("x"))
    for batch in accelerator.prepare(loader):
        accelerator.backward(model(**batch).loss)
        print(model.config.hidden_size)  # expect: TRL002
