"""Models and losses that settings select, or that callers pass: only the name of the callee says what they are."""

from accelerate import Accelerator

from somewhere import build, options

accelerator = Accelerator()
network, loader = accelerator.prepare(build(options), build(options.data))
criterion = options.criterion


for batch in loader:
    logits = network(batch["x"])
    loss = criterion(logits, batch["labels"])
    reveal_rank(loss)  # revealed: local(data)
    reveal_rank(loss.mean().item())  # revealed: local(data)
    loss, parts = options.loss_fn(logits, batch["labels"])
    reveal_rank(parts["entropy"])  # revealed: local(data)
    reveal_rank(options.ref_model(batch["x"], use_cache=False).logits)  # revealed: shard
    inputs = [batch["x"], batch["labels"]] if options.pairs else [batch["x"]]
    reveal_rank(options.loss_fn(network, inputs))  # revealed: local(data)
    reveal_rank(options.loss_fn(network, [build(), build()]))  # revealed: unknown
    reveal_rank(options.loss_fn(network, [accelerator.gather(batch["x"])]))  # revealed: unknown
    # Nothing of this rank is passed, or only its number.
    reveal_rank(options.criterion(build(), 3))  # revealed: unknown
    reveal_rank(options.loss_fn(accelerator.process_index))  # revealed: unknown
    # A contrastive loss may gather what it compares.
    image_features = network(batch["images"])
    reveal_rank(options.clip_loss(image_features, batch["texts"]))  # revealed: unknown
    reveal_rank(options.criterion(logits, text_features=batch["texts"]))  # revealed: unknown
    reveal_rank(options.statistics(logits))  # revealed: unknown
