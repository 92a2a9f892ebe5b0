//! The documentation of the configuration, written from the list of keys (`keys`).
//!
//! Must always hold: `docs/configuration.md` is what [`reference`] returns (a test compares them),
//! and what [`example`] returns is a valid configuration.

use std::fmt::Write;

use serde_json::Value;

use super::keys::{Key, KeyType, Section, sections};

/// The width of a comment line in the example.
const COMMENT_WIDTH: usize = 88;

const REFERENCE_INTRODUCTION: &str = "\
# Configuration

Weir reads one TOML file: `weir serve --config weir.toml`. To begin with one, `weir config example`
prints a file with all keys and their defaults; `weir config check weir.toml` reports all errors in
a file without starting anything; `weir config show weir.toml` prints the configuration with
the defaults filled in.

The smallest configuration names one server and Weir's own account:

```toml
[[servers]]
name = \"db1\"
address = \"127.0.0.1:3306\"
role = \"writer\"

[monitor]
password_file = \"monitor.password\"
```

- An unknown key or section is an error.
- **Durations** are strings of a whole number and a unit: `ms`, `s`, `m`, `h` or `d`, as in
  `\"500ms\"`; at most `\"365d\"`. Unless stated otherwise they must be greater than zero.
- **Sizes** are strings of a whole number and a unit: `KiB`, `MiB` or `GiB`, powers of 1,024, as in
  `\"64MiB\"`. `K`, `M` and `G` mean the same, as in MySQL's option files.
- **Paths** that are not absolute are relative to the directory of the configuration file. Sockets need
  absolute paths.
- **Passwords** are given in plain text, by a file, or by an environment variable. A file that contains
  one, including this file, must not be accessible to its group or to others (`chmod 600`). However, a
  file owned by root may be readable by the group of the service (`chown root:weir`, `chmod 640`). Weir
  shows `***` for passwords everywhere.
";

const EXAMPLE_INTRODUCTION: &str = "\
# The configuration of Weir: all keys, with their defaults. A key with a `#` before it has no
# default; its value is an example. This file contains passwords, so only its owner may have access
# to it: chmod 600 weir.toml
";

/// The reference of all keys, in Markdown.
pub(crate) fn reference() -> String {
    let mut text = REFERENCE_INTRODUCTION.to_owned();
    for section in sections() {
        section_reference(&mut text, &section);
    }
    text.push_str("\nThis page is printed by `weir config docs`.\n");
    text
}

fn section_reference(text: &mut String, section: &Section) {
    let header = section.header();
    let rows = section.keys.iter().map(|key| {
        format!(
            "| `{}` | {} | {} | {} |\n",
            key.name,
            cell(&type_name(&key.kind)),
            cell(&default_text(key)),
            cell(&meaning(key)),
        )
    });
    let rows: String = rows.collect();
    write!(text, "\n## `{header}`\n\n{}\n\n| key | type | default | meaning |\n|---|---|---|---|\n{rows}", section.doc)
        .expect("writing to a string does not fail");
}

/// Text that can stand in a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

fn type_name(kind: &KeyType) -> String {
    match kind {
        KeyType::Text(form) => form.clone(),
        KeyType::Secret => "password".to_owned(),
        KeyType::Duration => "duration".to_owned(),
        KeyType::Size => "size".to_owned(),
        KeyType::Integer { min, max } => match max {
            Some(max) => format!("{min} to {max}"),
            None => format!("{min} or more"),
        },
        KeyType::Boolean => "true or false".to_owned(),
        KeyType::Choice(_) => "choice".to_owned(),
        KeyType::List(kind) => format!("list of: {}", type_name(kind)),
    }
}

fn default_text(key: &Key) -> String {
    match &key.default {
        Some(value) => format!("`{}`", toml_value(value)),
        None if key.required => "required".to_owned(),
        None => "unset".to_owned(),
    }
}

/// The key's documentation, followed by what each choice means.
fn meaning(key: &Key) -> String {
    let mut text = key.doc.clone();
    let kind = match &key.kind {
        KeyType::List(kind) => kind,
        kind => kind,
    };
    if let KeyType::Choice(choices) = kind {
        for choice in choices {
            write!(text, "<br>`\"{}\"`: {}", choice.value, choice.doc).expect("writing to a string does not fail");
        }
    }
    text
}

/// A configuration file with all keys, their defaults and their documentation.
pub(crate) fn example() -> String {
    let mut text = EXAMPLE_INTRODUCTION.to_owned();
    for section in sections() {
        text.push('\n');
        comment(&mut text, &section.doc);
        let mark = if section.example_only { "# " } else { "" };
        text.push_str(&format!("{mark}{}\n", section.header()));
        for key in &section.keys {
            comment(&mut text, &key.doc);
            if let KeyType::Choice(choices) = &key.kind {
                let values: Vec<_> = choices.iter().map(|c| format!("\"{}\"", c.value)).collect();
                comment(&mut text, &format!("One of {}.", values.join(", ")));
            }
            example_key(&mut text, &section, key);
        }
    }
    text
}

/// Writes `key = value`: the default; or the example, commented out unless something must be there.
fn example_key(text: &mut String, section: &Section, key: &Key) {
    let value = match (&key.default, &key.example) {
        (Some(default), _) => default,
        (None, Some(example)) => example,
        (None, None) => unreachable!("`{}` has neither a default nor an example", key.name),
    };
    // A section whose first key is unset is off, and needs no secret.
    let is_off = section.keys.first().is_some_and(|first| first.default.is_none() && !first.required);
    let must_be_there = key.default.is_some() || key.required || (key.kind == KeyType::Secret && !is_off);
    let mark = if must_be_there && !section.example_only { "" } else { "# " };
    writeln!(text, "{mark}{} = {}", key.name, toml_value(value)).expect("writing to a string does not fail");
}

/// Writes `doc` as comment lines, broken at spaces.
fn comment(text: &mut String, doc: &str) {
    let mut line = String::from("#");
    for word in doc.split_whitespace() {
        if line.len() + 1 + word.len() > COMMENT_WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

/// A value as TOML writes it.
fn toml_value(value: &Value) -> String {
    toml::Value::try_from(value).expect("defaults and examples have TOML values").to_string()
}
