"""Tokens made readable: what a vocabulary entry stands for, next to what it is."""

import re
from typing import Any

KINDS = {1: "normal", 2: "unknown", 3: "control", 4: "user defined", 5: "unused", 6: "byte"}
"""``tokenizer.ggml.token_type``."""

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_NAMES = {0x09: "tab", 0x0A: "line feed", 0x0D: "carriage return", 0x20: "space", 0x00: "NUL"}
_SPECIAL_KEY = re.compile(r"tokenizer\.ggml\.(\w+?)(?:_token_id|_id)")


def _byte_alphabet() -> dict[str, int]:
    """The byte each character of a byte-level vocabulary stands for.

    Printable Latin-1 stands for itself; the other 68 bytes are moved up from U+0100 in order.
    """
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    moved = [byte for byte in range(256) if byte not in set(plain)]
    shifted = {chr(0x100 + index): byte for index, byte in enumerate(moved)}
    return {chr(byte): byte for byte in plain} | shifted


BYTE_ALPHABET = _byte_alphabet()


def kind_name(kind: Any) -> Any:
    """The name of a token type; one that has none stays as it is."""
    return KINDS.get(kind, kind) if isinstance(kind, int) else kind


def readable(token: str, model: str) -> str:
    """The text ``token`` stands for under tokenizer ``model``; its bytes where that is no text.

    ``gpt2`` vocabularies spell bytes as characters; the others write a space as ``▁`` and a
    single byte as ``<0x0A>``.
    """
    single = _BYTE_TOKEN.fullmatch(token)
    if single:
        return _byte_name(int(single[1], 16))
    if model != "gpt2":
        return token.replace("\u2581", " ")
    if any(character not in BYTE_ALPHABET for character in token):
        return token
    raw = bytes(BYTE_ALPHABET[character] for character in token)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return "bytes " + raw.hex(" ").upper()


def _byte_name(byte: int) -> str:
    shown = _NAMES.get(byte) or (chr(byte) if 0x21 <= byte < 0x7F else "")
    return f"byte {byte:02X}" + (f" ({shown})" if shown else "")


def special_ids(metadata: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The keys that name a token by its id: role, key and id, in file order."""
    found = []
    for entry in metadata:
        match = _SPECIAL_KEY.fullmatch(entry["key"])
        if match and isinstance(entry["value"], int) and not isinstance(entry["value"], bool):
            found.append({"role": match[1], "key": entry["key"], "id": entry["value"]})
    return found
