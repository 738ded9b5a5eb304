# The code that unwraps the model runs the wrapper's forward, too, and adds both: DDP reduces the sum of the gradients.
from accelerate import Accelerator


def keep_small(embedding, ids):
    return embedding(ids).pow(2).mean()


def keep_small_alone(embedding, ids):
    return embedding(ids).pow(2).mean()  # expect: TRL009


def train(accelerator: Accelerator, encoder, decoder, optimizer, loader):
    encoder, optimizer, loader = accelerator.prepare(encoder, optimizer, loader)
    for batch in loader:
        loss = decoder(encoder(batch["ids"])).mean()
        embedding = accelerator.unwrap_model(encoder).get_input_embeddings()
        loss += keep_small(embedding, batch["ids"])
        accelerator.backward(loss)
        optimizer.step()


def train_the_part(accelerator: Accelerator, encoder, decoder, optimizer, loader):
    encoder, optimizer, loader = accelerator.prepare(encoder, optimizer, loader)
    for batch in loader:
        embedding = accelerator.unwrap_model(encoder).get_input_embeddings()
        loss = keep_small_alone(embedding, batch["ids"])
        accelerator.backward(loss)
        optimizer.step()
