//! Tables: their columns, where their rows are, and which rows they have at first.
//!
//! What must always hold: what a statement shows is the same whichever of equal rows a server comes across first. So values of *exact*
//! columns are equal only if they are spelled alike; groups and DISTINCT are made of these alone. Approximate numbers are multiples of a
//! quarter, whose sums are exact in any order.

use weir_local::Flavor;

use super::random::Random;

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int {
        unsigned: bool,
    },
    Decimal,
    Double,
    /// Text; `exact` if texts that the collation finds equal are spelled alike.
    Text {
        exact: bool,
    },
    Binary,
    Date,
    DateTime,
    Time,
    Year,
    Enum,
    Set,
}

impl Kind {
    pub(super) fn is_exact(self) -> bool {
        self != Kind::Text { exact: false }
    }

    pub(super) fn is_number(self) -> bool {
        matches!(self, Kind::Int { .. } | Kind::Decimal | Kind::Double)
    }

    pub(super) fn is_text(self) -> bool {
        matches!(self, Kind::Text { .. })
    }

    /// A value as a literal.
    pub(super) fn literal(self, random: &mut Random) -> String {
        match self {
            Kind::Int { unsigned: true } if random.chance(4) => "18446744073709551615".to_owned(),
            Kind::Int { unsigned: true } => random.between(0, 30).to_string(),
            Kind::Int { unsigned: false } => random.between(-6, 24).to_string(),
            Kind::Decimal => format!("{}.{:02}", random.between(-9, 99), random.pick(&[0, 5, 25, 50, 99])),
            Kind::Double => format!("{}.{}", random.between(-9, 99), random.pick(&["0", "25", "5", "75"])),
            Kind::Text { exact: true } => format!("'{}'", random.pick(&["red", "green", "blue", "tan", "grey", ""])),
            Kind::Text { exact: false } => {
                format!("'{}'", random.pick(&["a", "A", "b", "Ab", "ab", "ä", "zeta", "Zoe", "b ", "", "10", "x_y"]))
            }
            Kind::Binary => format!("'{}'", random.pick(&["a", "A", "b", "ab", "", "zz"])),
            Kind::Date => {
                format!("'{}-{:02}-{:02}'", random.between(2021, 2024), random.between(1, 12), random.between(1, 28))
            }
            Kind::DateTime => format!(
                "'{}-{:02}-{:02} {:02}:{:02}:00'",
                random.between(2021, 2024),
                random.between(1, 12),
                random.between(1, 28),
                random.between(0, 23),
                random.pick(&[0, 30])
            ),
            Kind::Time => format!(
                "'{}{:02}:{:02}:{:02}'",
                random.pick(&["", "-", "1"]),
                random.between(0, 23),
                random.between(0, 59),
                random.pick(&[0, 1, 30])
            ),
            Kind::Year => random.between(1999, 2006).to_string(),
            Kind::Enum => format!("'{}'", random.pick(&["z", "y", "x"])),
            Kind::Set => format!("'{}'", random.pick(&["r", "q", "p", "r,p", "q,p", ""])),
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
    sql: String,
    pub(super) null: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) columns: Vec<Column>,
    /// Columns of the shard key; none if it is not sharded.
    pub(super) shard_key: Vec<usize>,
    /// Columns of the primary key, if it has one.
    pub(super) primary: Vec<usize>,
    /// Tables of the same group are placed alike, by their first column.
    pub(super) group: Option<usize>,
    pub(super) global: bool,
    /// Columns of a unique key besides the primary key, if it has one.
    unique: Vec<usize>,
    /// What it is a view of, and which rows of it.
    view: Option<(String, &'static str)>,
    placement: String,
    /// Literals.
    pub(super) rows: Vec<Vec<String>>,
}

/// All tables of a script.
#[derive(Debug, Clone)]
pub(super) struct World {
    pub(super) tables: Vec<Table>,
    /// What can be read besides.
    pub(super) views: Vec<Table>,
}

impl World {
    /// A table or a view.
    pub(super) fn any(&self, random: &mut Random) -> &Table {
        if !self.views.is_empty() && random.chance(15) { random.pick(&self.views) } else { random.pick(&self.tables) }
    }

    /// All tables and views.
    pub(super) fn all(&self) -> impl Iterator<Item = &Table> {
        self.tables.iter().chain(&self.views)
    }
}

impl Table {
    pub(super) fn definition(&self) -> String {
        if let Some((table, which)) = &self.view {
            let all: Vec<usize> = (0..self.columns.len()).collect();
            return format!("CREATE VIEW {} AS SELECT {} FROM {table}{which}", self.name, self.names(&all));
        }
        let mut parts: Vec<String> = self
            .columns
            .iter()
            .map(|column| format!("{} {}{}", column.name, column.sql, if column.null { "" } else { " NOT NULL" }))
            .collect();
        if !self.primary.is_empty() {
            parts.push(format!("PRIMARY KEY ({})", self.names(&self.primary)));
        }
        if !self.unique.is_empty() {
            parts.push(format!("UNIQUE KEY u ({})", self.names(&self.unique)));
        }
        format!("CREATE TABLE {} ({}) /*weir: {} */", self.name, parts.join(", "), self.placement)
    }

    pub(super) fn names(&self, columns: &[usize]) -> String {
        columns.iter().map(|&column| &self.columns[column].name[..]).collect::<Vec<_>>().join(", ")
    }

    /// A literal for a column, most often one that a row has.
    pub(super) fn literal(&self, column: usize, random: &mut Random) -> String {
        if !self.rows.is_empty() && random.chance(65) {
            let row = random.below(self.rows.len());
            let known = &self.rows[row][column];
            if known != "NULL" {
                return known.clone();
            }
        }
        self.columns[column].kind.literal(random)
    }

    /// A row of literals.
    pub(super) fn row(&self, random: &mut Random) -> Vec<String> {
        let value = |column: &Column, random: &mut Random| match column.null && random.chance(18) {
            true => "NULL".to_owned(),
            false => column.kind.literal(random),
        };
        self.columns.iter().map(|column| value(column, random)).collect()
    }
}

/// Where the rows of a table with this key are.
fn placement(kind: Kind, name: &str, random: &mut Random) -> String {
    let parts = |clause: &str, values: [&str; 4]| {
        let parts: Vec<String> =
            values.iter().enumerate().map(|(n, value)| format!("{{s{}}} {value}", n + 1)).collect();
        format!("shard by {clause}({name}) ({})", parts.join(", "))
    };
    let choice = random.below(10);
    match kind {
        Kind::Int { .. } | Kind::Decimal if choice == 0 => parts(
            "range",
            ["values less than (3)", "values less than (8)", "values less than (15)", "values less than maxvalue"],
        ),
        Kind::Int { .. } if choice == 1 => {
            parts("list", ["values in (1, 2, 3, NULL)", "values in (4, 5, 6, 7)", "values in (8, 9)", "default"])
        }
        Kind::Text { .. } if choice < 2 => {
            parts("list", ["values in ('red')", "values in ('tan', 'blue')", "values in ('a', 'k1')", "default"])
        }
        Kind::Date | Kind::DateTime if choice < 2 => parts(
            "range",
            [
                "values less than ('2022-01-01')",
                "values less than ('2023-01-01')",
                "values less than ('2024-01-01')",
                "values less than maxvalue",
            ],
        ),
        Kind::Date | Kind::DateTime if choice < 8 => {
            format!("shard by {}({name})", random.pick(&["year", "month", "day"]))
        }
        _ => format!("shard by hash({name})"),
    }
}

fn collation(flavor: Flavor, random: &mut Random) -> &'static str {
    match flavor {
        Flavor::MySql => random.pick::<&str>(&["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "utf8mb4_bin"]),
        Flavor::MariaDb => random.pick::<&str>(&["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"]),
    }
}

/// The type of a shard key.
fn key_type(flavor: Flavor, random: &mut Random) -> (Kind, String) {
    let (kind, sql) = match random.below(13) {
        0..=4 => (Kind::Int { unsigned: false }, *random.pick(&["INT", "BIGINT", "SMALLINT", "MEDIUMINT"])),
        5 => (Kind::Int { unsigned: true }, "BIGINT UNSIGNED"),
        6 => (Kind::Decimal, "DECIMAL(10,2)"),
        7 | 8 => {
            let sql = format!("{} COLLATE {}", random.pick(&["VARCHAR(12)", "CHAR(8)"]), collation(flavor, random));
            return (Kind::Text { exact: random.chance(50) }, sql);
        }
        9 => (Kind::Binary, "VARBINARY(6)"),
        10 | 11 => (Kind::Date, "DATE"),
        _ => (Kind::DateTime, "DATETIME"),
    };
    (kind, sql.to_owned())
}

/// The type of any other column.
fn other_type(flavor: Flavor, random: &mut Random) -> (Kind, String) {
    let (kind, sql) = match random.below(16) {
        0..=3 => (Kind::Int { unsigned: false }, *random.pick(&["INT", "BIGINT", "SMALLINT", "TINYINT"])),
        4 => (Kind::Int { unsigned: true }, "BIGINT UNSIGNED"),
        5 | 6 => (Kind::Decimal, *random.pick(&["DECIMAL(10,3)", "DECIMAL(30,10)", "DECIMAL(6,2)"])),
        7 => (Kind::Double, "DOUBLE"),
        8 | 9 => return (Kind::Text { exact: false }, format!("VARCHAR(12) COLLATE {}", collation(flavor, random))),
        10 => return (Kind::Text { exact: true }, format!("VARCHAR(12) COLLATE {}", collation(flavor, random))),
        11 => (Kind::Date, "DATE"),
        12 => (Kind::DateTime, *random.pick(&["DATETIME", "DATETIME(3)"])),
        13 => (Kind::Time, "TIME"),
        14 => *random.pick(&[(Kind::Year, "YEAR"), (Kind::Binary, "VARBINARY(6)")]),
        _ => *random.pick(&[(Kind::Enum, "ENUM('z','y','x')"), (Kind::Set, "SET('r','q','p')")]),
    };
    (kind, sql.to_owned())
}

/// A world: two or three tables that are placed alike, some that are not, a global one and one on one shard.
pub(super) fn make(flavor: Flavor, random: &mut Random) -> World {
    let mut tables = Vec::new();
    for group in 0..2 {
        let key = key_type(flavor, random);
        let placed = placement(key.0, "k", random);
        for number in 0..(2 - group) + random.below(2) {
            let second = if number == 0 { None } else { Some((Kind::Int { unsigned: false }, "INT".to_owned())) };
            let name = format!("{}{number}", ["a", "b"][group]);
            let null = number == 1 && random.chance(20);
            let mut table = plain(flavor, random, &name, key.clone(), second, null);
            (table.shard_key, table.group, table.placement) = (vec![0], Some(group), placed.clone());
            tables.push(table);
        }
    }
    if random.chance(50) {
        let (first, second) = (key_type(flavor, random), key_type(flavor, random));
        let mut table = plain(flavor, random, "c", first, Some(second), false);
        (table.shard_key, table.placement) = (vec![0, 1], "shard by hash(k, n)".to_owned());
        tables.push(table);
    }
    let int = || (Kind::Int { unsigned: false }, "INT".to_owned());
    let mut global = plain(flavor, random, "g", int(), None, false);
    (global.global, global.placement) = (true, "global".to_owned());
    tables.push(global);
    let mut single = plain(flavor, random, "s", int(), None, false);
    single.placement = if random.chance(50) { "single".to_owned() } else { "single on shard '{s2}'".to_owned() };
    tables.push(single);
    let mut views = Vec::new();
    for table in &tables {
        if random.chance(35) {
            views.push(view(table, random));
        }
    }
    World { tables, views }
}

/// A view of some columns, the keys among them, of all or some rows.
fn view(table: &Table, random: &mut Random) -> Table {
    let is_key = |column: &usize| table.primary.contains(column) || table.shard_key.contains(column);
    let all: Vec<usize> = (0..table.columns.len()).collect();
    let kept: Vec<usize> =
        all.into_iter().filter(|column| is_key(column) || *column < 3 || random.chance(70)).collect();
    let place = |column: &usize| kept.iter().position(|kept| kept == column).unwrap_or_default();
    let pick = |row: &Vec<String>| kept.iter().map(|&column| row[column].clone()).collect();
    Table {
        name: format!("v_{}", table.name),
        columns: kept.iter().map(|&column| table.columns[column].clone()).collect(),
        shard_key: table.shard_key.iter().map(place).collect(),
        primary: table.primary.iter().map(place).collect(),
        unique: Vec::new(),
        view: Some((table.name.clone(), *random.pick(&["", " WHERE c0 > 3", " WHERE c0 IS NOT NULL"]))),
        rows: table.rows.iter().map(pick).collect(),
        placement: String::new(),
        group: table.group,
        global: table.global,
    }
}

/// A table with a key of one or two columns, perhaps without a primary key where it may be NULL.
fn plain(
    flavor: Flavor,
    random: &mut Random,
    name: &str,
    key: (Kind, String),
    second: Option<(Kind, String)>,
    null: bool,
) -> Table {
    let mut columns = vec![Column { name: "k".to_owned(), kind: key.0, sql: key.1, null }];
    columns.extend(second.map(|(kind, sql)| Column { name: "n".to_owned(), kind, sql, null: false }));
    let primary = if null { Vec::new() } else { (0..columns.len()).collect() };
    for number in 0..3 + random.below(4) {
        let (kind, sql) =
            if number == 0 { (Kind::Int { unsigned: false }, "INT".to_owned()) } else { other_type(flavor, random) };
        columns.push(Column { name: format!("c{number}"), kind, sql, null: random.chance(75) });
    }
    let mut table = Table {
        name: name.to_owned(),
        columns,
        shard_key: Vec::new(),
        primary,
        group: None,
        global: false,
        unique: Vec::new(),
        view: None,
        placement: String::new(),
        rows: Vec::new(),
    };
    if !table.primary.is_empty() && random.chance(35) {
        // With the shard key in it, whichever that becomes, and the column behind the keys.
        table.unique = (0..=table.primary.len()).rev().collect();
    }
    let wanted = *random.pick(&[0, 1, 5, 12, 25, 40]);
    for _ in 0..wanted {
        let row = table.row(random);
        let by = |key: &[usize], other: &Vec<String>| {
            !key.is_empty() && key.iter().all(|&column| row[column] != "NULL" && alike(&other[column], &row[column]))
        };
        if !table.rows.iter().any(|other| by(&table.primary, other) || by(&table.unique, other)) {
            table.rows.push(row);
        }
    }
    table
}

/// Whether two literals may be the same value for any collation.
fn alike(one: &str, other: &str) -> bool {
    let bare = |text: &str| text.to_lowercase().replace('ä', "a").replace(' ', "");
    bare(one) == bare(other)
}
