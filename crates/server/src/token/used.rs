//! When each token was last used: `tokens-used.json` in the data folder, written by the server about once a minute and
//! at its end, and read by `maitred token ls`. Nothing depends on it, so what cannot be read or written is left out.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

const FILE: &str = "tokens-used.json";
const WRITTEN_EVERY: Duration = Duration::from_secs(60);

/// By the token's name and when it was made, so that a new token of an old name has not been used yet.
#[derive(Default, Serialize, Deserialize)]
pub struct Used(BTreeMap<String, BTreeMap<u64, u64>>);

impl Used {
    pub fn read(folder: &Path) -> Used {
        let text = fs::read(folder.join(FILE)).unwrap_or_default();
        serde_json::from_slice(&text).unwrap_or_default()
    }

    /// Milliseconds since 1970.
    pub fn at(&self, name: &str, made_at: u64) -> Option<u64> {
        self.0.get(name)?.get(&made_at).copied()
    }
}

/// The server's side.
pub struct Usage {
    folder: Option<PathBuf>,
    state: Mutex<State>,
}

struct State {
    used: Used,
    written: Instant,
    has_changed: bool,
}

impl Usage {
    pub fn of(folder: Option<&Path>) -> Usage {
        let used = folder.map(Used::read).unwrap_or_default();
        let state = State { used, written: Instant::now(), has_changed: false };
        Usage { folder: folder.map(Path::to_owned), state: Mutex::new(state) }
    }

    pub fn note(&self, name: &str, made_at: u64, now_ms: u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.used.0.get_mut(name) {
            // The usual case makes nothing.
            Some(times) => times.retain(|made, _| *made == made_at),
            None => drop(state.used.0.insert(name.to_owned(), BTreeMap::new())),
        }
        if let Some(times) = state.used.0.get_mut(name) {
            times.insert(made_at, now_ms);
        }
        state.has_changed = true;
    }

    /// Writes what is new, if it is time.
    pub fn write_now_and_then(&self) {
        let is_due = {
            let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.written.elapsed() >= WRITTEN_EVERY
        };
        if is_due {
            self.write();
        }
    }

    pub fn write(&self) {
        let Some(folder) = &self.folder else { return };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::mem::take(&mut state.has_changed) {
            return;
        }
        state.written = Instant::now();
        let written = serde_json::to_vec(&state.used).map_err(Into::into);
        if let Err(error) = written.and_then(|bytes| super::kept::replace(folder, FILE, &bytes)) {
            tracing::debug!(%error, "when tokens were used is not written down");
        }
    }
}
