"""Structure: the formats before GGUF, files of other programs, models inside programs."""

import re
from collections.abc import Iterator

from ggufhub.formats.file_types import FILE_TYPES, file_type_name
from ggufhub.formats.header import DEFAULT_ALIGNMENT, Header, Span, StopReason
from ggufhub.formats.legacy.programs import BY_NAME
from ggufhub.formats.model import ModelFile
from ggufhub.rules.container import hit_of, stopped
from ggufhub.rules.legacy_samples import (
    PROGRAM,
    adapter,
    gpt_2,
    imatrix_dat,
    llama,
    llamafile,
    small_llama,
)
from ggufhub.rules.registry import LEGACY_FORMATS, Hit, Need, Severity, Truth, file_rule
from ggufhub.rules.samples import small_model

_ORIGINAL = "Convert the original model with convert_hf_to_gguf.py of llama.cpp and quantise it."

_CONVERT = (
    "convert_llama_ggml_to_gguf.py of llama.cpp reads this file; check what it writes, or convert "
    "the original model with convert_hf_to_gguf.py."
)

_LAYER = re.compile(r"layers\.(\d{1,9})\.(.+)")

_FLOAT_FTYPES = frozenset({0, 1})
_CHANGED_IN_3 = frozenset({2, 3, 4, 7})
"""Q4_0, Q4_1, Q4_1 with some F16, Q8_0: their scales became 16-bit numbers in GGJT version 3."""

_LAST_LLAMA_FTYPE = 18
_LAST_GGML_FTYPE = 28
_QUANTISATION_VERSION = 1000
"""``GGML_QNT_VERSION_FACTOR``: other programs add the version of the blocks times this."""


def _legacy(file: ModelFile, *programs: str) -> Header | None:
    """The header where it is of a format before GGUF and one of ``programs`` wrote it."""
    header = file.header
    return header if header is not None and header.program in programs else None


@file_rule(
    "STR041",
    "Format that loaders no longer read",
    Severity.WARNING,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="llama.cpp replaced GGML, GGMF and GGJT by GGUF on 21 August 2023 and reads nothing "
    "else since. What was quantised before GGJT version 2 (May 2023), or as Q4 or Q8 before "
    "version 3, cannot be converted, because its blocks were laid out differently. Adapters in "
    "GGLA went the same way in July 2024.",
    fix=_ORIGINAL,
    failing=lambda: small_llama().build(),
    passing=lambda: small_model().build(),
    formats=LEGACY_FORMATS,
)
def old_format(file: ModelFile) -> Iterator[Hit]:
    header = _legacy(file, "llama", "ggla")
    if header is None or stopped(file, StopReason.VERSION) is not None:
        return  # a version that does not exist has no loader to lose
    if header.program == "ggla":
        fix = "Convert the original adapter with convert_lora_to_gguf.py of llama.cpp."
        message = "This is a LoRA adapter in GGLA, which current loaders refuse."
        yield Hit(message, Span(0, 4), expected="GGUF", actual="GGLA", fix=fix)
        return
    obstacle = conversion_obstacle(header)
    actual = header.format.upper()
    if header.version is not None:
        actual += f" version {header.version}"
    message = f"This is a LLaMA model in {actual}, which current loaders refuse"
    if obstacle is not None:
        message += f"; it cannot be converted: {obstacle}"
    fix = _CONVERT if obstacle is None and _is_whole(file, header) else _ORIGINAL
    yield Hit(message + ".", Span(0, 4), expected="GGUF", actual=actual, fix=fix)


def _is_whole(file: ModelFile, header: Header) -> bool:
    """Whether the file holds all it should, so that converting it can succeed."""
    known = (header.number("ftype") or 0) <= _LAST_LLAMA_FTYPE
    return known and header.complete and file.data_end == file.size


