//! TLS towards clients: the owner's certificate, or one that Weir makes for itself.

use std::io;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// TLS with a new self-signed certificate: it hides the traffic, and proves nothing about who answers.
///
/// # Errors
/// When no certificate can be made.
pub fn generated() -> io::Result<Arc<ServerConfig>> {
    let made =
        rcgen::generate_simple_self_signed(["localhost".to_owned(), "weir".to_owned()]).map_err(io::Error::other)?;
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).map_err(io::Error::other)?;
    config(vec![made.cert.der().clone()], key)
}

/// TLS with this certificate chain and its key.
///
/// # Errors
/// When the key is not the certificate's.
pub fn config(chain: Vec<CertificateDer<'static>>, key: PrivateKeyDer<'static>) -> io::Result<Arc<ServerConfig>> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, key).map_err(io::Error::other)?;
    Ok(Arc::new(config))
}
