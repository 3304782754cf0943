"""From a model's keys to facts about its chat templates."""

from ggufhub.formats.header import Header
from ggufhub.formats.model import Model
from ggufhub.formats.values import ValueType
from ggufhub.report.codec import Json, safe_text
from ggufhub.templating.capabilities import capabilities
from ggufhub.templating.facts import DEFAULT, TEMPLATE_KEY, TemplateFacts
from ggufhub.templating.render import analyse

SPECIAL_TOKENS = ("bos", "eos", "unk", "pad", "sep", "cls", "mask")

_ID_KEYS = {"unk": "unknown", "pad": "padding", "sep": "seperator"}
"""Names that differ between templates and keys; the misspelling is the format's own."""

MOST_VARIANTS = 8
"""Templates analysed in one model; the most seen in one file is three."""


def template_sources(header: Header) -> dict[str, str]:
    """The templates by variant name, the default one first."""
    found: dict[str, str] = {}
    for key in header.keys:
        if key.type is not ValueType.STRING or not key.name.startswith(TEMPLATE_KEY):
            continue
        variant = key.name[len(TEMPLATE_KEY) :]
        if variant and not variant.startswith("."):
            continue
        found[variant[1:] or DEFAULT] = header.text(key.name) or ""
    return dict(sorted(found.items(), key=lambda item: item[0] != DEFAULT))


def template_facts(model: Model) -> list[TemplateFacts]:
    """Analyse every template that is not empty (each in a process of its own)."""
    if model.header is None:
        return []
    special = special_tokens(model.header)
    sources = [item for item in template_sources(model.header).items() if item[1].strip()]
    return [analyse(name, text, special) for name, text in sources[:MOST_VARIANTS]]


def special_tokens(header: Header) -> dict[str, str]:
    """``bos_token`` and the like as text, as runtimes give them to templates."""
    tokens = header.array("tokenizer.ggml.tokens")
    found = {}
    for name in SPECIAL_TOKENS:
        number = header.number(f"tokenizer.ggml.{_ID_KEYS.get(name, name)}_token_id")
        if tokens is None or number is None or not 0 <= number < tokens.count:
            continue
        token = tokens[number]
        if isinstance(token, bytes):
            found[f"{name}_token"] = safe_text(token.decode("utf-8", "surrogateescape"))
    return found


def template_parts(header: Header, facts: list[TemplateFacts]) -> list[dict[str, Json]]:
    """The templates as document parts: source, capabilities, rendered samples."""
    known = {entry.name: entry for entry in facts}
    return [_part(name, text, known.get(name)) for name, text in template_sources(header).items()]


def _part(name: str, text: str, facts: TemplateFacts | None) -> dict[str, Json]:
    part: dict[str, Json] = {"name": safe_text(name), "text": safe_text(text)}
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
