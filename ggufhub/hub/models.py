"""The tables. Nothing here reads or writes on its own: see ``services`` and ``selectors``.

A value from a file never reaches a column raw. Documents and arrays are compressed bytes; the
columns beside them hold clipped, clamped copies, because PostgreSQL refuses what SQLite takes.
"""

import uuid
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from ggufhub.hub.audit_log_models import SecurityEvent
from ggufhub.hub.audit_models import Audit, AuditItem, Host, Place, Schedule
from ggufhub.hub.checkpoint_models import Checkpoint
from ggufhub.hub.header_models import HeaderBlock, StoredHeader
from ggufhub.hub.render_models import RenderJob
from ggufhub.hub.shared_models import ArrayBlob, ArrayChunk, Document
from ggufhub.rules.profiles import DEFAULT_PROFILE

__all__ = [
    "LARGEST",
    "OPEN_STATES",
    "ApiToken",
    "ArrayBlob",
    "ArrayChunk",
    "Audit",
    "AuditItem",
    "Checkpoint",
    "Delivery",
    "Document",
    "Finding",
    "HeaderBlock",
    "Host",
    "IdempotencyKey",
    "Inspection",
    "Place",
    "RenderJob",
    "Report",
    "Schedule",
    "SecurityEvent",
    "Shard",
    "State",
    "StoredHeader",
    "TypeCount",
    "Upload",
    "Webhook",
]
"""All tables: Django finds them here, whichever module describes them."""

LARGEST = 2**63 - 1
"""Both databases hold it exactly. Counts and sizes beyond it are clamped; the document is exact."""


class Upload(models.Model):
    """A file on its way in: the first ``received`` of ``size`` bytes are on disk.

    ``header_only`` uploads stop as soon as the worker has seen the whole header.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    name = models.CharField(max_length=255)
    size = models.BigIntegerField()
    received = models.BigIntegerField(default=0)
    header_only = models.BooleanField(default=False)
    created = models.DateTimeField(default=timezone.now)
    touched = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(received__gte=0) & models.Q(received__lte=models.F("size")),
                name="upload_received_within_size",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.received} of {self.size} bytes)"

    @property
    def path(self) -> Path:
        """Where the bytes lie. The name on disk is ours, never the client's."""
        return settings.UPLOAD_DIR / f"{self.pk}.part"

    @property
    def complete(self) -> bool:
        return self.received == self.size


