"""What tests are held against: the shared corpus, at ``GGUFHUB_CORPUS`` or by default in
``../shared`` beside the project, and the reference loader."""

import csv
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

SHARED = Path(os.environ.get("GGUFHUB_CORPUS", Path(__file__).parents[1].parent / "shared"))

needs_corpus = pytest.mark.skipif(
    not SHARED.is_dir(), reason=f"the shared corpus is not at {SHARED}; set GGUFHUB_CORPUS"
)
needs_loader = pytest.mark.skipif(
    find_spec("xllamacpp") is None, reason="the reference loader (xllamacpp) is not installed"
)


class Verdict(NamedTuple):
    """One row of a ``verdicts.tsv``: what the reference reader and loader said about a file."""

    path: Path
    row: dict[str, str]

    @property
    def accepted(self) -> bool:
        """Container check passed and all tensor data inside the file."""
        return self.row["verdict"] == "ok" and self.row["bounds"] != "fail"


def verdicts(*folders: str) -> Iterator[Verdict]:
    """The rows whose files were handed over, of the folders named (all where none is)."""
    corpus = SHARED / "corpus"
    for table, base in (
        (corpus / "verdicts.tsv", ""),
        (corpus / "handcrafted" / "verdicts.tsv", "handcrafted/"),
    ):
        if not table.exists():
            continue
        with table.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
                name = base + row["file"]
                if folders and name.split("/")[0] not in folders:
                    continue
                if (corpus / name).exists():
                    yield Verdict(corpus / name, row)
