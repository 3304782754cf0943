"""What a template can do, judged by what appears in its renders."""

from ggufhub.templating import conversations as sample
from ggufhub.templating.facts import TemplateFacts


def capabilities(facts: TemplateFacts) -> dict[str, bool | None]:
    """System text, tools, tool calls, parallel calls, typed content, reasoning.

    None where the conversation that would tell was not run.
    """
    return {
        "system": _shows(facts, "system and user", sample.SYSTEM),
        "tools": _shows(facts, "tools", sample.TOOL_NAME),
        "tool_calls": _shows(facts, "tool round trip", sample.TOOL_NAME, sample.TOOL_RESULT),
        "parallel_calls": _shows(facts, "parallel tool calls", sample.SECOND_TOOL, "calm"),
        "typed_content": _shows(facts, "typed content", sample.USER, without="'type'"),
        "reasoning": _shows(facts, "reasoning", sample.REASONING),
    }


def _shows(
    facts: TemplateFacts, conversation: str, *texts: str, without: str | None = None
) -> bool | None:
    if conversation not in facts.renders:
        return None
    output = facts.output(conversation)
    if output is None:
        return False
    return all(text in output for text in texts) and (without is None or without not in output)
