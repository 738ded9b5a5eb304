"""Models: how they are wrapped, who trains them, and where gradients are on."""
