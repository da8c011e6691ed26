//! Whom a client believes: the roots of its platform, and those it was given.

use std::{path::Path, sync::Arc};

use maitred_api::{Problem, Reason};
use rustls::{
    ClientConfig, RootCertStore,
    client::danger::ServerCertVerifier,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use rustls_platform_verifier::Verifier;

/// What a client of this scheme needs: `https` the platform's roots, if there are any, and those of a PEM file; without
/// TLS nobody is believed, and the platform's roots need not be there.
///
/// # Errors
/// The file has no certificates, or there are no roots at all.
pub fn of_scheme(scheme: &str, roots: Option<&Path>) -> Result<ClientConfig, Problem> {
    match scheme {
        "https" => believing_in(roots),
        _ => Ok(builder()?.with_root_certificates(RootCertStore::empty()).with_no_client_auth()),
    }
}

fn believing_in(roots: Option<&Path>) -> Result<ClientConfig, Problem> {
    let own = roots.map(read).transpose()?.unwrap_or_default();
    let verifier = Verifier::new_with_extra_roots(own, Arc::new(ring::default_provider()));
    let verifier: Arc<dyn ServerCertVerifier> = Arc::new(verifier.map_err(unusable)?);
    Ok(builder()?.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
}

fn builder() -> Result<rustls::ConfigBuilder<ClientConfig, rustls::WantsVerifier>, Problem> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    builder.with_safe_default_protocol_versions().map_err(unusable)
}

fn read(file: &Path) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let bad = |why: String| {
        let message = format!("the roots {} {why}; allowed: certificates in PEM form", file.display());
        Problem::new(Reason::InvalidArgument, message)
    };
    let roots = CertificateDer::pem_file_iter(file).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let roots = roots.map_err(|error| bad(format!("cannot be read ({error})")))?;
    match roots.is_empty() {
        true => Err(bad("have no certificate".to_owned())),
        false => Ok(roots),
    }
}

fn unusable(error: rustls::Error) -> Problem {
    let message = format!("TLS cannot be used here: {error}; give roots of your own");
    Problem::new(Reason::InvalidArgument, message)
}
