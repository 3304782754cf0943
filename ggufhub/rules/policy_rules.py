"""Policy: what the policy file of a team asks for and a model does not keep."""

from collections.abc import Iterator

from ggufhub.formats.header import Span, Tensor
from ggufhub.rules.model_samples import assemble, llama, llama_keys, llama_tensors
from ggufhub.rules.policy import Policy
from ggufhub.rules.registry import ALL_FORMATS, Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject
from ggufhub.templating.facts import TEMPLATE_KEY as TEMPLATE

LICENSE = "general.license"

_RUNTIMES = ("your policy",)

F16 = 1
"""A tensor type: 16 bits a weight."""


@model_rule(
    "POL001",
    "Key that the policy requires is missing",
    Severity.ERROR,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    runtimes=_RUNTIMES,
    help="The policy file lists this key under `required_keys`: every model that is checked with "
    "it must have the key. A text that is empty counts as missing.",
    fix="Add the key, or take it off the policy's list.",
    failing=lambda: llama({LICENSE: None}),
    passing=lambda: llama({LICENSE: "mit"}),
    policy=Policy(required_keys=(LICENSE,)),
)
def key_missing(model: Subject) -> Iterator[Hit]:
    for name in _policy(model).required_keys:
        key = model.find(name)
        if key is None or model.text(name) == "":
            yield Hit(f"The key {name} is missing.", key=name)


@model_rule(
    "POL002",
    "Licence that the policy does not allow",
    Severity.ERROR,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    runtimes=_RUNTIMES,
    help="The policy file lists the licences that may be used under `allowed_licenses`. They are "
    "compared with `general.license` as whole words, upper and lower case alike. A model that "
    "names no licence is not allowed either.",
    fix="Use another model, or have its licence cleared and added to the policy.",
    failing=lambda: llama({LICENSE: "proprietary"}),
    passing=lambda: llama({LICENSE: "Apache-2.0"}),
    policy=Policy(allowed_licenses=("apache-2.0",)),
)
def licence_not_allowed(model: Subject) -> Iterator[Hit]:
    allowed = _policy(model).allowed_licenses
    licence = model.text(LICENSE)
    if licence is None or licence.casefold() not in {name.casefold() for name in allowed}:
        found = "no licence" if not licence else f"the licence {licence}"
        yield Hit(
            f"The model names {found}.",
            key=LICENSE,
            expected=f"one of {', '.join(allowed)}",
            actual=licence or "none",
        )


@model_rule(
    "POL003",
    "Larger than the policy allows",
    Severity.ERROR,
    Truth.ADVICE,
    needs=(Need.SIZE, Need.SHARDS),
    formats=ALL_FORMATS,
    runtimes=_RUNTIMES,
    help="The policy file sets `max_size`. It is compared with the bytes of all files of a model "
    "together: a split model counts as one.",
    fix="Choose a smaller quantisation, or raise max_size in the policy.",
    failing=llama,
    passing=lambda: assemble(llama_keys()),
    policy=Policy(max_size=4096),
)
def too_large(model: Subject) -> Iterator[Hit]:
    most = _policy(model).max_size or 0
    size = sum(file.size or 0 for file in model.files)
    if size > most:
        yield Hit(
            f"The model has {size:,} bytes; the policy allows {most:,}.",
            Span(0, model.first.size or 0),
            expected=f"at most {most:,} bytes",
            actual=f"{size:,} bytes",
        )


@model_rule(
    "POL004",
    "Fewer bits a weight than the policy allows",
    Severity.ERROR,
    Truth.ADVICE,
    needs=(Need.TENSORS, Need.SHARDS),
    formats=ALL_FORMATS,
    runtimes=_RUNTIMES,
    help="The policy file sets `min_bits_per_weight`. It is compared with the mean over all "
    "tensors: their bytes times eight, divided by their elements.",
    fix="Choose a larger quantisation, or lower min_bits_per_weight in the policy.",
    failing=lambda: llama(tensors={name: (s, F16) for name, (s, _) in llama_tensors().items()}),
    passing=llama,
    policy=Policy(min_bits_per_weight=20),
)
def too_few_bits(model: Subject) -> Iterator[Hit]:
    least = _policy(model).min_bits_per_weight or 0
    sized = [tensor for tensor in model.tensors if tensor.bytes and tensor.elements]
    if not sized:
        return
    bits = 8 * sum(tensor.bytes or 0 for tensor in sized) / sum(t.elements for t in sized)
    if bits < least:
        yield Hit.at_tensor(
            min(sized, key=_bits),
            f"The model has {bits:.3f} bits a weight; this tensor has the fewest.",
            expected=f"at least {least:g} bits a weight",
            actual=f"{bits:.3f} bits a weight",
        )


def _bits(tensor: Tensor) -> float:
    return 8 * (tensor.bytes or 0) / tensor.elements


@model_rule(
    "POL005",
    "Chat template that the policy requires is missing",
    Severity.ERROR,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    runtimes=_RUNTIMES,
    help="The policy file sets `require_template`: a model without a chat template is no use "
    "where every model is talked to.",
    fix="Add tokenizer.chat_template, or set require_template to false in the policy.",
    failing=llama,
    passing=lambda: llama({TEMPLATE: "{{ messages[0].content }}"}),
    policy=Policy(require_template=True),
)
def no_template(model: Subject) -> Iterator[Hit]:
    if not model.text(TEMPLATE):
        yield Hit("The model has no chat template.", key=TEMPLATE)


def _policy(model: Subject) -> Policy:
    """The policy in force; the engine runs these rules only where one asks for them."""
    assert model.policy is not None
    return model.policy
