"""The transfer functions of operations on tensors, one domain each: rank, shape, average and device."""
