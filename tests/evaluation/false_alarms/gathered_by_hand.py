# The parameters are gathered between two calls by hand, or under a context manager that has a name.
from contextlib import nullcontext

import deepspeed
from accelerate import Accelerator, DeepSpeedPlugin

accelerator = Accelerator(deepspeed_plugin=DeepSpeedPlugin(zero_stage=3))


def losses(args, model, optimizer, loader, fused):
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    bare = accelerator.unwrap_model(model)
    for batch in loader:
        hidden = model(**batch).last_hidden_state
        whole = None
        if args.sharded:
            whole = deepspeed.zero.GatheredParameters([bare.lm_head.weight])
            whole.__enter__()
        loss = fused(hidden, bare.lm_head.weight)
        accelerator.backward(loss)
        if whole is not None:
            whole.__exit__(None, None, None)
        around = deepspeed.zero.GatheredParameters([bare.lm_head.weight]) if args.sharded else nullcontext()
        with around:
            accelerator.backward(fused(hidden, bare.lm_head.weight))
        accelerator.backward(fused(hidden, bare.lm_head.weight))  # expect: TRL013
        optimizer.step()
