use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, Error, IsCa, KeyPair};

/// Somebody who makes certificates: its root is what `pem()` says, and it is what `CertificateParams::signed_by` takes.
/// Each is another, though all have one name.
pub fn authority() -> Result<CertifiedIssuer<'static, KeyPair>, Error> {
    let mut params = CertificateParams::new(Vec::new())?;
    params.distinguished_name.push(DnType::CommonName, "the maker");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate()?)
}
