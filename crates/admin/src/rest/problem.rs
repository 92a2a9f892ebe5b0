//! Errors of the REST interface, as problem documents (RFC 9457).

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use weir_wire::error::codes;
use weir_wire::{Failure, Fault};

/// An error, as the client will see it.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
    /// MySQL's code and SQLSTATE.
    mysql: Option<(u16, String)>,
    header: Option<(HeaderName, String)>,
}

impl Problem {
    fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem { status, detail: detail.into(), mysql: None, header: None }
    }

    pub(super) fn unauthorized(wrong_token: bool) -> Problem {
        let (detail, challenge) = match wrong_token {
            true => ("the token is not the one of this Weir", r#"Bearer realm="weir", error="invalid_token""#),
            false => ("send the token of [api] as `Authorization: Bearer …`", r#"Bearer realm="weir""#),
        };
        let header = Some((header::WWW_AUTHENTICATE, challenge.to_owned()));
        let mysql = Some((codes::ER_ACCESS_DENIED_ERROR, "28000".to_owned()));
        Problem { header, mysql, ..Problem::new(StatusCode::UNAUTHORIZED, detail) }
    }

    pub(super) fn not_found(path: &str) -> Problem {
        let detail = format!("there is nothing at {path}: {} lists all paths", super::DOCUMENT_PATH);
        Problem::new(StatusCode::NOT_FOUND, detail)
    }

    pub(super) fn method_not_allowed(allowed: String) -> Problem {
        let detail = format!("only {allowed} is supported here");
        Problem { header: Some((header::ALLOW, allowed)), ..Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    pub(super) fn bad_request(detail: &str) -> Problem {
        Problem::new(StatusCode::BAD_REQUEST, detail)
    }

    pub(super) fn bad_argument(what: &str, name: &str, others: &[&str]) -> Problem {
        let known =
            if others.is_empty() { "there are none".to_owned() } else { format!("there is `{}`", others.join("`, `")) };
        Problem::new(StatusCode::BAD_REQUEST, format!("unknown {what} `{name}`: {known}"))
    }

    pub(super) fn too_large(limit: usize) -> Problem {
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body is larger than {limit} bytes, or incomplete"))
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Problem {
        let mysql = Some((failure.code, String::from_utf8_lossy(&failure.sqlstate).into_owned()));
        Problem { mysql, ..Problem::new(status_of(failure.code, failure.fault), failure.message) }
    }
}

/// The status of HTTP that says best what MySQL's code says. MySQL has no code of its own for a move, batch, shard or the
/// like that is not there or has ended: a client's error without one (1105) is that.
fn status_of(code: u16, fault: Fault) -> StatusCode {
    match code {
        codes::ER_UNKNOWN_ERROR if fault == Fault::Client => StatusCode::NOT_FOUND,
        codes::ER_PARSE_ERROR | codes::ER_WRONG_ARGUMENTS | codes::ER_WRONG_VALUE | codes::ER_WRONG_VALUE_FOR_VAR => {
            StatusCode::BAD_REQUEST
        }
        codes::ER_NO_SUCH_THREAD => StatusCode::NOT_FOUND,
        codes::ER_SPECIFIC_ACCESS_DENIED_ERROR | codes::ER_KILL_DENIED_ERROR => StatusCode::FORBIDDEN,
        codes::ER_NOT_SUPPORTED_YET => StatusCode::NOT_IMPLEMENTED,
        codes::CR_CONN_HOST_ERROR | codes::CR_SERVER_LOST => StatusCode::BAD_GATEWAY,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut document = serde_json::json!({
            "type": "about:blank",
            "title": self.status.canonical_reason().unwrap_or_default(),
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        if let Some((code, sqlstate)) = self.mysql {
            document["code"] = code.into();
            document["sqlstate"] = sqlstate.into();
        }
        let mut response = (self.status, document.to_string()).into_response();
        let content_type = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(header::CONTENT_TYPE, content_type);
        if let Some((name, value)) = self.header
            && let Ok(value) = HeaderValue::try_from(value)
        {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_mysql_have_their_status() {
        let cases = [
            (codes::ER_PARSE_ERROR, 400),
            (codes::ER_NO_SUCH_THREAD, 404),
            (codes::ER_SPECIFIC_ACCESS_DENIED_ERROR, 403),
            (codes::ER_NOT_SUPPORTED_YET, 501),
            (codes::CR_CONN_HOST_ERROR, 502),
            (codes::ER_UNKNOWN_ERROR, 500),
        ];
        let unknown = Failure::client(codes::ER_UNKNOWN_ERROR, "There is no batch 7 of yours");
        assert_eq!(Problem::from(unknown).status, StatusCode::NOT_FOUND);
        for (code, status) in cases {
            let problem = Problem::from(Failure::new(Fault::Weir, code, b"HY000", "x"));
            assert_eq!(problem.status.as_u16(), status, "{code}");
        }
    }
}
