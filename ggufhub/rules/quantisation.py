"""Quantisation: do name, ``general.file_type`` and tensors tell the same story?

Facts behind the rules: ``src/llama-quant.cpp`` of llama.cpp 0c1e57098.
"""

import re
from collections import Counter
from collections.abc import Iterator

from ggufhub.estimate.size import bits_per_weight, parameters
from ggufhub.formats.file_types import FILE_TYPES, GUESSED, REMOVED_FILE_TYPES, file_type_name
from ggufhub.formats.header import Tensor
from ggufhub.formats.kind import MODEL
from ggufhub.formats.tensor_types import TENSOR_TYPES, type_name
from ggufhub.rules.model_samples import llama, llama_tensors
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject

FILE_TYPE = "general.file_type"
VERSION = "general.quantization_version"
CURRENT_VERSION = 2
"""``GGML_QNT_VERSION`` in ``ggml/include/ggml.h``."""

F32, F16 = 0, 1

FALLBACKS = {
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
    "Q2_K": "Q4_0",
    "Q3_K": "Q4_0",
    "TQ1_0": "Q4_0",
    "TQ2_0": "Q4_0",
}
"""What the quantiser takes where rows are not whole super-blocks; IQ types fall to IQ4_NL."""

NEEDS_IMATRIX = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS"})
"""Types that llama-quantize refuses to write without an importance matrix."""

_LABEL = re.compile(
    r"(?<![A-Za-z0-9])(?:I?Q[1-8]_(?:[01]|K(?:_[SML])?|XXS|XS|S|M|NL)|TQ[12]_0|BF16|F16|F32"
    r"|MXFP4|NVFP4)(?![A-Za-z0-9])",
    re.IGNORECASE,
)

TENSORS = (Need.TENSORS, Need.SHARDS)


def _quantised(tensor: Tensor) -> bool:
    known = TENSOR_TYPES.get(tensor.type)
    return known is not None and known.block > 1


def with_matrices(kind: int, keys: dict[str, object] | None = None) -> bytes:
    """The sample model with its matrices stored in another type (rows of 256)."""
    tensors = {
        name: ((256, *shape[1:]), kind) if len(shape) > 1 else (shape, 0)
        for name, (shape, _) in llama_tensors().items()
    }
    return llama(keys, dict(tensors))


@model_rule(
    "QNT001",
    "Tensors are not of the stated type",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS,
    help="`general.file_type` names a mix, and most matrices of the blocks should be of its type, "
    "or of the fallback the quantiser takes where rows are not whole super-blocks. Otherwise the "
    "label is wrong, and so is every size and quality expected from it.",
    fix="Correct general.file_type, or quantise again.",
    failing=lambda: with_matrices(8, {FILE_TYPE: 15, VERSION: 2}),
    passing=lambda: with_matrices(12, {FILE_TYPE: 15, VERSION: 2}),
)
def wrong_label(subject: Subject) -> Iterator[Hit]:
    number, key = subject.number(FILE_TYPE), subject.find(FILE_TYPE)
    expected = _expected_types(number)
    if number is None or key is None or not expected or subject.kind != MODEL:
        return
    weight = Counter[str]()
    for tensor in subject.tensors:
        inside = len(tensor.shape) >= 2 and tensor.name.startswith("blk.")
        if inside and tensor.shape[0] % 256 == 0:
            weight[type_name(tensor.type)] += tensor.elements
    if not weight:
        return
    main = weight.most_common(1)[0][0]
    if main not in expected:
        yield Hit.at_key(
            key,
            f"The file type is {file_type_name(number)}, but most matrices are {main}.",
            expected=" or ".join(sorted(expected)),
            actual=main,
        )


def _expected_types(number: int | None) -> set[str]:
    """Tensor types that may dominate a file of this type; empty where anything goes."""
    name = FILE_TYPES.get((number or 0) & ~GUESSED) if number is not None else None
    if name is None or number in REMOVED_FILE_TYPES:
        return set()
    if name.startswith("IQ"):
        return {type_name(n) for n in TENSOR_TYPES if type_name(n).startswith("IQ")}
    base = name.split("_MOE")[0]
    main = next((t.name for t in TENSOR_TYPES.values() if t.name == base), None)
    main = main or "_".join(base.split("_")[:2])
    return {main, FALLBACKS.get(main, main), *_NEIGHBOURS.get(name, ())}


