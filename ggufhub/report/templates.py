"""From a model's keys to facts about its chat templates."""

import time

from ggufhub.formats.header import Header, Key
from ggufhub.formats.model import Model
from ggufhub.formats.values import ValueType
from ggufhub.report.codec import Json, safe_name, safe_text
from ggufhub.rules.vocabulary import Vocabulary
from ggufhub.templating.capabilities import capabilities
from ggufhub.templating.facts import DEFAULT, TEMPLATE_KEY, TemplateFacts
from ggufhub.templating.render import LARGEST, WALL_SECONDS, analyse

SPECIAL_TOKENS = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")

MOST_VARIANTS = 8
"""Templates looked at and shown of one model; the most seen in one file is three."""


ALL_SECONDS = 8.0
"""For all templates of one model; real ones need about 0.1 s each."""


def template_sources(header: Header) -> dict[str, str]:
    """The templates by variant name, the default one first; at most ``MOST_VARIANTS``."""
    found: dict[str, Key] = {}
    for key in header.keys:
        name = key.name
        if key.type is not ValueType.STRING or not name.startswith(TEMPLATE_KEY):
            continue
        variant = name[len(TEMPLATE_KEY) :]
        if not variant or variant.startswith("."):
            found.setdefault(variant[1:] or DEFAULT, key)
    ordered = sorted(found.items(), key=lambda item: item[0] != DEFAULT)
    return {name: header.text(key.name) or "" for name, key in ordered[:MOST_VARIANTS]}


def template_facts(model: Model) -> list[TemplateFacts]:
    """Analyse every template that is not empty (each in a process of its own)."""
    if model.header is None:
        return []
    special = special_tokens(model.header)
    deadline = time.monotonic() + ALL_SECONDS
    facts = []
    for name, text in template_sources(model.header).items():
        if text.strip():
            left = deadline - time.monotonic()
            facts.append(analyse(name, text, special, min(left, WALL_SECONDS)))
    return facts


def special_tokens(header: Header) -> dict[str, str]:
    """``bos_token`` and the like as text, as runtimes give them to templates."""
    known = Vocabulary(header)
    texts = {name: known.special_text(name) for name in SPECIAL_TOKENS}
    return {f"{name}_token": safe_text(text) for name, text in texts.items() if text is not None}


def template_parts(header: Header, facts: list[TemplateFacts]) -> list[dict[str, Json]]:
    """The templates as document parts: source, capabilities, rendered samples."""
    known = {entry.name: entry for entry in facts}
    return [_part(name, text, known.get(name)) for name, text in template_sources(header).items()]


def _part(name: str, text: str, facts: TemplateFacts | None) -> dict[str, Json]:
    part: dict[str, Json] = {"name": safe_name(name), "text": safe_text(text[:LARGEST])}
    if facts is not None:
        part["capabilities"] = capabilities(facts)
        part["stopped"] = facts.stopped
        part["renders"] = [
            {
                "conversation": render.conversation,
                "output": safe_text(render.output),
                "failure": render.failure,
                "message": safe_text(render.message),
            }
            for render in facts.renders.values()
        ]
    return part
