//! TLS to the database, by rustls.

use std::{path::Path, sync::Arc};

use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject},
};
use rustls_platform_verifier::Verifier;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::Tls;

/// None where no TLS is wanted.
pub(super) fn connector(tls: &Tls) -> Result<Option<MakeRustlsConnect>, String> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match tls {
        Tls::Off => return Ok(None),
        Tls::Unverified => Arc::new(Relaxed { inner: None, provider: Arc::clone(&provider) }),
        Tls::Verified { name, roots } => {
            let inner = verifier(roots.as_deref(), &provider)?;
            match name {
                true => inner,
                false => Arc::new(Relaxed { inner: Some(inner), provider: Arc::clone(&provider) }),
            }
        }
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    Ok(Some(MakeRustlsConnect::new(config)))
}

/// Why the server's certificate is not taken, if that is why.
pub(super) fn refusal(error: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let Error::InvalidCertificate(wrong) = cause(error)? else { return None };
    Some(match wrong {
        // The latter is an authority with the name of one that is trusted.
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "its certificate is of an authority that is not trusted here; sslrootcert=FILE in the URL names one that is"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "its certificate is not made out for this host; connect to the name in it, or have one made for this one \
             (sslmode=verify-ca does not look at the name)"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "its certificate has expired",
        _ => return None,
    })
}

/// What of it is TLS's.
fn cause<'a>(mut error: &'a (dyn std::error::Error + 'static)) -> Option<&'a Error> {
    loop {
        if let Some(found) = error.downcast_ref::<Error>() {
            return Some(found);
        }
        // An error of the network hides what it carries among its causes.
        let carried = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        error = match carried {
            Some(inner) => inner,
            None => error.source()?,
        };
    }
}

/// Against the authorities in a file, or against those that this machine trusts.
fn verifier(
    roots: Option<&Path>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let Some(file) = roots else {
        let machine = Verifier::new(Arc::clone(provider)).map_err(|error| error.to_string())?;
        return Ok(Arc::new(machine));
    };
    let unreadable = |error: &dyn std::fmt::Display| format!("sslrootcert={}: {error}", file.display());
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unreadable(&error))? {
        let certificate = certificate.map_err(|error| unreadable(&error))?;
        store.add(certificate).map_err(|error| unreadable(&error))?;
    }
    let built = WebPkiServerVerifier::builder_with_provider(Arc::new(store), Arc::clone(provider)).build();
    Ok(built.map_err(|error| unreadable(&error))?)
}

/// `verify-ca` without the name, `require` without anything.
#[derive(Debug)]
struct Relaxed {
    inner: Option<Arc<dyn ServerCertVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Relaxed {
    fn verify_server_cert(
        &self,
        end: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(inner) = &self.inner else { return Ok(ServerCertVerified::assertion()) };
        match inner.verify_server_cert(end, between, name, ocsp, now) {
            // The name is looked at last: everything else was right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
