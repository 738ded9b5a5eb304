# After a forward of the wrapper, a part of the module may be called on its output: whoever has run that forward.
import torch
from mine import forward_step
from torch import nn
from transformers import Trainer


def forward_of(model, inputs):
    return model(**inputs)


def judged(model, inputs):
    with torch.no_grad():
        return model(**inputs).logits.mean()


class ByTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss, out = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
        head = self.accelerator.unwrap_model(model).tag_head
        return loss + nn.functional.cross_entropy(head(out["encoder_last_hidden_state"]), inputs["tags"])


class ByHelper(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        out = forward_of(model, inputs)
        head = self.accelerator.unwrap_model(model).tag_head
        return nn.functional.cross_entropy(head(out["last_hidden_state"]), inputs["tags"])


class ByOther(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        hidden = forward_step(model, inputs)
        head = self.accelerator.unwrap_model(model).tag_head
        return nn.functional.cross_entropy(head(hidden), inputs["tags"])


class Alone(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        inner = self.accelerator.unwrap_model(model)
        encoder, head = inner.encoder, inner.tag_head
        out = encoder(**inputs)  # expect: TRL009
        return nn.functional.cross_entropy(head(out["last_hidden_state"]), inputs["tags"])  # expect: TRL009


class WithoutGradients(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        with torch.no_grad():
            _, out = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
        head = self.accelerator.unwrap_model(model).tag_head
        return nn.functional.cross_entropy(head(out["encoder_last_hidden_state"]), inputs["tags"])  # expect: TRL009


class Beside(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        super().compute_loss(model, inputs, **kwargs)
        head = self.accelerator.unwrap_model(model).tag_head
        return nn.functional.cross_entropy(head(inputs["features"]), inputs["tags"])  # expect: TRL009


class ByJudge(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        weight = judged(model, inputs)
        head = self.accelerator.unwrap_model(model).tag_head
        return weight + nn.functional.cross_entropy(head(inputs["features"]), inputs["tags"])  # expect: TRL009
