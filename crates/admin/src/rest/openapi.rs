//! The OpenAPI document of the REST interface, made from the catalogue: it can't tell of what is not there.

use serde_json::{Map, Value as Json, json};

use crate::answer::{CellKind, Column};
use crate::command::{Argument, ArgumentKind, CATALOGUE, Method, Shape, Spec};

/// Where the document is.
pub const DOCUMENT_PATH: &str = "/api/v1/openapi.json";

/// The document, OpenAPI 3.1.
pub fn document() -> Json {
    let mut paths = Map::new();
    for spec in CATALOGUE {
        let path = paths.entry(spec.path).or_insert_with(|| json!({}));
        path[spec.method.name().to_ascii_lowercase()] = operation(spec);
    }
    let itself = json!({ "type": "object", "required": ["openapi", "info", "paths"] });
    paths.insert(
        DOCUMENT_PATH.to_owned(),
        json!({ "get": {
            "operationId": "openapi",
            "summary": "This document",
            "responses": with_problems(json!({ "200": answer("The document", itself) })),
        }}),
    );
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Weir",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What `WEIR …` statements and `weir ctl` do, over HTTP.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": { "type": "http", "scheme": "bearer" } },
            "schemas": { "Problem": problem() },
        },
    })
}

fn operation(spec: &Spec) -> Json {
    let mut operation = json!({
        "operationId": operation_id(spec),
        "summary": spec.about,
        "description": format!("SQL: `WEIR {}`. Command line: `weir ctl {}`.", spec.sql[0], crate::command::ctl_form(spec)),
        "responses": with_problems(success(spec)),
    });
    // `set log-level` and its like are several operations.
    if spec.method == Method::Put {
        operation["operationId"] = spec.path.rsplit('/').next().unwrap_or_default().into();
    }
    let in_body = spec.method != Method::Get;
    let is_loose = |argument: &Argument| spec.loose_arguments().any(|loose| loose.name == argument.name);
    let parameters: Vec<Json> = spec
        .arguments
        .iter()
        .filter(|argument| !(in_body && is_loose(argument)))
        .map(|argument| {
            let place = if is_loose(argument) { "query" } else { "path" };
            json!({
                "name": argument.name,
                "in": place,
                "required": place == "path" || !spec.is_optional(argument),
                "description": argument.about,
                "schema": argument_schema(argument),
            })
        })
        .collect();
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if in_body && spec.loose_arguments().next().is_some() {
        operation["requestBody"] = json!({ "required": spec.needs_body(), "content": { "application/json": { "schema": body_schema(spec) } } });
    }
    operation
}

/// The word that `weir ctl` begins with; two, if other commands begin with the same one.
fn operation_id(spec: &Spec) -> String {
    let first = |spec: &Spec| spec.ctl.split_whitespace().next().unwrap_or_default();
    let of_word = CATALOGUE.iter().filter(|other| other.method != Method::Put && first(other) == first(spec)).count();
    let words = if of_word > 1 { 2 } else { 1 };
    spec.ctl.split_whitespace().take(words).collect::<Vec<_>>().join("-").to_ascii_lowercase()
}

fn argument_schema(argument: &Argument) -> Json {
    match argument.kind {
        ArgumentKind::Integer => json!({ "type": "integer", "minimum": 0 }),
        ArgumentKind::Text => json!({ "type": "string" }),
    }
}

fn body_schema(spec: &Spec) -> Json {
    let properties = spec.loose_arguments().map(|argument| {
        let mut schema = argument_schema(argument);
        schema["description"] = argument.about.into();
        (argument.name.to_owned(), schema)
    });
    let properties: Map<String, Json> = properties.collect();
    let required = spec.loose_arguments().filter(|argument| !spec.is_optional(argument));
    let required: Vec<_> = required.map(|argument| argument.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn success(spec: &Spec) -> Json {
    match spec.shape {
        Shape::Done => json!({ "204": { "description": "It is done" } }),
        Shape::Record(columns) => json!({ "200": answer(spec.about, object(columns)) }),
        Shape::Rows(columns) => {
            let schema = json!({
                "type": "object",
                "properties": { "items": { "type": "array", "items": object(columns) } },
                "required": ["items"],
                "additionalProperties": false,
            });
            json!({ "200": answer(spec.about, schema) })
        }
    }
}

fn object(columns: &[Column]) -> Json {
    let properties: Map<String, Json> =
        columns.iter().map(|column| (column.name.to_owned(), column_schema(column))).collect();
    let required: Vec<_> = columns.iter().map(|column| column.name).collect();
    json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false })
}

fn column_schema(column: &Column) -> Json {
    let kind = match column.kind {
        CellKind::Text => "string",
        CellKind::Integer => "integer",
        CellKind::Number => "number",
    };
    let kind = if column.nullable { json!([kind, "null"]) } else { json!(kind) };
    json!({ "type": kind, "description": column.about })
}

fn answer(description: &str, schema: Json) -> Json {
    json!({ "description": description, "content": { "application/json": { "schema": schema } } })
}

/// Adds what may go wrong with any request.
fn with_problems(mut responses: Json) -> Json {
    let schema = json!({ "$ref": "#/components/schemas/Problem" });
    let statuses = [
        ("400", "An argument is wrong"),
        ("401", "The token is missing or wrong"),
        ("403", "It is not allowed"),
        ("404", "There is no such thing, or it has ended or is not yet so far"),
        ("default", "Anything else that went wrong"),
    ];
    for (status, description) in statuses {
        responses[status] =
            json!({ "description": description, "content": { "application/problem+json": { "schema": schema } } });
    }
    responses
}

fn problem() -> Json {
    json!({
        "type": "object",
        "description": "What went wrong (RFC 9457)",
        "properties": {
            "type": { "type": "string" },
            "title": { "type": "string", "description": "The status in words" },
            "status": { "type": "integer" },
            "detail": { "type": "string", "description": "What happened, and what to do" },
            "code": { "type": "integer", "description": "MySQL's error code" },
            "sqlstate": { "type": "string", "pattern": "^[0-9A-Z]{5}$" },
        },
        "required": ["type", "title", "status", "detail"],
        "additionalProperties": false,
    })
}
