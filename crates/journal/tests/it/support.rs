//! What several of the tests need.

use std::fs;

use maitred_testbed::authority;
use rcgen::{CertificateParams, KeyPair};
use tempfile::TempDir;

/// An authority in `ca.pem`, and by it a certificate and a key for one name, in `server.pem` and `server.key`.
pub fn certificates(name: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let authority = authority().expect("an authority");
    let key = KeyPair::generate().expect("a key");
    let own = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    let own = own.signed_by(&key, &authority).expect("a certificate");
    let write = |file: &str, text: String| fs::write(folder.path().join(file), text).expect("a file");
    write("ca.pem", authority.pem());
    write("server.pem", own.pem());
    write("server.key", key.serialize_pem());
    folder
}
