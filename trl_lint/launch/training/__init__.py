"""Whether what a launch command starts trains a model, and whether it places its processes itself."""
