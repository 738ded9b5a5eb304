"""What operations on tensors make of each fact: of rank, shape, average and device."""
