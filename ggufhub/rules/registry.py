"""The registry: what a rule is, and the list of all of them.

A rule is a small pure function with a description. It gets one file (or the whole model), looks
only at what was read, and yields a ``Hit`` for each place where it is broken. Whether it could
run at all is decided from what it ``needs``, never inside it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, NotRequired, TypedDict, Unpack

from ggufhub.formats.header import Key, Span, Tensor
from ggufhub.formats.model import ModelFile
from ggufhub.rules.policy import Policy
from ggufhub.rules.subject import Subject
from ggufhub.templating.facts import Note, TemplateFacts

if TYPE_CHECKING:
    from ggufhub.rules.repository import Repository, RepositoryHit


class Severity(Enum):
    """Error: will not load or is unsafe. Warning: loads, likely wrong. Info: worth knowing."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Truth(Enum):
    """Against which truth a rule judges.

    INVALID: the reference loader rejects the file. SPEC: it loads, but breaks the written
    specification. PORTABILITY: it loads here and breaks in another reader or on another host.
    ADVICE: nothing rejects it; it is likely not what its maker meant.
    """

    INVALID = "invalid"
    SPEC = "spec"
    PORTABILITY = "portability"
    ADVICE = "advice"


class Need(Enum):
    """What must have been read before a rule can speak; the text completes "needs …"."""

    HEAD = "the first bytes"
    KEYS = "all keys"
    TOKENS = "a vocabulary"
    TENSORS = "the tensor table"
    SIZE = "the size of the file"
    DIGESTS = "two digests of the file"
    SHARDS = "every shard"
    TEMPLATE = "a chat template"
    RENDERS = "a chat template that could be run"
    COMPANION = "the one text model beside the projector"
    BASE_TEMPLATE = "the template of the base model"
    DATA = "every byte"
    REPOSITORY = "the models of a whole repository"


class Details(TypedDict, total=False):
    """What a hit may say beside its message and place."""

    expected: str | None
    actual: str | None
    severity: Severity | None
    fix: str | None


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where a rule is broken; the rest of a finding comes from the rule."""

    message: str
    span: Span | None = None
    key: str | None = None
    tensor: str | None = None
    line: int | None = None
    expected: str | None = None
    actual: str | None = None
    severity: Severity | None = None
    fix: str | None = None

    @classmethod
    def at_key(cls, key: Key, message: str, **details: Unpack[Details]) -> "Hit":
        return cls(message, span=key.span, key=key.name, **details)

    @classmethod
    def at_name(
        cls, subject: Subject, name: str, message: str, **details: Unpack[Details]
    ) -> "Hit":
        """A hit at a key, whether it is there or not."""
        key = subject.find(name)
        if key is None:
            return cls(message, key=name, **details)
        return cls.at_key(key, message, **details)

    @classmethod
    def at_tensor(cls, tensor: Tensor, message: str, **details: Unpack[Details]) -> "Hit":
        return cls(message, span=tensor.span, tensor=tensor.name, **details)

    @classmethod
    def at_note(cls, facts: TemplateFacts, note: Note, **details: Unpack[Details]) -> "Hit":
        """A place in a chat template."""
        message = f"{note.text[0].upper()}{note.text[1:]}."
        return cls(message, key=facts.key, line=note.line, **details)


FileCheck = Callable[[ModelFile], Iterator[Hit]]
ModelCheck = Callable[[Subject], Iterator[Hit]]
TemplateCheck = Callable[[Subject, TemplateFacts], Iterator[Hit]]

RepositoryCheck = Callable[["Repository"], Iterator["RepositoryHit"]]

SampleMaker = Callable[[], bytes | dict[str, bytes]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. ``help`` says why it matters and becomes its page; ``fix`` is one line.

    Exactly one of the ``check_…`` functions is set; ``check_template`` is called for each
    template, ``check_repository`` only by an audit.
    ``failing`` and ``passing`` make the smallest files that break and keep the rule.
    ``runtimes`` are the programs it speaks for, ``formats`` the file formats (``Header.format``)
    it looks at. A rule about a ``policy`` has here the one its samples are judged with.
    """

    id: str
    title: str
    severity: Severity
    truth: Truth
    needs: tuple[Need, ...]
    help: str
    fix: str
    failing: SampleMaker
    passing: SampleMaker
    runtimes: tuple[str, ...] = ("llama.cpp",)
    formats: tuple[str, ...] = ("gguf",)
    check_file: FileCheck | None = None
    check_model: ModelCheck | None = None
    check_template: TemplateCheck | None = None
    check_repository: RepositoryCheck | None = None
    policy: Policy | None = None

    @property
    def area(self) -> str:
        """``Structure`` for STR020."""
        return AREAS[self.id[:3]]


