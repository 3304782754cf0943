"""Audits and their schedules, in and out."""

from typing import Any

from rest_framework import serializers

from ggufhub.api.serializers import CursorOutput, PageQuery, PolicyField, RangeQuery
from ggufhub.audit.render.formats import AUDIT_FORMATS
from ggufhub.hub import audits
from ggufhub.hub.audit_models import Audit, AuditItem, AuditState, Schedule
from ggufhub.hub.audit_selectors import SORTS, Progress
from ggufhub.hub.links import URL_LENGTH
from ggufhub.limits import DEPTHS, HEADER, LIST_BYTES
from ggufhub.report.document import VERDICTS
from ggufhub.rules.profiles import DEFAULT_PROFILE, PROFILES

LARGEST = 2**53 - 1


class FilterInput(serializers.Serializer[Any]):
    """Which models; without any field all of them."""

    globs = serializers.ListField(
        required=False,
        child=serializers.CharField(max_length=audits.PATTERN_LENGTH),
        max_length=audits.MOST_PATTERNS,
        help_text="Patterns of paths or names; one of them must match.",
    )
    tags = serializers.ListField(
        required=False,
        child=serializers.CharField(max_length=32),
        max_length=audits.MOST_PATTERNS,
        help_text="Quant labels, as Q4_K_M.",
    )
    smallest = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)
    largest = serializers.IntegerField(required=False, min_value=0, max_value=LARGEST)


