"""Write the tables: `python -m ggufhub.rules.tables.refresh --llama-cpp DIR --commit ID`.

DIR is a source tree of llama.cpp, for example from the source package of llama-cpp-python.
"""

import argparse
import json
from pathlib import Path

from ggufhub.rules.tables.refresh.vocabulary import vocabulary

TABLES = {"tokenizer": vocabulary}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ggufhub.rules.tables.refresh")
    parser.add_argument("--llama-cpp", type=Path, required=True, metavar="DIR")
    parser.add_argument("--commit", required=True, help="the commit of that tree")
    options = parser.parse_args()
    folder = Path(__file__).parents[1]
    for name, read in TABLES.items():
        content = {"commit": options.commit, **read(options.llama_cpp)}
        text = json.dumps(content, ensure_ascii=False, indent=1)
        (folder / f"{name}.json").write_text(text + "\n", "utf-8")
        print(f"{name}: {len(text):,} characters")


if __name__ == "__main__":
    main()
