import django.db.models.deletion
from django.db import migrations, models

PRODUCT = """CREATE TABLE sharded_app_product (id BIGINT AUTO_INCREMENT NOT NULL PRIMARY KEY, name VARCHAR(80) NOT NULL UNIQUE,
    price NUMERIC(8, 2) NOT NULL) GLOBAL"""


class Migration(migrations.Migration):
    initial = True
    operations = [
        migrations.SeparateDatabaseAndState(
            database_operations=[migrations.RunSQL(PRODUCT, "DROP TABLE sharded_app_product")],
            state_operations=[
                migrations.CreateModel(
                    "Product",
                    [
                        ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                        ("name", models.CharField(max_length=80, unique=True)),
                        ("price", models.DecimalField(max_digits=8, decimal_places=2)),
                    ],
                )
            ],
        ),
        migrations.CreateModel(
            "Customer",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=80)),
                ("remarks", models.TextField(default="")),
                ("old", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            "Order",
            [
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("customer", models.ForeignKey(
                    to="sharded_app.customer",
                    db_constraint=False,
                    on_delete=django.db.models.deletion.CASCADE,
                    related_name="orders",
                )),
                ("product", models.ForeignKey(to="sharded_app.product", on_delete=django.db.models.deletion.PROTECT)),
            ],
        ),
    ]
