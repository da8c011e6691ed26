//! Servers refuse to run as root: then they run as somebody who owns nothing else.

use std::{fs, os::unix::process::CommandExt, path::Path, process::Command};

/// Whom servers run as, if not as whoever runs the tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// None unless this process is root.
    pub(crate) fn other_than_root() -> Result<Option<Account>, String> {
        if !rustix::process::getuid().is_root() {
            return Ok(None);
        }
        let passwd = fs::read_to_string("/etc/passwd").map_err(|error| format!("/etc/passwd: {error}"))?;
        let named = |name: &str| passwd.lines().find_map(|line| read(line, name));
        let found = named("postgres").or_else(|| named("nobody"));
        found
            .map(Some)
            .ok_or_else(|| "neither `postgres` nor `nobody` is an account of this machine".to_owned())
    }

    pub(crate) fn owns(self, folder: &Path) -> Result<(), String> {
        std::os::unix::fs::chown(folder, Some(self.user), Some(self.group))
            .map_err(|error| format!("{} cannot be given away: {error}", folder.display()))
    }

    pub(crate) fn runs(self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }

    /// The same as words in front of a program, for a command that has to begin as root.
    pub(crate) fn steps_down(self) -> [String; 6] {
        let words = ["setpriv", "--reuid", &self.user.to_string(), "--regid", &self.group.to_string()];
        let [program, user, uid, group, gid] = words.map(str::to_owned);
        [program, user, uid, group, gid, "--clear-groups".to_owned()]
    }
}

fn read(line: &str, name: &str) -> Option<Account> {
    let mut fields = line.split(':');
    if fields.next() != Some(name) {
        return None;
    }
    let (user, group) = (fields.nth(1)?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Account { user, group })
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_account_is_read() {
        let account =
            super::read("postgres:x:101:104:PostgreSQL,,,:/var/lib/postgresql:/bin/bash", "postgres");
        assert_eq!(account.map(|it| (it.user, it.group)), Some((101, 104)));
        assert!(super::read("postgres2:x:1:1::/:/bin/sh", "postgres").is_none());
    }
}
