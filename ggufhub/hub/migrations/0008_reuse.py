"""Stored headers, and what is needed to share a report; secrets that overlap; pings."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hub", "0007_needs_upload"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="HeaderBlock",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("size", models.IntegerField()),
                ("data", models.BinaryField()),
                ("used", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.CreateModel(
            name="StoredHeader",
            fields=[
                (
                    "report",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="header",
                        serialize=False,
                        to="hub.report",
                    ),
                ),
                ("index", models.BinaryField()),
            ],
        ),
        migrations.AddField(
            model_name="arrayblob",
            name="used",
            field=models.DateTimeField(default=django.utils.timezone.now),
        ),
        migrations.AddField(
            model_name="inspection",
            name="again",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="hub.inspection",
            ),
        ),
        migrations.AddField(
            model_name="inspection",
            name="force",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="inspection",
            name="reused",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="inspection",
            name="subject",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="webhook",
            name="old_secret",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="webhook",
            name="old_until",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name="delivery",
            name="inspection",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="deliveries",
                to="hub.inspection",
            ),
        ),
        migrations.AddIndex(
            model_name="inspection",
            index=models.Index(fields=["subject", "-created"], name="inspection_by_subject"),
        ),
        migrations.AddField(
            model_name="storedheader",
            name="blocks",
            field=models.ManyToManyField(related_name="headers", to="hub.headerblock"),
        ),
    ]
