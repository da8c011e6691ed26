//! The tokens that `maitred token` makes: `tokens.json` in the data folder, beside the journal and not in it, so that
//! neither a backup of the journal nor its readers have anything to do with them.
//!
//! Only hashes are kept. The file is replaced whole, under a lock, so a reader sees the old one or the new one.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use super::{Grant, Hash, Role, TokenError, file::private_text, hash};

const FILE: &str = "tokens.json";
const LOCK: &str = "tokens.lock";
const VERSION: u32 = 1;
/// Scanners for leaked secrets find them by it.
const PREFIX: &str = "mtd_";

pub fn path(folder: &Path) -> PathBuf {
    folder.join(FILE)
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    version: u32,
    tokens: Vec<KeptToken>,
}

/// One token, as far as it is known.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptToken {
    pub name: String,
    pub role: Role,
    /// Prefixes of limits; all limits, if there are none.
    pub limits: Vec<String>,
    pub created_at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    sha256: String,
}

/// The grants of the file; none if there is no file.
pub fn read(path: &Path) -> Result<Option<Vec<(Hash, Grant)>>, TokenError> {
    let Some(tokens) = list_at(path)? else { return Ok(None) };
    let grants = tokens.into_iter().map(|token| {
        let hash = parse_hex(&token.sha256).ok_or_else(|| foreign(path, "a hash is damaged"))?;
        let KeptToken { name, role, limits, created_at, expires_at, .. } = token;
        Ok((hash, Grant { name: Some(name), role, limits, made_at: created_at, expires_at }))
    });
    grants.collect::<Result<_, _>>().map(Some)
}

/// The tokens of a data folder.
pub fn list(folder: &Path) -> Result<Vec<KeptToken>, TokenError> {
    list_at(&path(folder)).map(Option::unwrap_or_default)
}

/// Makes a token of this grant and answers it: this once, for it is not kept. A folder that is not there is made.
pub fn create(folder: &Path, name: &str, grant: Grant) -> Result<String, TokenError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|error| TokenError::Unwritable { path: folder.display().to_string(), error })?;
    let secret = format!("{PREFIX}{}{}", uuid::Uuid::new_v4().simple(), uuid::Uuid::new_v4().simple());
    let sha256 = hex(&hash(secret.as_bytes()));
    change(folder, |tokens| {
        if tokens.iter().any(|token| token.name == name) {
            return Err(TokenError::Taken(name.to_owned()));
        }
        let Grant { role, limits, made_at: created_at, expires_at, .. } = grant;
        tokens.push(KeptToken { name: name.to_owned(), role, limits, created_at, expires_at, sha256 });
        Ok(())
    })?;
    Ok(secret)
}

/// Whether there was one.
pub fn revoke(folder: &Path, name: &str) -> Result<bool, TokenError> {
    let mut found = false;
    change(folder, |tokens| {
        found = tokens.iter().any(|token| token.name == name);
        tokens.retain(|token| token.name != name);
        Ok(())
    })?;
    Ok(found)
}

fn change(
    folder: &Path,
    change: impl FnOnce(&mut Vec<KeptToken>) -> Result<(), TokenError>,
) -> Result<(), TokenError> {
    let unwritable =
        |error: io::Error| TokenError::Unwritable { path: path(folder).display().to_string(), error };
    let lock = File::options().create(true).truncate(false).write(true).mode(0o600).open(folder.join(LOCK));
    let lock = lock.map_err(unwritable)?;
    flock(&lock, FlockOperation::LockExclusive).map_err(|error| unwritable(error.into()))?;
    let mut tokens = list(folder)?;
    change(&mut tokens)?;
    let document = serde_json::to_vec_pretty(&Document { version: VERSION, tokens });
    let replaced = document.map_err(Into::into).and_then(|bytes| replace(folder, FILE, &bytes));
    replaced.map_err(unwritable)
}

/// Made by root for a server that is not, the file belongs to whom the folder belongs.
pub(super) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::Builder::new()
        .prefix(".tokens-")
        .permissions(fs::Permissions::from_mode(0o600))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    let (about, own) = (fs::metadata(folder)?, file.as_file().metadata()?);
    if (about.uid(), about.gid()) != (own.uid(), own.gid()) {
        chown(file.path(), Some(about.uid()), Some(about.gid()))?;
    }
    file.persist(folder.join(name))?;
    File::open(folder)?.sync_all()
}

fn list_at(path: &Path) -> Result<Option<Vec<KeptToken>>, TokenError> {
    if !path.exists() {
        return Ok(None);
    }
    let document: Document =
        serde_json::from_str(&private_text(path)?).map_err(|error| foreign(path, &error.to_string()))?;
    match document.version {
        VERSION => Ok(Some(document.tokens)),
        other => Err(foreign(path, &format!("version {other}"))),
    }
}

fn foreign(path: &Path, why: &str) -> TokenError {
    TokenError::Foreign { path: path.display().to_string(), why: why.to_owned() }
}

fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn parse_hex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).ok()?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_shown_once_and_only_its_hash_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(&path(folder.path())).unwrap().is_none());
        let grant = Grant {
            name: Some("ana".to_owned()),
            role: Role::Operate,
            limits: vec!["voice-".to_owned()],
            made_at: 7,
            expires_at: Some(9),
        };
        let secret = create(folder.path(), "ana", grant.clone()).unwrap();
        assert!(secret.starts_with("mtd_") && secret.len() == 68, "{secret}");
        let text = fs::read_to_string(path(folder.path())).unwrap();
        assert!(!text.contains(&secret[4..]), "{text}");
        assert_eq!(fs::metadata(path(folder.path())).unwrap().mode() & 0o777, 0o600);
        let grants = read(&path(folder.path())).unwrap().unwrap();
        assert_eq!(grants, [(hash(secret.as_bytes()), grant)]);
        assert_eq!(fs::metadata(folder.path().join(LOCK)).unwrap().mode() & 0o777, 0o600);

        assert!(matches!(create(folder.path(), "ana", Grant::anyone()), Err(TokenError::Taken(_))));
        assert!(revoke(folder.path(), "ana").unwrap());
        assert!(!revoke(folder.path(), "ana").unwrap());
        assert_eq!(read(&path(folder.path())).unwrap().map(|grants| grants.len()), Some(0));
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        create(folder.path(), "ana", Grant::anyone()).unwrap();
        for text in ["", "{}", r#"{"version":2,"tokens":[]}"#] {
            fs::write(path(folder.path()), text).unwrap();
            assert!(matches!(read(&path(folder.path())), Err(TokenError::Foreign { .. })), "{text}");
        }
        fs::set_permissions(path(folder.path()), fs::Permissions::from_mode(0o644)).unwrap();
        assert!(matches!(read(&path(folder.path())), Err(TokenError::Exposed { .. })));
    }
}
