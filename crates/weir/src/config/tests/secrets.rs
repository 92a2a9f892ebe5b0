//! Where passwords come from, who may have access to them, and that none is ever shown.

use super::*;

const PASSWORD: &str = "hunter2";

/// The smallest configuration with this way of giving the monitor's password.
fn with_password(assignment: &str) -> String {
    MINIMAL.replace("password = \"monitor's password\"", assignment)
}

/// A file in mode `mode` that holds the password, and a configuration that names it relatively.
fn with_password_file(content: &str, mode: u32) -> (TempDir, PathBuf) {
    let text = with_password("password_file = \"monitor.password\"");
    let (directory, path) = private_file("weir.toml", &text);
    write_with_mode(&directory.path().join("monitor.password"), content, mode);
    (directory, path)
}

#[test]
fn a_password_comes_from_the_file_its_own_file_or_the_environment() {
    let plain = valid(&with_password("password = \"hunter2\""));
    assert_eq!(plain.monitor.password.expose(), PASSWORD);

    for content in ["hunter2", "hunter2\n", "hunter2\r\n"] {
        let (_directory, path) = with_password_file(content, 0o600);
        let (_, config) = read_and_check(&path, &|_| None).expect("valid");
        assert_eq!(config.monitor.password.expose(), PASSWORD);
    }

    let (_directory, path) = private_file("weir.toml", &with_password("password_env = \"MONITOR\""));
    let environment = |name: &str| (name == "MONITOR").then(|| PASSWORD.to_owned());
    let (_, config) = read_and_check(&path, &environment).expect("valid");
    assert_eq!(config.monitor.password.expose(), PASSWORD);
}

#[test]
fn a_password_is_given_in_exactly_one_way() {
    let said = "needs exactly one of `password`, `password_file`, `password_env`";
    for assignment in ["", "password = \"a\"\npassword_env = \"B\"", "password_file = \"a\"\npassword_env = \"B\""] {
        let expected = format!("[monitor], line 7: {said}");
        assert_eq!(complaints(&with_password(assignment)), [expected]);
    }
}

#[test]
fn a_password_that_cannot_be_had_is_an_error_without_its_value() {
    assert_eq!(
        complaints(&with_password("password_env = \"MONITOR\"")),
        ["`password_env` in [monitor], line 8: the environment variable `MONITOR` is not set, or empty"]
    );
    for (content, expected) in [("", "is empty"), ("\n", "is empty")] {
        let (_directory, path) = with_password_file(content, 0o600);
        let said = complaints_about(&path);
        assert!(said[0].ends_with(expected), "{said:?}");
    }
    let (_directory, path) = with_password_file(&"x".repeat(5_000), 0o600);
    assert!(complaints_about(&path)[0].ends_with("is larger than 4096 bytes"));
}

#[test]
fn a_password_file_that_others_have_access_to_is_refused_with_the_remedy() {
    for mode in [0o644, 0o640, 0o604, 0o620] {
        let (directory, path) = with_password_file(PASSWORD, mode);
        let file = directory.path().join("monitor.password");
        let file = file.display();
        assert_eq!(
            complaints_about(&path),
            [format!(
                "`password_file` in [monitor], line 8: {file}: contains a password, but users other than its \
                 owner have access to it (mode {mode:04o}): run `chmod 600 {file}`"
            )]
        );
    }
}

#[test]
fn a_configuration_with_a_password_that_others_have_access_to_is_refused_with_the_remedy() {
    let user = "\n[[users]]\nname = \"app\"\npassword = \"hunter2\"\n";
    let (directory, path) = with_password_file(PASSWORD, 0o600);
    let without = fs::read_to_string(&path).expect("the configuration");
    write_with_mode(&path, &without, 0o644);
    assert_eq!(complaints_about(&path), [""; 0], "no password in the file itself");

    write_with_mode(&path, &format!("{without}{user}"), 0o640);
    let shown = path.display();
    assert_eq!(
        complaints_about(&path),
        [format!(
            "contains a password, but users other than its owner have access to it (mode 0640): run \
             `chmod 600 {shown}`"
        )]
    );
    drop(directory);
}

#[test]
fn no_output_of_a_valid_configuration_shows_a_password() {
    let user = "\n[[users]]\nname = \"app\"\npassword = \"hunter2\"\n";
    let (raw, checked) = load_text(&format!("{}{user}", with_password("password = \"hunter2\""))).expect("valid");
    let json = serde_json::to_string(&raw).expect("JSON");
    let shown = effective(&raw);
    assert_eq!(shown.matches("password = \"***\"").count(), 2, "{shown}");
    for output in [format!("{raw:?}"), format!("{checked:#?}"), json, shown] {
        assert!(!output.contains(PASSWORD), "{output}");
    }
    assert_eq!(checked.monitor.password.to_string(), "***");
}

#[test]
fn no_error_shows_a_password() {
    for assignment in [
        "password = hunter2",
        "password = \"hunter2",
        "password = 'hunter2' hunter2",
        "password = [\"hunter2\"]",
        "password = { plain = \"hunter2\" }",
        "pasword = \"hunter2\"",
        "password = \"hunter2\\u0000\"",
        "password = \"hunter2\\q\"",
        "user = \"hunter2\"\nuser = \"hunter2\"",
        "\"password\" \"hunter2\"",
    ] {
        let said = complaints(&with_password(assignment));
        assert!(!said.is_empty(), "{assignment}");
        assert!(!said.join("\n").contains(PASSWORD), "{said:?}");
    }
}
