"""SQLAlchemy, unmodified, over PyMySQL, mysqlclient and MySQL Connector/Python: the ORM, transactions and savepoints, isolation
levels, locks, streamed results, a pool whose connections are killed, reflection."""

import datetime
import decimal
import enum
import threading
import uuid
import warnings

import sqlalchemy as sa
from sqlalchemy import orm
from sqlalchemy.dialects import mysql
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError, SAWarning

from checks import DATABASE, FLAVOR, HOST, PASSWORD, PORT, TLS, USER, check, columns, context_that_trusts_all, fail
from checks import types_statements

DRIVERS = {
    "pymysql": {"ssl": context_that_trusts_all()} if TLS else {"ssl_disabled": True},
    "mysqldb": {"ssl_mode": "REQUIRED" if TLS else "DISABLED"},
    "mysqlconnector": {"ssl_disabled": not TLS},
}
# What its reflection of tables trips over.
UNREAD = {"vector"}


class Base(orm.DeclarativeBase):
    pass


class Colour(enum.Enum):
    RED = "red"
    GREEN = "grün"


tagged = sa.Table(
    "tagged",
    Base.metadata,
    sa.Column("item", sa.ForeignKey("item.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("tag", sa.ForeignKey("tag.id"), primary_key=True),
)


class Tag(Base):
    __tablename__ = "tag"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), unique=True)


class Owner(Base):
    __tablename__ = "owner"
    id: orm.Mapped[int] = orm.mapped_column(mysql.BIGINT(unsigned=True), primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(50), comment="the owner's name")
    version: orm.Mapped[int] = orm.mapped_column()
    items: orm.Mapped[list["Item"]] = orm.relationship(back_populates="owner", cascade="all, delete-orphan")
    __mapper_args__ = {"version_id_col": version}


class Item(Base):
    __tablename__ = "item"
    __table_args__ = (
        sa.Index("by_owner_and_price", "owner_id", sa.text("price DESC")),
        sa.CheckConstraint("price >= 0", name="not_negative"),
    )
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    owner_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("owner.id"))
    owner: orm.Mapped[Owner] = orm.relationship(back_populates="items")
    tags: orm.Mapped[list[Tag]] = orm.relationship(secondary=tagged)
    price: orm.Mapped[decimal.Decimal] = orm.mapped_column(sa.Numeric(20, 6))
    made: orm.Mapped[datetime.datetime | None] = orm.mapped_column(mysql.DATETIME(fsp=6))
    lasts: orm.Mapped[datetime.timedelta | None] = orm.mapped_column(sa.Interval)
    colour: orm.Mapped[Colour | None]
    data: orm.Mapped[dict | None] = orm.mapped_column(sa.JSON)
    blob: orm.Mapped[bytes | None] = orm.mapped_column(mysql.LONGBLOB)
    key: orm.Mapped[uuid.UUID] = orm.mapped_column(sa.Uuid(native_uuid=False), default=uuid.uuid4)
    sold: orm.Mapped[bool] = orm.mapped_column(default=False, server_default=sa.false())


def engine(driver, **options):
    url = sa.URL.create(f"mysql+{driver}", USER, PASSWORD, HOST, PORT, DATABASE, query={"charset": "utf8mb4"})
    return sa.create_engine(url, connect_args=DRIVERS[driver], **options)


def of_server(error):
    """The server's error number."""
    return getattr(error.orig, "errno", None) or error.orig.args[0]


