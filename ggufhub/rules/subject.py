"""Subject: what the rules judge, a model together with what is known about its templates."""

from dataclasses import dataclass, field
from typing import Self

from ggufhub.formats.model import Model
from ggufhub.rules.vocabulary import Vocabulary
from ggufhub.templating.facts import TemplateFacts


@dataclass(slots=True)
class Subject(Model):
    """A model; ``templates`` holds the facts about each chat template, the default one first."""

    templates: list[TemplateFacts] = field(default_factory=list)
    _vocabulary: Vocabulary | None = field(default=None, repr=False)

    @property
    def vocabulary(self) -> Vocabulary:
        """The vocabulary of the first file; decoded once. Needs the keys."""
        if self._vocabulary is None:
            assert self.header is not None
            self._vocabulary = Vocabulary(self.header)
        return self._vocabulary

    @classmethod
    def of(cls, model: Model, templates: list[TemplateFacts]) -> Self:
        return cls(model.files, model.kind, model.missing, model.asked, templates)

    def template(self, name: str) -> TemplateFacts | None:
        return next((facts for facts in self.templates if facts.name == name), None)
