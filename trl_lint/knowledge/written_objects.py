"""Objects of libraries that write themselves to the path that a method of theirs is passed.

Read from the documentation of gensim 4.3, GeoPandas 1.1, graphviz 0.21, polars 1.33, pydub 0.25, torchviz 0.0.3 and
trimesh 4.8. Their methods have common names (`save`, `export`, `render`), so that these only count where the object is
seen to be made. Nothing else is known of the objects: a table may hold other data on each rank.
"""

from __future__ import annotations

from collections.abc import Iterator

from trl_lint.domain import ranks
from trl_lint.knowledge.schema import UNKNOWN, Class, Effect, Function, Parameter, Row, instance

# The layout of a table is by hand: one line per class.
# fmt: off
# The methods of each class, with the parameter for the path.
_WRITE: dict[str, dict[str, Parameter]] = {
    "geopandas.GeoDataFrame": {"to_file": (0, "filename")},
    **{f"gensim.models.{name}": {"save": (0, "fname_or_handle")} for name in ("Doc2Vec", "FastText", "Word2Vec")},
    "polars.DataFrame": {"write_csv": (0, "file"), "write_excel": (0, "workbook"), "write_json": (0, "file")},
    "pydub.AudioSegment": {"export": (0, "out_f")},
    **{f"trimesh.{name}": {"export": (0, "file_obj")} for name in ("PointCloud", "Scene", "Trimesh")},
}
# The classes of graphs, which write a file with a name of their own if they are passed none.
_GRAPHS = ("graphviz.Digraph", "graphviz.Graph")
# Functions that make such an object.
_MAKE: dict[str, str] = {
    **{f"polars.{name}": "polars.DataFrame" for name in ("from_dict", "from_dicts", "from_pandas")},
    **{
        f"pydub.AudioSegment.{name}": "pydub.AudioSegment"
        for name in ("empty", "from_file", "from_mp3", "from_wav", "silent")
    },
    "torchviz.make_dot": "graphviz.Digraph",
}
# fmt: on


def _rows() -> Iterator[Row]:
    for name in (*_WRITE, *_GRAPHS):
        yield Class(name=name, source="documentation", makes=instance(name, ranks.UNKNOWN))
    for name, methods in _WRITE.items():
        for method, path in methods.items():
            yield _method(f"{name}.{method}", Effect("writes the same file", path))
    for name in _GRAPHS:
        yield _method(f"{name}.render", Effect("writes the same files", (0, "filename"), optional=True))
    for name, made in _MAKE.items():
        yield Function(name=name, source="documentation", returns=instance(made, ranks.UNKNOWN))


def _method(name: str, effect: Effect) -> Row:
    return Function(name=name, source="documentation", returns=UNKNOWN, effect=effect)


ROWS: tuple[Row, ...] = tuple(_rows())
