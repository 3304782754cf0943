"""SEC014: a template compared with the one of the declared base model."""

import pytest

from ggufhub.rules.known_templates import BASE_URL
from ggufhub.rules.model_samples import assemble
from ggufhub.rules.tables import table
from ggufhub.templating.digest import template_digest
from tests.core.reading import report, rules_hit
from tests.corpus import SHARED, needs_corpus


def test_blanks_at_line_ends_change_nothing() -> None:
    assert template_digest("{{ a }}  \r\nb\n\n") == template_digest("{{ a }}\nb")
    assert template_digest("{{ a }}") != template_digest("{{ b }}")


def test_without_a_known_base_it_is_not_evaluated() -> None:
    data = assemble({"general.architecture": "qwen3", "tokenizer.chat_template": "x"})
    reasons = {e["rule"]: e["reason"] for e in report(data).document["not_evaluated"]}
    assert reasons["SEC014"] == "no base model is declared whose template is known"


@needs_corpus
@pytest.mark.parametrize("name", ["Qwen-Qwen3-0.6B", "microsoft-Phi-3.5-mini-instruct"])
def test_the_own_template_of_the_base_is_recognised(name: str) -> None:
    import json

    collection = json.loads((SHARED / "data" / "templates.json").read_text())
    text = collection[f"A/{name}.jinja"]
    assert template_digest(text) in table("templates")["digests"][name.lower()]
    organisation, _, repository = name.partition("-")
    url = f"https://huggingface.co/{organisation}/{repository}"
    keys = {"general.architecture": "llama", BASE_URL: url, "tokenizer.chat_template": text}
    assert "SEC014" not in rules_hit(report(assemble(keys)))