def conversion_obstacle(header: Header) -> str | None:
    """Why ``convert_llama_ggml_to_gguf.py`` refuses a LLaMA file for its type; None if it does not.

    Follows ``GGMLModel.validate_conversion`` there.
    """
    ftype = header.number("ftype")
    if ftype is None or ftype in _FLOAT_FTYPES:
        return None
    if header.format != "ggjt" or (header.version or 0) < 2:
        return "it was quantised before the blocks changed in GGJT version 2"
    if header.version == 2 and ftype in _CHANGED_IN_3:
        return "Q4 and Q8 blocks changed in GGJT version 3"
    return None


@file_rule(
    "STR042",
    "File does not end where its tensors do",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="Formats before GGUF do not count their tensors: a reader takes one after the other "
    "until the file ends. Bytes left over are a download that stopped inside a tensor's header, "
    "something appended, or damage that threw the reader off.",
    fix="Download the file again and compare its size and checksum with the published ones.",
    failing=lambda: small_llama().build() + b"tail",
    passing=lambda: small_llama().build(),
    formats=LEGACY_FORMATS,
)
def ends_elsewhere(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.TRAILING)
    if stop is not None:
        yield hit_of(stop)


@file_rule(
    "STR049",
    "Layers missing from an old model",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.TENSORS,),
    help="A LLaMA file before GGUF says how many layers it has, but not how many tensors. A "
    "download that stopped exactly between two tensors looks complete to a reader; only the "
    "layers tell that something is missing.",
    fix="Download the file again and compare its size and checksum with the published ones.",
    failing=lambda: llama().tensor("tok_embeddings.weight", (32, 8)).build(),
    passing=lambda: small_llama().build(),
    formats=LEGACY_FORMATS,
)
def layers_missing(file: ModelFile) -> Iterator[Hit]:
    header = _legacy(file, "llama")
    key = None if header is None else header.find("n_layer")
    if header is None or key is None or not header.tensors:
        return
    roles: dict[str, set[str]] = {}
    for tensor in header.tensors:
        match = _LAYER.match(tensor.name)
        if match is not None:
            roles.setdefault(match[1], set()).add(match[2])
    declared, complete = header.number("n_layer") or 0, set().union(*roles.values())
    whole = sum(found == complete for found in roles.values())
    if whole < declared:
        yield Hit.at_key(
            key,
            f"The file announces {declared:,} layers, but holds {whole:,} whole ones.",
            expected=f"{declared:,} layers",
            actual=f"{whole:,} layers",
        )


@file_rule(
    "STR043",
    "Type that an old format does not have",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The number `ftype` says how a model before GGUF was quantised, and each tensor has a "
    "type. Numbers that nobody defined mean damage or a program with types of its own; the size "
    "of such a tensor is unknown, so nothing after it can be found.",
    fix="Use the program that made the file, or get the file again.",
    failing=lambda: small_llama(ftype=99).build(),
    passing=lambda: small_llama(ftype=1).build(),
    formats=LEGACY_FORMATS,
)
def unknown_type(file: ModelFile) -> Iterator[Hit]:
    stop = stopped(file, StopReason.TENSOR_TYPE)
    if stop is not None:
        yield hit_of(stop)
    header = file.header
    key = None if header is None else header.find("ftype")
    if header is None or key is None:
        return
    value = header.number("ftype") or 0
    own = header.program == "llama"
    last = _LAST_LLAMA_FTYPE if own else _LAST_GGML_FTYPE
    if (value if own else value % _QUANTISATION_VERSION) > last:
        yield Hit.at_key(
            key,
            f"The file type {value:,} does not exist.",
            expected=f"0 ({FILE_TYPES[0]}) to {last}"
            + (f" ({file_type_name(last)})" if own else ""),
            actual=f"{value:,}",
        )


