//! Whom `weir ctl` asks, and with which token.
//!
//! Must always hold: of a configuration file only the `[api]` section is needed, so that `weir ctl` works without the
//! environment and the certificates that the server itself has.

use std::path::Path;

use weir_local::Cluster;

use super::{CtlArgs, CtlError};
use crate::config::{self, Secret};

/// The default directory of a cluster, as for `weir up`.
const USUAL_CLUSTER: &str = "weir-cluster";

/// An address and the token that it asks for.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) address: String,
    pub(super) token: Secret,
}

impl Target {
    pub(super) fn find(args: &CtlArgs) -> Result<Target, CtlError> {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        if let Some(address) = args.address.clone() {
            return Ok(Target { address, token: token(args.token_file.as_deref(), variable("WEIR_TOKEN"))? });
        }
        if let Some(file) = &args.config {
            return Target::of_file(file);
        }
        if let Some(dir) = &args.dir {
            return Target::of_file(&Cluster::config_file(dir));
        }
        if let Some(address) = variable("WEIR_API") {
            return Ok(Target { address, token: token(None, variable("WEIR_TOKEN"))? });
        }
        let usual = Cluster::config_file(Path::new(USUAL_CLUSTER));
        if usual.is_file() {
            return Target::of_file(&usual);
        }
        let message = "which Weir? Give --config FILE, --dir DIR, or --address and --token-file; or set WEIR_API and \
                       WEIR_TOKEN";
        Err(CtlError::Target(message.to_owned()))
    }

    fn of_file(file: &Path) -> Result<Target, CtlError> {
        let (address, token) = config::api_of(file).map_err(CtlError::Target)?;
        Ok(Target { address: config::address::connectable(address).to_string(), token })
    }
}

fn token(file: Option<&Path>, variable: Option<String>) -> Result<Secret, CtlError> {
    let missing = "no token is given: use --token-file FILE, or set WEIR_TOKEN";
    match (file, variable) {
        (Some(file), _) => config::read_password(file).map(Secret::new).map_err(CtlError::Target),
        (None, Some(token)) => Ok(Secret::new(token)),
        (None, None) => Err(CtlError::Target(missing.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::config::tests::private_file;

    fn target(path: PathBuf) -> Result<(String, String), String> {
        let found = Target::of_file(&path);
        found.map(|target| (target.address, target.token.expose().to_owned())).map_err(|error| error.to_string())
    }

    #[test]
    fn address_and_token_are_read_from_a_configuration_file() {
        let text =
            "[monitor]\npassword_env = \"NOT_SET\"\n[api]\naddress = \"0.0.0.0:4408\"\ntoken = \"secret token 1234\"\n";
        let (directory, path) = private_file("weir.toml", text);
        assert_eq!(target(path), Ok(("127.0.0.1:4408".to_owned(), "secret token 1234".to_owned())));
        drop(directory);

        let (_directory, path) =
            private_file("weir.toml", "[api]\naddress = \"127.0.0.1:1\"\ntoken_file = \"api.token\"\n");
        assert!(target(path.clone()).expect_err("no file").contains("api.token"));
        let token = path.with_file_name("api.token");
        std::fs::write(&token, "from a file\n").expect("written");
        std::fs::set_permissions(&token, std::os::unix::fs::PermissionsExt::from_mode(0o600)).expect("set");
        assert_eq!(target(path), Ok(("127.0.0.1:1".to_owned(), "from a file".to_owned())));

        let (_directory, path) = private_file("weir.toml", "[listen]\n");
        assert!(target(path).expect_err("no [api]").contains("[api] has no `address`"));
    }
}
