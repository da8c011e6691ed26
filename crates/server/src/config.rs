//! `maitred.toml`: the limits a server deploys, and what `maitred apply` sends; and the apps it calls back.
//!
//! ```toml
//! [limits."voice-calls"]
//! capacity = 20
//! max_hold = "45m"
//!
//! [namespace."staging".limits."voice-calls"]
//! capacity = 2
//! max_hold = "10m"
//!
//! [callbacks.voice]
//! url = "https://voice.example/maitred"
//! ```
//!
//! Names and fields are checked here; whether a capacity or a max hold is allowed is a rule, so the rules
//! themselves are asked, on an empty limiter that is thrown away ([`LimitsFile::rehearse`]). Either way the error
//! names the file, the limit and the field before anything has changed anywhere.

use std::{collections::BTreeMap, fs, path::Path};

use maitred::local::{Node, NodeOptions};
use maitred_api::{Call, Context, LimitFields, NamedLimit};
use serde::Deserialize;

use crate::callbacks::TargetFields;

pub const DEFAULT_NAMESPACE: &str = "default";

/// The sets of a file, by namespace. A namespace without limits is not in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitsFile {
    /// As the errors name it.
    pub path: String,
    pub sets: BTreeMap<String, Vec<NamedLimit>>,
    /// A server's own; nobody else can set them.
    pub callbacks: BTreeMap<String, TargetFields>,
}

#[derive(Debug, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ConfigError {
    pub path: String,
    pub message: String,
}

type Entries = BTreeMap<String, toml::Value>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(default)]
    limits: Entries,
    #[serde(default)]
    namespace: BTreeMap<String, Section>,
    #[serde(default)]
    callbacks: BTreeMap<String, TargetFields>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(default)]
    limits: Entries,
}

impl LimitsFile {
    pub fn read(file: &Path) -> Result<LimitsFile, ConfigError> {
        let path = file.display().to_string();
        match fs::read_to_string(file) {
            Ok(text) => Self::parse(&text, &path),
            Err(error) => Err(ConfigError { path, message: format!("cannot be read: {error}") }),
        }
    }

    /// `path` is for the errors.
    pub fn parse(text: &str, path: &str) -> Result<LimitsFile, ConfigError> {
        let refused = |message: String| ConfigError { path: path.to_owned(), message };
        let document: Document =
            toml::from_str(text).map_err(|error| refused(error.to_string().trim_end().to_owned()))?;
        let mut sets = BTreeMap::new();
        let mut sections: Vec<_> =
            document.namespace.into_iter().map(|(name, section)| (name, section.limits)).collect();
        if sections.iter().any(|(name, _)| name == DEFAULT_NAMESPACE) {
            let message =
                "the limits of namespace `default` stand under `[limits]`, not under `[namespace.default]`";
            return Err(refused(message.to_owned()));
        }
        sections.push((DEFAULT_NAMESPACE.to_owned(), document.limits));
        for (namespace, entries) in sections {
            let set =
                entries.into_iter().map(|(name, entry)| named(name, entry)).collect::<Result<Vec<_>, _>>();
            let set = set.map_err(|message| refused(in_namespace(&namespace, &message)))?;
            if !set.is_empty() {
                sets.insert(namespace, set);
            }
        }
        Ok(LimitsFile { path: path.to_owned(), sets, callbacks: document.callbacks })
    }

    /// Deploys every set on an empty limiter in memory: what fails there would fail anywhere.
    pub async fn rehearse(&self) -> Result<(), ConfigError> {
        let refused = |message: String| ConfigError { path: self.path.clone(), message };
        let options = NodeOptions { manual_clock: true, ..NodeOptions::default() };
        let node = Node::start(options).await.map_err(|error| refused(error.to_string()))?;
        for (namespace, limits) in &self.sets {
            let context = Context { namespace: Some(namespace.clone()), ..Context::default() };
            let deployed = node.call(&context, Call::Deploy { limits: limits.clone() }).await;
            deployed.map_err(|problem| refused(in_namespace(namespace, &problem.message)))?;
        }
        Ok(())
    }
}

fn named(name: String, entry: toml::Value) -> Result<NamedLimit, String> {
    match LimitFields::deserialize(entry) {
        Ok(LimitFields { capacity, max_hold }) => Ok(NamedLimit { name, capacity, max_hold }),
        Err(error) => Err(format!("limit `{name}`: {}", error.message())),
    }
}

fn in_namespace(namespace: &str, message: &str) -> String {
    match namespace {
        DEFAULT_NAMESPACE => message.to_owned(),
        other => format!("namespace `{other}`: {message}"),
    }
}

#[cfg(test)]
mod tests {
    use super::LimitsFile;

    fn error(text: &str) -> String {
        LimitsFile::parse(text, "maitred.toml").unwrap_err().to_string()
    }

    #[test]
    fn limits_of_several_namespaces() {
        let text = "[limits.\"voice-calls\"]\ncapacity = 20\nmax_hold = \"45m\"\n\
                    [namespace.\"staging\".limits.a]\ncapacity = 1\nmax_hold = 5000\n[namespace.empty]\n";
        let file = LimitsFile::parse(text, "maitred.toml").unwrap();
        assert_eq!(file.sets.keys().collect::<Vec<_>>(), ["default", "staging"]);
        let voice = &file.sets["default"][0];
        assert_eq!((voice.name.as_str(), voice.capacity.whole_number()), ("voice-calls", Some(20)));
        assert_eq!(voice.max_hold.0, "45m");
        assert_eq!(file.sets["staging"][0].max_hold.whole_number(), Some(5000));
    }

    #[test]
    fn nothing_declared_is_nothing_to_deploy() {
        assert!(LimitsFile::parse("", "f").unwrap().sets.is_empty());
        assert!(LimitsFile::parse("[limits]\n", "f").unwrap().sets.is_empty());
    }

    #[test]
    fn errors_name_file_limit_and_field() {
        let unknown = error("[limits.voice]\ncapcity = 20\n");
        for part in ["maitred.toml: ", "limit `voice`", "`capcity`", "`capacity` or `max_hold`"] {
            assert!(unknown.contains(part), "{part} is missing in: {unknown}");
        }
        assert!(error("[limit.voice]\ncapacity = 1\n").contains("`limits`, `namespace`, `callbacks`"));
        assert!(error("[callbacks.app]\nurl = \"x\"\nsecret = \"s\"\n").contains("`secret`"));
        assert!(error("[namespace.x.limit.voice]\ncapacity = 1\n").contains("expected `limits`"));
        assert!(error("[limits]\nvoice = 3\n").contains("limit `voice`"));
        assert!(error("[namespace.x.limits]\nvoice = 3\n").contains("namespace `x`: limit `voice`"));
        assert!(error("[limits.a]\n[limits.a]\n").contains("duplicate key"));
        assert!(error("[namespace.default.limits.a]\n").contains("stand under `[limits]`"));
        assert!(error("limits = ").contains("line 1"));
    }
}
