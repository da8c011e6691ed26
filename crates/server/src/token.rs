//! The tokens of a server, from a file that only its owner can read.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

/// Whoever carries one may ask. Never shown: no `Debug`, never logged.
pub struct Tokens(Vec<Token>);

struct Token {
    /// Stands in the record as the one who asked.
    name: Option<String>,
    secret: String,
}

const LEAST: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token file {path} cannot be read: {error}")]
    Unreadable { path: String, error: io::Error },
    #[error("others may read the token file {path} (mode {mode:03o}); make it yours alone: chmod 600 {path}")]
    Exposed { path: String, mode: u32 },
    #[error(
        "{path}, line {line}: allowed is `TOKEN` or `NAME TOKEN`, the token of at least {LEAST} visible ASCII characters; \
         make one: openssl rand -hex 32"
    )]
    Malformed { path: String, line: usize },
    #[error("the token file {path} has no token; make one: openssl rand -hex 32")]
    Empty { path: String },
}

impl Tokens {
    /// One token a line, with a name in front if the record should show one; `#` starts a comment.
    pub fn read(file: &Path) -> Result<Tokens, TokenError> {
        let path = file.display().to_string();
        let unreadable = |error| TokenError::Unreadable { path: path.clone(), error };
        let mode = fs::metadata(file).map_err(unreadable)?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(TokenError::Exposed { path, mode });
        }
        let text = fs::read_to_string(file).map_err(unreadable)?;
        Self::parse(&text, &path)
    }

    fn parse(text: &str, path: &str) -> Result<Tokens, TokenError> {
        let mut tokens = Vec::new();
        for (index, line) in text.lines().enumerate() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let (name, secret) = match words[..] {
                [] => continue,
                [first, ..] if first.starts_with('#') => continue,
                [secret] => (None, secret),
                [name, secret] => (Some(name.to_owned()), secret),
                _ => return Err(TokenError::Malformed { path: path.to_owned(), line: index + 1 }),
            };
            if secret.len() < LEAST || !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(TokenError::Malformed { path: path.to_owned(), line: index + 1 });
            }
            tokens.push(Token { name, secret: secret.to_owned() });
        }
        match tokens.is_empty() {
            true => Err(TokenError::Empty { path: path.to_owned() }),
            false => Ok(Tokens(tokens)),
        }
    }

    /// The name of the token that was given, if it is one of ours. Takes the same time whichever differs where.
    pub fn owner(&self, given: &[u8]) -> Option<Option<String>> {
        let mut found = None;
        for token in &self.0 {
            if is_same(token.secret.as_bytes(), given) {
                found = Some(token);
            }
        }
        found.map(|token| token.name.clone())
    }
}

/// Looks at every byte, so that the time does not tell how many were right. It tells the length, which is no secret.
fn is_same(secret: &[u8], given: &[u8]) -> bool {
    let differing = secret.iter().zip(given).fold(0, |seen, (a, b)| seen | (a ^ b));
    std::hint::black_box(differing) == 0 && secret.len() == given.len()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{TokenError, Tokens};

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    fn parse(text: &str) -> Result<Tokens, TokenError> {
        Tokens::parse(text, "tokens")
    }

    #[test]
    fn tokens_have_owners() {
        let tokens = parse(&format!("# ours\n\n{ONE}\nops {TWO}\n")).ok().unwrap();
        assert_eq!(tokens.owner(ONE.as_bytes()), Some(None));
        assert_eq!(tokens.owner(TWO.as_bytes()), Some(Some("ops".to_owned())));
        for wrong in ["", "x", &ONE[..31], &format!("{ONE}0"), "0123456789abcdef0123456789abcdeF"] {
            assert_eq!(tokens.owner(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn weak_and_malformed_files_are_refused() {
        for text in ["short", "a b c", &format!("name {}", &ONE[1..]), &format!("{}é", ONE)] {
            assert!(matches!(parse(text), Err(TokenError::Malformed { line: 1, .. })), "{text}");
        }
        assert!(matches!(parse("# nothing\n"), Err(TokenError::Empty { .. })));
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, ONE).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = Tokens::read(file.path()).err().unwrap().to_string();
        assert!(error.contains("chmod 600") && !error.contains(ONE), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(Tokens::read(file.path()).is_ok());
    }
}
