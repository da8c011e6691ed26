use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// What a token may do. Each may all that the one before may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Look at everything but whole keys
    Read,
    /// Take and give back slots, admit, end runs, release, pause, override
    Operate,
    /// Declare and deploy limits, reset rates, see whole keys
    Admin,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Admin => "admin",
        }
    }

    pub fn parse(text: &str) -> Option<Role> {
        [Role::Read, Role::Operate, Role::Admin].into_iter().find(|role| role.as_str() == text)
    }
}

/// What a caller may do, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Stands in the record as the one who asked.
    pub name: Option<String>,
    pub role: Role,
    /// Only limits whose names begin with one of these; all, if there are none.
    pub limits: Vec<String>,
    /// Tells a token from an earlier one of the same name.
    pub made_at: u64,
    /// Not given from here on. Milliseconds since 1970.
    pub expires_at: Option<u64>,
}

impl Grant {
    /// Of a caller without a token, where none is wanted.
    pub fn anyone() -> Grant {
        Grant { name: None, role: Role::Admin, limits: Vec::new(), made_at: 0, expires_at: None }
    }

    pub fn is_over(&self, now_ms: u64) -> bool {
        self.expires_at.is_some_and(|at| at <= now_ms)
    }

    pub fn is_bounded(&self) -> bool {
        !self.limits.is_empty()
    }

    pub fn covers(&self, limit: &str) -> bool {
        !self.is_bounded() || self.limits.iter().any(|prefix| limit.starts_with(prefix.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Grant, Role};

    #[test]
    fn prefixes_bound_what_is_covered() {
        let grant = Grant { limits: vec!["voice-".to_owned(), "gpu".to_owned()], ..Grant::anyone() };
        assert!(grant.covers("voice-calls") && grant.covers("gpu") && grant.covers("gpu-2"));
        assert!(!grant.covers("voice") && !grant.covers("partner"));
        assert!(Grant::anyone().covers("partner"));
        assert!(Role::Read < Role::Operate && Role::Operate < Role::Admin);
        assert_eq!(Role::parse(Role::Operate.as_str()), Some(Role::Operate));
    }
}