_NEIGHBOURS = {
    "Q2_K": ("Q3_K",),
    "Q2_K_S": ("Q3_K", "Q4_K"),
    "Q3_K_M": ("Q4_K",),
    "Q3_K_L": ("Q5_K", "Q4_K"),
    "MXFP4_MOE": ("Q8_0", "BF16", "F16"),
    "F16": ("BF16",),
    "BF16": ("F16",),
}
"""Types that may outweigh the named one in small models (``llama_tensor_get_type``)."""


@model_rule(
    "QNT002",
    "Version of the quantisation not stated",
    Severity.WARNING,
    Truth.SPEC,
    needs=TENSORS,
    help="`general.quantization_version` is required by the specification where tensors are "
    "quantised; 2 is the only version in use. The reference ignores the key.",
    fix="Set general.quantization_version to 2.",
    failing=lambda: with_matrices(2, {FILE_TYPE: 2}),
    passing=lambda: with_matrices(2, {FILE_TYPE: 2, VERSION: 2}),
    runtimes=("spec",),
)
def no_version(subject: Subject) -> Iterator[Hit]:
    if subject.kind != MODEL or not any(map(_quantised, subject.tensors)):
        return
    version = subject.find(VERSION)
    if version is None or version.value != CURRENT_VERSION:
        actual = "key absent" if version is None else str(version.value)
        message = "The version of the quantisation is not stated as 2."
        yield Hit(message, key=VERSION, expected="2", actual=actual)


@model_rule(
    "QNT003",
    "File type unknown or contradicted by the name",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS,
    help="`general.file_type` is a number that stands for a mix of types. A number nobody defined, "
    "or one whose types were removed, tells programs nothing; a file name with another quant "
    "than the key misleads people.",
    fix="Correct general.file_type, or rename the file.",
    failing=lambda: llama({FILE_TYPE: 999}),
    passing=llama,
)
def odd_file_type(subject: Subject) -> Iterator[Hit]:
    key, number = subject.find(FILE_TYPE), subject.number(FILE_TYPE)
    if key is None or number is None or subject.kind != MODEL:
        return
    known = FILE_TYPES.get(number & ~GUESSED)
    if known is None or number in REMOVED_FILE_TYPES:
        message = f"The file type {number} is {'removed' if known else 'unknown'}."
        yield Hit.at_key(key, message, expected="a current file type", actual=str(number))
        return
    labels = [label.upper() for label in _LABEL.findall(subject.opened.name)]
    if labels and not any(_same_label(label, known) for label in labels):
        message = f"The file name says {labels[-1]}, general.file_type says {known}."
        yield Hit.at_key(key, message, expected=labels[-1], actual=known, severity=Severity.INFO)


def _same_label(label: str, known: str) -> bool:
    return known.startswith(label) or label.startswith(known.removesuffix("_MOE"))


@model_rule(
    "QNT004",
    "Norm weights are not float32",
    Severity.ERROR,
    Truth.INVALID,
    needs=TENSORS,
    help="Norms and biases are kept in float32 by every converter; llama.cpp multiplies them with "
    "float32 activations and aborts the whole program on another type.",
    fix="Convert again with a current converter.",
    failing=lambda: llama(tensors={"blk.0.attn_norm.weight": ((32,), F16)}),
    passing=llama,
)
def narrow_norms(subject: Subject) -> Iterator[Hit]:
    if subject.kind != MODEL or "bert" in (subject.text("general.architecture") or ""):
        return  # encoders with half-precision norms were never seen to fail
    for tensor in subject.tensors:
        if len(tensor.shape) == 1 and tensor.name.endswith("_norm.weight") and tensor.type != F32:
            yield Hit.at_tensor(
                tensor,
                f"{tensor.name} is {type_name(tensor.type)}.",
                expected="F32",
                actual=type_name(tensor.type),
            )


