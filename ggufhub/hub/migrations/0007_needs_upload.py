"""Rows apart from columns: PostgreSQL alters no table whose rows changed in the transaction."""

from django.db import migrations, models


def keep_waiting(apps, schema_editor):
    """A row that waits for bytes waits for those of its only upload."""
    rows = apps.get_model('hub', 'Inspection').objects.filter(needs_until__isnull=False)
    rows.update(needs_upload=models.F('upload'))


class Migration(migrations.Migration):

    dependencies = [
        ('hub', '0006_webhooks'),
    ]

    operations = [
        migrations.RunPython(keep_waiting, migrations.RunPython.noop),
    ]
