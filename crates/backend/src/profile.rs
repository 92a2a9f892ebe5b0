//! The part of a session's state that can be set again on another connection: default database, session variables,
//! user variables with known values, roles.
//!
//! A profile holds only what differs from the server's defaults. Variables' values are the server's own words (from
//! its session tracking), so that setting them again says the same thing. What can't be written as a plain literal
//! is never put into a profile: the session is pinned instead.

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::rc::Rc;
use std::sync::Arc;
use weir_wire::charset::is_wide;

mod role;
#[cfg(test)]
mod tests;

pub use role::Role;
use role::{Entrance, Roles};

/// User variable names and the literals that they were set to.
type UserVariables = BTreeMap<Box<str>, Box<str>>;

/// A session's replayable state. Immutable; changes make a new one.
#[derive(Debug, Clone, Default)]
pub struct Profile {
    /// The default database.
    pub database: Option<Box<[u8]>>,
    variables: BTreeMap<Box<str>, Box<str>>,
    user_variables: UserVariables,
    roles: Roles,
    entrance: Entrance,
    hash: u64,
}

impl PartialEq for Profile {
    fn eq(&self, other: &Self) -> bool {
        let same = || {
            self.database == other.database
                && self.variables == other.variables
                && self.user_variables == other.user_variables
                && self.roles == other.roles
        };
        std::ptr::eq(self, other) || self.hash == other.hash && same()
    }
}

impl Eq for Profile {}

/// How a connection is brought from its profile to another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Difference {
    /// The connection can't be used: it has a database or roles, the session has none of its own, and there is no way back.
    pub impossible: bool,
    /// The connection has user variables that the session must not see: it is reset first.
    pub reset: bool,
    /// The roles to set before that.
    pub role: Option<Arc<Role>>,
    /// The database to change to.
    pub database: Option<Box<[u8]>>,
    /// The roles to set behind that.
    pub last_role: Option<Arc<Role>>,
    /// The items of its `SET` statement, in their order.
    pub set: Vec<String>,
}

impl Profile {
    /// A profile with this database and the character set variables of a connection handshake, which names a
    /// collation. All of them have the collation as their value: a character set's name would stand for its default
    /// collation, and clients see the difference in column definitions.
    pub fn new(database: Option<&[u8]>, collation: Option<&str>) -> Profile {
        let variables = match collation {
            Some(collation) => OF_A_HANDSHAKE.map(|name| (name.into(), collation.into())).into(),
            None => BTreeMap::new(),
        };
        Profile { database: database.map(Into::into), variables, ..Profile::default() }.rehash()
    }

    fn rehash(mut self) -> Profile {
        let mut hasher = DefaultHasher::new();
        (&self.database, &self.variables, &self.user_variables, &self.roles).hash(&mut hasher);
        self.hash = hasher.finish();
        self
    }

    /// A hash of the whole profile.
    pub fn key(&self) -> u64 {
        self.hash
    }

    /// The value of a session variable, if it is set.
    pub fn variable(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(AsRef::as_ref)
    }

    /// The variables that decide how a statement's text is read, as far as they are set, with values that can be assigned one after
    /// another in this order. Those of results are none.
    pub fn parsing_variables(&self) -> BTreeMap<String, String> {
        let parsing = self.parsing();
        let read = parsing.variables.iter().filter(|(name, _)| ***name != *CHARACTER_SETS[2]);
        let assigned = read.map(|(name, value)| match CHARACTER_SETS.contains(&&**name) {
            true => (name.to_string(), charset_of(value).to_owned()),
            false => (name.to_string(), value.to_string()),
        });
        assigned.collect()
    }

    /// The literal that a user variable is set to, if it is known.
    pub fn user_variable(&self, name: &str) -> Option<&str> {
        self.user_variables.get(name).map(AsRef::as_ref)
    }

    /// What the session's user variables take, each as [`user_variable_bytes`].
    pub fn user_variable_bytes(&self) -> usize {
        self.user_variables.iter().map(|(name, literal)| user_variable_bytes(name, literal)).sum()
    }

    /// Whether any user variable is set.
    pub fn has_user_variables(&self) -> bool {
        !self.user_variables.is_empty()
    }

    /// The same, with no user variables.
    pub fn without_user_variables(&self) -> Profile {
        Profile { user_variables: UserVariables::new(), ..self.clone() }.rehash()
    }

    /// The same, with another database.
    pub fn with_database(&self, database: Option<&[u8]>) -> Profile {
        let mut next = Profile { database: database.map(Into::into), ..self.clone() };
        if next.database != self.database {
            next.note_entered();
        }
        next.rehash()
    }

