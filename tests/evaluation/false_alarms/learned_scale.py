# The learned scale of the logits of a two-tower model is returned with the features, and the same on all ranks.
import wandb
from accelerate import Accelerator


def contrast(left, right, scale):
    return (scale.mean() * left @ right.T).logsumexp(0).mean()


def train(make_model, optimizer, loader):
    accelerator = Accelerator()
    model, optimizer, loader = accelerator.prepare(make_model(), optimizer, loader)
    for batch in loader:
        left, right, logit_scale, logit_scale_t = model(batch["left"], batch["right"])
        accelerator.backward(contrast(left, right, logit_scale))
        optimizer.step()
        scale = logit_scale_t.item()
        if accelerator.is_main_process:
            wandb.log({"scale": logit_scale.mean().item(), "of texts": scale, "largest": logit_scale.exp().max()})


def evaluate(make_model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(make_model(), loader)
    for batch in loader:
        out = model(**batch)
        found = {"scale": out["logit_scale"].item(), "bias": out.logit_bias.mean(), "heat": out.get("temperature")}
        left, right, logit_scale = out["left"], out["right"], out["logit_scale"]
        found["likeness"] = (left @ right.T * logit_scale).mean()  # expect: TRL003
        found["heat asked for"] = batch["temperature"].mean().item()  # expect: TRL003
        if accelerator.is_main_process:
            wandb.log(found)


def by_features(make_model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(make_model(), loader)
    for batch in loader:
        features, logits = model(**batch)
        if accelerator.is_main_process:
            wandb.log({"features": features.mean().item(), "logits": logits.mean().item()})  # expect: TRL003


def main(make_model, optimizer, loader):
    train(make_model, optimizer, loader)
    evaluate(make_model, loader)
    by_features(make_model, loader)
