"""What a file is, from its first bytes and its name, before anything is parsed.

People save all sorts of things under the name of a model: the web page instead of the file, a
pointer of a version-control system, one part of a split download. Each is recognised and named,
because "bad magic" helps nobody.
"""

import json
import re
import struct
from dataclasses import dataclass

HEAD = 4096
"""Bytes enough to recognise everything here."""


@dataclass(frozen=True, slots=True)
class FileForm:
    """A recognised form of file. ``model`` says whether ggufhub reads it as a model.

    ``title`` completes "This is …"; ``advice`` says what to do instead.
    """

    code: str
    title: str
    advice: str
    model: bool = False


GGUF = FileForm("gguf", "a GGUF file", "", model=True)
GGML = FileForm("ggml", "a GGML file of early 2023", "", model=True)
GGMF = FileForm("ggmf", "a GGMF file of early 2023", "", model=True)
GGJT = FileForm("ggjt", "a GGJT file of 2023", "", model=True)
GGLA = FileForm("ggla", "a GGLA adapter of 2023", "", model=True)
IMATRIX_DAT = FileForm("imatrix_dat", "an importance matrix of the old form", "", model=True)

LEGACY = frozenset({GGML, GGMF, GGJT, GGLA})
"""The forms before GGUF."""

_DOWNLOAD_AGAIN = "Download the file again, from the file's own link, and compare its checksum."

EMPTY = FileForm("empty", "an empty file", _DOWNLOAD_AGAIN)
ZEROS = FileForm(
    "zeros",
    "a file of zero bytes",
    "The download reserved its space but never filled it. " + _DOWNLOAD_AGAIN,
)
SWAPPED = FileForm(
    "swapped_magic",
    "a file whose magic is written backwards",
    "Both byte orders of GGUF start with the same four bytes; write the file again.",
)
LFS = FileForm(
    "lfs_pointer",
    "a Git LFS pointer, not the file it stands for",
    "Run `git lfs pull`, or download the file itself.",
)
HTML = FileForm(
    "html",
    "a web page",
    "The link leads to a page about the file. Use the link of the file itself; "
    "a gated model needs a token.",
)
JSON_ERROR = FileForm(
    "json",
    "a JSON document, most likely a server's error message",
    "Read the message in it; " + _DOWNLOAD_AGAIN[0].lower() + _DOWNLOAD_AGAIN[1:],
)
OLLAMA_MANIFEST = FileForm(
    "ollama_manifest",
    "a registry manifest, which lists the layers of a model",
    "Inspect the layer with the media type application/vnd.ollama.image.model.",
)
SAFETENSORS = FileForm(
    "safetensors", "a safetensors file", "Convert it with convert_hf_to_gguf.py of llama.cpp."
)
PYTORCH = FileForm(
    "pytorch",
    "a PyTorch checkpoint in a ZIP",
    "Convert it with convert_hf_to_gguf.py of llama.cpp; it can hold code, so trust it first.",
)
ZIP = FileForm("zip", "a ZIP archive", "Unpack it and inspect the model inside.")
GZIP = FileForm("gzip", "a gzip archive", "Unpack it and inspect the model inside.")
PICKLE = FileForm(
    "pickle",
    "a Python pickle",
    "It can run code when it is loaded: do not open it unless you trust where it comes from.",
)
SESSION = FileForm(
    "session", "a saved session of llama.cpp", "It holds a conversation's state, not a model."
)
PART = FileForm(
    "byte_part",
    "one part of a file that was cut by bytes",
    "Join all parts in order, for example with `cat`, and inspect the whole.",
)
EXECUTABLE = FileForm(
    "executable", "a program", "If it is a llamafile, the model inside could not be found."
)
UNKNOWN = FileForm("unknown", "no known model format", _DOWNLOAD_AGAIN)

_MAGICS = (
    (b"GGUF", GGUF),
    (b"FUGG", SWAPPED),
    (b"lmgg", GGML),
    (b"fmgg", GGMF),
    (b"tjgg", GGJT),
    (b"algg", GGLA),
    (b"nsgg", SESSION),
    (b"qsgg", SESSION),
    (b"version https://git-lfs", LFS),
    (b"\x1f\x8b", GZIP),
    (b"MZ", EXECUTABLE),
    (b"\x7fELF", EXECUTABLE),
    (b"jartsr=", EXECUTABLE),
)
"""First bytes. Legacy magics are u32 'ggml', 'ggmf', … written little-endian (format notes of
convert_llama_ggml_to_gguf.py)."""

_PICKLE_PROTOCOLS = (b"\2", b"\3", b"\4", b"\5")
"""Protocols that start with the PROTO opcode (``pickletools`` of the standard library)."""

_JSON_START = re.compile(rb'[\[\s]*(?:\{\s*(?:"|\}|\Z)|["\]\d-]|true|false|null|\Z)')
_PART_NAME = re.compile(
    r"\.gguf(?:[.-]part\d+of\d+|-split-[a-z]+|\.part\d+|\.\d{3})$", re.IGNORECASE
)


def detect(head: bytes, name: str) -> FileForm:
    """The form of a file whose first bytes (``HEAD`` or all there are) are ``head``."""
    if not head:
        return EMPTY
    for magic, form in _MAGICS:
        if head.startswith(magic):
            return PART if form is GGUF and _is_part(name) else form
    if _is_part(name):
        return PART
    return _zip_form(head) or _text_form(head) or _binary_form(head) or UNKNOWN


def _is_part(name: str) -> bool:
    return _PART_NAME.search(name) is not None


def _zip_form(head: bytes) -> FileForm | None:
    if not head.startswith(b"PK\x03\x04"):
        return None
    return PYTORCH if b"/data.pkl" in head[:256] else ZIP


def _text_form(head: bytes) -> FileForm | None:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n")
    if text[:1] == b"<" and text[:15].lower().startswith(
        (b"<!doctype", b"<html", b"<?xml", b"<head")
    ):
        return HTML
    if text[:1] not in (b"{", b"["):
        return None
    if b'"schemaVersion"' in text and b'"layers"' in text:
        return OLLAMA_MANIFEST
    return JSON_ERROR if _looks_like_json(text) else None


def _looks_like_json(text: bytes) -> bool:
    """Whether ``text`` is JSON or the start of it: complete, or printable to its end.

    Tables of TOML and INI files begin with a bracket as well, but with a bare word in it.
    """
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        printable = all(byte >= 0x20 or byte in b"\t\r\n" for byte in text[:512])
        return len(text) > 1 and printable and _JSON_START.match(text) is not None
    return True


def _binary_form(head: bytes) -> FileForm | None:
    if len(head) >= 9:
        (length,) = struct.unpack_from("<Q", head)
        if head[8:9] == b"{" and 2 <= length <= 100_000_000:  # MAX_HEADER_SIZE of safetensors
            return SAFETENSORS
    if head[:1] == b"\x80" and head[1:2] in _PICKLE_PROTOCOLS and b"." in head[2:]:  # "." is STOP
        return PICKLE
    return ZEROS if not any(head) else None
