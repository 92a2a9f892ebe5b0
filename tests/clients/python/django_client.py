"""Django with mysqlclient, unmodified: migrations forwards, backwards and forwards again, models of many field types, queries,
transactions with savepoints, locks, persistent connections that are killed, and the administration pages over Django's
test client."""

import datetime
import decimal
import io
import threading

import django
from django.conf import settings
from django.contrib import admin
from django.core.management import call_command
from django.urls import path

from checks import DATABASE, FLAVOR, HOST, PASSWORD, PORT, TLS, USER, check, fail

settings.configure(
    SECRET_KEY="of the tests only",
    ALLOWED_HOSTS=["testserver"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "HOST": HOST,
            "PORT": PORT,
            "USER": USER,
            "PASSWORD": PASSWORD,
            "NAME": DATABASE,
            "CONN_MAX_AGE": None,
            "CONN_HEALTH_CHECKS": True,
            "OPTIONS": {"ssl_mode": "REQUIRED" if TLS else "DISABLED", "charset": "utf8mb4"},
        }
    },
    INSTALLED_APPS=[
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
        "django_app",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {
                "context_processors": [
                    "django.template.context_processors.request",
                    "django.contrib.auth.context_processors.auth",
                    "django.contrib.messages.context_processors.messages",
                ]
            },
        }
    ],
    # A password's hash is not what is tried here.
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    ROOT_URLCONF=__name__,
    STATIC_URL="static/",
    USE_TZ=True,
    TIME_ZONE="UTC",  # Others need the server's tables of time zones.
)
django.setup()

from django.contrib.auth.models import User  # noqa: E402 (models can be had after the set-up only)
from django.db import DatabaseError, IntegrityError, OperationalError, close_old_connections, connection, models  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402

from django_app.models import Author, Book, Tag  # noqa: E402

urlpatterns = [path("admin/", admin.site.urls)]


def command(*words, **options):
    printed = io.StringIO()
    call_command(*words, stdout=printed, stderr=printed, verbosity=1, **options)
    return printed.getvalue()


def migrations():
    command("migrate")
    Author.objects.create(name="before", slug="before")
    command("migrate", "django_app", "0001")
    command("migrate", "django_app", "zero")
    check("tables after the way back", [t for t in connection.introspection.table_names() if t.startswith("django_app")], [])
    command("migrate", "django_app")
    check("migrations that are missing", "No changes detected" in command("makemigrations", "--check", "--dry-run"), True)
    check("the data migration", list(Tag.objects.values_list("name", flat=True)), ["from a migration"])
    models_found = command("inspectdb", "django_app_author", "django_app_book")
    for line in ("class DjangoAppBook(models.Model):", "balance = models.DecimalField(max_digits=30, decimal_places=10)"):
        check(f"found by inspectdb: {line}", line in models_found, True)


VALUES = {
    "name": "Ä 😀 'quoted' \\ %s",
    "slug": "first",
    "email": "a@example.org",
    "biography": "long " * 20_000,
    "born": datetime.date(1800, 2, 28),
    "wakes": datetime.time(5, 30, 0, 123456),
    "joined": datetime.datetime(2024, 2, 29, 12, 0, 0, 654321, tzinfo=datetime.timezone.utc),
    "writes_for": datetime.timedelta(days=-3, microseconds=1),
    "balance": decimal.Decimal("-12345678901234567890.0123456789"),
    "score": 0.1,
    "followers": -(2**63),
    "rank": 100,
    "active": False,
    "profile": {"languages": ["de", "日本語"], "age": 41, "nested": {"deep": None}, "it's": 1.5},
    "picture": bytes(range(256)) * 4000,
    "address": "2001:db8::1",
}


def fields():
    Author.objects.create(**VALUES)
    author = Author.objects.get(slug="first")
    for name, value in VALUES.items():
        check(name, getattr(author, name), value)
        if name not in ("picture", "score"):
            check(f"found by {name}", Author.objects.filter(**{name: value}).count(), 1)
    check("by a key in JSON", Author.objects.filter(profile__nested__deep=None, profile__age__gt=40).count(), 1)
    check("by a part of JSON", Author.objects.filter(profile__contains={"age": 41}).count(), 1)
    check("by a part of a time", Author.objects.filter(joined__year=2024, wakes__hour=5).count(), 1)
    check("by a regular expression", Author.objects.filter(name__iregex=r"^ä .*quoted").count(), 1)
    check("by text without case", Author.objects.filter(name__icontains="QUOTED' \\").count(), 1)


def queries():
    authors = Author.objects.bulk_create([Author(name=f"author {n}", slug=f"a{n}", rank=n) for n in range(20)])
    authors = list(Author.objects.filter(slug__in=[author.slug for author in authors]).order_by("rank"))
    books = [
        Book(title=f"book {n}", author=authors[n % 20], editor=authors[n % 7], price=n, pages=n * 10) for n in range(500)
    ]
    Book.objects.bulk_create(books, batch_size=120)
    tags = [Tag.objects.get_or_create(name=name)[0] for name in ("red", "green", "red")]
    check("the same tag", tags[0], tags[2])
    for book in Book.objects.filter(pages__lt=100):
        book.tags.set(tags[:2])
    check("iterated", sum(book.pages for book in Book.objects.iterator(chunk_size=50)), sum(n * 10 for n in range(500)))
    totals = Author.objects.annotate(n=models.Count("books"), dear=models.Max("books__price")).filter(n__gt=0)
    check("aggregates", [(a.n, a.dear) for a in totals.order_by("rank")][:2], [(25, 480), (25, 481)])
    updated = Book.objects.filter(author__rank=3).update(price=models.F("price") + models.F("pages"))
    check("updated through a join", updated, 25)
    check("related", len(Book.objects.select_related("author", "editor").prefetch_related("tags")), 500)
    newest = Book.objects.filter(author=models.OuterRef("pk")).order_by("-pages").values("title")[:1]
    check("a subquery", Author.objects.annotate(t=models.Subquery(newest)).get(rank=4, slug="a4").t, "book 484")
    windowed = Book.objects.annotate(
        place=models.Window(models.functions.RowNumber(), partition_by="author", order_by=models.F("pages").desc())
    ).filter(place=1)
    check("a window", windowed.count(), 20)
    upserted = Tag.objects.bulk_create([Tag(name="red"), Tag(name="blue")], ignore_conflicts=True)
    check("ignored conflicts", (len(upserted), Tag.objects.count()), (2, 4))
    union = Tag.objects.values_list("name").union(Author.objects.filter(rank=5).values_list("name"))
    check("a union", union.count(), 5)
    check("explained", len(Book.objects.filter(pages=1).explain()) > 0, True)
    check("deleted with what belongs to it", Author.objects.filter(rank=19).delete()[1]["django_app.Book"], 25)


