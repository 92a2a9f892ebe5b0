"""What the application began with."""

import django.db.models.deletion
import uuid
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name="Tag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=50, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="Author",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("slug", models.SlugField(unique=True)),
                ("email", models.EmailField(blank=True, max_length=254)),
                ("biography", models.TextField(blank=True)),
                ("born", models.DateField(blank=True, null=True)),
                ("wakes", models.TimeField(blank=True, null=True)),
                ("since", models.DateField(blank=True, null=True)),
                ("writes_for", models.DurationField(blank=True, null=True)),
                ("balance", models.DecimalField(decimal_places=10, default=0, max_digits=30)),
                ("score", models.FloatField(default=0)),
                ("followers", models.IntegerField(null=True)),
                ("rank", models.PositiveSmallIntegerField(default=1)),
                ("active", models.BooleanField(default=True)),
                ("key", models.UUIDField(default=uuid.uuid4)),
                ("profile", models.JSONField(blank=True, default=dict)),
                ("picture", models.BinaryField(null=True)),
                ("address", models.GenericIPAddressField(blank=True, null=True)),
            ],
            options={
                "ordering": ["name"],
                "constraints": [models.CheckConstraint(condition=models.Q(("rank__lte", 100)), name="rank_at_most_100")],
            },
        ),
        migrations.CreateModel(
            name="Book",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("title", models.CharField(max_length=200)),
                ("price", models.DecimalField(decimal_places=2, max_digits=8)),
                ("pages", models.IntegerField(default=0)),
                ("stock", models.PositiveIntegerField(default=0)),
                ("author", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="books", to="django_app.author")),
                ("editor", models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="edited", to="django_app.author")),
                ("tags", models.ManyToManyField(blank=True, to="django_app.tag")),
            ],
            options={
                "indexes": [models.Index(fields=["price", "-pages"], name="django_app__price_6d3430_idx")],
                "constraints": [models.UniqueConstraint(fields=("title", "author"), name="one_title_per_author")],
            },
        ),
    ]