class State(models.TextChoices):
    """The life of an inspection; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


OPEN_STATES = (State.QUEUED, State.RUNNING)


class Inspection(models.Model):
    """One run over one model. The row is the truth; a queue message only points at it.

    ``attempt`` fences the worker: who holds an older number can write nothing. ``losses`` counts
    the workers that died holding it. ``needs_until`` is the end (in bytes) of what the header-only
    ``needs_upload`` must hold before the row may be claimed again; ``upload`` is the file that is
    opened, and ``shards`` are those sent with it. ``not_before`` is the time a server asked
    us to wait for, ``postponed`` how often one did. ``target`` is the link as given, which may
    carry a signature: only the worker reads it; people are shown ``locator``. ``policy`` holds
    the fields of a checked policy (see ``rules.policy_file``), empty where there is none.
    ``lane`` says which queue its messages go to (``queue.ROUTES``).

    ``subject`` is a digest of all that was asked (see ``reuse.subject_of``): rows that share it
    may share a report. ``reused`` says that this one got an earlier report, ``force`` that it
    must not. ``again`` names the one whose stored header is judged here anew, by newer rules and
    without asking the source. ``audited`` ones are those of audits' models, which lists leave out.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    source_kind = models.CharField(
        max_length=8, choices=[(kind, kind) for kind in ("url", "upload", "file", "listed")]
    )
    audited = models.BooleanField(default=False, db_default=False)
    locator = models.TextField()
    target = models.TextField(blank=True, default="")
    name = models.CharField(max_length=255)
    upload = models.ForeignKey(Upload, null=True, blank=True, on_delete=models.SET_NULL)
    profile = models.CharField(max_length=32, default=DEFAULT_PROFILE)
    policy = models.JSONField(default=dict, blank=True)
    depth = models.CharField(max_length=8, default="header")
    lane = models.CharField(max_length=8, default="header")
    expected = models.JSONField(default=dict, blank=True)
    subject = models.CharField(max_length=64, blank=True, default="")
    force = models.BooleanField(default=False)
    reused = models.BooleanField(default=False)
    again = models.ForeignKey(
        "self", null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )

    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=64, blank=True, default="")
    requests = models.IntegerField(default=0)
    bytes_read = models.BigIntegerField(default=0)
    size = models.BigIntegerField(null=True, blank=True)

    attempt = models.IntegerField(default=0)
    losses = models.IntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    sent_at = models.DateTimeField(null=True, blank=True)
    needs_until = models.BigIntegerField(null=True, blank=True)
    needs_upload = models.ForeignKey(
        Upload, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    not_before = models.DateTimeField(null=True, blank=True)
    postponed = models.IntegerField(default=0)

    error_code = models.CharField(max_length=64, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    created = models.DateTimeField(default=timezone.now)
    started = models.DateTimeField(null=True, blank=True)
    finished = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-id"]
        indexes = [
            models.Index(fields=["-created", "-id"], name="inspection_newest"),
            models.Index(fields=["owner", "-created"], name="inspection_by_owner"),
            # A night's audit adds thousands, through which a list would have to walk.
            models.Index(
                fields=["-created", "-id"], condition=Q(audited=False), name="inspection_single"
            ),
            models.Index(
                fields=["owner", "-created", "-id"],
                condition=Q(audited=False),
                name="inspection_own",
            ),
            models.Index(fields=["subject", "-created"], name="inspection_by_subject"),
            # Of all states: with values bound later SQLite cannot know that an index of some is
            # enough, and every round of the reconciler would look at every row.
            models.Index(fields=["state", "sent_at"], name="inspection_state"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.state})"

    @property
    def is_final(self) -> bool:
        """True once nothing about this row will change again."""
        return self.state not in OPEN_STATES

    @property
    def needs(self) -> dict[str, Any] | None:
        """The next bytes to send: the id of their upload, offset and length; or None."""
        upload = self.needs_upload
        if self.is_final or self.needs_until is None or upload is None:
            return None
        missing = self.needs_until - upload.received
        if missing <= 0:
            return None
        return {"upload": str(upload.pk), "offset": upload.received, "length": missing}


class Shard(models.Model):
    """A further file of an inspection of several uploads; no upload where that was deleted."""

    inspection = models.ForeignKey(Inspection, on_delete=models.CASCADE, related_name="shards")
    upload = models.ForeignKey(
        Upload, null=True, on_delete=models.SET_NULL, related_name="shard_of"
    )

    def __str__(self) -> str:
        return f"{self.upload} of {self.inspection_id}"


class Report(models.Model):
    """The immutable result of one inspection. Its id is the inspection's.

    ``document`` is the whole truth, its key the ETag. The other columns are copies to list and
    filter by.
    """

    inspection = models.OneToOneField(
        Inspection, primary_key=True, on_delete=models.CASCADE, related_name="report"
    )
    document = models.ForeignKey(Document, on_delete=models.PROTECT, related_name="reports")
    arrays = models.ManyToManyField(ArrayBlob, related_name="reports")
    rule_set = models.CharField(max_length=64, blank=True, default="")
    verdict = models.CharField(max_length=10)
    kind = models.CharField(max_length=32)
    errors = models.IntegerField(default=0)
    warnings = models.IntegerField(default=0)
    infos = models.IntegerField(default=0)
    format_name = models.CharField(max_length=16, blank=True, default="")
    architecture = models.CharField(max_length=64, blank=True, default="")
    quant = models.CharField(max_length=32, blank=True, default="")
    parameters = models.BigIntegerField(null=True, blank=True)
    created = models.DateTimeField(default=timezone.now)

    decoded: dict[str, Any] | None = None
    """No column: the document, for as long as this object is used (``selectors.document``)."""

    class Meta:
        indexes = [
            models.Index(fields=["verdict"], name="report_verdict"),
            models.Index(fields=["architecture"], name="report_architecture"),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.verdict}"

    @property
    def digest(self) -> str:
        """SHA-256 (hex) of the document as it is stored."""
        return self.document_id


class Finding(models.Model):
    """One finding as a row, to ask which reports hold a rule. The document has the details."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="finding_rows")
    rule = models.CharField(max_length=32)
    severity = models.CharField(max_length=8)
    message = models.TextField()
    fingerprint = models.CharField(max_length=64)

    class Meta:
        indexes = [
            models.Index(fields=["rule", "severity"], name="finding_rule_severity"),
            models.Index(fields=["report", "severity"], name="finding_report_severity"),
        ]

    def __str__(self) -> str:
        return f"{self.rule}: {self.message}"


class TypeCount(models.Model):
    """How much of one tensor type a report holds, to ask which files use it."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="type_counts")
    type = models.CharField(max_length=32, db_index=True)
    tensors = models.BigIntegerField()
    bytes = models.BigIntegerField()
    elements = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["report", "type"], name="type_count_once")]

    def __str__(self) -> str:
        return f"{self.tensors} x {self.type}"


