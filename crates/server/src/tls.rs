//! TLS of the server's own, where no proxy speaks it: a certificate and its key from two PEM files.
//!
//! The files are read again when they change and on SIGHUP. Connections that are open keep the certificate that they
//! began with; one that cannot be used changes nothing and is logged, so a renewal that replaces one file after the
//! other is taken over when both are there. When the certificate ends soon, `/readyz` says so, and with it
//! `maitred doctor`.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tokio::sync::watch;
use tokio_rustls::TlsAcceptor;
use x509_cert::der::Decode;

use crate::stamp::Stamp;

/// From here on it is told that a certificate ends. Those that renew themselves do so about thirty days before.
const WARNED_BEFORE: Duration = Duration::from_secs(14 * 24 * 3600);

#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("{path} cannot be read as PEM: {why}")]
    Unreadable { path: String, why: String },
    #[error(
        "{path} has no certificate; allowed: PEM, the server's own certificate first, then those between"
    )]
    NoCertificate { path: String },
    #[error("everybody may read the key {path} (mode {mode:03o}); take that away: chmod o= {path}")]
    Exposed { path: String, mode: u32 },
    #[error("the certificate {cert} and the key {key} cannot be used together: {why}")]
    Unusable { cert: String, key: String, why: String },
}

/// The certificate that is shown to whoever connects now.
pub struct Certificates {
    cert: PathBuf,
    key: PathBuf,
    current: watch::Sender<Current>,
}

struct Current {
    config: Arc<ServerConfig>,
    /// The first end in the chain, in seconds since 1970.
    expires_at: u64,
    stamps: Stamps,
}

type Stamps = [Option<Stamp>; 2];

impl Certificates {
    pub fn open(cert: &Path, key: &Path) -> Result<Certificates, TlsError> {
        let current = watch::Sender::new(read(cert, key)?);
        Ok(Certificates { cert: cert.to_owned(), key: key.to_owned(), current })
    }

    /// For one connection.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.current.borrow().config))
    }

    /// Takes the files over if they have changed.
    pub fn reload(&self) {
        let stamps = stamps(&self.cert, &self.key);
        if stamps == self.current.borrow().stamps {
            return;
        }
        match read(&self.cert, &self.key) {
            Ok(current) => {
                tracing::info!(expires_at_s = current.expires_at, "certificate read again");
                self.current.send_replace(current);
            }
            Err(error) => {
                tracing::error!(%error, "the certificate stays as it was");
                self.current.send_modify(|current| current.stamps = stamps);
            }
        }
    }

    /// Seconds since 1970.
    pub fn expires_at(&self) -> u64 {
        self.current.borrow().expires_at
    }

    /// What an operator should know.
    pub fn note(&self) -> Option<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let left = Duration::from_secs(self.expires_at()).saturating_sub(now);
        let cert = self.cert.display();
        match left {
            Duration::ZERO => Some(format!("the certificate {cert} has expired: clients refuse to connect")),
            left if left <= WARNED_BEFORE => {
                let hours = left.as_secs() / 3600;
                Some(format!("the certificate {cert} expires in {}d {}h", hours / 24, hours % 24))
            }
            _ => None,
        }
    }
}

fn stamps(cert: &Path, key: &Path) -> Stamps {
    [Stamp::of(cert), Stamp::of(key)]
}

fn read(cert: &Path, key: &Path) -> Result<Current, TlsError> {
    let stamps = stamps(cert, key);
    let chain = chain(cert)?;
    let expires_at = expiry(cert, &chain)?;
    let unusable = |error: rustls::Error| TlsError::Unusable {
        cert: cert.display().to_string(),
        key: key.display().to_string(),
        why: error.to_string(),
    };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let config = builder.with_no_client_auth().with_single_cert(chain, private_key(key)?);
    let mut config = config.map_err(unusable)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Current { config: Arc::new(config), expires_at, stamps })
}

fn chain(file: &Path) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let certificates = CertificateDer::pem_file_iter(file).map_err(|error| unreadable(file, &error))?;
    let chain: Vec<_> = certificates.collect::<Result<_, _>>().map_err(|error| unreadable(file, &error))?;
    match chain.is_empty() {
        true => Err(TlsError::NoCertificate { path: file.display().to_string() }),
        false => Ok(chain),
    }
}

fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, TlsError> {
    let about = fs::metadata(file).map_err(|error| unreadable(file, &error))?;
    let mode = about.permissions().mode() & 0o777;
    if mode & 0o007 != 0 {
        return Err(TlsError::Exposed { path: file.display().to_string(), mode });
    }
    PrivateKeyDer::from_pem_file(file).map_err(|error| unreadable(file, &error))
}

/// A chain is good no longer than its shortest-lived part.
fn expiry(file: &Path, chain: &[CertificateDer<'_>]) -> Result<u64, TlsError> {
    let mut first = u64::MAX;
    for certificate in chain {
        let read = x509_cert::Certificate::from_der(certificate);
        let read = read.map_err(|error| unreadable(file, &error))?;
        first = first.min(read.tbs_certificate().validity().not_after.to_unix_duration().as_secs());
    }
    Ok(first)
}

fn unreadable(file: &Path, error: &dyn std::fmt::Display) -> TlsError {
    TlsError::Unreadable { path: file.display().to_string(), why: error.to_string() }
}
