"""Whether the program that a launch command starts trains a model, and whether it places its processes itself."""