    /// The same, with session variables set to these values.
    pub fn with_variables<'a>(&self, changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Profile {
        let mut next = self.clone();
        for (name, value) in changes {
            next.variables.insert(name.into(), value.into());
        }
        next.rehash()
    }

    /// The same, with a session variable as the server has it by default.
    pub fn without_variable(&self, name: &str) -> Profile {
        let mut next = self.clone();
        next.variables.remove(name);
        next.rehash()
    }

    /// The same, with user variables set to these literals.
    pub fn with_user_variables<'a>(&self, changes: impl IntoIterator<Item = (&'a str, &'a str)>) -> Profile {
        let mut next = self.clone();
        for (name, literal) in changes {
            next.user_variables.insert(name.into(), literal.into());
        }
        next.rehash()
    }

    /// The part of a profile that decides how a statement text is read when it is prepared.
    pub fn parsing(&self) -> Profile {
        const PARSING: [&str; 5] = [
            "character_set_client",
            "character_set_connection",
            "collation_connection",
            "sql_mode",
            "character_set_results",
        ];
        let mut variables = self.variables.clone();
        variables.retain(|name, _| PARSING.contains(&name.as_ref()));
        let (database, roles) = (self.database.clone(), self.roles.clone());
        // Whoever has other roles may not prepare what these let somebody prepare.
        Profile { database, variables, roles, ..Profile::default() }.rehash()
    }

    /// The same for a text that names user variables, whose types MySQL reads when it prepares: values that stand for all of their type. Left
    /// out are those that are not set, which nothing but a reset makes so again, and NULL, which has the type of what was there before.
    pub fn parsing_of(&self, names: impl IntoIterator<Item = String>) -> Profile {
        let mut parsing = self.parsing();
        let typed = |name: String| {
            let literal = self.user_variables.get(&*name).filter(|literal| !literal.eq_ignore_ascii_case("NULL"))?;
            Some((name.into_boxed_str(), typed(literal).into_boxed_str()))
        };
        parsing.user_variables = names.into_iter().filter_map(typed).collect();
        parsing.rehash()
    }

    /// Takes the database, the parsing variables and the types of user variables from `parsing`, and all else from `self`.
    pub fn parsed_as(&self, parsing: &Profile) -> Profile {
        let mut next = self.clone();
        for (name, value) in &mut next.user_variables {
            if let Some(typed) = parsing.user_variables.get(name) {
                value.clone_from(typed);
            }
        }
        next.database = parsing.database.clone();
        let own = self.parsing();
        next.variables.retain(|name, _| !own.variables.contains_key(name));
        next.variables.extend(parsing.variables.iter().map(|(name, value)| (name.clone(), value.clone())));
        next.rehash()
    }

    /// Whether a connection with this profile has user variables that a session with `wanted` must not see.
    pub fn has_others_user_variables(&self, wanted: &Profile) -> bool {
        self.user_variables.keys().any(|name| !wanted.user_variables.contains_key(name))
    }

    /// What it takes to bring a connection from `self` to `wanted`, when after a reset it would have `after_reset`.
    pub fn difference(&self, wanted: &Profile, after_reset: &Profile) -> Difference {
        if self == wanted {
            return Difference::default();
        }
        if self.database.is_some() && wanted.database.is_none() || self.has_others_roles(wanted) {
            return Difference { impossible: true, ..Difference::default() };
        }
        let reset = self.has_others_user_variables(wanted);
        let from = if reset { after_reset } else { self };
        let database = match &wanted.database {
            Some(database) if self.database.as_ref() != Some(database) => Some(database.clone()),
            _ => None,
        };
        let set = from.assignments(wanted);
        let mut difference = Difference { reset, database, set, ..Difference::default() };
        self.add_roles(wanted, &mut difference);
        difference
    }

    fn assignments(&self, wanted: &Profile) -> Vec<String> {
        let mut items = Vec::new();
        // Only NAMES gives a character set variable another collation than its default.
        let collation = CHARACTER_SETS.iter().find_map(|name| {
            let value = wanted.variable(name).filter(|value| is_collation(value));
            value.filter(|_| self.variable(name) != value)
        });
        let after_names = collation.map(|name| self.with_variables(OF_A_HANDSHAKE.map(|variable| (variable, name))));
        if let Some(collation) = collation {
            items.push(format!("NAMES '{}' COLLATE '{collation}'", charset_of(collation)));
        }
        // Literals of all items are read before one of them is assigned.
        after_names.as_ref().unwrap_or(self).add_assignments(wanted, self.introducer(), &mut items);
        items
    }

    /// What a literal of ASCII needs before it to be ASCII to a server: MySQL finds no name of a mode or a variable in a text of utf16.
    pub fn introducer(&self) -> &'static str {
        let of_connection = ["character_set_connection", "collation_connection"];
        let wide = of_connection.iter().any(|name| self.variable(name).map(charset_of).is_some_and(is_wide));
        if wide { "_utf8mb4" } else { "" }
    }

    /// `introducer`: what strings need before them.
    fn add_assignments(&self, wanted: &Profile, introducer: &str, items: &mut Vec<String>) {
        let unset = self.variables.keys().filter(|name| !wanted.variables.contains_key(*name));
        let unset = unset.filter(|name| &***name != CLIENT_TRACKS);
        // Character set variables come before the collation that they would change: the names sort so.
        items.extend(unset.map(|name| format!("@@SESSION.{name}={}", default_of(name))));
        // A collation that was set has to be set again when the character set before it changes.
        let charset_moves = self.variable("character_set_connection") != wanted.variable("character_set_connection");
        for (name, value) in &wanted.variables {
            let follows = charset_moves && name.as_ref() == "collation_connection";
            if name.as_ref() == CLIENT_TRACKS {
                continue;
            }
            if follows || self.variables.get(name) != Some(value) {
                let value = literal(name, value);
                let introducer = if value.starts_with('\'') { introducer } else { "" };
                items.push(format!("@@SESSION.{name}={introducer}{value}"));
            }
        }
        for (name, value) in &wanted.user_variables {
            if self.user_variables.get(name) != Some(value) {
                items.push(format!("@`{name}`={value}"));
            }
        }
    }
}

