"""Files that hold Python in parts: the cells of notebooks, the blocks of documentation.

The analysis sees the text of a module, and what it says of places in it is told as places in the file (`places.py`).
"""
