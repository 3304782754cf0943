"""What converters may write and loaders do not read: ``gguf-py/gguf/constants.py``."""

import ast
import re
from pathlib import Path
from typing import Any

from ggufhub.rules.tables.refresh.tensors import tensors

_SUFFIX = re.compile(r"\.(?:weight|bias|scale)$")


def converter(folder: Path) -> dict[str, Any]:
    """The table ``converter``: per architecture the names of tensors, without their suffix, that
    are in none of the loader's rows."""
    source = (folder / "gguf-py" / "gguf" / "constants.py").read_text("utf-8")
    found = {
        statement.target.id: statement.value
        for statement in ast.parse(source).body
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
    }
    names = dict(_pairs(found["TENSOR_NAMES"]))
    architectures = dict(_pairs(found["MODEL_ARCH_NAMES"]))
    loaded = tensors(folder)["architectures"]
    beyond = {}
    for owner, listed in _pairs(found["MODEL_TENSORS"]):
        name = architectures[owner]
        written = {names[tensor].replace("{bid}", "N") for tensor in listed if tensor in names}
        rows = loaded.get(name, {"rows": []})["rows"]
        beyond[name] = sorted(written - {_SUFFIX.sub("", row["name"]) for row in rows})
    return {
        "architectures": {name: left for name, left in beyond.items() if left and name in loaded}
    }


def _pairs(node: ast.expr | None) -> list[tuple[str, Any]]:
    """Entries of a dict display: the member behind each key, and a text or a list of members."""
    assert isinstance(node, ast.Dict)
    return [
        (_member(key), _value(value)) for key, value in zip(node.keys, node.values, strict=True)
    ]


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.List):
        return [_member(element) for element in node.elts]
    return ast.literal_eval(node)


def _member(node: ast.expr | None) -> str:
    assert isinstance(node, ast.Attribute)
    return node.attr
