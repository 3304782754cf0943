import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('hub', '0010_audits'),
    ]

    operations = [
        migrations.CreateModel(
            name='Checkpoint',
            fields=[
                ('inspection', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='checkpoint', serialize=False, to='hub.inspection')),
                ('data', models.BinaryField()),
                ('saved', models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
    ]