def mapped(db):
    values = {
        "price": decimal.Decimal("12345678901234.567891"),
        "made": datetime.datetime(2024, 2, 29, 23, 59, 59, 999999),
        "lasts": datetime.timedelta(hours=100, seconds=7),
        "colour": Colour.GREEN,
        "data": {"a": [1, None, "ü😀"], "it's": {"deep": 1.5}},
        "blob": bytes(range(256)) * 4000,
        "key": uuid.uuid4(),
        "sold": True,
    }
    with orm.Session(db) as session:
        owner = Owner(id=2**64 - 1, name="Ä 😀 'quoted' \\ %s :x")
        owner.items.append(Item(**values, tags=[Tag(name="red"), Tag(name="green")]))
        session.add(owner)
        session.commit()
    with orm.Session(db) as session:
        item = session.scalars(sa.select(Item).options(orm.joinedload(Item.owner), orm.selectinload(Item.tags))).one()
        for name, value in values.items():
            check(name, getattr(item, name), value)
        check("what it belongs to", (item.owner.id, item.owner.name), (2**64 - 1, "Ä 😀 'quoted' \\ %s :x"))
        check("its tags", {tag.name for tag in item.tags}, {"red", "green"})
        by_json = sa.select(sa.func.count()).where(Item.data["it's"]["deep"].as_float() == 1.5)
        check("found by JSON", session.scalar(by_json), 1)
        session.execute(sa.insert(Owner), [{"id": n, "name": f"owner {n}", "version": 1} for n in range(1, 301)])
        session.execute(sa.insert(Item), [{"owner_id": n % 300 + 1, "price": n} for n in range(1, 1001)])
        session.commit()
        total = sa.select(Owner.name, sa.func.sum(Item.price).label("total")).join(Item).group_by(Owner.id, Owner.name)
        first = total.having(sa.func.count() > 3).order_by(sa.desc("total")).limit(1).offset(1)
        check("an aggregate", session.execute(first).one(), ("owner 100", decimal.Decimal("2196.000000")))
        numbered = sa.select(Item.price, sa.func.row_number().over(order_by=Item.price.desc()).label("place")).cte()
        third = sa.select(numbered.c.price).where(numbered.c.place == 3)
        check("a window in a CTE", session.scalar(third), decimal.Decimal(999))
        check("streamed", sum(1 for _ in session.scalars(sa.select(Item).execution_options(yield_per=70))), 1001)
        upsert = mysql.insert(Owner).values(id=1, name="new", version=1)
        session.execute(upsert.on_duplicate_key_update(name=sa.func.concat(upsert.inserted.name, "!")))
        check("upserted", session.scalar(sa.select(Owner.name).where(Owner.id == 1)), "new!")
        session.rollback()


def transactions(db):
    with orm.Session(db) as one, orm.Session(db) as two:
        count = sa.select(sa.func.count()).select_from(Tag)
        one.add(Tag(name="outer"))
        one.flush()
        try:
            with one.begin_nested():
                one.add(Tag(name="outer"))
                one.flush()
            fail("a duplicate was taken")
        except IntegrityError as error:
            check("a duplicate key", of_server(error), 1062)
        with one.begin_nested():
            one.add(Tag(name="inner"))
        check("inside", one.scalar(count), 4)
        check("outside", two.scalar(count), 2)
        one.rollback()
        check("rolled back", one.scalar(count), 2)
        stale = two.get(Owner, 5)
        one.get(Owner, 5).name = "changed"
        one.commit()
        stale.name = "changed too late"
        try:
            two.commit()
            fail("a stale row was written")
        except orm.exc.StaleDataError:
            two.rollback()
        locked = sa.select(Owner.id).where(Owner.id.in_([5, 6])).order_by(Owner.id)
        one.scalars(locked.where(Owner.id == 5).with_for_update()).all()
        check("locked rows are skipped", two.scalars(locked.with_for_update(skip_locked=True)).all(), [6])
        try:
            two.scalars(locked.with_for_update(nowait=True)).all()
            fail("a locked row was locked again")
        except DBAPIError as error:
            check("a locked row is refused", of_server(error) in (1205, 3572), True)


def isolation(db):
    variable = sa.text(f"SELECT @@{'tx' if FLAVOR == 'mariadb' else 'transaction'}_isolation")
    for level in ("SERIALIZABLE", "READ COMMITTED", "READ UNCOMMITTED"):
        with db.connect().execution_options(isolation_level=level) as connection:
            check(level, connection.scalar(variable), level.replace(" ", "-"))
            check("the level that it knows", connection.get_isolation_level(), level)
        with db.connect() as connection:
            check(f"after {level}", connection.scalar(variable), "REPEATABLE-READ")
    with db.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.insert(Tag).values(name="at once"))
    with db.connect() as connection:
        check("committed at once", connection.execute(sa.delete(Tag).where(Tag.name == "at once")).rowcount, 1)
        connection.commit()


