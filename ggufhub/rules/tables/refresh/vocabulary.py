"""What ``src/llama-vocab.cpp`` knows by name: tokenizers, pre-tokenizers, ends of generation."""

import re
from pathlib import Path
from typing import Any

_MODEL = re.compile(r'tokenizer_model == "([^"]+)"')
_PRE = re.compile(r'tokenizer_pre == "([^"]+)"')
_TEXT = re.compile(r't\.first == "((?:[^"\\]|\\.)*)"')


def vocabulary(tree: Path) -> dict[str, Any]:
    """The table ``tokenizer``. ``ValueError`` where the source no longer looks as expected."""
    source = (tree / "src" / "llama-vocab.cpp").read_text("utf-8")
    pre = sorted(set(_PRE.findall(source)))
    found = {
        "models": sorted(set(_MODEL.findall(source))),
        "pre_tokenizers": pre,
        "end_of_generation": _end_texts(source),
    }
    empty = [name for name, values in found.items() if not values]
    if empty:
        raise ValueError(f"llama-vocab.cpp has changed: nothing found for {', '.join(empty)}")
    return found


def _end_texts(source: str) -> list[str]:
    """The texts after "maintain a list of tokens that cause end-of-generation"."""
    start = source.index("tokens that cause end-of-generation")
    end = source.index("special_eog_ids.insert(t.second)", start)
    return _TEXT.findall(source[start:end])
