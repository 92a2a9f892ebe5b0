"""Django's migrations and models, and SQLAlchemy's models and reflection, unmodified, in a database over several shards. A
unique key without the shard key is the only thing that has to be thought of: such a table is GLOBAL here."""

import io
from decimal import Decimal

import django
import sqlalchemy as sa
from django.conf import settings
from django.core.management import call_command
from sqlalchemy import orm

from checks import DATABASE, HOST, PASSWORD, PORT, USER, check, fail

settings.configure(
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.mysql",
            "HOST": HOST,
            "PORT": PORT,
            "USER": USER,
            "PASSWORD": PASSWORD,
            "NAME": DATABASE,
            "OPTIONS": {"charset": "utf8mb4"},
        }
    },
    INSTALLED_APPS=["sharded_app"],
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    TIME_ZONE="UTC",
)
django.setup()

from django.db import DatabaseError, IntegrityError, connection, models, transaction  # noqa: E402 (after the set-up only)

from sharded_app.models import Customer, Order, Product  # noqa: E402

TABLES = ["sharded_app_customer", "sharded_app_order", "sharded_app_product"]


def command(*words, **options):
    printed = io.StringIO()
    call_command(*words, stdout=printed, stderr=printed, verbosity=1, **options)
    return printed.getvalue()


def own_tables():
    return sorted(name for name in connection.introspection.table_names() if name.startswith("sharded_app"))


def placements():
    with connection.cursor() as cursor:
        cursor.execute("WEIR SHOW TABLES")
        return {row[1]: row[2] for row in cursor.fetchall() if row[0] == DATABASE}


def migrations():
    command("migrate")
    check("tables", own_tables(), TABLES)
    check("customers of the data migration", Customer.objects.filter(notes="three").count(), 1)
    command("migrate", "sharded_app", "0001")
    check("after the way back", {f.name for f in described("sharded_app_customer")}, {"id", "name", "remarks", "old"})
    command("migrate", "sharded_app", "zero")
    check("tables after the way back", own_tables(), [])
    command("migrate", "sharded_app")
    shown = command("showmigrations", "sharded_app")
    check("migrations that are done", shown.count("[X]"), 2)
    check("nothing is missing", "No changes detected" in command("makemigrations", "--check", "--dry-run"), True)
    placed = placements()
    check("placements", [placed[name] for name in TABLES], ["sharded", "sharded", "global"])


def described(table):
    with connection.cursor() as cursor:
        return connection.introspection.get_table_description(cursor, table)


def introspection():
    with connection.cursor() as cursor:
        find = connection.introspection
        keys = find.get_constraints(cursor, "sharded_app_order")
        foreign = [c["foreign_key"] for c in keys.values() if c["foreign_key"]]
        check("foreign keys", foreign, [("sharded_app_product", "id")])
        check("relations", find.get_relations(cursor, "sharded_app_order"), {"product_id": ("id", "sharded_app_product")})
        keys = find.get_constraints(cursor, "sharded_app_customer")
        check("an index", keys["by_balance"]["columns"], ["balance", "name"])
        check("the primary key", keys["PRIMARY"]["columns"], ["id"])
        check("sequences", find.get_sequences(cursor, "sharded_app_customer"), [{"table": "sharded_app_customer", "column": "id"}])
    found = command("inspectdb", "sharded_app_customer", "sharded_app_order")
    check("inspectdb", "balance = models.DecimalField(max_digits=12, decimal_places=2)" in found, True)


def made_with_ids(model, objects, field):
    """MariaDB returns the ids of many rows (INSERT … RETURNING): each object has that of its own row."""
    if connection.features.can_return_rows_from_bulk_insert:
        found = {one.pk: getattr(one, field) for one in model.objects.all()}
        check(f"ids of {model.__name__}", [found[one.pk] for one in objects], [getattr(one, field) for one in objects])


def objects():
    products = Product.objects.bulk_create([Product(name=f"p{n}", price=n) for n in range(5)])
    made_with_ids(Product, products, "name")
    products = list(Product.objects.order_by("name"))
    customers = [Customer.objects.create(name=f"c{n}", balance=n) for n in range(20)]
    check("each has an id", len({customer.pk for customer in customers}), 20)
    check("found by it", all(Customer.objects.get(pk=c.pk).name == c.name for c in customers), True)
    orders = Order.objects.bulk_create([Order(customer=customers[n % 20], product=products[n % 5], count=n) for n in range(100)], batch_size=30)
    made_with_ids(Order, orders, "count")
    check("counted", Order.objects.count(), 100)
    check("summed", Order.objects.aggregate(s=models.Sum("count"), m=models.Max("count")), {"s": 4950, "m": 99})
    check("of one customer", [o.count for o in customers[3].orders.order_by("count")], [3, 23, 43, 63, 83])
    dear = Order.objects.filter(product__price__gt=3).select_related("product").order_by("-count")[:2]
    check("joined with a GLOBAL table", [(o.count, o.product.name) for o in dear], [(99, "p4"), (94, "p4")])
    totals = Order.objects.values("product").annotate(n=models.Count("*"), s=models.Sum("count")).order_by("product")
    check("grouped", [t["n"] for t in totals], [20] * 5)
    page = Customer.objects.filter(name__startswith="c").order_by("-balance", "name")[5:8]
    check("a page", [c.name for c in page], ["c14", "c13", "c12"])
    fetched = Customer.objects.filter(balance__lt=2, name__startswith="c").prefetch_related("orders").order_by("name")
    check("prefetched", [len(c.orders.all()) for c in fetched], [5, 5])
    check("updated", Customer.objects.filter(name__startswith="c").update(balance=models.F("balance") + 1), 20)
    product, made = Product.objects.get_or_create(name="p1", defaults={"price": 1})
    check("the same product", (made, product.pk), (False, products[1].pk))
    try:
        Product.objects.create(name="p1", price=1)
        fail("a name was taken twice")
    except IntegrityError as error:
        check("the error", error.args[0], 1062)
    customer = customers[0]
    customer.delete()
    check("deleted with its orders", (Order.objects.count(), Customer.objects.filter(pk=customer.pk).exists()), (95, False))


