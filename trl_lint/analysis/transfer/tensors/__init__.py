"""The transfer functions of tensor operations: ranks, shapes, devices and averages."""
