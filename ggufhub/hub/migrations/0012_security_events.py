import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("hub", "0011_checkpoints"),
    ]

    operations = [
        migrations.CreateModel(
            name="SecurityEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("action", models.CharField(db_index=True, max_length=40)),
                ("actor", models.CharField(blank=True, max_length=150)),
                ("address", models.GenericIPAddressField(null=True)),
                ("subject", models.CharField(blank=True, max_length=255)),
                ("detail", models.JSONField(blank=True, default=dict)),
            ],
            options={"ordering": ["-at", "-id"]},
        ),
    ]
