"""Write the tables: `python -m ggufhub.rules.tables.refresh --llama-cpp DIR --commit ID`.

DIR is a source tree of llama.cpp, for example from the source package of llama-cpp-python.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from ggufhub.rules.tables.refresh.architectures import architectures
from ggufhub.rules.tables.refresh.converter import converter
from ggufhub.rules.tables.refresh.keys import keys
from ggufhub.rules.tables.refresh.templates import templates
from ggufhub.rules.tables.refresh.tensors import tensors
from ggufhub.rules.tables.refresh.vocabulary import vocabulary

TABLES = {
    "tokenizer": vocabulary,
    "architectures": architectures,
    "keys": keys,
    "tensors": tensors,
    "converter": converter,
    "templates": templates,
}

_SHORT = 100
"""A list or object stands on one line where it takes fewer characters than this."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ggufhub.rules.tables.refresh")
    parser.add_argument("--llama-cpp", type=Path, required=True, metavar="DIR")
    parser.add_argument("--commit", required=True, help="the commit of that tree")
    options = parser.parse_args()
    folder = Path(__file__).parents[1]
    for name, read in TABLES.items():
        text = lines({"commit": options.commit, **read(options.llama_cpp)})
        (folder / f"{name}.json").write_text(text + "\n", "utf-8")
        print(f"{name}: {len(text):,} characters")


def lines(content: Any) -> str:
    """JSON with one line for each row: short enough to keep, and differences can be read."""
    whole = json.dumps(content, ensure_ascii=False)
    nested = isinstance(content, dict | list) and len(whole) > _SHORT
    if not nested or (isinstance(content, dict) and ("do" in content or "shape" in content)):
        return whole
    if isinstance(content, dict):
        parts = [f"{json.dumps(key)}: {lines(value)}" for key, value in content.items()]
        return "{\n" + ",\n".join(parts) + "\n}"
    return "[\n" + ",\n".join(lines(value) for value in content) + "\n]"


if __name__ == "__main__":
    main()
