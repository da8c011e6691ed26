//! The arguments of one verb: first by place, then by name.

use maitred_api::Given;

use crate::scenario::parse::Wrong;

/// A word of a line and the column where it starts, from 1.
#[derive(Clone, Copy, Debug)]
pub struct Token<'a> {
    pub text: &'a str,
    pub column: usize,
}

impl Token<'_> {
    pub fn wrong(&self, message: String) -> Wrong {
        Wrong { line: 0, column: self.column, message }
    }
}

/// What a verb takes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Form {
    /// By place, all required.
    pub places: &'static [&'static str],
    /// By name, all optional: what is missing is for the limiter to refuse.
    pub names: &'static [&'static str],
    /// Words without a value.
    pub flags: &'static [&'static str],
}

impl Form {
    fn allowed(&self) -> String {
        let places = self.places.iter().map(|place| (*place).to_owned());
        let names = self.names.iter().map(|name| format!("{name}="));
        let flags = self.flags.iter().map(|flag| (*flag).to_owned());
        let all: Vec<String> = places.chain(names).chain(flags).collect();
        if all.is_empty() { "nothing".to_owned() } else { all.join(" ") }
    }
}

#[derive(Debug)]
pub struct Args<'a> {
    places: Vec<&'a str>,
    names: Vec<(&'static str, &'a str)>,
    flags: Vec<&'static str>,
}

impl<'a> Args<'a> {
    /// An id may hold a `=`, so a word is an argument by name only if the verb has that name.
    pub fn read(verb: Token<'_>, tokens: &[Token<'a>], form: Form) -> Result<Self, Wrong> {
        let mut args = Args { places: Vec::new(), names: Vec::new(), flags: Vec::new() };
        for token in tokens {
            let named =
                token.text.split_once('=').and_then(|(name, value)| Some((find(form.names, name)?, value)));
            let flag = find(form.flags, token.text);
            match (named, flag) {
                (Some((name, _)), _) if args.value(name).is_some() => {
                    return Err(token.wrong(format!("`{name}=` stands twice")));
                }
                (Some(pair), _) => args.names.push(pair),
                (None, Some(flag)) => args.flags.push(flag),
                (None, None) if args.places.len() < form.places.len() => args.places.push(token.text),
                (None, None) => {
                    let (word, verb) = (token.text, verb.text);
                    let allowed = form.allowed();
                    return Err(token.wrong(format!("`{verb}` does not take `{word}`; allowed: {allowed}")));
                }
            }
        }
        match form.places.get(args.places.len()) {
            Some(missing) => {
                Err(verb.wrong(format!("`{}` needs {missing}; allowed: {}", verb.text, form.allowed())))
            }
            None => Ok(args),
        }
    }

    pub fn place(&self, index: usize) -> &'a str {
        self.places.get(index).copied().unwrap_or_default()
    }

    pub fn value(&self, name: &str) -> Option<&'a str> {
        self.names.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    pub fn owned(&self, name: &str) -> Option<String> {
        self.value(name).map(str::to_owned)
    }

    pub fn given(&self, name: &str) -> Given {
        self.value(name).map(Given::from).unwrap_or_default()
    }

    pub fn flag(&self, name: &str) -> bool {
        self.flags.contains(&name)
    }
}

fn find(known: &'static [&'static str], word: &str) -> Option<&'static str> {
    known.iter().find(|name| **name == word).copied()
}
