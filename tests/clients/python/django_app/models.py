"""Models of many field types and relations."""

import uuid

from django.db import models


class Tag(models.Model):
    name = models.CharField(max_length=50, unique=True)

    def __str__(self):
        return self.name


class Author(models.Model):
    name = models.CharField(max_length=100, db_index=True)
    slug = models.SlugField(unique=True)
    email = models.EmailField(blank=True)
    biography = models.TextField(blank=True)
    born = models.DateField(null=True, blank=True)
    wakes = models.TimeField(null=True, blank=True)
    joined = models.DateTimeField(null=True, blank=True)
    writes_for = models.DurationField(null=True, blank=True)
    balance = models.DecimalField(max_digits=30, decimal_places=10, default=0)
    score = models.FloatField(default=0)
    followers = models.BigIntegerField(default=0)
    rank = models.PositiveSmallIntegerField(default=1)
    active = models.BooleanField(default=True)
    key = models.UUIDField(default=uuid.uuid4)
    profile = models.JSONField(default=dict, blank=True)
    picture = models.BinaryField(null=True)
    address = models.GenericIPAddressField(null=True, blank=True)

    class Meta:
        ordering = ["name"]
        constraints = [models.CheckConstraint(condition=models.Q(rank__lte=100), name="rank_at_most_100")]

    def __str__(self):
        return self.name


class Book(models.Model):
    title = models.CharField(max_length=200)
    author = models.ForeignKey(Author, on_delete=models.CASCADE, related_name="books")
    editor = models.ForeignKey(Author, on_delete=models.SET_NULL, null=True, blank=True, related_name="edited")
    tags = models.ManyToManyField(Tag, blank=True)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    pages = models.IntegerField(default=0)
    stock = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["title", "author"], name="one_title_per_author")]
        indexes = [models.Index(fields=["price", "-pages"])]

    def __str__(self):
        return self.title
