//! The words that mean something to a server, found by spelling in constant time, without allocation.
//!
//! What must hold: every word of the table is found in any case, and nothing else is. The table itself, and what its
//! groups mean, is in `keyword_table`.

use crate::keyword_table::{Call, GROUPS, Group, RESERVED_BY_MARIADB, RESERVED_BY_MYSQL};
use crate::mode::{Dialect, LexMode};

#[derive(Clone, Copy)]
struct Entry {
    text: &'static str,
    group: u8,
}

/// A known word, or [`Keyword::NONE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keyword(u16);

impl Keyword {
    /// Any word that is not in the table.
    pub(crate) const NONE: Self = Self(u16::MAX);

    /// The word with this spelling in any case.
    pub(crate) const fn of(text: &[u8]) -> Self {
        if text.len() > LONGEST {
            return Self::NONE;
        }
        let mut slot = hash(text) as usize % SLOTS;
        while INDEX[slot] != u16::MAX {
            if same(ENTRIES[INDEX[slot] as usize].text.as_bytes(), text) {
                return Self(INDEX[slot]);
            }
            slot = (slot + 1) % SLOTS;
        }
        Self::NONE
    }

    /// The word with this spelling; fails at compile time if the table lacks it.
    pub(crate) const fn named(text: &'static str) -> Self {
        let found = Self::of(text.as_bytes());
        assert!(found.0 != u16::MAX, "the word is not in the table");
        found
    }

    /// Whether the word can name neither a table nor an alias on any server unless it is quoted.
    pub(crate) fn is_reserved(self) -> bool {
        self.group().is_some_and(|group| group.reserved)
    }

    /// Whether the word is reserved on a server of this kind ([`Dialect::Either`]: on both): it is no name unless quoted.
    pub(crate) fn is_reserved_in(self, dialect: Dialect) -> bool {
        let listed = |marks: &[bool; COUNT]| marks.get(usize::from(self.0)).is_some_and(|marked| *marked);
        self.is_reserved()
            || match dialect {
                Dialect::MySql => listed(&ONLY_BY_MYSQL),
                Dialect::MariaDb => listed(&ONLY_BY_MARIADB),
                Dialect::Either => false,
            }
    }

    /// Whether it is a word of some server's grammar, rather than just the name of a function.
    pub(crate) fn is_keyword(self) -> bool {
        self.group().is_some_and(|group| group.mysql != Call::Native || group.mariadb != Call::Native)
    }

    /// The word in lower case; nothing for [`Keyword::NONE`].
    pub(crate) fn text(self) -> &'static str {
        ENTRIES.get(usize::from(self.0)).map_or("", |entry| entry.text)
    }

    /// Whether the word is a built-in function of some server.
    pub(crate) fn is_function(self) -> bool {
        let function = |call| matches!(call, Call::Syntax | Call::Native | Call::Adjacent);
        self.group().is_some_and(|group| function(group.mysql) || function(group.mariadb))
    }

    /// Whether the word, unquoted, may be called by a server of this kind: its own function, or a stored one.
    pub(crate) fn is_callable(self, dialect: Dialect) -> bool {
        let callable = |call| call != Call::Keyword;
        self.group().is_none_or(|group| match dialect {
            Dialect::MySql => callable(group.mysql),
            Dialect::MariaDb => callable(group.mariadb),
            Dialect::Either => callable(group.mysql) || callable(group.mariadb),
        })
    }

    /// Whether the server is certain not to look for a stored function of this name.
    ///
    /// `adjacent`: the parenthesis follows without a space. `quoted`: the name is quoted.
    pub(crate) fn is_known_call(self, mode: LexMode, quoted: bool, adjacent: bool) -> bool {
        let Some(group) = self.group() else { return false };
        let known = |call| match call {
            Call::User => false,
            Call::Native => true,
            Call::Keyword | Call::Syntax => !quoted,
            Call::Adjacent => !quoted && (adjacent || mode.ignore_space),
        };
        match mode.dialect {
            Dialect::MySql => known(group.mysql),
            Dialect::MariaDb => known(group.mariadb),
            Dialect::Either => known(group.mysql) && known(group.mariadb),
        }
    }

    fn group(self) -> Option<&'static Group> {
        let entry = ENTRIES.get(usize::from(self.0))?;
        Some(&GROUPS[usize::from(entry.group)])
    }
}

