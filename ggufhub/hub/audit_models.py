"""The tables of audits: what was asked, where it looks, and what became of each model."""

import uuid

from django.conf import settings
from django.db import models
from django.utils import timezone

from ggufhub.rules.profiles import DEFAULT_PROFILE


class AuditState(models.TextChoices):
    """The life of an audit; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_AUDITS = (AuditState.QUEUED, AuditState.RUNNING)


class Order(models.Model):
    """What to audit and how. Shared by one audit and a schedule of many.

    ``target`` is the source as given (it may carry a signature or be a whole list of links),
    ``locator`` what is shown of it. ``wanted`` are the fields of ``audit.groups.Filter``.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    target = models.TextField()
    locator = models.TextField()
    wanted = models.JSONField(default=dict, blank=True)
    profile = models.CharField(max_length=32, default=DEFAULT_PROFILE)
    policy = models.JSONField(default=dict, blank=True)
    depth = models.CharField(max_length=8, default="header")
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        abstract = True

    def order(self) -> dict[str, object]:
        """The fields that say what to audit and how, for another row."""
        names = ("owner", "target", "locator", "wanted", "profile", "policy", "depth")
        return {name: getattr(self, name) for name in names}


class Schedule(Order):
    """An audit that is repeated; ``next_at`` is when it is due again."""

    class Every(models.TextChoices):
        HOUR = "hourly"
        DAY = "nightly"
        WEEK = "weekly"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    every = models.CharField(max_length=8, choices=Every.choices)
    next_at = models.DateTimeField(db_index=True)

    class Meta:
        ordering = ["-created", "-id"]

    def __str__(self) -> str:
        return f"{self.locator}, {self.every}"


class Audit(Order):
    """One run over one repository. Its counts are those of its items, never stored.

    ``lease_until`` belongs to whoever lists or concludes it; a step whose lease ran out is begun
    again. ``listed`` says that every place was listed. ``head`` is the finished audit document
    without its models, compressed; ``regressed`` whether something got worse since ``previous``.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    schedule = models.ForeignKey(
        Schedule, null=True, blank=True, on_delete=models.SET_NULL, related_name="audits"
    )
    previous = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    state = models.CharField(max_length=10, choices=AuditState.choices, default=AuditState.QUEUED)
    listed = models.BooleanField(default=False)
    lease_until = models.DateTimeField(null=True, blank=True)
    attempts = models.IntegerField(default=0)
    rule_set = models.CharField(max_length=64, blank=True, default="")
    verdict = models.CharField(max_length=10, blank=True, default="")
    regressed = models.BooleanField(default=False)
    head = models.BinaryField(null=True)
    error_code = models.CharField(max_length=64, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-id"]
        indexes = [
            models.Index(fields=["owner", "-created"], name="audit_by_owner"),
            models.Index(
                fields=["state"],
                name="audit_open",
                condition=models.Q(state__in=["queued", "running"]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.locator} ({self.state})"

    @property
    def is_final(self) -> bool:
        """True once nothing about this row will change again."""
        return self.state not in OPEN_AUDITS


class Place(models.Model):
    """One repository, folder or list that is listed as a whole.

    ``listing`` holds what rules about repositories need of it, compressed; ``not_before`` is the
    time a server asked us to wait for. ``error`` says why it could not be listed.
    """

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="places")
    position = models.IntegerField()
    target = models.TextField()
    listed = models.BooleanField(default=False)
    listing = models.BinaryField(null=True)
    not_before = models.DateTimeField(null=True, blank=True)
    postponed = models.IntegerField(default=0)
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["audit", "position"], name="place_position")]

    def __str__(self) -> str:
        return self.target


class ItemState(models.TextChoices):
    """Where an item is: waiting for its turn, inspected right now, or settled."""

    WAITING = "waiting"
    RUNNING = "running"
    SETTLED = "settled"


class AuditItem(models.Model):
    """One model of an audit. ``files`` are its listed files, compressed; ``row`` what the audit
    keeps of its report (``audit.facts``). ``reused`` says that it did not change since last time:
    the inspection is then that of the earlier audit.
    """

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="items")
    place = models.ForeignKey(Place, on_delete=models.CASCADE, related_name="items")
    path = models.TextField()
    key = models.CharField(max_length=64)
    family = models.TextField(blank=True, default="")
    role = models.CharField(max_length=16)
    host = models.CharField(max_length=255, blank=True, default="")
    identity = models.CharField(max_length=64, blank=True, default="")
    files = models.BinaryField()
    size = models.BigIntegerField(null=True)
    inspection = models.ForeignKey(
        "hub.Inspection", null=True, on_delete=models.SET_NULL, related_name="audit_items"
    )
    state = models.CharField(max_length=8, choices=ItemState.choices, default=ItemState.WAITING)
    reused = models.BooleanField(default=False)
    settled_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=10, blank=True, default="")
    error_code = models.CharField(max_length=64, blank=True, default="")
    quant = models.CharField(max_length=32, blank=True, default="")
    bits_per_weight = models.FloatField(null=True)
    errors = models.IntegerField(default=0)
    warnings = models.IntegerField(default=0)
    infos = models.IntegerField(default=0)
    row = models.BinaryField(null=True)

    class Meta:
        constraints = [
            # The key is a digest of the path, which may be longer than PostgreSQL indexes.
            models.UniqueConstraint(fields=["audit", "key"], name="audit_item_once")
        ]
        indexes = [
            models.Index(fields=["audit", "state", "id"], name="audit_item_state"),
            models.Index(fields=["audit", "verdict"], name="audit_item_verdict"),
            models.Index(fields=["audit", "host", "state"], name="audit_item_host"),
        ]

    def __str__(self) -> str:
        return self.path


class Host(models.Model):
    """A server of models, as files name it, and what it last said of its quota: it takes so many
    more ``requests`` before ``until``."""

    name = models.CharField(primary_key=True, max_length=255)
    requests = models.PositiveIntegerField()
    until = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return self.name
