"""Files that contain Python in parts: the cells of notebooks, the blocks of documentation.

The analysis sees the text of a module; its findings are then translated to places in the file (`places.py`).
"""
