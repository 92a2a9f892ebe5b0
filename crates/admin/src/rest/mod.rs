//! The REST interface: every command of the catalogue at its path, in JSON, for whoever has the token.
//!
//! What must always hold: nothing is told and nothing done without the token, which is kept as a hash only and compared
//! in constant time; connections, their time and the size of a request are bounded; an error is a problem document
//! (RFC 9457) with MySQL's code and SQLSTATE where there is one. Paths, methods and arguments come from the catalogue.

mod access;
mod openapi;
mod problem;

use std::future::Future;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use serde_json::Value as Json;

use crate::command::{Argument, ArgumentKind, Arguments, CATALOGUE, Method, Spec};
use crate::commands::{Caller, Commands};
use crate::http::{BoundedListener, MAX_CONNECTIONS, close_after};
use crate::logs::Who;
use access::Access;
use problem::Problem;

pub use openapi::{DOCUMENT_PATH, document};

/// The time after which a connection is closed, whatever its state: commands may take a while.
const CONNECTION_TIME: Duration = Duration::from_secs(60);
/// The most bytes of a request's body.
const MAX_BODY: usize = 64 << 10;
/// Whoever has the token has the admin right; this is how commands name them.
const CALLER: Caller<'static> = Caller { user: "REST", admin: true, zone: None };

/// The commands behind HTTP, and the token that opens them.
#[derive(Debug)]
pub struct Api {
    commands: Arc<Commands>,
    access: Access,
}

impl Api {
    /// An interface to these commands.
    pub fn new(commands: Arc<Commands>, token: &str) -> Api {
        Api { commands, access: Access::new(token) }
    }

    /// From now on this is the token.
    pub fn set_token(&self, token: &str) {
        self.access.set(token);
    }

    /// Serves HTTP on `listener` until `shutdown` is ready and the open connections have ended.
    ///
    /// # Errors
    /// Only when the listener can't be used.
    pub async fn serve(
        self: Arc<Self>,
        listener: std::net::TcpListener,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<()> {
        let listener = BoundedListener::new(listener, MAX_CONNECTIONS, CONNECTION_TIME)?;
        let router = Router::new().fallback(handle).with_state(self).layer(map_response(close_after));
        axum::serve(listener, router).with_graceful_shutdown(shutdown).await
    }

    async fn answer(&self, request: Request) -> Result<Response, Problem> {
        self.access.check(request.headers())?;
        let (parts, body) = request.into_parts();
        let path = parts.uri.path();
        if path == DOCUMENT_PATH {
            return match parts.method.as_str() {
                "GET" => Ok(json(StatusCode::OK, &document())),
                _ => Err(Problem::method_not_allowed("GET".to_owned())),
            };
        }
        let (spec, mut arguments) = route(parts.method.as_str(), path)?;
        match spec.method {
            Method::Get => read_query(spec, parts.uri.query().unwrap_or_default(), &mut arguments)?,
            _ => read_body(spec, body, &mut arguments).await?,
        }
        let command = spec.command(&arguments)?;
        let answer = self.commands.run(command, CALLER).await;
        let error = answer.as_ref().err().map(|failure| failure.code);
        self.commands.note_admin(
            Who { user: CALLER.user.to_owned(), ..Who::default() },
            format!("{} {path}", spec.method.name()),
            error,
        );
        let answer = answer?;
        Ok(answer.to_json().map_or(StatusCode::NO_CONTENT.into_response(), |answer| json(StatusCode::OK, &answer)))
    }
}

async fn handle(State(api): State<Arc<Api>>, request: Request) -> Response {
    api.answer(request).await.unwrap_or_else(IntoResponse::into_response)
}

fn json(status: StatusCode, value: &Json) -> Response {
    let content_type = [(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))];
    (status, content_type, value.to_string()).into_response()
}

/// The command at this path, with the arguments that are in the path.
fn route(method: &str, path: &str) -> Result<(&'static Spec, Arguments), Problem> {
    let mut allowed = Vec::new();
    for spec in CATALOGUE {
        let Some(arguments) = match_path(spec, path) else { continue };
        if spec.method.name() == method {
            return Ok((spec, arguments));
        }
        allowed.push(spec.method.name());
    }
    if allowed.is_empty() {
        Err(Problem::not_found(path))
    } else {
        Err(Problem::method_not_allowed(allowed.join(", ")))
    }
}

fn match_path(spec: &Spec, path: &str) -> Option<Arguments> {
    let mut arguments = Arguments::default();
    let mut given = path.split('/');
    for wanted in spec.path.split('/') {
        let given = given.next()?;
        match wanted.strip_prefix('{').and_then(|name| name.strip_suffix('}')) {
            Some(name) => {
                let argument = spec.arguments.iter().find(|argument| argument.name == name)?;
                arguments.set(argument.name, percent_decoded(given));
            }
            None if wanted != given => return None,
            None => {}
        }
    }
    given.next().is_none().then_some(arguments)
}

/// In a path a plus is a plus; else as in a query.
fn percent_decoded(segment: &str) -> String {
    let plus_kept = segment.replace('+', "%2B");
    form_urlencoded::parse(plus_kept.as_bytes()).next().map(|(text, _)| text.into_owned()).unwrap_or_default()
}

fn read_query(spec: &Spec, query: &str, arguments: &mut Arguments) -> Result<(), Problem> {
    for (name, value) in form_urlencoded::parse(query.as_bytes()) {
        let argument = known(spec, &name).map_err(|others| Problem::bad_argument("query parameter", &name, &others))?;
        arguments.set(argument.name, value.into_owned());
    }
    Ok(())
}

async fn read_body(spec: &Spec, body: Body, arguments: &mut Arguments) -> Result<(), Problem> {
    let bytes = to_bytes(body, MAX_BODY).await.map_err(|_| Problem::too_large(MAX_BODY))?;
    if bytes.is_empty() && !spec.needs_body() {
        return Ok(());
    }
    let Ok(Json::Object(fields)) = serde_json::from_slice(&bytes) else {
        return Err(Problem::bad_request("the body is not a JSON object"));
    };
    for (name, value) in fields {
        let argument = known(spec, &name).map_err(|others| Problem::bad_argument("field", &name, &others))?;
        let text = match (argument.kind, value) {
            (ArgumentKind::Text, Json::String(text)) => text,
            (ArgumentKind::Integer, Json::Number(number)) => number.to_string(),
            _ => return Err(Problem::bad_request(&format!("the field `{name}` has the wrong type"))),
        };
        arguments.set(argument.name, text);
    }
    Ok(())
}

/// The argument of this name that is not in the path. The error lists those that there are.
fn known(spec: &Spec, name: &str) -> Result<&'static Argument, Vec<&'static str>> {
    let found = spec.loose_arguments().find(|argument| argument.name == name);
    found.ok_or_else(|| spec.loose_arguments().map(|argument| argument.name).collect())
}

#[cfg(test)]
mod tests;
