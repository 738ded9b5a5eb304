# A wrapped model's class has the name of the wrapper: a branch for the name of a model's class is not for a wrapper.
from peft import PeftModel
from transformers import PreTrainedModel, Trainer

try:
    from trl import AutoModelForCausalLMWithValueHead
except ImportError:
    AutoModelForCausalLMWithValueHead = None


class Named(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        if model.__class__.__name__ == "SentenceTransformer":
            print(model.config)
        elif type(model).__name__ in ("Net", "OtherNet"):
            print(model.lm_head)
        elif "Qwen" in model.__class__.__name__:
            print(model.vocab_size)
        if type(model).__name__ != "Net":
            print(model.config)  # expect: TRL002
        else:
            print(model.config)
        return super().training_step(model, inputs)


class AnyOf(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        supported = (PreTrainedModel, PeftModel)
        if AutoModelForCausalLMWithValueHead is not None:
            supported += (AutoModelForCausalLMWithValueHead,)
        if not isinstance(model, supported) and model.__class__.__name__ not in ("SentenceTransformer",):
            print(self.accelerator.unwrap_model(model).config)
        elif self.args.push_to_hub:
            model.save_pretrained("out")
        else:
            print(model[0].auto_model)
        return super().training_step(model, inputs)


class OfWrapper(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        if model.__class__.__name__ == "DistributedDataParallel":
            print(model.config)  # expect: TRL002
        else:
            print(model.config)
        if type(model).__name__ in ("DataParallel", "DistributedDataParallel"):
            print(model.vocab_size)  # expect: TRL002
        if "DataParallel" in model.__class__.__name__:
            print(model.generation_config)  # expect: TRL002
        else:
            print(model.generation_config)
        if model.__class__.__name__ == self.args.wanted:
            print(model.lm_head)  # expect: TRL002
        return super().training_step(model, inputs)