def errors(db):
    wrong = {1064: "SELEC", 1146: "SELECT * FROM nowhere", 1054: "SELECT nothing FROM tag", 1305: "SELECT no_such_function()"}
    for code, text in wrong.items():
        with db.connect() as connection:
            try:
                connection.execute(sa.text(text))
                fail(f"{text} is taken")
            except (ProgrammingError, OperationalError) as error:
                check(text, of_server(error), code)


def killed_connections(db):
    """Connections that have died while they lay in the pool are found out and made again."""
    taken = [db.connect() for _ in range(3)]
    ids = [connection.scalar(sa.text("SELECT CONNECTION_ID()")) for connection in taken]
    for connection in taken:
        connection.close()
    with db.connect() as connection:
        own = connection.scalar(sa.text("SELECT CONNECTION_ID()"))
        # MySQL ends TLS without a notice: mysqlclient reports that as an error which SQLAlchemy takes for one of the ping's own.
        if not (db.driver == "mysqldb" and TLS and FLAVOR == "mysql"):
            for number in set(ids) - {own}:
                connection.execute(sa.text(f"KILL {number}"))
        try:
            connection.execute(sa.text("KILL CONNECTION_ID()"))
            connection.execute(sa.text("SELECT 1"))
            fail("a killed connection answers")
        except DBAPIError as error:
            # Servers may say first that the statement was interrupted, or the connection killed.
            known = error.connection_invalidated or of_server(error) in (1317, 1927)
            check(f"error {of_server(error)} says that it is lost", known, True)
            connection.invalidate()
    results = []
    threads = [threading.Thread(target=lambda: results.append(work(db))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    check("after KILL", results, [10] * 6)


def work(db):
    done = 0
    for _ in range(10):
        with db.connect() as connection:
            done += connection.scalar(sa.text("SELECT 1"))
    return done


def reflected(db):
    with db.begin() as connection:
        for statement in types_statements("types", without=UNREAD):
            connection.exec_driver_sql(statement.replace("%", "%%") if db.driver != "mysqlconnector" else statement)
        connection.execute(sa.text("CREATE OR REPLACE VIEW priced AS SELECT id, price FROM item"))
    found = sa.MetaData()
    with warnings.catch_warnings():
        # It has no such types.
        warnings.filterwarnings("ignore", "Did not recognize type '(uuid|inet6|geometry)", SAWarning)
        found.reflect(db, views=True)
    names = {"item", "owner", "tag", "tagged", "types", "priced"}
    check("tables", set(found.tables), names)
    check("columns of all types", len(found.tables["types"].columns), len([c for c in columns() if c.name not in UNREAD]) + 1)
    item = found.tables["item"]
    check("a decimal", repr(item.c.price.type), "DECIMAL(precision=20, scale=6)")
    check("a foreign key", [key.target_fullname for key in item.c.owner_id.foreign_keys], ["owner.id"])
    check("an index", [i.name for i in item.indexes if len(i.expressions) == 2], ["by_owner_and_price"])
    check("a comment", found.tables["owner"].c.name.comment, "the owner's name")
    inspector = sa.inspect(db)
    check("a check", "not_negative" in [c["name"] for c in inspector.get_check_constraints("item")], True)
    check("a unique key", [u["column_names"] for u in inspector.get_unique_constraints("tag")], [["name"]])
    check("a view's text", "price" in inspector.get_view_definition("priced"), True)
    with db.connect() as connection:
        check("a table of all types is read", connection.execute(sa.select(item).limit(1)).one().price >= 0, True)


def main():
    for driver in DRIVERS:
        db = engine(driver, pool_size=3, max_overflow=2, pool_pre_ping=True, pool_recycle=3600)
        with db.begin() as connection:
            connection.execute(sa.text("DROP VIEW IF EXISTS priced"))
        Base.metadata.drop_all(db)
        Base.metadata.create_all(db)
        mapped(db)
        transactions(db)
        isolation(db)
        errors(db)
        killed_connections(db)
        reflected(db)
        db.dispose()


main()
