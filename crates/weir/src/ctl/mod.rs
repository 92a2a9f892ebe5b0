//! `weir ctl`: the commands of a running Weir from a shell, by its REST interface.
//!
//! Must always hold: which words there are, what they are sent as and how an answer is laid out comes from the one
//! catalogue of commands; the token is sent to the given address only, and shown nowhere.

mod table;
mod target;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::Value as Json;
use weir_admin::command::{ArgumentKind, Arguments, CATALOGUE, Command, Method, Spec, ctl_form};

use target::Target;

/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Look at a running Weir, and tell it what to do
///
/// Speaks to the REST interface (`[api]` in the configuration). Where that is and its token come from
/// `--address` and `--token-file`, else from `--config`, else from `--dir`, else from the environment,
/// else from the cluster in ./weir-cluster.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, after_help = help())]
pub(crate) struct CtlArgs {
    /// What to do, see below
    #[arg(value_name = "COMMAND", required = true, num_args = 1..)]
    words: Vec<String>,
    /// The configuration file of the Weir: its [api] section is read
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["dir", "address"])]
    config: Option<PathBuf>,
    /// The directory of a cluster made by `weir up`
    #[arg(long, value_name = "DIR", conflicts_with = "address")]
    dir: Option<PathBuf>,
    /// IP address and port of the REST interface
    #[arg(short, long, value_name = "ADDRESS")]
    address: Option<String>,
    /// A file with the token
    #[arg(short, long, value_name = "FILE", requires = "address")]
    token_file: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Why a command was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CtlError {
    /// The words are no command.
    #[error("{0}; `weir ctl --help` lists the commands")]
    Words(String),
    /// It is not known whom to ask, or with which token.
    #[error("{0}")]
    Target(String),
    /// No answer.
    #[error("no answer from {address}: {reason}")]
    NoAnswer {
        /// Who was asked.
        address: String,
        /// What happened.
        reason: String,
    },
    /// Weir has refused.
    #[error("{0}")]
    Refused(String),
    /// The answer can't be written.
    #[error("standard output: {0}")]
    Output(#[from] std::io::Error),
}

/// The commands and some examples, for the help.
fn help() -> String {
    let width = CATALOGUE.iter().map(|spec| ctl_form(spec).chars().count()).max().unwrap_or_default();
    let lines: Vec<_> = CATALOGUE.iter().map(|spec| format!("  {:width$}  {}", ctl_form(spec), spec.about)).collect();
    format!(
        "Commands:\n{}\n\n\
         Patterns are those of MySQL's LIKE: `%` is any text, `_` one character.\n\n\
         Examples:\n  \
         weir ctl --dir weir-cluster status\n  \
         weir ctl --config /etc/weir/weir.toml sessions 'app%'\n  \
         weir ctl --address 127.0.0.1:4408 --token-file api.token kill 17\n  \
         weir ctl config 'pool.%' --json\n  \
         weir ctl set log-level info,weir_backend=debug\n\n\
         Environment:\n  \
         WEIR_API    IP address and port of the REST interface\n  \
         WEIR_TOKEN  its token; goes with --address too",
        lines.join("\n")
    )
}

/// Runs `weir ctl`.
pub(crate) fn run(args: &CtlArgs, out: &mut dyn Write) -> Result<(), CtlError> {
    let (spec, arguments) = Command::find_ctl(&args.words).map_err(CtlError::Words)?;
    let target = Target::find(args)?;
    let answer = ask(&target, spec, &arguments)?;
    match (answer, args.json) {
        (Some(answer), true) => writeln!(out, "{answer:#}")?,
        (Some(answer), false) => out.write_all(table::render(spec.shape, &answer).as_bytes())?,
        (None, true) => {}
        (None, false) => writeln!(out, "OK")?,
    }
    Ok(())
}

fn ask(target: &Target, spec: &Spec, arguments: &Arguments) -> Result<Option<Json>, CtlError> {
    let no_answer = |reason: String| CtlError::NoAnswer { address: target.address.clone(), reason };
    let (uri, body) = request(&target.address, spec, arguments);
    let request = ureq::http::Request::builder()
        .method(spec.method.name())
        .uri(uri)
        .header("Authorization", format!("Bearer {}", target.token.expose()))
        .header("Content-Type", "application/json")
        .body(body)
        .map_err(|error| CtlError::Target(error.to_string()))?;
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .allow_non_standard_methods(true)
        .timeout_global(Some(TIMEOUT))
        .proxy(None)
        .max_redirects(0)
        .build();
    let mut response = ureq::Agent::from(config).run(request).map_err(|error| no_answer(error.to_string()))?;
    let status = response.status();
    let text = response.body_mut().read_to_string().map_err(|error| no_answer(error.to_string()))?;
    if !status.is_success() {
        return Err(CtlError::Refused(refusal(&text).unwrap_or_else(|| format!("HTTP status {status}"))));
    }
    if text.is_empty() {
        return Ok(None);
    }
    serde_json::from_str(&text).map(Some).map_err(|error| no_answer(error.to_string()))
}

/// The URI and the body that give a command.
fn request(address: &str, spec: &Spec, arguments: &Arguments) -> (String, String) {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>().replace('+', "%20");
    let mut path = spec.path.to_owned();
    for argument in spec.arguments {
        if let Some(value) = arguments.get(argument.name) {
            path = path.replace(&format!("{{{}}}", argument.name), &encoded(value));
        }
    }
    let loose = spec.loose_arguments().filter_map(|argument| Some((argument, arguments.get(argument.name)?)));
    if spec.method == Method::Get {
        let query: Vec<_> = loose.map(|(argument, value)| format!("{}={}", argument.name, encoded(value))).collect();
        let mark = if query.is_empty() { "" } else { "?" };
        return (format!("http://{address}{path}{mark}{}", query.join("&")), String::new());
    }
    let fields = loose.map(|(argument, value)| {
        let value = match argument.kind {
            ArgumentKind::Integer => value.parse::<u64>().map_or(Json::Null, Json::from),
            ArgumentKind::Text => value.into(),
        };
        (argument.name.to_owned(), value)
    });
    let fields: serde_json::Map<String, Json> = fields.collect();
    let body = if fields.is_empty() { String::new() } else { Json::Object(fields).to_string() };
    (format!("http://{address}{path}"), body)
}

/// What a problem document says, as MySQL's shell says it.
fn refusal(text: &str) -> Option<String> {
    let problem: Json = serde_json::from_str(text).ok()?;
    let detail = problem["detail"].as_str()?;
    Some(match (problem["code"].as_u64(), problem["sqlstate"].as_str()) {
        (Some(code), Some(sqlstate)) => format!("ERROR {code} ({sqlstate}): {detail}"),
        _ => detail.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request_of(words: &[&str]) -> (String, String) {
        let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
        let (spec, arguments) = Command::find_ctl(&words).expect("a command");
        request("127.0.0.1:1", spec, &arguments)
    }

    #[test]
    fn commands_become_requests() {
        let cases = [
            (&["status"][..], "/api/v1/status", ""),
            (&["config", "a b%&c"], "/api/v1/config?pattern=a%20b%25%26c", ""),
            (&["kill", "7"], "/api/v1/sessions/7", ""),
            (&["kill-query", "7"], "/api/v1/sessions/7/kill-query", ""),
            (&["set", "log-level", "a=b"], "/api/v1/log-level", r#"{"level":"a=b"}"#),
        ];
        for (words, path, body) in cases {
            assert_eq!(request_of(words), (format!("http://127.0.0.1:1{path}"), body.to_owned()));
        }
    }

    #[test]
    fn a_problem_is_told_as_the_shell_tells_it() {
        let text = r#"{"detail":"Unknown thread id: 7","code":1094,"sqlstate":"HY000"}"#;
        assert_eq!(refusal(text).as_deref(), Some("ERROR 1094 (HY000): Unknown thread id: 7"));
        assert_eq!(refusal(r#"{"detail":"no"}"#).as_deref(), Some("no"));
        assert_eq!(refusal("<html>"), None);
    }
}
