# A model that is an engine of DeepSpeed under one setting, and in DDP under another, has the methods of engines.
from torch.nn.parallel import DistributedDataParallel


def resume(args, model, scaler, start):
    if args.deepspeed:
        scaler = None
        model = start(args, model)
    else:
        model = DistributedDataParallel(model, device_ids=[args.gpu])
    if scaler is None:
        _, state = model.load_checkpoint(args.folder)
        print(state, model.config)  # expect: TRL002
