from django.db import migrations, models


def filled(apps, schema_editor):
    customers = apps.get_model("sharded_app", "Customer").objects
    customers.bulk_create([customers.model(name=f"migrated {n}") for n in range(10)])
    customers.filter(name__endswith="3").update(notes="three")


def emptied(apps, schema_editor):
    apps.get_model("sharded_app", "Customer").objects.filter(name__startswith="migrated").delete()


class Migration(migrations.Migration):
    dependencies = [("sharded_app", "0001_initial")]
    operations = [
        migrations.RenameField("Customer", "remarks", "notes"),
        migrations.RemoveField("Customer", "old"),
        migrations.AddField("Customer", "since", models.DateTimeField(null=True)),
        migrations.AddField("Customer", "balance", models.DecimalField(max_digits=12, decimal_places=2, default=0)),
        migrations.AlterField("Customer", "name", models.CharField(max_length=200, db_index=True)),
        migrations.AddIndex("Customer", models.Index(fields=["balance", "name"], name="by_balance")),
        migrations.AddField("Order", "count", models.IntegerField(default=1)),
        migrations.RunPython(filled, emptied),
    ]
