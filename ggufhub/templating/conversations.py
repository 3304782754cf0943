"""Sample conversations, in the form in which the runtimes hand messages to a template.

llama.cpp and transformers normalise before they render: absent content is left out or empty,
tool arguments are objects, content is a plain string. A template is judged on such messages
only, because no runtime ever shows it others.
"""

from typing import Any

Message = dict[str, Any]

USER = "Which tide comes at noon in the harbour?"
ANSWER = "The flood tide reaches the harbour at noon."
SECOND = "And which one in the evening?"
SYSTEM = "You are a careful harbour pilot."
REASONING = "Noon follows the morning ebb."
TOOL_NAME = "read_tide_table"
SECOND_TOOL = "read_wind_gauge"
TOOL_RESULT = "flood 12:04"

_WORDS = {"type": "string", "description": "Name of the harbour"}


def _tool(name: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"harbour": _WORDS}, "required": ["harbour"]}
    function = {"name": name, "description": "Reads an instrument.", "parameters": parameters}
    return {"type": "function", "function": function}


TOOLS = [_tool(TOOL_NAME), _tool(SECOND_TOOL)]


def _call(name: str, number: int) -> dict[str, Any]:
    function = {"name": name, "arguments": {"harbour": "Emden"}}
    return {"id": f"call{number:05d}", "type": "function", "function": function}


def _user(text: str = USER) -> Message:
    return {"role": "user", "content": text}


def _assistant(text: str = ANSWER) -> Message:
    return {"role": "assistant", "content": text}


_SYSTEM_MESSAGE: Message = {"role": "system", "content": SYSTEM}
_CALLS: Message = {"role": "assistant", "content": "", "tool_calls": [_call(TOOL_NAME, 1)]}
_TWO_CALLS: Message = {
    "role": "assistant",
    "content": "",
    "tool_calls": [_call(TOOL_NAME, 1), _call(SECOND_TOOL, 2)],
}
_RESULT: Message = {
    "role": "tool",
    "name": TOOL_NAME,
    "tool_call_id": "call00001",
    "content": TOOL_RESULT,
}
_SECOND_RESULT: Message = {
    "role": "tool",
    "name": SECOND_TOOL,
    "tool_call_id": "call00002",
    "content": "calm",
}

CONVERSATIONS: dict[str, dict[str, Any]] = {
    "user": {"messages": [_user()]},
    "system and user": {"messages": [_SYSTEM_MESSAGE, _user()]},
    "several turns": {"messages": [_user(), _assistant(), _user(SECOND)]},
    "answered": {"messages": [_user(), _assistant(), _user(SECOND), _assistant("The ebb.")]},
    "no generation prompt": {"messages": [_user()], "add_generation_prompt": False},
    "tools": {"messages": [_user()], "tools": TOOLS},
    "tool round trip": {"messages": [_user(), _CALLS, _RESULT], "tools": TOOLS},
    "parallel tool calls": {
        "messages": [_user(), _TWO_CALLS, _RESULT, _SECOND_RESULT],
        "tools": TOOLS,
    },
    "typed content": {"messages": [{"role": "user", "content": [{"type": "text", "text": USER}]}]},
    "reasoning": {
        "messages": [
            _user(),
            {**_assistant(), "reasoning_content": REASONING},
            _user(SECOND),
            {**_CALLS, "reasoning_content": REASONING},
            _RESULT,
        ],
        "tools": TOOLS,
    },
    "system alone": {"messages": [_SYSTEM_MESSAGE]},
    "two user turns": {"messages": [_user(), _user(SECOND)]},
}
"""Name of each sample and the variables it gives to the template."""

ANY_OF = ("user", "system and user", "typed content")
"""A template is usable if one of these renders: llama-server tries them at start."""


def variables(name: str, special: dict[str, str]) -> dict[str, Any]:
    """The variables of one sample; ``special`` holds bos_token, eos_token and the like."""
    return {"add_generation_prompt": True, **special, **CONVERSATIONS[name]}
