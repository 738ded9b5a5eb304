"""What a command starts, by which launcher, and on how many GPUs."""
