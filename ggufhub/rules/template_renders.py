"""Chat template: what comes out when it is given ordinary conversations."""

from collections.abc import Iterator

from ggufhub.rules.registry import Hit, Need, Severity, Truth, template_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.template_samples import CHATML, good, with_template
from ggufhub.templating import conversations as sample
from ggufhub.templating.capabilities import capabilities
from ggufhub.templating.facts import TemplateFacts

RENDERS = (Need.RENDERS,)

_STRICT = CHATML + (
    "{% if messages[0].role != 'user' %}{{ raise_exception('Begin with the user.') }}{% endif %}"
)
_TOOLS = CHATML + "{% if tools %}{{ tools|tojson }}{% endif %}"


@template_rule(
    "TPL005",
    "No conversation renders",
    Severity.ERROR,
    Truth.INVALID,
    needs=RENDERS,
    help="llama-server tries a plain user message, one with a system message, and one with typed "
    "content, and refuses to start if none of them renders. Templates that need variables of "
    "their own fail the same way in programs that do not set them.",
    fix="Take the template from the original repository, or set the variables it needs.",
    failing=lambda: with_template("{{ raise_exception('never') }}"),
    passing=good,
)
def nothing_renders(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    tried = [facts.renders[name] for name in sample.ANY_OF if name in facts.renders]
    if not tried or any(render.failure is None for render in tried):
        return
    if any(render.failure == "limit" for render in tried):
        return  # the cost is the finding (SEC013)
    first = tried[0]
    needed = [note.text for note in facts.noted("variable") if note.text in first.message]
    if first.failure == "undefined" and needed and needed[0] not in _GO_WORDS:
        yield Hit(
            f"The template renders only if the program sets {needed[0]}.",
            key=facts.key,
            actual=first.message,
            severity=Severity.WARNING,
        )
        return
    yield Hit(
        f"No sample conversation renders: {first.message}.", key=facts.key, actual=first.message
    )


_GO_WORDS = frozenset({"if", "end", "range", "else", "with", "template"})
"""Read as variables where a template of Go was stored as Jinja."""


@template_rule(
    "TPL006",
    "What the user says is lost",
    Severity.WARNING,
    Truth.ADVICE,
    needs=RENDERS,
    help="The rendered prompt does not contain the user's message. Guard models do that on "
    "purpose; in a chat model it means that the model never sees the question.",
    fix="Take the template from the original repository.",
    failing=lambda: with_template("{% for m in messages %}{{ m.role }}{% endfor %}"),
    passing=good,
)
def user_lost(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    output = facts.output("user")
    if output is not None and sample.USER not in output:
        yield Hit("The user's message is not in the rendered prompt.", key=facts.key)


@template_rule(
    "TPL007",
    "Fails when tools are given",
    Severity.WARNING,
    Truth.ADVICE,
    needs=RENDERS,
    help="The template renders a plain message but fails as soon as a list of tools is passed, "
    "so programs that offer tools cannot use the model at all.",
    fix="Take the template from the original repository, or pass tools in the form it expects.",
    failing=lambda: with_template(CHATML + "{% if tools %}{{ tools.x.y }}{% endif %}"),
    passing=good,
)
def tools_fail(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    tools = facts.renders.get("tools")
    if facts.output("user") is None or tools is None or tools.failure in (None, "raised", "limit"):
        return
    yield Hit(f"With tools the template fails: {tools.message}.", key=facts.key)


@template_rule(
    "TPL008",
    "Conversations the template refuses",
    Severity.INFO,
    Truth.ADVICE,
    needs=RENDERS,
    help="The author of the template raises an error for some conversations, for example two user "
    "messages in a row. That is intended, but programs must not send such conversations.",
    fix="Nothing; keep to the form the template wants.",
    failing=lambda: with_template(_STRICT),
    passing=good,
)
def author_refuses(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    refused = [r for r in facts.renders.values() if r.failure == "raised"]
    if refused and facts.output("user") is not None:
        names = ", ".join(render.conversation for render in refused)
        yield Hit(
            f"The template refuses: {names} (“{refused[0].message[:120]}”).",
            key=facts.key,
            actual=names,
        )


@template_rule(
    "TPL009",
    "Tools are not shown to the model",
    Severity.WARNING,
    Truth.ADVICE,
    needs=RENDERS,
    help="The model calls itself one for tools, or carries a template for them, but the rendered "
    "prompt does not contain the tools it was given, so it can never call one.",
    fix="Take the template from the original repository.",
    failing=lambda: with_template(CHATML, "Sample Tool Use 7B"),
    passing=lambda: with_template(_TOOLS, "Sample Tool Use 7B"),
)
def tools_lost(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    if facts.output("tools") is None or capabilities(facts)["tools"]:
        return
    name = (subject.text("general.name") or "").lower()
    claims = any(
        word in name for word in ("tool use", "tool-use", "function call", "function-call")
    )
    if facts.name == "tool_use" or (claims and subject.template("tool_use") is None):
        yield Hit("The tools given are not in the rendered prompt.", key=facts.key)


@template_rule(
    "TPL010",
    "Begin token written twice",
    Severity.INFO,
    Truth.PORTABILITY,
    needs=RENDERS,
    help="The template writes the begin-of-text token, and the tokenizer adds one too. llama.cpp "
    "removes the second; other programs feed both.",
    fix="Nothing for llama.cpp; elsewhere tokenize without special tokens.",
    failing=lambda: with_template("{{ bos_token }}" + CHATML),
    passing=good,
)
def two_begin_tokens(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    key = subject.find("tokenizer.ggml.add_bos_token")
    output = facts.output("user")
    begin = subject.vocabulary.special_text("bos")
    if key is not None and key.value == 1 and output and begin and output.startswith(begin):
        yield Hit(f"The template begins with {begin}, and so does the tokenizer.", key=facts.key)


@template_rule(
    "TPL011",
    "Generation prompt has no effect",
    Severity.INFO,
    Truth.ADVICE,
    needs=RENDERS,
    help="The prompt is the same with and without `add_generation_prompt`. Templates in the style "
    "of [INST] need none; in other styles the model may continue the user's message instead of "
    "answering it.",
    fix="Nothing, if the style needs no marker before the answer.",
    failing=lambda: with_template(
        "{% for m in messages %}[INST]{{ m.content }}[/INST]{% endfor %}"
    ),
    passing=good,
)
def no_generation_prompt(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    with_prompt, without = facts.output("user"), facts.output("no generation prompt")
    if with_prompt is not None and with_prompt == without:
        yield Hit("add_generation_prompt changes nothing.", key=facts.key)


@template_rule(
    "TPL013",
    "Prints None",
    Severity.INFO,
    Truth.ADVICE,
    needs=RENDERS,
    help="A value that is absent is printed as the word None in a conversation with tool calls, "
    "and the model sees that word.",
    fix="Test the value before printing it.",
    failing=lambda: with_template(CHATML + "{{ none }}"),
    passing=good,
)
def prints_none(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    for name in ("tool round trip", "user"):
        output = facts.output(name)
        if output is not None and "None" in output:
            yield Hit(f"“{name}” renders with the word None in it.", key=facts.key)
            return


@template_rule(
    "TPL014",
    "Typed content is not supported",
    Severity.INFO,
    Truth.ADVICE,
    needs=RENDERS,
    help="Messages whose content is a list of typed parts do not render. More than half of all "
    "templates are like that; llama.cpp turns such messages into plain text first.",
    fix="Nothing for text models.",
    failing=lambda: with_template("{% for m in messages %}{{ m.content + '' }}{% endfor %}"),
    passing=lambda: with_template(
        "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
        "{{ m.content[0].text }}{% endif %}{% endfor %}"
    ),
    runtimes=("transformers",),
)
def no_typed_content(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    if capabilities(facts)["typed_content"] is False and facts.output("user") is not None:
        yield Hit("A message with a list of typed parts does not render.", key=facts.key)


@template_rule(
    "TPL017",
    "What the template supports",
    Severity.INFO,
    Truth.ADVICE,
    needs=RENDERS,
    help="Found by rendering sample conversations and looking for their words in the prompt: "
    "system messages, tools, tool calls, several calls at once, typed content, reasoning.",
    fix="Nothing; this is for choosing how to talk to the model.",
    failing=good,
    passing=lambda: with_template("{{ raise_exception('no') }}"),
)
def supports(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    known = capabilities(facts)
    if facts.output("user") is None:
        return
    can = [name.replace("_", " ") for name, value in known.items() if value]
    cannot = [name.replace("_", " ") for name, value in known.items() if value is False]
    message = f"Shown to the model: {', '.join(can) or 'nothing beyond the messages'}."
    yield Hit(message, key=facts.key, actual=f"without {', '.join(cannot)}" if cannot else None)


@template_rule(
    "TPL018",
    "Generation prompt changes the conversation",
    Severity.WARNING,
    Truth.ADVICE,
    needs=RENDERS,
    help="`add_generation_prompt` is to add a marker at the end. Here it changes what comes "
    "before as well, so a conversation rendered for training differs from the one for use.",
    fix="Take the template from the original repository.",
    failing=lambda: with_template(
        "{% if add_generation_prompt %}Answer:{% endif %}{{ messages[0].content }}"
    ),
    passing=good,
)
def changing_prompt(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    with_prompt, without = facts.output("user"), facts.output("no generation prompt")
    if with_prompt is None or without is None or sample.USER not in without:
        return
    # After the message some templates end the conversation instead, which is fine.
    end = without.index(sample.USER) + len(sample.USER)
    if with_prompt[:end] == without[:end]:
        return
    yield Hit("With add_generation_prompt more changes than the end.", key=facts.key)
