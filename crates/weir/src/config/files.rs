//! Reading the files that a configuration names: passwords, certificates and keys.
//!
//! Must always hold: no more of a file is read than its bound, the permissions are those of the
//! file that was opened (not of one that took its place meanwhile), and no error quotes content.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

/// The most that is read of a configuration file, in bytes.
pub(crate) const MAX_CONFIG_FILE: u64 = 4 << 20;
/// The most that is read of a password file, in bytes.
const MAX_PASSWORD_FILE: u64 = 4 << 10;
/// The most that is read of a PEM file, in bytes.
const MAX_PEM_FILE: u64 = 4 << 20;

/// Permission bits of the group and of others.
const GROUP_AND_OTHERS: u32 = 0o077;
/// Permission bits of others.
const OTHERS: u32 = 0o007;

/// Permission bits that root may leave to a service's group: to read.
const GROUP_READS: u32 = 0o040;

/// A file's content and permissions.
pub(crate) struct Content {
    /// All of the file.
    pub(crate) bytes: Vec<u8>,
    /// The permission bits, such as 0o600.
    mode: u32,
    /// The owner's user id.
    owner: u32,
}

impl Content {
    /// Reads a file of at most `limit` bytes.
    pub(crate) fn read(path: &Path, limit: u64) -> io::Result<Self> {
        let file = File::open(path)?;
        let meta = file.metadata()?;
        let (mode, owner) = (meta.permissions().mode() & 0o7777, meta.uid());
        let mut bytes = Vec::new();
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            let message = format!("is larger than {limit} bytes");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, message));
        }
        Ok(Self { bytes, mode, owner })
    }

    /// A complaint when the group or others may do anything with a file that holds a password. But root may let a service
    /// read one through its group.
    pub(crate) fn refuse_group_and_others(&self, path: &Path) -> Result<(), String> {
        let bits = refused_bits(self.owner, nix::unistd::geteuid().as_raw());
        self.refuse(bits, "a password, but users other than its owner have", path)
    }

    /// A complaint when anyone on the machine may do anything with a file that holds a private key.
    fn refuse_others(&self, path: &Path) -> Result<(), String> {
        self.refuse(OTHERS, "a private key, but everyone has", path)
    }

    fn refuse(&self, bits: u32, what_and_who: &str, path: &Path) -> Result<(), String> {
        if self.mode & bits == 0 {
            return Ok(());
        }
        Err(format!(
            "contains {what_and_who} access to it (mode {:04o}): run `chmod 600 {}`",
            self.mode,
            path.display(),
        ))
    }
}

/// What nobody but the owner may have of a file with a password, which a process of user `reader` reads.
fn refused_bits(owner: u32, reader: u32) -> u32 {
    if owner == 0 && reader != 0 { GROUP_AND_OTHERS & !GROUP_READS } else { GROUP_AND_OTHERS }
}

/// "path: what is wrong with it".
fn about(path: &Path, message: impl std::fmt::Display) -> String {
    format!("{}: {message}", path.display())
}

/// Reads a password; one line break at the end of the file does not count.
pub(crate) fn read_password(path: &Path) -> Result<String, String> {
    let content = Content::read(path, MAX_PASSWORD_FILE).map_err(|error| about(path, error))?;
    content.refuse_group_and_others(path).map_err(|message| about(path, message))?;
    let text = String::from_utf8(content.bytes).map_err(|_| about(path, "is not UTF-8 text"))?;
    let line = text.strip_suffix('\n').unwrap_or(&text);
    let password = line.strip_suffix('\r').unwrap_or(line);
    if password.is_empty() {
        return Err(about(path, "is empty"));
    }
    Ok(password.to_owned())
}

/// A certificate and its private key, which match.
#[derive(Debug)]
pub(crate) struct Identity {
    /// The certificate, followed by its intermediates.
    pub(crate) chain: Vec<CertificateDer<'static>>,
    /// The private key of the first certificate. Its Debug shows nothing of it.
    pub(crate) key: PrivateKeyDer<'static>,
}

impl Clone for Identity {
    fn clone(&self) -> Self {
        Self { chain: self.chain.clone(), key: self.key.clone_key() }
    }
}

/// Reads the certificates of a PEM file, at least one.
pub(crate) fn read_certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let content = Content::read(path, MAX_PEM_FILE).map_err(|error| about(path, error))?;
    let certificates = CertificateDer::pem_slice_iter(&content.bytes)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| about(path, format!("is not a PEM file: {error}")))?;
    if certificates.is_empty() {
        return Err(about(path, "contains no certificate in PEM format"));
    }
    Ok(certificates)
}

/// Reads the first private key of a PEM file.
pub(crate) fn read_private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let content = Content::read(path, MAX_PEM_FILE).map_err(|error| about(path, error))?;
    content.refuse_others(path).map_err(|message| about(path, message))?;
    PrivateKeyDer::from_pem_slice(&content.bytes)
        .map_err(|_| about(path, "contains no unencrypted private key in PEM format"))
}

/// Checks that the TLS library can use the key, and that it belongs to the first certificate.
pub(crate) fn check_identity(identity: &Identity) -> Result<(), String> {
    let Identity { chain, key } = identity.clone();
    CertifiedKey::from_der(chain, key, &rustls::crypto::aws_lc_rs::default_provider()).map(drop).map_err(|error| {
        match error {
            rustls::Error::InconsistentKeys(_) => "is not the private key of the certificate".to_owned(),
            other => other.to_string(),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::refused_bits;

    #[test]
    fn only_root_may_let_a_service_read_through_its_group() {
        assert_eq!(refused_bits(0, 0), 0o077);
        assert_eq!(refused_bits(1000, 1000), 0o077);
        assert_eq!(refused_bits(1000, 0), 0o077);
        assert_eq!(refused_bits(0, 1000), 0o037);
    }
}
