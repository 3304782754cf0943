"""Provenance: who made the model, from what, and under which licence - as far as it says."""

import re
from collections.abc import Iterator

from ggufhub.estimate.size import parameters
from ggufhub.formats.header import Key
from ggufhub.formats.kind import MODEL
from ggufhub.rules.model_samples import llama
from ggufhub.rules.registry import Hit, Need, Severity, Truth, model_rule
from ggufhub.rules.subject import Subject

EXPECTED = ("general.name", "general.license", "general.base_model.count", "general.quantized_by")
"""Keys by which people find out what a model is."""

TOLERANCE = 0.2

_SIZE = re.compile(
    r"(?<![\w.])(?:(\d{1,6})x)?(\d{1,6}(?:\.\d{1,6})?)([KMBT])(?![\w])", re.IGNORECASE
)
_UNITS = {"K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_LOCAL_PATH = re.compile(r"^(?:/(?:home|Users|root|mnt|data|workspace|tmp)/|[A-Za-z]:\\)")
_USELESS_NAME = re.compile(r"^(?:\.|models?|model_?out|[0-9a-f]{40}|snapshots?)$", re.IGNORECASE)

_LICENCES = frozenset(
    {
        "apache-2.0",
        "mit",
        "openrail",
        "bigscience-openrail-m",
        "creativeml-openrail-m",
        "bigscience-bloom-rail-1.0",
        "bigcode-openrail-m",
        "afl-3.0",
        "artistic-2.0",
        "bsl-1.0",
        "bsd",
        "bsd-2-clause",
        "bsd-3-clause",
        "c-uda",
        "cc",
        "cc0-1.0",
        "cc-by-2.0",
        "cc-by-3.0",
        "cc-by-4.0",
        "cc-by-sa-3.0",
        "cc-by-sa-4.0",
        "cc-by-nc-2.0",
        "cc-by-nc-3.0",
        "cc-by-nc-4.0",
        "cc-by-nd-4.0",
        "cc-by-nc-nd-3.0",
        "cc-by-nc-nd-4.0",
        "cc-by-nc-sa-2.0",
        "cc-by-nc-sa-3.0",
        "cc-by-nc-sa-4.0",
        "cdla-permissive-2.0",
        "epl-2.0",
        "eupl-1.1",
        "eupl-1.2",
        "gpl",
        "gpl-2.0",
        "gpl-3.0",
        "agpl-3.0",
        "lgpl",
        "lgpl-2.1",
        "lgpl-3.0",
        "isc",
        "mpl-2.0",
        "ms-pl",
        "ncsa",
        "odbl",
        "ofl-1.1",
        "unlicense",
        "wtfpl",
        "zlib",
        "llama2",
        "llama3",
        "llama3.1",
        "llama3.2",
        "llama3.3",
        "llama4",
        "gemma",
        "deepfloyd-if-license",
        "apple-amlr",
        "apple-ascl",
        "h-research",
        "intel-research",
        "fair-noncommercial-research-license",
        "grok2-community",
        "other",
        "unknown",
    }
)
"""Licence ids of the hub (its documentation, "Licenses"), which are SPDX ids in lower case."""


@model_rule(
    "PRV001",
    "Says little about where it comes from",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="Name, licence, base model and quantiser are optional, but without them nobody can tell "
    "what the file is once it has left its repository.",
    fix="Add the keys when converting (--metadata) or with gguf_new_metadata.py.",
    failing=llama,
    passing=lambda: llama(
        {
            "general.base_model.count": 1,
            "general.base_model.0.name": "Base",
            "general.quantized_by": "someone",
        }
    ),
    runtimes=("people",),
)
def says_little(subject: Subject) -> Iterator[Hit]:
    if subject.kind != MODEL:
        return
    absent = [name for name in EXPECTED if subject.find(name) is None]
    if absent:
        there = len(EXPECTED) - len(absent)
        message = f"{there} of {len(EXPECTED)} keys about the origin are there."
        yield Hit(
            message, key=absent[0], expected=", ".join(EXPECTED), actual=f"no {', '.join(absent)}"
        )


@model_rule(
    "PRV002",
    "Stated size is not the counted one",
    Severity.WARNING,
    Truth.ADVICE,
    needs=(Need.TENSORS, Need.SHARDS),
    help="`general.size_label` names a number of parameters that differs by more than a fifth from "
    "what the tensors hold. Mixtures of experts are compared by their total.",
    fix="Correct general.size_label.",
    failing=lambda: llama({"general.size_label": "7B"}),
    passing=lambda: llama({"general.size_label": "21K"}),
    runtimes=("people",),
)
def wrong_size(subject: Subject) -> Iterator[Hit]:
    key, label = subject.find("general.size_label"), subject.text("general.size_label")
    stated, counted = _stated(label), parameters(subject.shares)
    if key is None or stated is None or counted is None or subject.kind != MODEL:
        return
    low, high = stated
    if not low * (1 - TOLERANCE) <= counted <= high * (1 + TOLERANCE):
        yield Hit.at_key(
            key,
            f"The size label is {label}, the tensors hold {counted:,} parameters.",
            expected=label,
            actual=f"{counted:,}",
        )


def _stated(label: str | None) -> tuple[float, float] | None:
    """The least and most parameters a label can mean: experts share parts, so AxB is a range."""
    match = _SIZE.search(label or "")
    if match is None:
        return None
    one = float(match[2]) * _UNITS[match[3].upper()]
    return one, one * int(match[1] or 1)


@model_rule(
    "PRV003",
    "Name or path of the maker's machine",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="The name is a placeholder, a hash or a path, or a key holds a path of the machine the "
    "model was made on. It helps nobody and tells about that machine.",
    fix="Set general.name, and remove the path.",
    failing=lambda: llama({"general.name": "/home/someone/model"}),
    passing=llama,
    runtimes=("people",),
)
def leaked_path(subject: Subject) -> Iterator[Hit]:
    name = subject.find("general.name")
    text = subject.text("general.name")
    if name is not None and text is not None and _USELESS_NAME.match(text):
        yield Hit.at_key(name, f"The name “{text}” says nothing.", actual=text)
    for key_name in ("general.name", "quantize.imatrix.file", "quantize.imatrix.dataset"):
        key, value = subject.find(key_name), subject.text(key_name)
        if key is not None and value is not None and _LOCAL_PATH.match(value):
            yield Hit.at_key(key, f"{key_name} is a path of some machine.", actual=value)


@model_rule(
    "PRV004",
    "Licence not named clearly",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="`general.license` should be an SPDX or hub id, and one that is “other” needs "
    "`general.license.name` and `general.license.link`, or nobody knows what is allowed.",
    fix="Set general.license to an id; for other licences name and link them.",
    failing=lambda: llama({"general.license": "see readme"}),
    passing=llama,
    runtimes=("people",),
)
def unclear_licence(subject: Subject) -> Iterator[Hit]:
    key, licence = subject.find("general.license"), subject.text("general.license")
    if key is None or licence is None:
        return
    if licence.lower() not in _LICENCES:
        yield Hit.at_key(
            key, f"“{licence[:80]}” is no licence id.", expected="an id", actual=licence
        )
    elif licence.lower() == "other":
        named = subject.find("general.license.name") or subject.find("general.license.link")
        if named is None:
            yield Hit.at_key(key, "The licence is “other” and neither named nor linked.")


@model_rule(
    "PRV005",
    "Base models do not add up",
    Severity.INFO,
    Truth.ADVICE,
    needs=(Need.KEYS,),
    help="`general.base_model.count` says how many `general.base_model.N.*` groups follow, counted "
    "from 0. Programs read as many as it says.",
    fix="Correct the count, for example with gguf_set_metadata.py.",
    failing=lambda: llama({"general.base_model.count": 2, "general.base_model.0.name": "Base"}),
    passing=lambda: llama({"general.base_model.count": 1, "general.base_model.0.name": "Base"}),
    runtimes=("people",),
)
def wrong_count(subject: Subject) -> Iterator[Hit]:
    name = "general.base_model.count"
    key, stated = subject.find(name), subject.number(name)
    header = subject.header
    if key is None or stated is None or header is None:
        return
    groups = {_group(entry) for entry in header.keys} - {None}
    if len(groups) != stated:
        message = f"{stated} base models are announced, {len(groups)} are described."
        yield Hit.at_key(key, message, expected=str(len(groups)), actual=str(stated))


def _group(key: Key) -> str | None:
    match = re.match(r"general\.base_model\.(\d+)\.", key.name)
    return None if match is None else match[1]