def transactions():
    count = Tag.objects.count
    before = count()
    try:
        with transaction.atomic():
            Tag.objects.create(name="outer")
            try:
                with transaction.atomic():
                    Tag.objects.create(name="inner")
                    Tag.objects.create(name="outer")
                fail("a duplicate tag was taken")
            except IntegrityError as error:
                check("the error", error.args[0], 1062)
            check("back at the savepoint", count(), before + 1)
            with transaction.atomic():
                Tag.objects.create(name="second")
            raise LookupError
    except LookupError:
        check("rolled back", count(), before)
    done = []
    with transaction.atomic():
        Tag.objects.create(name="kept")
        transaction.on_commit(lambda: done.append(count()))
    check("after the commit", done, [before + 1])
    for what, broken in (("a check", {"rank": 101}), ("a unique key", {"slug": "first"})):
        try:
            Author.objects.create(**{"name": "x", "slug": "x", **broken})
            fail(f"{what} did not hold")
        except DatabaseError:
            pass
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT @@{'tx' if FLAVOR == 'mariadb' else 'transaction'}_isolation")
        check("Django's isolation level", cursor.fetchone()[0], "READ-COMMITTED")


def locks():
    """A row that one transaction has locked is refused to, or skipped by, another."""
    book = Book.objects.filter(pages=10)
    locked, looked, seen = threading.Event(), threading.Event(), {}

    def other():
        try:
            locked.wait(60)
            with transaction.atomic():
                seen["skipped"] = list(book.select_for_update(skip_locked=True))
                try:
                    seen["refused"] = list(book.select_for_update(nowait=True))
                except OperationalError as error:
                    seen["refused"] = error.args[0]
        finally:
            looked.set()
            connection.close()

    thread = threading.Thread(target=other)
    thread.start()
    with transaction.atomic():
        one = book.select_for_update().get()
        locked.set()
        looked.wait(60)
        one.stock += 1
        one.save()
    thread.join()
    check("a locked row is skipped", seen.get("skipped"), [])
    check("a locked row is refused", seen.get("refused") in (1205, 3572), True)
    check("what its owner wrote", book.get().stock, 1)


def killed_connections():
    """As between two requests: a persistent connection that is dead is found out and made again."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        before = cursor.fetchone()[0]
        try:
            cursor.execute("KILL CONNECTION_ID()")
        except DatabaseError:
            pass
    close_old_connections()
    check("after KILL", Tag.objects.filter(name="kept").count(), 1)
    with connection.cursor() as cursor:
        cursor.execute("SELECT CONNECTION_ID()")
        check("another connection", cursor.fetchone()[0] != before, True)


def pages():
    User.objects.create_superuser("admin", "admin@example.org", "secret")
    client = Client()
    check("without login", client.get("/admin/").status_code, 302)
    wrong = client.post("/admin/login/?next=/admin/", {"username": "admin", "password": "wrong"})
    check("a wrong password", b"Please enter the correct" in wrong.content, True)
    answer = client.post("/admin/login/?next=/admin/", {"username": "admin", "password": "secret"}, follow=True)
    check("logged in", b"Site administration" in answer.content, True)
    form = {"name": "By form ü😀", "slug": "by-form", "rank": 7, "balance": "1.5", "score": 2, "followers": 3, "active": "on"}
    form |= {"profile": '{"a": 1}', "key": "123e4567-e89b-12d3-a456-426655440000"}
    answer = client.post("/admin/django_app/author/add/", form, follow=True)
    check("added by a form", "was added successfully" in answer.content.decode(), True)
    author = Author.objects.get(slug="by-form")
    check("as the form said", (author.name, author.balance, author.profile), (form["name"], decimal.Decimal("1.5"), {"a": 1}))
    found = client.get("/admin/django_app/author/?q=form&active__exact=1").content.decode()
    check("found by the page's search", "By form ü😀" in found and "1 author" in found, True)
    answer = client.post(f"/admin/django_app/author/{author.pk}/change/", {**form, "rank": 200}, follow=True)
    check("a form with an error", b"Please correct the error" in answer.content, True)
    answer = client.post(f"/admin/django_app/author/{author.pk}/delete/", {"post": "yes"}, follow=True)
    check("deleted", "was deleted successfully" in answer.content.decode(), True)
    check("history", client.get("/admin/").content.decode().count("By form"), 2)


def main():
    migrations()
    fields()
    queries()
    transactions()
    locks()
    killed_connections()
    pages()
    dumped = command("dumpdata", "django_app.tag", "auth.user")
    check("dumped", '"username": "admin"' in dumped, True)


main()
