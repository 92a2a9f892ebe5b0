//! TLS towards the servers: how their certificates are checked in each mode.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use weir_backend::server::Tls;

use super::ServeError;
use crate::config::checked::{ServerTls, ServerTlsMode};

/// The policy of a checked `[server_tls]`.
pub(super) fn policy(settings: &ServerTls) -> Result<Tls, ServeError> {
    if settings.mode == ServerTlsMode::Off {
        return Ok(Tls::Off);
    }
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|e| ServeError::Tls(e.to_string()))?;
    let verifier = Arc::new(Verifier { inner: authorities(settings, &provider)?, mode: settings.mode, provider });
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
    let config = Arc::new(with_identity(builder, settings)?);
    Ok(match settings.mode {
        ServerTlsMode::Preferred => Tls::Preferred(config),
        _ => Tls::Required(config),
    })
}

fn with_identity(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    settings: &ServerTls,
) -> Result<ClientConfig, ServeError> {
    match &settings.identity {
        Some(identity) => builder
            .with_client_auth_cert(identity.chain.clone(), identity.key.clone_key())
            .map_err(|e| ServeError::Tls(e.to_string())),
        None => Ok(builder.with_no_client_auth()),
    }
}

fn authorities(
    settings: &ServerTls,
    provider: &Arc<CryptoProvider>,
) -> Result<Option<Arc<WebPkiServerVerifier>>, ServeError> {
    if settings.authorities.is_empty() {
        return Ok(None);
    }
    let mut roots = RootCertStore::empty();
    for authority in &settings.authorities {
        roots.add(authority.clone()).map_err(|e| ServeError::Tls(e.to_string()))?;
    }
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    verifier.map(Some).map_err(|e| ServeError::Tls(e.to_string()))
}

/// Checks as MySQL's `--ssl-mode` does: nothing, the authority, or the authority and the name.
#[derive(Debug)]
struct Verifier {
    inner: Option<Arc<WebPkiServerVerifier>>,
    mode: ServerTlsMode,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if self.mode == ServerTlsMode::VerifyCa => Ok(ServerCertVerified::assertion()),
            outcome => outcome,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
