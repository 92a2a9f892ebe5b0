from django.db import models


class Product(models.Model):
    """On every shard: see the first migration."""

    name = models.CharField(max_length=80, unique=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)


class Customer(models.Model):
    name = models.CharField(max_length=200, db_index=True)
    notes = models.TextField(default="")
    since = models.DateTimeField(null=True)
    balance = models.DecimalField(max_digits=12, decimal_places=2, default=0)

    class Meta:
        indexes = [models.Index(fields=["balance", "name"], name="by_balance")]


class Order(models.Model):
    # Customers are on other shards than their orders here: a constraint could not be checked.
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, db_constraint=False, related_name="orders")
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    count = models.IntegerField(default=1)
