//! The sections and keys of the configuration, as a plain list read from the schema of the raw types.
//!
//! Must always hold: this list and what the deserialiser accepts come from the same declarations
//! (`raw`), so neither a key nor its documentation can exist in one and not in the other. A shape of
//! schema that this module doesn't know panics, and the first test would show it.

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::raw::RawConfig;

/// A section of the file.
#[derive(Debug, Clone)]
pub(crate) struct Section {
    /// The name between the brackets.
    pub(crate) name: String,
    /// True for `[[name]]`, which may occur several times.
    pub(crate) repeated: bool,
    /// The example file has it in comments: its keys have no defaults that all would want.
    pub(crate) example_only: bool,
    /// What the section is for, one paragraph.
    pub(crate) doc: String,
    /// The keys in the order of their declaration.
    pub(crate) keys: Vec<Key>,
}

impl Section {
    /// The section's header as it is written in the file.
    pub(crate) fn header(&self) -> String {
        if self.repeated { format!("[[{}]]", self.name) } else { format!("[{}]", self.name) }
    }

    /// The key of that name.
    pub(crate) fn key(&self, name: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// A key of a section.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    /// The name left of the `=`.
    pub(crate) name: String,
    /// What the key does, one paragraph.
    pub(crate) doc: String,
    /// What values it takes.
    pub(crate) kind: KeyType,
    /// True when each section must have the key.
    pub(crate) required: bool,
    /// The value that applies when the key is left out; None when the key is then unset.
    pub(crate) default: Option<Value>,
    /// A value for the documentation of a key that has no default.
    pub(crate) example: Option<Value>,
}

/// What values a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyType {
    /// A string; the label says of what form.
    Text(String),
    /// A string that must never be shown.
    Secret,
    /// A string with a number and a unit of time.
    Duration,
    /// A string with a number and a unit of size.
    Size,
    /// A whole number in a range; no upper bound when it is None.
    Integer { min: i64, max: Option<i64> },
    /// `true` or `false`.
    Boolean,
    /// One of some strings.
    Choice(Vec<Choice>),
    /// An array of values.
    List(Box<KeyType>),
}

/// One of the strings that a key takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    /// The string.
    pub(crate) value: String,
    /// What it means.
    pub(crate) doc: String,
}

/// All sections in the order of their declaration.
pub(crate) fn sections() -> Vec<Section> {
    let schema = SchemaSettings::default()
        .with(|settings| settings.inline_subschemas = true)
        .into_generator()
        .into_root_schema_for::<RawConfig>();
    properties(schema.as_value()).map(|(name, schema)| section(name, schema)).collect()
}

fn section(name: &str, schema: &Value) -> Section {
    let repeated = schema["type"] == "array";
    let table = if repeated { &schema["items"] } else { schema };
    Section {
        name: name.to_owned(),
        repeated,
        example_only: schema["example_only"] == true,
        doc: description(schema),
        keys: properties(table).map(|(name, key_schema)| key(name, key_schema, &table["required"])).collect(),
    }
}

fn key(name: &str, schema: &Value, required: &Value) -> Key {
    Key {
        name: name.to_owned(),
        doc: description(schema),
        kind: kind(schema),
        required: required.as_array().is_some_and(|names| names.iter().any(|required| required == name)),
        default: schema.get("default").filter(|v| !v.is_null()).cloned(),
        example: schema["examples"].get(0).cloned(),
    }
}

/// The kind of values that a schema describes; an optional value's kind is that of the value.
fn kind(schema: &Value) -> KeyType {
    if let Some(choices) = schema["oneOf"].as_array() {
        return KeyType::Choice(choices.iter().map(choice).collect());
    }
    if let Some(value_or_null) = schema["anyOf"].as_array() {
        return kind(&value_or_null[0]);
    }
    let format = schema["format"].as_str();
    let type_name = match &schema["type"] {
        Value::Array(type_or_null) => type_or_null[0].as_str(),
        name => name.as_str(),
    };
    match (type_name, format) {
        (Some("array"), Some(format)) => KeyType::List(Box::new(KeyType::Text(format.to_owned()))),
        (Some("array"), None) => KeyType::List(Box::new(kind(&schema["items"]))),
        (Some("string"), Some("duration")) => KeyType::Duration,
        (Some("string"), Some("size")) => KeyType::Size,
        (Some("string"), Some("password")) => KeyType::Secret,
        (Some("string"), format) => KeyType::Text(format.unwrap_or("string").to_owned()),
        (Some("integer"), _) => {
            KeyType::Integer { min: schema["minimum"].as_i64().unwrap_or(i64::MIN), max: schema["maximum"].as_i64() }
        }
        (Some("boolean"), _) => KeyType::Boolean,
        _ => unreachable!("the configuration has no values of this schema: {schema}"),
    }
}

fn choice(schema: &Value) -> Choice {
    let value = schema["const"].as_str();
    Choice {
        value: value.expect("each variant of a choice has a doc comment of its own").to_owned(),
        doc: description(schema),
    }
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema["properties"].as_object().into_iter().flatten()
}

/// The doc comment as one paragraph.
fn description(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
