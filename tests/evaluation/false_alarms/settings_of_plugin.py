# Accelerate has a plugin for DeepSpeed only where a launch chooses it: without one, such a function fails at once.
from accelerate import Accelerator
from transformers import AutoModelForCausalLM


def train(args, loader):
    accelerator = Accelerator()
    accelerator.state.deepspeed_plugin.deepspeed_config["train_micro_batch_size_per_gpu"] = args.rows
    model, loader = accelerator.prepare(AutoModelForCausalLM.from_pretrained("tiny"), loader)
    model.save_pretrained(args.folder, state_dict=accelerator.get_state_dict(model))


def train_and_save(folder, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(AutoModelForCausalLM.from_pretrained("tiny"), loader)

    def save():
        if accelerator.state.deepspeed_plugin.zero_stage == 3:
            return
        model.save_pretrained(folder)

    save()


def train_if_asked(args, loader):
    accelerator = Accelerator()
    if args.rows is not None:
        accelerator.state.deepspeed_plugin.deepspeed_config["train_micro_batch_size_per_gpu"] = args.rows
    plugin = accelerator.state.deepspeed_plugin
    stage = plugin is not None and accelerator.state.deepspeed_plugin.zero_stage
    model, loader = accelerator.prepare(AutoModelForCausalLM.from_pretrained("tiny"), loader)
    model.save_pretrained(args.folder, state_dict=accelerator.get_state_dict(model))  # expect: TRL002
    return stage
