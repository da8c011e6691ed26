//! The servers that a person works with, by name: `agents.toml` in the folder for configuration.
//!
//! ```toml
//! current = "prod"
//!
//! [agents.prod]
//! url = "http://limits.example:7654"
//! namespace = "eu"
//! token_file = "/etc/maitred/prod.token"
//! ```

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use crate::cli::{exit, failure::Failure};

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<String>,
    #[serde(default)]
    pub agents: BTreeMap<String, Agent>,
}

/// What stands in for flags that are not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<PathBuf>,
}

/// Where the file is; none where this user has no folder for it.
pub fn path() -> Option<PathBuf> {
    let folder = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let config = folder("XDG_CONFIG_HOME").or_else(|| Some(folder("HOME")?.join(".config")))?;
    Some(config.join("maitred").join("agents.toml"))
}

impl Agents {
    /// An absent file has no agents.
    pub fn read() -> Result<Agents, Failure> {
        let Some(path) = path() else { return Ok(Agents::default()) };
        let refused = |what: String| {
            let failure = Failure::new(exit::USAGE, format!("{}: {what}", path.display()));
            failure.hint("mend it, or take it away and add agents again: maitred agent add NAME")
        };
        match fs::read_to_string(&path) {
            Ok(text) => {
                toml::from_str(&text).map_err(|error| refused(error.to_string().trim_end().to_owned()))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Agents::default()),
            Err(error) => Err(refused(format!("it cannot be read: {error}"))),
        }
    }

    /// The agent in use: the named current one, or nothing.
    pub fn in_use(mut self) -> Agent {
        self.current.and_then(|name| self.agents.remove(&name)).unwrap_or_default()
    }

    pub fn write(&self) -> Result<(), Failure> {
        let Some(path) = path() else {
            let message = "there is no folder for configuration: neither XDG_CONFIG_HOME nor HOME is set";
            return Err(Failure::new(exit::FAILED, message));
        };
        let cannot = |error: io::Error| {
            Failure::new(exit::FAILED, format!("{} cannot be written: {error}", path.display()))
        };
        let text = toml::to_string(self).map_err(|error| cannot(io::Error::other(error)))?;
        replace(&path, &text).map_err(cannot)
    }
}

/// The old file or the new one, never half of it.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, text.as_bytes())?;
    file.persist(path)?;
    Ok(())
}
