"""Queries and answers of the parts of a report that have a shape of their own."""

import math
from typing import Any

from rest_framework import serializers

from ggufhub.estimate.cache import KV_TYPES, MICRO_BATCH
from ggufhub.estimate.placement import EVERYTHING
from ggufhub.hub.beside import KINDS
from ggufhub.hub.models import LARGEST

MOST_CONTEXT = 2**30
MOST_GIB = 2**20
MOST_BYTES = 64 * 1024
"""In one answer: a screen of a hex view shows less than one kilobyte."""


class MemoryQuery(serializers.Serializer[Any]):
    """How the model is run. What is left out is what llama.cpp does by itself."""

    context = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_CONTEXT,
        help_text="Tokens; what the model was trained for where it is left out.",
    )
    kv = serializers.ChoiceField(KV_TYPES, default="F16", help_text="Type of keys and values.")
    kv_values = serializers.ChoiceField(
        KV_TYPES, required=False, help_text="Type of the values, where it is another one."
    )
    sequences = serializers.IntegerField(default=1, min_value=1, max_value=256)
    unified = serializers.BooleanField(default=True, help_text="Sequences share one cache.")
    flash = serializers.BooleanField(default=True, help_text="Flash attention.")
    swa_full = serializers.BooleanField(
        default=False, help_text="Windows are as long as the context."
    )
    ubatch = serializers.IntegerField(
        default=MICRO_BATCH, min_value=1, max_value=MOST_CONTEXT, help_text="Tokens of one step."
    )
    offload = serializers.IntegerField(
        required=False,
        min_value=0,
        max_value=EVERYTHING,
        help_text="Layers on devices, the output counting as one; all where it is left out.",
    )
    split = serializers.RegexField(
        r"^\d{1,6}(?:,\d{1,6}){0,15}$",
        default="1",
        help_text="How several devices share the layers, for example 3,1.",
    )
    mmproj = serializers.UUIDField(
        required=False, help_text="The report of the projector that is loaded beside it."
    )
    adapter = serializers.UUIDField(required=False, help_text="The report of an adapter.")
    draft = serializers.UUIDField(
        required=False, help_text="The report of a draft model, which runs with the same setting."
    )
    gib = serializers.FloatField(
        required=False,
        min_value=0,
        max_value=MOST_GIB,
        help_text="Memory there is, in GiB: asks for the largest context that fits.",
    )

    def validate_gib(self, value: float) -> float:
        if math.isnan(value):
            raise serializers.ValidationError("This is not a number.")
        return value


class BytesQuery(serializers.Serializer[Any]):
    """Which bytes of which file."""

    offset = serializers.IntegerField(default=0, min_value=0, max_value=LARGEST)
    length = serializers.IntegerField(default=4096, min_value=1, max_value=MOST_BYTES)
    file = serializers.CharField(
        default="",
        allow_blank=True,
        max_length=1024,
        help_text="The name of a shard; the file that was asked for where it is left out.",
    )


class FigureOutput(serializers.Serializer[Any]):
    bytes = serializers.IntegerField(allow_null=True)
    basis = serializers.ChoiceField(("exact", "formula", "approximate", "unknown"))


class PlaceOutput(serializers.Serializer[Any]):
    """What the processor or one device holds, in bytes."""

    layers = serializers.IntegerField(help_text="Without the output.")
    weights = serializers.IntegerField()
    cache = serializers.IntegerField()
    states = serializers.IntegerField()
    compute = serializers.IntegerField(help_text="Approximate, on every place that computes.")
    total = serializers.IntegerField()


class PartOutput(serializers.Serializer[Any]):
    """What is loaded beside the model."""

    what = serializers.ChoiceField(list(KINDS))
    name = serializers.CharField()
    bytes = serializers.IntegerField(
        allow_null=True,
        help_text="Weights, and the cache of a draft model; null where that has no formula.",
    )


class QuantOutput(serializers.Serializer[Any]):
    """This model in another quant: predicted sizes, and whether it would fit."""

    mix = serializers.CharField()
    bytes = serializers.IntegerField(help_text="Of the file.")
    tensor_bytes = serializers.IntegerField()
    bits_per_weight = serializers.FloatField()
    imatrix = serializers.BooleanField(help_text="It needs an importance matrix.")
    own = serializers.BooleanField(help_text="The model is in it.")
    note = serializers.CharField()
    total = serializers.IntegerField(help_text="Bytes it takes under this setting.")
    fits = serializers.BooleanField()


class MemoryOutput(serializers.Serializer[Any]):
    """What one setting takes. ``total`` is null where a part of it is unknown."""

    architecture = serializers.CharField()
    context_length = serializers.IntegerField(allow_null=True, help_text="Trained for.")
    at_least = serializers.BooleanField(help_text="The compute buffer may be larger.")
    assumed = serializers.BooleanField(help_text="The cache is that of an ordinary transformer.")
    context = serializers.IntegerField()
    key_type = serializers.CharField()
    value_type = serializers.CharField()
    sequences = serializers.IntegerField()
    flash_attention = serializers.BooleanField()
    micro_batch = serializers.IntegerField()
    weights = FigureOutput()
    cache = FigureOutput()
    states = FigureOutput()
    compute = FigureOutput()
    parts = PartOutput(many=True)
    total = serializers.IntegerField(allow_null=True, help_text="With the parts beside it.")
    places = PlaceOutput(
        many=True,
        allow_null=True,
        help_text="The processor, then each device; null where the cache has no formula.",
    )
    largest_context = serializers.IntegerField(
        allow_null=True,
        help_text="That fits into ``gib``; null where none does, or none was given.",
    )
    quants = QuantOutput(
        many=True,
        allow_null=True,
        help_text="The model in every quant, the least loss first; null without ``gib``.",
    )


class RenderOutput(serializers.Serializer[Any]):
    conversation = serializers.CharField()
    output = serializers.CharField(allow_blank=True)
    failure = serializers.CharField(allow_null=True)
    message = serializers.CharField(allow_blank=True)


class TemplateOutput(serializers.Serializer[Any]):
    """One chat template; the last three are absent where it was not rendered."""

    name = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    capabilities = serializers.DictField(child=serializers.BooleanField(), required=False)
    stopped = serializers.CharField(
        allow_null=True, required=False, help_text="Why rendering ended early, or null."
    )
    renders = RenderOutput(many=True, required=False)


class TemplatesOutput(serializers.Serializer[Any]):
    items = TemplateOutput(many=True)
