"""What a command starts, with which launcher, and on how many GPUs."""
