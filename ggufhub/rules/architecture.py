"""Architecture: does a program for language models know what kind of network this is?

Names: ``src/llama-arch.cpp`` of llama.cpp 0c1e57098 (table ``architectures``), and those of other
programs (table ``runtimes``).
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches

from ggufhub.formats.kind import WITH_TOKENS
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.tables import table

KEY = "general.architecture"

_NAMELESS = re.compile(r"[^a-z0-9]+")


@model_rule(
    "ARC001",
    "Unknown architecture",
    Severity.ERROR,
    Truth.INVALID,
    needs=(Need.KEYS,),
    help="`general.architecture` tells a loader which network to build; it must be spelt exactly "
    "as the loader spells it. The name of a model, capital letters, or a name that only one other "
    "program uses are refused. A name can also be newer than the loader.",
    fix="Convert again with a current converter, or update the runtime.",
    failing=lambda: llama(arch="Qwen2"),
    passing=llama,
)
def unknown_architecture(subject: Subject) -> Iterator[Hit]:
    if subject.kind not in WITH_TOKENS:
        return
    key, name = subject.find(KEY), subject.text(KEY)
    tables = table("architectures")
    expected = f"one of {len(tables['loaded'])} names"
    if key is None:
        yield Hit("The model names no architecture.", key=KEY, expected=expected, actual="absent")
    elif name is None:
        message = f"The architecture is of type {key.type_label}, not a name."
        yield Hit.at_key(key, message, expected="string", actual=key.type_label)
    elif name not in tables["loaded"]:
        message = f"The architecture {name[:80]} is unknown{_hint(name)}."
        yield Hit.at_key(key, message, expected=expected, actual=name[:80])


def _hint(name: str) -> str:
    """What the name may have been meant to be."""
    tables = table("architectures")
    if name in table("runtimes")["ollama"]:
        return " to llama.cpp; it is a name that only Ollama uses"
    if name in tables["known"]:
        return " as a model; llama.cpp has the name, but no loader behind it"
    plain = {_NAMELESS.sub("", known): known for known in tables["loaded"]}
    wanted = _NAMELESS.sub("", name.lower()[:80])
    inside = [known for known in plain if len(known) > 3 and wanted.startswith(known)]
    near = [max(inside, key=len)] if inside else get_close_matches(wanted, plain, 1)
    return f"; the nearest is {plain[near[0]]}" if near else ""


@model_rule(
    "ARC002",
    "Transformers does not read the architecture",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=(Need.KEYS,),
    help="llama.cpp loads this architecture, and so does what is built on it: Ollama, LM Studio. "
    "The GGUF reader of transformers, and with it vLLM, knows far fewer. Good to know before "
    "publishing.",
    fix="Nothing, if the model is meant for llama.cpp.",
    failing=lambda: llama(arch="bitnet"),
    passing=llama,
    runtimes=("transformers", "vllm", "hub"),
)
def few_runtimes(subject: Subject) -> Iterator[Hit]:
    name, key, runtimes = subject.text(KEY), subject.find(KEY), table("runtimes")
    if subject.kind not in WITH_TOKENS or name not in table("architectures")["loaded"]:
        return
    if name not in runtimes["transformers"]:
        assert key is not None
        listed = "is" if name in runtimes["hub"] else "is not"
        message = (
            f"transformers does not read {name} from GGUF files; it {listed} in the hub's list."
        )
        yield Hit.at_key(key, message, expected="llama, qwen2, gemma3, …", actual=name)
