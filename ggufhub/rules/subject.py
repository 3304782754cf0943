"""Subject: what the rules judge, a model together with what is known about its templates."""

from dataclasses import dataclass, field
from typing import Self

from ggufhub.estimate.size import TypeShare, type_mix
from ggufhub.formats.header import Tensor
from ggufhub.formats.kind import DRAFT, MODEL
from ggufhub.formats.model import Model
from ggufhub.rules.expected import Plan
from ggufhub.rules.hparams import LoadedHyperparameters
from ggufhub.rules.policy import Policy
from ggufhub.rules.tables import table
from ggufhub.rules.vocabulary import Vocabulary
from ggufhub.templating.facts import TemplateFacts


@dataclass(slots=True)
class Subject(Model):
    """A model; ``templates`` holds the facts about each chat template, the default one first.

    ``policy`` is what the model has to keep beside the rules of loaders, where there is one.
    """

    templates: list[TemplateFacts] = field(default_factory=list)
    policy: Policy | None = None
    _vocabulary: Vocabulary | None = field(default=None, repr=False)
    _hyper: LoadedHyperparameters | None = field(default=None, repr=False)
    _plan: Plan | None = field(default=None, repr=False)
    _tensors: list[Tensor] | None = field(default=None, repr=False)
    _names: frozenset[str] | None = field(default=None, repr=False)
    _shares: list[TypeShare] | None = field(default=None, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the first file; decoded once. Needs the keys."""
        if self._vocabulary is None:
            assert self.header is not None
            self._vocabulary = Vocabulary(self.header)
        return self._vocabulary

    @property
    def tensors(self) -> list[Tensor]:
        """Tensors of all shards, in file order; gathered once."""
        if self._tensors is None:
            self._tensors = [tensor for file in self.files for tensor in file.tensors]
        return self._tensors

    @property
    def names(self) -> frozenset[str]:
        """The names of all tensors of all shards."""
        if self._names is None:
            self._names = frozenset(tensor.name for tensor in self.tensors)
        return self._names

    @property
    def shares(self) -> list[TypeShare]:
        """How much of the model each tensor type holds, the largest first."""
        if self._shares is None:
            self._shares = type_mix(self.tensors)
        return self._shares

    @property
    def hyper(self) -> LoadedHyperparameters | None:
        """The hyper-parameters as the loader reads them; None where it reads none: no language
        model, or of an architecture it does not know. Needs the keys."""
        architecture = self.text("general.architecture") or ""
        loaded = table("architectures")["loaded"]
        if self.kind not in (MODEL, DRAFT) or architecture not in loaded:
            return None
        if self._hyper is None:
            assert self.header is not None
            self._hyper = LoadedHyperparameters(self.header, architecture, self.names.__contains__)
        return self._hyper

    @property
    def plan(self) -> Plan | None:
        """The tensors that the loader asks for; None where it would not get so far, or where
        tensors are in shards that nobody can find."""
        whole = len(self.files) >= (self.number("split.count") or 0)
        if self._plan is None and whole and self.hyper and self.hyper.blocks is not None:
            self._plan = Plan.of(self.hyper)
        return self._plan

    @classmethod
    def of(cls, model: Model, templates: list[TemplateFacts], policy: Policy | None = None) -> Self:
        return cls(
            model.files, model.kind, model.missing, model.asked, model.companion, templates, policy
        )

    def template(self, name: str) -> TemplateFacts | None:
        return next((facts for facts in self.templates if facts.name == name), None)