@file_rule(
    "STR044",
    "Model of another program",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="The magic of GGML is shared by several programs: whisper.cpp, the examples of ggml, "
    "bert.cpp, rwkv.cpp and others. Each writes other numbers after it. Only the program that a "
    "file is for can load it; llama.cpp cannot.",
    fix="Load it with the program named here, or convert the original model for llama.cpp.",
    failing=lambda: gpt_2().build(),
    passing=lambda: small_llama(b"lmgg", None).build(),
    formats=LEGACY_FORMATS,
)
def other_program(file: ModelFile) -> Iterator[Hit]:
    header = file.header
    if header is None or header.program in ("llama", "ggla"):
        return
    known = BY_NAME.get(header.program)
    if known is None:
        message = "The file has the shape of a GGML file, but its tensors are of no known program."
        yield Hit(message, Span(0, 4), expected="a known program", actual="unknown tensor names")
        return
    message = f"This is {known.title}, which {known.reader} loads and llama.cpp does not."
    yield Hit(message, Span(0, 4), expected="a model of llama.cpp", actual=known.name)


@file_rule(
    "STR045",
    "Model inside a program",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="A llamafile is a program with the model in a ZIP archive behind it. The model is stored "
    "there as it is, so it is read in place, and every place in this report counts from where it "
    "begins. A member that begins off the alignment of tensors takes their alignment away.",
    fix="Nothing, unless the program comes from somewhere you do not trust.",
    failing=lambda: llamafile(small_model().build()),
    passing=lambda: small_model().build(),
    runtimes=("llamafile",),
)
def inside_program(file: ModelFile) -> Iterator[Hit]:
    member = None if file.archive is None else file.archive.member
    if member is None:
        return
    others = f"; {member.others} more models in it were not read" if member.others else ""
    off = member.offset % DEFAULT_ALIGNMENT
    yield Hit(
        f"The model {member.name} lies at byte {member.offset:,} of a program{others}.",
        Span(0, member.size),
        expected=f"an offset that is a multiple of {DEFAULT_ALIGNMENT}" if off else None,
        actual=f"{member.offset:,}" if off else None,
        severity=Severity.WARNING if off else None,
    )


@file_rule(
    "STR046",
    "Archive behind a program is broken",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.HEAD,),
    help="The file is a program with a ZIP archive behind it, as a llamafile is, but the archive "
    "contradicts itself, or the model in it is compressed. Programs that trust its numbers read "
    "outside of it.",
    fix="Download the file again; a llamafile stores its model without compression.",
    failing=lambda: llamafile(small_model().build(), stored=False),
    passing=lambda: PROGRAM,
    runtimes=("llamafile",),
)
def broken_archive(file: ModelFile) -> Iterator[Hit]:
    problem = None if file.archive is None else file.archive.problem
    if problem is not None:
        yield Hit(problem.message, problem.span)


@file_rule(
    "STR047",
    "Two sizes of one vocabulary",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="Files for the GPT-2 and GPT-J examples of ggml give the size of the vocabulary twice. "
    "Their loaders refuse a file in which the two differ.",
    fix="Convert the original model again.",
    failing=lambda: gpt_2(9).build(),
    passing=lambda: gpt_2(8).build(),
    runtimes=("ggml",),
    formats=("ggml",),
)
def two_sizes(file: ModelFile) -> Iterator[Hit]:
    header = _legacy(file, "gpt2", "gptj")
    if header is None:
        return
    key, declared, found = (
        header.find("n_tokens"),
        header.number("n_vocab"),
        header.number("n_tokens"),
    )
    if key is not None and declared != found:
        message = f"The file announces {declared:,} tokens and then {found:,}."
        yield Hit.at_key(key, message, expected=f"{declared:,}", actual=f"{found:,}")


@file_rule(
    "STR048",
    "Importance matrix of the old form",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.HEAD,),
    help="Importance matrices are GGUF files since July 2025. The old form has no magic and no "
    "room for anything but names and numbers; tools that know it still read it.",
    fix="Rewrite it with `llama-imatrix --in-file old.dat -o new.gguf`.",
    failing=lambda: imatrix_dat(),
    passing=lambda: adapter().build(),
    formats=("unknown",),
)
def old_imatrix(file: ModelFile) -> Iterator[Hit]:
    if _legacy(file, "imatrix") is not None:
        message = "This is an importance matrix in the form used before GGUF."
        yield Hit(message, Span(0, 4), expected="GGUF", actual="imatrix.dat")
