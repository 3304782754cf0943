"""Documents move to a table of their own, where equal ones are stored once.

A document was in its report's row until now. Both databases take the same statements.
"""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

TAKE_OVER = """
    INSERT INTO hub_document (digest, data, used)
    SELECT digest, encoded, created FROM hub_report WHERE true
    ON CONFLICT (digest) DO NOTHING
"""
POINT = "UPDATE hub_report SET document_id = digest"


def reference(**options: bool) -> models.ForeignKey:
    return models.ForeignKey(
        on_delete=django.db.models.deletion.PROTECT,
        related_name="reports",
        to="hub.document",
        **options,
    )


class Migration(migrations.Migration):
    dependencies = [("hub", "0015_audited")]

    operations = [
        migrations.CreateModel(
            name="Document",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("data", models.BinaryField()),
                ("used", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.RenameField("report", "document", "encoded"),
        migrations.AddField("report", "document", reference(null=True)),
        migrations.RunSQL([TAKE_OVER, POINT], migrations.RunSQL.noop),
        migrations.RemoveField("report", "encoded"),
        migrations.RemoveField("report", "digest"),
        migrations.AlterField("report", "document", reference()),
    ]