class IdempotencyKey(models.Model):
    """A key a client chose for one submission; without an inspection it is only reserved.

    ``caller`` names the user, '' where there is none; ``digest`` is the SHA-256 of the request.
    """

    caller = models.CharField(max_length=32)
    key = models.CharField(max_length=255)
    digest = models.CharField(max_length=64)
    inspection = models.ForeignKey(Inspection, null=True, on_delete=models.CASCADE)
    created = models.DateTimeField(default=timezone.now, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caller", "key"], name="idempotency_key_once")
        ]

    def __str__(self) -> str:
        return self.key


class ApiToken(models.Model):
    """A program's way in: ``ggh_<id>_<secret>``, of which only the SHA-256 is kept.

    ``scopes`` are words from ``tokens.SCOPES``; ``last_used`` is exact to a minute.
    """

    id = models.CharField(primary_key=True, max_length=16, editable=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64)
    scopes = models.JSONField()
    created = models.DateTimeField(default=timezone.now)
    expires = models.DateTimeField(null=True, blank=True)
    last_used = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["-created", "-id"]

    def __str__(self) -> str:
        return f"{self.name} ({self.id})"


class Webhook(models.Model):
    """An address that is told when an inspection of ``owner`` has ended.

    ``url`` may carry a credential: only the worker reads it, people are shown ``locator``.
    ``secret`` is kept as it is, because every delivery is signed with it; so is the one before
    it, until ``old_until``.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE
    )
    url = models.TextField()
    locator = models.TextField()
    secret = models.CharField(max_length=64)
    old_secret = models.CharField(max_length=64, blank=True, default="")
    old_until = models.DateTimeField(null=True, blank=True)
    created = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["-created", "-id"]

    def __str__(self) -> str:
        return self.locator


class Delivery(models.Model):
    """One message to one webhook; without ``next_at`` it is delivered or given up.

    It is about an inspection or an audit; without either it is a ping: a test that the receiver
    takes our messages.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    inspection = models.ForeignKey(
        Inspection, null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    audit = models.ForeignKey(
        "hub.Audit", null=True, on_delete=models.CASCADE, related_name="deliveries"
    )
    attempts = models.IntegerField(default=0)
    next_at = models.DateTimeField(null=True, default=timezone.now, db_index=True)
    status = models.IntegerField(null=True)
    error = models.TextField(blank=True, default="")
    created = models.DateTimeField(default=timezone.now)
    delivered = models.DateTimeField(null=True)

    class Meta:
        ordering = ["-created", "-id"]
        constraints = [
            models.UniqueConstraint(fields=["webhook", "inspection"], name="delivery_once"),
            models.UniqueConstraint(fields=["webhook", "audit"], name="delivery_of_audit_once"),
        ]

    def __str__(self) -> str:
        return f"{self.state}, {self.attempts} attempts"

    @property
    def state(self) -> str:
        """``delivered``, ``pending`` or ``given up``."""
        if self.delivered is not None:
            return "delivered"
        return "given up" if self.next_at is None else "pending"
