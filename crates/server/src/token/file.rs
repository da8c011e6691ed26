//! Tokens from a file of the operator's own, which only its owner can read. They may do everything.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

use super::{Grant, Hash, hash};

const LEAST: usize = 32;

#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    #[error("the token file {path} cannot be read: {error}")]
    Unreadable { path: String, error: io::Error },
    #[error("the token file {path} cannot be written: {error}")]
    Unwritable { path: String, error: io::Error },
    #[error("others may read the token file {path} (mode {mode:03o}); make it yours alone: chmod 600 {path}")]
    Exposed { path: String, mode: u32 },
    #[error(
        "{path}, line {line}: allowed is `TOKEN` or `NAME TOKEN`, the token of at least {LEAST} visible ASCII characters; \
         make one: openssl rand -hex 32"
    )]
    Malformed { path: String, line: usize },
    #[error("the token file {path} has no token; make one: openssl rand -hex 32")]
    Empty { path: String },
    #[error(
        "the token file {path} is not what this version writes ({why}); take it away and make new tokens: \
         maitred token create NAME --role ROLE"
    )]
    Foreign { path: String, why: String },
    #[error("there is a token named `{0}` already; revoke it first: maitred token revoke {0}")]
    Taken(String),
}

/// One token a line, with a name in front if the record should show one; `#` starts a comment.
pub fn read(file: &Path) -> Result<Vec<(Hash, Grant)>, TokenError> {
    parse(&private_text(file)?, &file.display().to_string())
}

/// The text of a file that nobody else can read.
pub fn private_text(file: &Path) -> Result<String, TokenError> {
    let path = file.display().to_string();
    let unreadable = |error| TokenError::Unreadable { path: path.clone(), error };
    let mode = fs::metadata(file).map_err(unreadable)?.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(TokenError::Exposed { path, mode });
    }
    fs::read_to_string(file).map_err(unreadable)
}

fn parse(text: &str, path: &str) -> Result<Vec<(Hash, Grant)>, TokenError> {
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
        tokens.push((hash(secret.as_bytes()), Grant { name, ..Grant::anyone() }));
    }
    match tokens.is_empty() {
        true => Err(TokenError::Empty { path: path.to_owned() }),
        false => Ok(tokens),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::{TokenError, hash, parse, read};

    const ONE: &str = "0123456789abcdef0123456789abcdef";
    const TWO: &str = "fedcba9876543210fedcba9876543210";

    #[test]
    fn tokens_have_owners() {
        let tokens = parse(&format!("# ours\n\n{ONE}\nops {TWO}\n"), "tokens").unwrap();
        let owner = |secret: &str| {
            let found = tokens.iter().find(|(known, _)| *known == hash(secret.as_bytes()));
            found.map(|(_, grant)| grant.name.as_deref())
        };
        assert_eq!(owner(ONE), Some(None));
        assert_eq!(owner(TWO), Some(Some("ops")));
        for wrong in ["", "x", &ONE[..31], &format!("{ONE}0"), "0123456789abcdef0123456789abcdeF"] {
            assert_eq!(owner(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn weak_and_malformed_files_are_refused() {
        for text in ["short", "a b c", &format!("name {}", &ONE[1..]), &format!("{ONE}é")] {
            assert!(matches!(parse(text, "t"), Err(TokenError::Malformed { line: 1, .. })), "{text}");
        }
        assert!(matches!(parse("# nothing\n", "t"), Err(TokenError::Empty { .. })));
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(&file, ONE).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let error = read(file.path()).err().unwrap().to_string();
        assert!(error.contains("chmod 600") && !error.contains(ONE), "{error}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        assert!(read(file.path()).is_ok());
    }
}
