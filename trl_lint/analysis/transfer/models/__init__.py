"""Models: what wraps them, who trains them, and where gradients are on."""
