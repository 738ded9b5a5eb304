"""What operations make of tensors: ranks, shapes, devices and averages."""