/// The variables whose changes the client wants to be told of, by their names with commas between. It is no server's to keep: connections
/// tell Weir of all changes, and the client of those.
pub const CLIENT_TRACKS: &str = "session_track_system_variables";

/// The variables that name a character set, and in a profile possibly one of its collations.
const CHARACTER_SETS: [&str; 3] = ["character_set_client", "character_set_connection", "character_set_results"];

/// The variables that a handshake's collation decides, as SET NAMES does.
const OF_A_HANDSHAKE: [&str; 4] = [CHARACTER_SETS[0], CHARACTER_SETS[1], CHARACTER_SETS[2], "collation_connection"];

/// Whether the value of a character set variable is a collation's name. All but `binary` have an underscore, and that is the
/// only one of its character set.
fn is_collation(value: &str) -> bool {
    value.contains('_')
}

/// The character set's name in a character set variable's value, which may be a collation.
pub fn charset_of(value: &str) -> &str {
    value.split('_').next().unwrap_or(value)
}

/// What sets a session variable to its default. MySQL 9.7 takes DEFAULT for 0 with two of them, whatever their global
/// value (tried with all variables of both kinds of server).
fn default_of(name: &str) -> String {
    match name {
        "foreign_key_checks" | "unique_checks" => format!("@@GLOBAL.{name}"),
        _ => "DEFAULT".to_owned(),
    }
}

/// Whether a tracked value can be written in a `SET` under any sql_mode and character set.
pub fn is_replayable(name: &str, value: &str) -> bool {
    let plain_name = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let plain_value = value.bytes().all(|b| (b' '..=b'~').contains(&b) && !matches!(b, b'\'' | b'"' | b'\\' | b'`'));
    plain_name && plain_value
}

/// A literal of the same type, and of the same collation if it is a string.
fn typed(literal: &str) -> String {
    let digits = literal.strip_prefix('-').unwrap_or(literal);
    let (Some(open), Some(close)) = (literal.find('\''), literal.rfind('\'')) else {
        let number = digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
        return match digits.contains('.') {
            _ if !number || digits.is_empty() => literal.to_owned(),
            true => "0.0".to_owned(),
            // More digits may be those of an unsigned number, or of a decimal.
            false if digits.len() <= 18 => "0".to_owned(),
            false => literal.to_owned(),
        };
    };
    [&literal[..=open], &literal[close..]].concat()
}

/// What a user variable takes in a profile, which each change copies and each statement may send: without its name and its place, a great
/// many short ones would cost more than a few long ones.
pub fn user_variable_bytes(name: &str, literal: &str) -> usize {
    const PLACE: usize = 100;
    PLACE + name.len() + literal.len()
}

/// `SET` statements of these items, of at most `most` bytes each, unless one item alone has more. MySQL descends into them, and its stack has
/// room for some thousands.
pub fn set_texts(items: &[String], most: usize) -> Vec<String> {
    const ITEMS: usize = 1000;
    let mut texts: Vec<String> = Vec::new();
    let mut count = 0;
    for item in items {
        match texts.last_mut() {
            Some(text) if text.len() + 1 + item.len() <= most && count < ITEMS => {
                text.push(',');
                text.push_str(item);
                count += 1;
            }
            _ => {
                texts.push(format!("SET {item}"));
                count = 1;
            }
        }
    }
    texts
}

/// A value as it is written in a `SET`: numbers bare, all else quoted.
fn literal(name: &str, value: &str) -> String {
    if name == "character_set_results" && value.is_empty() {
        return "NULL".to_owned();
    }
    let digits = value.strip_prefix('-').unwrap_or(value);
    let mut parts = digits.splitn(2, '.');
    let is_number = parts.all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
    if is_number { value.to_owned() } else { format!("'{value}'") }
}

/// A profile shared by sessions and connections.
pub type SharedProfile = Rc<Profile>;