const fn hash(text: &[u8]) -> u32 {
    let mut hash = text.len() as u32;
    let mut i = 0;
    while i < text.len() {
        // Setting bit 5 folds ASCII letters; that it also merges a few other bytes only costs a comparison.
        hash = (hash.rotate_left(5) ^ (text[i] | 0x20) as u32).wrapping_mul(0x9E37_79B1);
        i += 1;
    }
    hash >> 16
}

const fn same(lower: &[u8], text: &[u8]) -> bool {
    if lower.len() != text.len() {
        return false;
    }
    let mut i = 0;
    while i < lower.len() {
        if lower[i] != text[i].to_ascii_lowercase() {
            return false;
        }
        i += 1;
    }
    true
}

const COUNT: usize = count_words();
const SLOTS: usize = 4096;
static ENTRIES: [Entry; COUNT] = split_words();
static ONLY_BY_MYSQL: [bool; COUNT] = marks(RESERVED_BY_MYSQL);
static ONLY_BY_MARIADB: [bool; COUNT] = marks(RESERVED_BY_MARIADB);
const LONGEST: usize = longest();
static INDEX: [u16; SLOTS] = build_index();

const fn count_words() -> usize {
    let (mut group, mut count) = (0, 0);
    while group < GROUPS.len() {
        let text = GROUPS[group].words.as_bytes();
        let mut i = 0;
        while i < text.len() {
            count += (text[i] == b' ') as usize;
            i += 1;
        }
        count += 1;
        group += 1;
    }
    count
}

/// Which words stand in a list of words separated by spaces; all of them are in the table.
const fn marks(list: &'static str) -> [bool; COUNT] {
    let mut marks = [false; COUNT];
    let mut rest = list;
    while !rest.is_empty() {
        let mut end = 0;
        while end < rest.len() && rest.as_bytes()[end] != b' ' {
            end += 1;
        }
        let (word, tail) = rest.split_at(end);
        marks[Keyword::named(word).0 as usize] = true;
        rest = if tail.is_empty() { tail } else { tail.split_at(1).1 };
    }
    marks
}

const fn split_words() -> [Entry; COUNT] {
    let mut entries = [Entry { text: "", group: 0 }; COUNT];
    let (mut group, mut next) = (0, 0);
    while group < GROUPS.len() {
        let mut rest = GROUPS[group].words;
        loop {
            let mut end = 0;
            while end < rest.len() && rest.as_bytes()[end] != b' ' {
                end += 1;
            }
            let (text, tail) = rest.split_at(end);
            entries[next] = Entry { text, group: group as u8 };
            next += 1;
            if tail.is_empty() {
                break;
            }
            rest = tail.split_at(1).1;
        }
        group += 1;
    }
    entries
}

const fn longest() -> usize {
    let (mut i, mut longest) = (0, 0);
    while i < COUNT {
        if ENTRIES[i].text.len() > longest {
            longest = ENTRIES[i].text.len();
        }
        i += 1;
    }
    longest
}

const fn build_index() -> [u16; SLOTS] {
    let mut index = [u16::MAX; SLOTS];
    let mut i = 0;
    while i < COUNT {
        let mut slot = hash(ENTRIES[i].text.as_bytes()) as usize % SLOTS;
        while index[slot] != u16::MAX {
            slot = (slot + 1) % SLOTS;
        }
        index[slot] = i as u16;
        i += 1;
    }
    index
}
