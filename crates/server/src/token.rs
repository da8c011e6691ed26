//! Who may ask for what.
//!
//! A caller carries a token. The server knows tokens from two places: the data folder's `tokens.json`, which
//! `maitred token` writes ([`kept`]), each with a role and perhaps prefixes of limits; and a file of its operator's
//! own ([`file`]), whose tokens may do everything. Of either only the hash stays in memory: a token has at least 128
//! bits that nobody can guess, so one SHA-256 of it is as good as the token is, and looking a hash up in a map tells
//! an attacker nothing that helps.
//!
//! The folder's file is read again when it has changed ([`Tokens::tick`], every second), so a revoked token is refused a second
//! later at the latest, and its open streams end. From the first token on callers must carry one, also after the last
//! was revoked.

mod file;
mod grant;
pub mod kept;
mod used;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use sha2::{Digest, Sha256};
use tokio::sync::watch;

use crate::stamp::Stamp;
use used::Usage;

pub use file::{TokenError, private_text};
pub use grant::{Grant, Role};
pub use used::Used;

/// The SHA-256 of a token.
pub type Hash = [u8; 32];

pub fn hash(secret: &[u8]) -> Hash {
    Sha256::digest(secret).into()
}

/// Grants by the hash of their token.
type Grants = BTreeMap<Hash, Arc<Grant>>;

/// Whoever carries one may ask.
pub struct Tokens {
    fixed: Grants,
    kept: Option<PathBuf>,
    known: watch::Sender<Known>,
    anyone: Arc<Grant>,
    usage: Usage,
}

#[derive(Clone)]
struct Known {
    grants: Arc<Grants>,
    wanted: bool,
    stamp: Option<Stamp>,
}

impl Tokens {
    /// From an operator's file and from the data folder; either may be absent.
    pub fn open(file: Option<&Path>, folder: Option<&Path>) -> Result<Tokens, TokenError> {
        let fixed: Grants = match file {
            Some(file) => {
                file::read(file)?.into_iter().map(|(hash, grant)| (hash, Arc::new(grant))).collect()
            }
            None => Grants::new(),
        };
        let kept = folder.map(kept::path);
        let (listed, stamp) = match &kept {
            Some(path) => (kept::read(path)?, Stamp::of(path)),
            None => (None, None),
        };
        let wanted = file.is_some() || listed.is_some();
        let grants = Arc::new(all(&fixed, listed.unwrap_or_default()));
        let known = watch::Sender::new(Known { grants, wanted, stamp });
        Ok(Tokens { fixed, kept, known, anyone: Arc::new(Grant::anyone()), usage: Usage::of(folder) })
    }

    /// Whether callers must carry one.
    pub fn are_wanted(&self) -> bool {
        self.known.borrow().wanted
    }

    /// Whether anybody could come in.
    pub fn are_there(&self) -> bool {
        !self.known.borrow().grants.is_empty()
    }

    /// What the token that was given grants; what anyone may, where none is wanted.
    pub fn grant(&self, given: &[u8]) -> Option<Arc<Grant>> {
        let known = self.known.borrow();
        if !known.wanted {
            return Some(Arc::clone(&self.anyone));
        }
        let now_ms = now_ms();
        let grant = known.grants.get(&hash(given)).filter(|grant| !grant.is_over(now_ms)).cloned()?;
        if let Some(name) = grant.name.as_deref().filter(|_| grant.made_at > 0) {
            self.usage.note(name, grant.made_at, now_ms);
        }
        Some(grant)
    }

    /// Takes away what has expired, so that whoever waits for the end of a grant hears of it.
    fn expire(&self) {
        let now_ms = now_ms();
        self.known.send_if_modified(|known| {
            let is_over = known.grants.values().any(|grant| grant.is_over(now_ms));
            if is_over {
                Arc::make_mut(&mut known.grants).retain(|_, grant| !grant.is_over(now_ms));
            }
            is_over
        });
    }

    /// What is to be done from time to time: notice changes and ends, write down what was used.
    pub fn tick(&self) {
        self.reload();
        self.expire();
        self.usage.write_now_and_then();
    }

    /// At the server's end.
    pub fn close(&self) {
        self.usage.write();
    }

    /// Resolves when this grant is no longer given: revoked, or expired. Cancel safe.
    pub async fn revoked(&self, grant: &Grant) {
        let mut known = self.known.subscribe();
        let is_gone = |known: &Known| match known.wanted {
            true => !known.grants.values().any(|still| **still == *grant),
            false => false,
        };
        if known.wait_for(is_gone).await.is_err() {
            std::future::pending().await
        }
    }

    /// Reads the folder's file again if it has changed. One that cannot be read changes nothing and is logged.
    pub fn reload(&self) {
        let Some(path) = &self.kept else { return };
        let stamp = Stamp::of(path);
        if stamp == self.known.borrow().stamp {
            return;
        }
        match kept::read(path) {
            Ok(listed) => {
                tracing::info!("tokens read again");
                self.known.send_modify(|known| {
                    known.wanted |= listed.is_some();
                    known.grants = Arc::new(all(&self.fixed, listed.unwrap_or_default()));
                    known.stamp = stamp;
                });
            }
            Err(error) => {
                tracing::error!(%error, "the tokens stay as they were");
                self.known.send_modify(|known| known.stamp = stamp);
            }
        }
    }
}

fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or_default()
}

fn all(fixed: &Grants, listed: Vec<(Hash, Grant)>) -> Grants {
    let listed = listed.into_iter().map(|(hash, grant)| (hash, Arc::new(grant)));
    listed.chain(fixed.iter().map(|(hash, grant)| (*hash, Arc::clone(grant)))).collect()
}
