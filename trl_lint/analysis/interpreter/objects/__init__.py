"""Names, attributes and subscripts: how they are read and assigned, and who else holds the same object."""
