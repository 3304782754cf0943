from typing import Any

from django.conf import settings
from django.db import migrations, models


def follow_kind(apps: Any, schema_editor: Any) -> None:
    """Models of audits are the only inspections of this kind."""
    rows = apps.get_model("hub", "Inspection").objects
    rows.filter(source_kind="listed").update(audited=True)


class Migration(migrations.Migration):
    dependencies = [
        ("hub", "0014_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="inspection",
            name="audited",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name="inspection",
            index=models.Index(
                condition=models.Q(audited=False),
                fields=["-created", "-id"],
                name="inspection_single",
            ),
        ),
        migrations.AddIndex(
            model_name="inspection",
            index=models.Index(
                condition=models.Q(audited=False),
                fields=["owner", "-created", "-id"],
                name="inspection_own",
            ),
        ),
        migrations.RunPython(follow_kind, migrations.RunPython.noop),
    ]
