# Whichever of the three branches a rank takes, it runs the wrapped model once.
import torch
from accelerate import Accelerator


def encode(encoder, ids, longest, skip):
    if ids.size()[-1] != longest:
        return encoder(ids)[0]
    if skip is None:
        return encoder(ids.reshape((-1, longest)))[0]
    return encoder(ids, output_hidden_states=True)[1]


def encode_some(encoder, ids, longest):
    if ids.size()[-1] != longest:
        return torch.zeros(1)  # expect: TRL006
    return encoder(ids.reshape((-1, longest)))[0]


def train(encoder, optimizer, dataset, tokenizer, skip):
    accelerator = Accelerator()
    loader = torch.utils.data.DataLoader(dataset)
    encoder, optimizer, loader = accelerator.prepare(encoder, optimizer, loader)
    for batch in loader:
        ids = batch["input_ids"].to(accelerator.device)
        once = encode(encoder, ids, tokenizer.model_max_length, skip)
        accelerator.backward(once.sum() + encode_some(encoder, ids, tokenizer.model_max_length).sum())
