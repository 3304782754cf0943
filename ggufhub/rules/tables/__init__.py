"""Generated tables of the reference: data files, each stamped with the commit it came from.

`python -m ggufhub.rules.tables.refresh --llama-cpp DIR --commit ID` writes them.
"""

import json
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The table ``name``. ``FileNotFoundError`` where there is none."""
    data: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_text("utf-8"))
    return data


def commit() -> str:
    """The commit of llama.cpp behind the tables."""
    found: str = table("tokenizer")["commit"]
    return found
