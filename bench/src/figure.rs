//! What a figure is: its name, what it is measured in, and what it should be.

use std::{fmt, io};

pub struct Figure {
    pub name: &'static str,
    pub unit: &'static str,
    pub target: Target,
    pub what: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    AtLeast(f64),
    AtMost(f64),
    /// Shown for what it is.
    None,
}

impl Target {
    pub fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Target::AtLeast(least) => Some(value >= least),
            Target::AtMost(most) => Some(value <= most),
            Target::None => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::AtLeast(least) => write!(f, "at least {least}"),
            Target::AtMost(most) => write!(f, "at most {most}"),
            Target::None => f.write_str("none"),
        }
    }
}

/// Why there is no figure.
#[derive(Debug)]
pub enum Trouble {
    /// What it is compared with cannot be had on this machine.
    Absent(String),
    /// The work was not done, or not rightly: a figure would be a lie.
    Wrong(String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Absent(what) => write!(f, "cannot be had: {what}"),
            Trouble::Wrong(why) => f.write_str(why),
        }
    }
}

impl From<String> for Trouble {
    fn from(why: String) -> Self {
        Trouble::Wrong(why)
    }
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Trouble::Wrong(error.to_string())
    }
}

/// An error with what was being done.
pub fn wrong(what: &str) -> impl Fn(&dyn fmt::Display) -> Trouble {
    move |error| Trouble::Wrong(format!("{what}: {error}"))
}

/// Fails loudly where the work was not done.
pub fn check(holds: bool, why: impl FnOnce() -> String) -> Result<(), Trouble> {
    if holds { Ok(()) } else { Err(Trouble::Wrong(why())) }
}
