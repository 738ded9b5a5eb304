"""Accelerate: collectives, wrapped and unwrapped, with every form of import."""

import accelerate
import accelerate as acc
import torch
from accelerate import Accelerator, PartialState, skip_first_batches
from accelerate import utils as accelerate_utils
from accelerate.utils import broadcast, broadcast_object_list, gather, gather_object, pad_across_processes, reduce
from accelerate.utils import send_to_device, set_seed
from torch.utils.data import DataLoader

accelerator = Accelerator()
state = PartialState()
model, optimizer, loader = accelerator.prepare(torch.nn.Linear(2, 2), make_optimizer(), DataLoader(load()))

for batch in loader:
    x = batch["x"].float()
    loss = model(x).mean()
    reveal_rank(x)  # revealed: shard
    reveal_rank(loss)  # revealed: partial(mean)

    # Gathered, reduced, broadcast: the same afterwards.
    reveal_rank(accelerator.gather(x))  # revealed: same
    reveal_rank(accelerator.gather(loss).mean())  # revealed: same
    reveal_rank(accelerator.gather_for_metrics(x))  # revealed: same
    reveal_rank(accelerator.reduce(loss, reduction="mean"))  # revealed: same
    reveal_rank(gather(x))  # revealed: same
    reveal_rank(reduce(loss, "sum"))  # revealed: same
    reveal_rank(broadcast(loss))  # revealed: same
    reveal_rank(acc.utils.gather(x))  # revealed: same
    reveal_rank(accelerate.utils.reduce(loss))  # revealed: same
    reveal_rank(accelerate_utils.gather(x))  # revealed: same
    reveal_rank(accelerate.utils.operations.gather(x))  # revealed: same
    reveal_rank(accelerator.gather(unknown_thing()))  # revealed: same
    reveal_rank(accelerator.gather(1.0 * loss).sum() / 2)  # revealed: same

    # Padded only: still this rank's own.
    reveal_rank(accelerator.pad_across_processes(x, dim=1))  # revealed: shard
    reveal_rank(pad_across_processes(loss))  # revealed: partial(mean)
    reveal_rank(accelerator.gather(accelerator.pad_across_processes(x)))  # revealed: same

    # Containers, entry by entry.
    predictions, labels = accelerator.gather_for_metrics((x, batch["labels"]))
    reveal_rank(predictions)  # revealed: same
    reveal_rank(labels)  # revealed: same
    metrics = accelerator.gather({"loss": loss, "x": x})
    reveal_rank(metrics["loss"])  # revealed: same
    both = accelerator.gather([loss, x])
    reveal_rank(both[0])  # revealed: same
    metrics = accelerator.reduce({"loss": loss})
    reveal_rank(metrics["loss"].item())  # revealed: same

    # Objects.
    reveal_rank(gather_object([loss.item()])[0])  # revealed: same
    reveal_rank(sum(gather_object([loss.item()])))  # revealed: same
    reveal_rank(accelerator.gather_for_metrics([loss.item()])[0])  # revealed: same
    reveal_rank(accelerator.gather_for_metrics(batch["text"], use_gather_object=True)[0])  # revealed: same
    shared = [loss.item()]
    broadcast_object_list(shared)
    reveal_rank(shared[0])  # revealed: same
    shared = [loss.item()]
    shared = broadcast_object_list(shared, from_process=0)
    reveal_rank(shared[0])  # revealed: same

    # A gathered value that is combined with a local one is local again.
    reveal_rank(accelerator.gather(x).sum() / len(x))  # revealed: local(data)
    reveal_rank(accelerator.gather(x)[accelerator.process_index])  # revealed: local(rank)
    accelerator.gather(loss)
    reveal_rank(loss)  # revealed: partial(mean)

    # Barriers and the rest.
    reveal_rank(accelerator.wait_for_everyone())  # revealed: same
    reveal_rank(accelerate.utils.wait_for_everyone())  # revealed: same
    reveal_rank(state.wait_for_everyone())  # revealed: same
    reveal_rank(accelerator.clip_grad_norm_(model.parameters(), 1.0))  # revealed: same
    reveal_rank(accelerator.check_trigger())  # revealed: same
    reveal_rank(accelerator.backward(loss))  # revealed: same
    reveal_rank(accelerator.unwrap_model(model)(x))  # revealed: shard
    reveal_rank(send_to_device(batch, "cpu")["x"])  # revealed: shard
    reveal_rank(set_seed(3))  # revealed: same

# The state.
reveal_rank(accelerator.device)  # revealed: same
reveal_rank(accelerator.num_processes)  # revealed: same
reveal_rank(accelerator.process_index)  # revealed: local(rank)
reveal_rank(accelerator.local_process_index)  # revealed: local(rank)
reveal_rank(accelerator.is_main_process)  # revealed: local(rank)
reveal_rank(accelerator.is_local_main_process)  # revealed: local(rank)
reveal_rank(accelerator.is_last_process)  # revealed: local(rank)
reveal_rank(accelerator.sync_gradients)  # revealed: same
reveal_rank(accelerator.state.process_index)  # revealed: local(rank)
reveal_rank(accelerator.state.mixed_precision)  # revealed: same
reveal_rank(state.process_index)  # revealed: local(rank)
reveal_rank(state.is_main_process)  # revealed: local(rank)
reveal_rank(PartialState().process_index)  # revealed: local(rank)

with accelerator.split_between_processes(load_prompts()) as prompts:
    reveal_rank(prompts)  # revealed: shard
    for prompt in prompts:
        reveal_rank(prompt)  # revealed: shard
with state.split_between_processes([1, 2, 3]) as numbers:
    reveal_rank(numbers)  # revealed: shard
with accelerator.main_process_first():
    value = 1.0
reveal_rank(value)  # revealed: same
with accelerator.accumulate(model):
    value = 2.0
reveal_rank(value)  # revealed: same
for batch in accelerator.skip_first_batches(loader, 2):
    reveal_rank(batch["x"])  # revealed: shard
for batch in skip_first_batches(loader, 2):
    reveal_rank(batch["x"])  # revealed: shard
