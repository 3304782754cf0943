"""The same few facts from every format: what GGUF has keys for, older files say by position."""

from typing import NamedTuple

from ggufhub.formats.header import Array, Header


class Facts(NamedTuple):
    """Each is None where the file does not say. ``file_type`` counts as GGUF does."""

    architecture: str | None
    context_length: int | None
    file_type: int | None
    tokens: Array | None


def header_facts(header: Header) -> Facts:
    """The facts of one header."""
    if header.format != "gguf":
        return _legacy_facts(header)
    architecture = header.text("general.architecture")
    return Facts(
        architecture,
        header.number(f"{architecture}.context_length"),
        header.number("general.file_type"),
        header.array("tokenizer.ggml.tokens"),
    )


def _legacy_facts(header: Header) -> Facts:
    named = header.program not in ("", "ggla", "imatrix")  # the last two are kinds, no programs
    lengths = (header.number(name) for name in ("n_ctx", "max_seq_len", "n_text_ctx"))
    return Facts(
        header.program if named else None,
        next((length for length in lengths if length is not None), None),
        header.number("ftype") if header.program == "llama" else None,  # others count differently
        header.array("tokens"),
    )