AREAS = {
    "STR": "Structure",
    "SPL": "Split models",
    "KND": "Kind",
    "ARC": "Architecture",
    "HYP": "Hyper-parameters",
    "TEN": "Tensors",
    "TOK": "Tokenizer",
    "TPL": "Chat template",
    "SEC": "Security",
    "QNT": "Quantisation",
    "PRV": "Provenance",
    "CMP": "Compatibility",
    "AUD": "Repository",
    "POL": "Policy",
}
"""Area of each id prefix, in the order in which findings are listed."""

LEGACY_FORMATS = ("ggml", "ggmf", "ggjt")
ALL_FORMATS = ("gguf", *LEGACY_FORMATS)
"""Values of ``Header.format`` that rules can look at."""

MODULES = (
    "container",
    "metadata",
    "tensor_table",
    "extent",
    "legacy",
    "split",
    "kind",
    "architecture",
    "hyperparameters",
    "heads",
    "hyperparameter_values",
    "tensors",
    "template",
    "template_source",
    "template_renders",
    "tokenizer",
    "special_tokens",
    "security",
    "quantisation",
    "provenance",
    "compatibility",
    "policy_rules",
    "integrity",
    "tensor_data",
    "repository_quants",
    "repository_files",
    "repository_signatures",
)
"""Modules of this package that register rules."""


class Declaration(TypedDict):
    """What a rule says of itself beside its first line, as in ``Rule``."""

    help: str
    fix: str
    failing: SampleMaker
    passing: SampleMaker
    runtimes: NotRequired[tuple[str, ...]]
    formats: NotRequired[tuple[str, ...]]
    policy: NotRequired[Policy]


_rules: dict[str, Rule] = {}


def register(rule: Rule) -> None:
    """Add a rule. ``ValueError`` where its id is taken: ids are never reused."""
    if rule.id in _rules:
        raise ValueError(f"rule {rule.id} exists already")
    _rules[rule.id] = rule


def file_rule(
    id: str,
    title: str,
    severity: Severity,
    truth: Truth,
    *,
    needs: tuple[Need, ...],
    **words: Unpack[Declaration],
) -> Callable[[FileCheck], FileCheck]:
    """Register the decorated function as a rule about one file."""

    def add(check: FileCheck) -> FileCheck:
        register(Rule(id, title, severity, truth, needs, check_file=check, **words))
        return check

    return add


def model_rule(
    id: str,
    title: str,
    severity: Severity,
    truth: Truth,
    *,
    needs: tuple[Need, ...],
    **words: Unpack[Declaration],
) -> Callable[[ModelCheck], ModelCheck]:
    """Register the decorated function as a rule about a whole model."""

    def add(check: ModelCheck) -> ModelCheck:
        register(Rule(id, title, severity, truth, needs, check_model=check, **words))
        return check

    return add


def template_rule(
    id: str,
    title: str,
    severity: Severity,
    truth: Truth,
    *,
    needs: tuple[Need, ...] = (Need.TEMPLATE,),
    **words: Unpack[Declaration],
) -> Callable[[TemplateCheck], TemplateCheck]:
    """Register the decorated function as a rule about each chat template."""
    words.setdefault("runtimes", ("llama.cpp", "transformers"))

    def add(check: TemplateCheck) -> TemplateCheck:
        register(Rule(id, title, severity, truth, needs, check_template=check, **words))
        return check

    return add


def repository_rule(
    id: str,
    title: str,
    severity: Severity,
    truth: Truth,
    *,
    needs: tuple[Need, ...],
    **words: Unpack[Declaration],
) -> Callable[[RepositoryCheck], RepositoryCheck]:
    """Register the decorated function as a rule about all models of a repository."""

    def add(check: RepositoryCheck) -> RepositoryCheck:
        register(Rule(id, title, severity, truth, needs, check_repository=check, **words))
        return check

    return add


@cache
def catalogue() -> tuple[Rule, ...]:
    """All rules, by area and number."""
    for module in MODULES:
        import_module(f"ggufhub.rules.{module}")
    order = list(AREAS)
    return tuple(sorted(_rules.values(), key=lambda rule: (order.index(rule.id[:3]), rule.id)))


def find_rule(id: str) -> Rule | None:
    """The rule with this id."""
    return next((rule for rule in catalogue() if rule.id == id.upper()), None)
