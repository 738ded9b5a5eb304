"""Names, attributes and subscripts: how they are read and assigned, and what else refers to the same object."""