def transactions():
    ids = list(Customer.objects.filter(name__startswith="c").order_by("name").values_list("pk", flat=True))
    total = Customer.objects.aggregate(s=models.Sum("balance"))["s"]
    try:
        with transaction.atomic():
            Customer.objects.filter(pk=ids[0]).update(balance=models.F("balance") - 5)
            try:
                with transaction.atomic():
                    Customer.objects.filter(pk=ids[1]).update(balance=models.F("balance") + 500)
                    raise LookupError
            except LookupError:
                pass
            Customer.objects.filter(pk=ids[2]).update(balance=models.F("balance") + 5)
            check("within it", Customer.objects.aggregate(s=models.Sum("balance"))["s"], total)
            raise DatabaseError
    except DatabaseError:
        pass
    with transaction.atomic():
        locked = list(Customer.objects.select_for_update().filter(pk__in=ids[:3]).order_by("pk"))
        locked[0].balance -= Decimal("0.50")
        locked[1].balance += Decimal("0.50")
        for one in locked[:2]:
            one.save()
    check("the total", Customer.objects.aggregate(s=models.Sum("balance"))["s"], total)


class Base(orm.DeclarativeBase):
    pass


class Account(Base):
    __tablename__ = "account"
    __table_args__ = (sa.Index("by_owner", "owner", "balance"), sa.CheckConstraint("balance > -100", name="bounded"))
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    owner: orm.Mapped[str] = orm.mapped_column(sa.String(40), comment="who has it")
    balance: orm.Mapped[Decimal] = orm.mapped_column(sa.Numeric(12, 2))


class Posting(Base):
    __tablename__ = "posting"
    account_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("account.id"), primary_key=True)
    number: orm.Mapped[int] = orm.mapped_column(primary_key=True, autoincrement=False)
    amount: orm.Mapped[Decimal] = orm.mapped_column(sa.Numeric(12, 2))


def alchemy(driver):
    url = sa.URL.create(f"mysql+{driver}", USER, PASSWORD, HOST, PORT, DATABASE, {"charset": "utf8mb4"})
    db = sa.create_engine(url, pool_pre_ping=True)
    Base.metadata.create_all(db)
    Base.metadata.create_all(db)
    with orm.Session(db) as session:
        accounts = [Account(owner=f"o{n}", balance=Decimal(n)) for n in range(12)]
        session.add_all(accounts)
        session.flush()
        session.add_all([Posting(account_id=a.id, number=n, amount=Decimal(n)) for a in accounts for n in range(3)])
        session.commit()
        check("ids", len({a.id for a in accounts}), 12)
        joined = sa.select(Account.owner, sa.func.sum(Posting.amount)).join(Posting).group_by(Account.owner).order_by(Account.owner)
        check("a co-located join", [tuple(row) for row in session.execute(joined)][:2], [("o0", Decimal(3)), ("o1", Decimal(3))])
        check("by key", session.get(Account, accounts[5].id).owner, "o5")
        with session.begin_nested():
            session.execute(sa.update(Account).where(Account.owner < "o3").values(balance=Account.balance + 1))
        session.rollback()
        check("rolled back", session.scalar(sa.select(sa.func.sum(Account.balance))), Decimal(66))
    found = sa.MetaData()
    found.reflect(db)
    check("tables", set(found.tables) >= {"account", "posting", *TABLES}, True)
    account = found.tables["account"]
    check("a decimal", repr(account.c.balance.type), "DECIMAL(precision=12, scale=2)")
    check("a comment", account.c.owner.comment, "who has it")
    check("the primary key", [c.name for c in account.primary_key], ["id"])
    check("an index", [(i.name, [c.name for c in i.columns]) for i in account.indexes], [("by_owner", ["owner", "balance"])])
    keys = found.tables["posting"].foreign_keys
    check("a foreign key", [key.target_fullname for key in keys], ["account.id"])
    inspector = sa.inspect(db)
    check("a check", [c["name"] for c in inspector.get_check_constraints("account")], ["bounded"])
    unique = [u["column_names"] for u in inspector.get_unique_constraints("sharded_app_product")]
    check("a unique key of a GLOBAL table", unique, [["name"]])
    check("has_table", (inspector.has_table("account"), inspector.has_table("nowhere")), (True, False))
    Base.metadata.drop_all(db)
    check("dropped", sa.inspect(db).has_table("account"), False)
    db.dispose()


def main():
    migrations()
    introspection()
    objects()
    transactions()
    for driver in ("pymysql", "mysqldb"):
        alchemy(driver)


main()
