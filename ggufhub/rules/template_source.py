"""Chat template: does its source compile, and which engines refuse it?"""

from collections.abc import Iterator

from ggufhub.rules.registry import Hit, Need, Severity, Truth, template_rule
from ggufhub.rules.subject import Subject
from ggufhub.rules.template_samples import good, with_template
from ggufhub.templating.facts import TemplateFacts

LARGE = 64 * 1024
"""Characters; nearly four times the largest real template."""


def _unknown_filter(facts: TemplateFacts) -> bool:
    return facts.broken is not None and facts.broken.text.startswith(("No filter", "No test"))


@template_rule(
    "TPL002",
    "Template does not compile",
    Severity.ERROR,
    Truth.INVALID,
    help="The chat template is no valid Jinja. llama-server does not start with it, and Python "
    "programs fail at the first message. Often a template of another language (Go, as Ollama "
    "uses) was stored under the key.",
    fix="Take the template from the original repository.",
    failing=lambda: with_template("{% for m in messages %}{{ m.content }}"),
    passing=good,
)
def does_not_compile(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    if facts.broken is not None and not _unknown_filter(facts):
        yield Hit(
            f"The template does not compile: {facts.broken.text}.",
            key=facts.key,
            line=facts.broken.line,
        )


@template_rule(
    "TPL003",
    "Template that llama.cpp refuses",
    Severity.ERROR,
    Truth.INVALID,
    help="llama.cpp reads templates with an engine of its own, which knows less than Jinja. Some "
    "constructs stop it at start; others fail only when they are reached, which may be never.",
    fix="Write it without the construct; the rule's place names it.",
    failing=lambda: with_template("{% for m in messages %}{{ m.content }}{{ 7 // 2 }}{% endfor %}"),
    passing=good,
    runtimes=("llama.cpp",),
)
def refused_by_llama_cpp(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    for note in facts.noted("refused"):
        message = f"llama.cpp does not start with {note.text} in a template."
        yield Hit(message, key=facts.key, line=note.line, actual=note.text)
    for note in facts.noted("risky"):
        message = f"llama.cpp fails where it reaches {note.text}."
        severity = Severity.INFO  # it may be in a branch that no conversation takes
        yield Hit(message, key=facts.key, line=note.line, actual=note.text, severity=severity)


@template_rule(
    "TPL004",
    "Unknown filter or test",
    Severity.ERROR,
    Truth.INVALID,
    help="The template uses a filter or test that no runtime provides. Where every message "
    "reaches it nothing renders; in a branch that is never taken it does no harm.",
    fix="Use a filter that Jinja has.",
    failing=lambda: with_template("{{ messages|from_json }}"),
    passing=good,
)
def unknown_filter(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    if facts.broken is not None and _unknown_filter(facts):
        yield Hit(f"{facts.broken.text}", key=facts.key, line=facts.broken.line)
    for note in facts.noted("filter"):
        yield Hit.at_note(facts, note, severity=Severity.WARNING)


@template_rule(
    "TPL015",
    "Variables that runtimes do not set",
    Severity.INFO,
    Truth.ADVICE,
    help="The template reads variables that neither it nor a known runtime sets. Programs that "
    "let you pass extra variables can fill them; elsewhere they are empty.",
    fix="Nothing, if the template works without them.",
    failing=lambda: with_template("{{ messages[0].content }}{% if my_flag %}x{% endif %}"),
    passing=good,
)
def external_variables(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    notes = facts.noted("variable")
    if notes:
        names = ", ".join(note.text for note in notes[:12])
        more = f" and {len(notes) - 12} more" if len(notes) > 12 else ""
        yield Hit(
            f"The template reads {names}{more}, which runtimes do not set.",
            key=facts.key,
            line=notes[0].line,
            actual=names,
        )


@template_rule(
    "SEC013",
    "Template too large or too costly",
    Severity.WARNING,
    Truth.PORTABILITY,
    help="The largest of 190 real templates has 17,149 characters and renders in a hundredth of "
    "a second. A template that needs seconds or hundreds of megabytes blocks every program that "
    "uses it, on every message.",
    fix="Do not use the template; take the one from the original repository.",
    failing=lambda: with_template(
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"
    ),
    passing=good,
    needs=(Need.TEMPLATE,),
)
def too_costly(subject: Subject, facts: TemplateFacts) -> Iterator[Hit]:
    length = len(facts.text)
    if length > LARGE:
        yield Hit(
            f"The template has {length:,} characters.",
            key=facts.key,
            expected=f"at most {LARGE:,}",
            actual=f"{length:,}",
        )
    elif facts.stopped is not None and facts.stopped.startswith("the template"):
        yield Hit(f"{facts.stopped[0].upper()}{facts.stopped[1:]}.", key=facts.key)
    costly = [r for r in facts.renders.values() if r.failure == "limit"]
    if costly:
        yield Hit(
            f"Rendering “{costly[0].conversation}” was stopped: {costly[0].message}.",
            key=facts.key,
            actual=costly[0].message,
        )
