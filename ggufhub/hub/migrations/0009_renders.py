import uuid

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("hub", "0008_reuse"),
    ]

    operations = [
        migrations.CreateModel(
            name="RenderJob",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("template", models.TextField()),
                ("given", models.TextField()),
                ("done", models.BooleanField(default=False)),
                ("output", models.TextField(blank=True, default="")),
                ("failure", models.CharField(blank=True, default="", max_length=16)),
                ("message", models.TextField(blank=True, default="")),
                ("created", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("report", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="renders", to="hub.report")),
            ],
        ),
    ]
