"""Fields that are added, altered, renamed and removed, and rows that are changed."""

from django.db import migrations, models


def add_tag(apps, _schema_editor):
    apps.get_model("django_app", "Tag").objects.create(name="from a migration")


def remove_tag(apps, _schema_editor):
    apps.get_model("django_app", "Tag").objects.filter(name="from a migration").delete()


class Migration(migrations.Migration):
    dependencies = [("django_app", "0001_initial")]

    operations = [
        migrations.RenameField("author", "since", "joined"),
        migrations.AlterField("author", "joined", models.DateTimeField(null=True, blank=True)),
        migrations.AlterField("author", "name", models.CharField(max_length=100, db_index=True)),
        migrations.AlterField("author", "followers", models.BigIntegerField(default=0)),
        migrations.AddField("tag", "passing", models.CharField(max_length=10, default="ü")),
        migrations.RunPython(add_tag, remove_tag),
        migrations.RemoveField("tag", "passing"),
        migrations.RunSQL("CREATE INDEX by_stock ON django_app_book (stock)", "DROP INDEX by_stock ON django_app_book"),
    ]