class AuditInput(serializers.Serializer[Any]):
    """Exactly one of a repository, a list of links and a text with one."""

    repository = serializers.CharField(
        required=False,
        max_length=URL_LENGTH,
        help_text="hf://owner/repository, hf://owner, hf://collections/…, the link of an index "
        "page or list, or a folder below GGUFHUB_ROOTS.",
    )
    urls = serializers.ListField(
        required=False,
        child=serializers.CharField(max_length=URL_LENGTH),
        allow_empty=False,
        max_length=100_000,
        help_text="Links and names of models.",
    )
    manifest = serializers.CharField(
        required=False,
        max_length=LIST_BYTES,
        trim_whitespace=False,
        help_text="A link, name or JSON object (url, sha256, size) a line. A body of the type "
        "application/x-ndjson is taken for this.",
    )
    filter = FilterInput(required=False)
    profile = serializers.ChoiceField(tuple(PROFILES), default=DEFAULT_PROFILE)
    policy = PolicyField(required=False)
    depth = serializers.ChoiceField(DEPTHS, default=HEADER)
    schedule = serializers.ChoiceField(
        Schedule.Every.choices, required=False, help_text="Repeat it; the first begins at once."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if sum(name in attrs for name in ("repository", "urls", "manifest")) != 1:
            raise serializers.ValidationError("Give exactly one of repository, urls and manifest.")
        return attrs

    def order(self) -> dict[str, Any]:
        """The fields of the row; ``UsageError`` as in ``audits.order``."""
        data = self.validated_data
        return audits.order(
            source=data.get("repository", ""),
            links="\n".join(data["urls"]) if "urls" in data else data.get("manifest", ""),
            wanted=data.get("filter"),
            profile=data["profile"],
            policy=data.get("policy"),
            depth=data["depth"],
        )


class AuditsQuery(PageQuery):
    state = serializers.ChoiceField(AuditState.choices, required=False)


class ModelsQuery(RangeQuery):
    q = serializers.CharField(default="", allow_blank=True, max_length=500)
    verdict = serializers.ChoiceField(VERDICTS, default="", allow_blank=True)
    family = serializers.CharField(default="", allow_blank=True, max_length=4096)
    rule = serializers.CharField(default="", allow_blank=True, max_length=32)
    sort = serializers.ChoiceField([*SORTS, *(f"-{name}" for name in SORTS)], default="path")


class AuditFormatQuery(serializers.Serializer[Any]):
    format = serializers.ChoiceField(tuple(AUDIT_FORMATS), required=False)


class CountsOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    waiting = serializers.IntegerField()
    running = serializers.IntegerField()
    settled = serializers.IntegerField()
    reused = serializers.IntegerField(help_text="Unchanged since the last audit: not opened.")
    verdicts = serializers.DictField(child=serializers.IntegerField())


class AuditOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    state = serializers.ChoiceField(AuditState.choices)
    source = serializers.CharField()
    profile = serializers.CharField()
    depth = serializers.ChoiceField(DEPTHS)
    schedule = serializers.UUIDField(allow_null=True)
    previous = serializers.UUIDField(allow_null=True, help_text="What it is compared with.")
    listed = serializers.BooleanField(help_text="Whether the number of models is final.")
    models = CountsOutput()
    seconds_left = serializers.IntegerField(allow_null=True)
    verdict = serializers.CharField(allow_null=True)
    regressed = serializers.BooleanField(help_text="Something got worse since the last audit.")
    error = serializers.DictField(allow_null=True)
    created = serializers.DateTimeField()
    started = serializers.DateTimeField(allow_null=True)
    finished = serializers.DateTimeField(allow_null=True)


class AuditsOutput(CursorOutput):
    items = AuditOutput(many=True)


class AuditModelOutput(serializers.Serializer[Any]):
    path = serializers.CharField()
    family = serializers.CharField()
    role = serializers.CharField()
    state = serializers.ChoiceField(("waiting", "running", "settled"))
    inspection = serializers.UUIDField(allow_null=True)
    verdict = serializers.CharField(allow_null=True)
    quant = serializers.CharField(allow_null=True)
    bits_per_weight = serializers.FloatField(allow_null=True)
    size = serializers.IntegerField(allow_null=True)
    reused = serializers.BooleanField()
    errors = serializers.IntegerField()
    warnings = serializers.IntegerField()
    infos = serializers.IntegerField()


class AuditModelsOutput(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    start = serializers.IntegerField()
    items = AuditModelOutput(many=True)


class ScheduleOutput(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    source = serializers.CharField()
    every = serializers.ChoiceField(Schedule.Every.choices)
    next_at = serializers.DateTimeField()
    created = serializers.DateTimeField()


class SchedulesOutput(serializers.Serializer[Any]):
    items = ScheduleOutput(many=True)


def audit_dict(audit: Audit, counted: Progress) -> dict[str, Any]:
    """``AuditOutput`` as a plain dict."""
    error = {"code": audit.error_code, "message": audit.error_message}
    return {
        "id": str(audit.pk),
        "state": audit.state,
        "source": audit.locator,
        "profile": audit.profile,
        "depth": audit.depth,
        "schedule": audit.schedule_id and str(audit.schedule_id),
        "previous": audit.previous_id and str(audit.previous_id),
        "listed": audit.listed,
        "models": {
            name: getattr(counted, name)
            for name in ("total", "waiting", "running", "settled", "reused", "verdicts")
        },
        "seconds_left": None if counted.left is None else round(counted.left.total_seconds()),
        "verdict": audit.verdict or None,
        "regressed": audit.regressed,
        "error": error if audit.error_code else None,
        "created": audit.created,
        "started": audit.started,
        "finished": audit.finished,
    }


def model_dict(item: AuditItem) -> dict[str, Any]:
    """``AuditModelOutput`` as a plain dict."""
    names = ("path", "family", "role", "state", "bits_per_weight", "size", "reused")
    return {
        **{name: getattr(item, name) for name in names},
        "inspection": item.inspection_id and str(item.inspection_id),
        "verdict": item.verdict or None,
        "quant": item.quant or None,
        **{name: getattr(item, name) for name in ("errors", "warnings", "infos")},
    }


def schedule_dict(schedule: Schedule) -> dict[str, Any]:
    """``ScheduleOutput`` as a plain dict."""
    return {
        "id": str(schedule.pk),
        "source": schedule.locator,
        "every": schedule.every,
        "next_at": schedule.next_at,
        "created": schedule.created,
    }
