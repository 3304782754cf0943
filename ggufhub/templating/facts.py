"""What is known about one chat template, as plain data that travels between processes."""

from dataclasses import dataclass, field
from typing import Any

TEMPLATE_KEY = "tokenizer.chat_template"
DEFAULT = "default"
"""The name under which the template without a variant name is known."""


@dataclass(frozen=True, slots=True)
class Note:
    """Something seen in the source: which ``what``, in which line, and the words for people."""

    what: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Render:
    """The outcome of one sample conversation.

    ``failure`` is None, or ``raised`` (the template's own exception), ``undefined``,
    ``refused`` (the sandbox), ``error``, ``limit`` (time, memory or output).
    """

    conversation: str
    output: str = ""
    failure: str | None = None
    message: str = ""


@dataclass(slots=True)
class TemplateFacts:
    """One template. ``broken`` is the syntax error if it does not compile.

    ``notes`` come from looking at the source, ``renders`` from running it; ``stopped`` says why
    running ended early or never began. ``triggered`` are texts that appear only if the user
    says certain words.
    """

    name: str
    text: str
    broken: Note | None = None
    notes: list[Note] = field(default_factory=list)
    renders: dict[str, Render] = field(default_factory=dict)
    triggered: list[Note] = field(default_factory=list)
    stopped: str | None = None

    @property
    def key(self) -> str:
        """The metadata key that holds this template."""
        return TEMPLATE_KEY if self.name == DEFAULT else f"{TEMPLATE_KEY}.{self.name}"

    def output(self, conversation: str) -> str | None:
        """What a conversation renders to; None where it failed or was not run."""
        render = self.renders.get(conversation)
        return None if render is None or render.failure is not None else render.output

    def noted(self, *kinds: str) -> list[Note]:
        """Notes of some kinds, in source order."""
        return [note for note in self.notes if note.what in kinds]

    def take(self, message: dict[str, Any]) -> None:
        """Add what the child process told in one message."""
        if "broken" in message:
            self.broken = Note(**message["broken"])
        self.notes += [Note(**note) for note in message.get("notes", ())]
        self.triggered += [Note(**note) for note in message.get("triggered", ())]
        if "render" in message:
            render = Render(**message["render"])
            self.renders[render.conversation] = render