@model_rule(
    "QNT005",
    "Very low bits without an importance matrix",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS,
    help="Types of about two bits are usable only when they were quantised with an importance "
    "matrix, and llama-quantize notes it in `quantize.imatrix.*`. Other quantisers may use one "
    "without a note.",
    fix="Quantise again with --imatrix.",
    failing=lambda: with_matrices(16, {FILE_TYPE: 19, VERSION: 2}),
    passing=lambda: with_matrices(
        16, {FILE_TYPE: 19, VERSION: 2, "quantize.imatrix.file": "imatrix.gguf"}
    ),
)
def no_imatrix(subject: Subject) -> Iterator[Hit]:
    header = subject.header
    if header is None or subject.kind != MODEL:
        return
    if any(key.name.startswith("quantize.imatrix.") for key in header.keys):
        return
    exempt = ("token_embd", "output.", "per_layer_token_embd")
    low = [
        tensor
        for tensor in subject.tensors
        if type_name(tensor.type) in NEEDS_IMATRIX and not tensor.name.startswith(exempt)
    ]
    if low:
        yield Hit.at_tensor(
            low[0],
            f"{len(low):,} tensors are {type_name(low[0].type)} or the like, and no importance "
            "matrix is noted.",
            expected="quantize.imatrix.* keys",
            actual="none",
        )


@model_rule(
    "QNT006",
    "Made from a quantised model",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="The metadata says that the source was already quantised, so errors of both steps add up.",
    fix="Quantise from the original weights.",
    failing=lambda: llama({"general.quantized_from": "Q4_K_M"}),
    passing=llama,
)
def requantised(subject: Subject) -> Iterator[Hit]:
    for name in ("general.quantized_from", "quantize.source_type"):
        key = subject.find(name)
        if key is not None:
            yield Hit.at_key(key, f"{name} is {subject.text(name) or key.type_label}.")


@model_rule(
    "QNT007",
    "Bits per weight",
    Severity.INFO,
    Truth.ADVICE,
    needs=TENSORS,
    help="What the model weighs, by tensor type: counted exactly from the tensor table.",
    fix="Nothing; this is for comparing quants.",
    failing=lambda: with_matrices(2, {FILE_TYPE: 2, VERSION: 2}),
    passing=llama,
)
def weight(subject: Subject) -> Iterator[Hit]:
    if subject.kind != MODEL or not any(map(_quantised, subject.tensors)):
        return
    shares = subject.shares
    total = sum(share.bytes for share in shares) or 1
    mix = ", ".join(f"{share.type} {100 * share.bytes / total:.1f} %" for share in shares[:5])
    bits, count = bits_per_weight(shares) or 0.0, parameters(shares) or 0
    yield Hit(
        f"{bits} bits per weight over {count:,} parameters: {mix}.", key=FILE_TYPE, actual=mix
    )


@model_rule(
    "QNT008",
    "Importance matrix of another model",
    Severity.WARNING,
    Truth.ADVICE,
    needs=TENSORS,
    help="The importance matrix that was used holds entries for far fewer tensors than were "
    "quantised, so most were quantised blindly. Usually it belongs to another model.",
    fix="Make an importance matrix of this model and quantise again.",
    failing=lambda: with_matrices(
        2, {FILE_TYPE: 2, VERSION: 2, "quantize.imatrix.entries_count": 2}
    ),
    passing=lambda: with_matrices(
        2, {FILE_TYPE: 2, VERSION: 2, "quantize.imatrix.entries_count": 14}
    ),
)
def foreign_imatrix(subject: Subject) -> Iterator[Hit]:
    name = "quantize.imatrix.entries_count"
    key, entries = subject.find(name), subject.number(name)
    if key is None or entries is None or subject.kind != MODEL:
        return
    matrices = sum(
        len(tensor.shape) >= 2 and tensor.name.startswith("blk.") and _quantised(tensor)
        for tensor in subject.tensors
    )
    if entries * 2 < matrices:
        yield Hit.at_key(
            key,
            f"The importance matrix has {entries:,} entries for {matrices:,} quantised matrices.",
            expected=f"about {matrices:,}",
            actual=f"{entries:,}",
        )
