# Lists that the main process fills from what all ranks have gathered: what a model says of them is of the whole.
import torch
from accelerate import Accelerator
from transformers import AutoModel, AutoProcessor


def gathered(accelerator, model, loader):
    rows = torch.stack([model(each).last_hidden_state[0] for each in loader])
    everything = accelerator.gather(rows).cpu()
    kept = []
    if accelerator.is_main_process:
        for each in everything:
            kept.append(each)
    return kept


def evaluate(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    kept = gathered(accelerator, model, loader)
    if accelerator.is_main_process:
        judge = AutoModel.from_pretrained("judge").eval()
        pixels = AutoProcessor.from_pretrained("judge")(images=kept)["pixel_values"]
        found = judge.get_image_features(pixels).pooler_output
        accelerator.log({"score": (found / torch.norm(found, dim=-1)).mean()})


def evaluate_at_once(model, loader):
    accelerator = Accelerator()
    model, loader = accelerator.prepare(model, loader)
    for batch in loader:
        rows = model(batch).last_hidden_state
        everything = accelerator.gather(rows).cpu()
        kept, own = [], []
        if accelerator.is_main_process:
            judge = AutoModel.from_pretrained("judge").eval()
            for each in everything:
                kept.append(each)
            for each in rows:
                own.append(each)
            found = judge.get_image_features(torch.stack(kept)).pooler_output
            accelerator.log({"score": (found / torch.norm(found, dim=-1)).mean()})
            found = judge.get_image_features(torch.stack(own)).pooler_output
            accelerator.log({"own": (found / torch.norm(found, dim=-1)).mean()})  # expect: TRL003
