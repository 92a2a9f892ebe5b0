//! Certificates and keys: read, matched, and refused with a reason.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use super::*;

/// A directory with two self-signed certificates, their keys, and a configuration that begins with
/// `head`.
fn laid_out(head: &str) -> (TempDir, PathBuf) {
    let (directory, path) = private_file("weir.toml", &format!("{head}{MINIMAL}"));
    for name in ["a", "b"] {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["weir.test".to_owned()]).expect("a certificate");
        let file = |ending: &str| directory.path().join(format!("{name}.{ending}"));
        write_with_mode(&file("crt"), &cert.pem(), 0o644);
        write_with_mode(&file("key"), &signing_key.serialize_pem(), 0o640);
    }
    (directory, path)
}

#[test]
fn a_certificate_and_its_key_are_loaded_for_both_sides() {
    let (_directory, path) = laid_out(
        "[tls]\nmode = \"files\"\ncertificate = \"a.crt\"\nkey = \"a.key\"\nrequire = true
[server_tls]\nmode = \"verify-identity\"\nca = \"a.crt\"\ncertificate = \"b.crt\"\nkey = \"b.key\"\n",
    );
    let (_, config) = read_and_check(&path, &|_| None).expect("valid");
    let ClientTlsCertificate::Files(identity) = &config.tls.certificate else {
        panic!("the certificate of the files is used");
    };
    assert_eq!(identity.chain, config.server_tls.authorities);
    assert!(config.server_tls.identity.is_some());
}

#[test]
fn files_that_do_not_fit_are_refused_with_the_reason() {
    let directory_name = |path: &Path| path.parent().expect("a directory").display().to_string();
    for (head, expected) in [
        (
            "[tls]\nmode = \"files\"\ncertificate = \"a.crt\"\nkey = \"b.key\"",
            &["`key` in [tls], line 4: is not the private key of the certificate"][..],
        ),
        (
            "[tls]\nmode = \"files\"\ncertificate = \"a.key\"\nkey = \"a.crt\"",
            &[
                "`certificate` in [tls], line 3: DIR/a.key: contains no certificate in PEM format",
                "`key` in [tls], line 4: DIR/a.crt: contains a private key, but everyone has access to it (mode 0644): run `chmod 600 DIR/a.crt`",
            ],
        ),
        (
            "[tls]\nmode = \"files\"\ncertificate = \"a.crt\"\nkey = \"weir.toml\"",
            &["`key` in [tls], line 4: DIR/weir.toml: contains no unencrypted private key in PEM format"],
        ),
        ("[tls]\nmode = \"files\"\ncertificate = \"c.crt\"", &["[tls], line 1: mode = \"files\" needs `key`"]),
        (
            "[tls]\nmode = \"files\"\ncertificate = \"c.crt\"\nkey = \"a.key\"",
            &["`certificate` in [tls], line 3: DIR/c.crt: No such file or directory (os error 2)"],
        ),
        ("[tls]\ncertificate = \"a.crt\"", &["`certificate` in [tls], line 2: is used with mode = \"files\" only"]),
        ("[tls]\nmode = \"off\"\nrequire = true", &["`require` in [tls], line 3: can't be true with mode = \"off\""]),
        (
            "[server_tls]\nmode = \"verify-ca\"\nkey = \"a.key\"",
            &[
                "[server_tls], line 1: needs both or none of `certificate` and `key`",
                "`mode` in [server_tls], line 2: needs `ca`",
            ],
        ),
        (
            "[server_tls]\nmode = \"required\"\nca = \"a.crt\"",
            &["`ca` in [server_tls], line 3: is used with modes \"verify-ca\" and \"verify-identity\" only"],
        ),
        (
            "[server_tls]\nmode = \"off\"\ncertificate = \"a.crt\"\nkey = \"a.key\"",
            &["`certificate` in [server_tls], line 3: can't be used with mode = \"off\""],
        ),
    ] {
        let (_directory, path) = laid_out(head);
        let directory = directory_name(&path);
        let said = complaints_about(&path).into_iter();
        let said: Vec<_> = said.map(|line| line.replace(&directory, "DIR")).collect();
        assert_eq!(said, expected, "{head}");
    }
}
