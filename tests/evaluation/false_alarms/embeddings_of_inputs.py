# The embeddings of a wrapped model go through its forward later: DDP reduces their gradients, too.
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def bare(model):
    return model.module if hasattr(model, "module") else model


def embedded(model, ids, marks):
    layer = model.module.get_input_embeddings() if isinstance(model, DistributedDataParallel) else model.embed
    embeddings = layer(ids).clone()
    embeddings[marks] = 0.0
    return embeddings


def logits_of(model, embeddings):
    return model(inputs_embeds=embeddings).logits


def train(model: nn.Module, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        embeddings = bare(model).get_input_embeddings()(batch["ids"])
        loss = model(inputs_embeds=embeddings).logits.mean()
        loss.backward()
        logits_of(model, embedded(model, batch["ids"], batch["marks"])).mean().backward()
        optimizer.step()


def train_past_it(model: nn.Module, loader, optimizer):
    model = DistributedDataParallel(model)
    for batch in loader:
        embeddings = model.module.get_input_embeddings()(batch["ids"])
        loss = model.module(inputs_embeds=embeddings).logits.mean()  # expect: TRL009
        loss.backward()
        optimizer.step()
