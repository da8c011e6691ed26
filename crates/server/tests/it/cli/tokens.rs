use super::stage::{Done, command, done};

fn token(folder: &std::path::Path, args: &[&str]) -> Done {
    let folder = folder.to_str().unwrap();
    done(command("http://127.0.0.1:1", &[&["token"], args, &["--data", folder]].concat()).output().unwrap())
}

#[test]
fn tokens_are_made_listed_and_revoked() {
    let folder = tempfile::tempdir().unwrap();
    token(folder.path(), &["ls"]).prints("");
    let made = token(folder.path(), &["create", "dialer", "--role", "operate", "--limits", "voice-", "gpu"]);
    assert_eq!(made.status, 0, "{made:?}");
    assert!(made.stdout.starts_with("mtd_") && made.stdout.len() == 69, "{made:?}");
    assert_eq!(made.stderr, "from now on every caller of a server on this folder must carry a token\n");
    let json = token(folder.path(), &["create", "ci", "--role", "admin", "--json"]).json();
    assert!(json["token"].as_str().unwrap().starts_with("mtd_"), "{json}");

    let listed = token(folder.path(), &["ls"]);
    let cells: Vec<Vec<&str>> = listed.stdout.lines().map(|line| line.split('\t').collect()).collect();
    assert_eq!((&cells[0][..3], &cells[0][4..]), (&["dialer", "operate", "voice- gpu"][..], &["", ""][..]));
    assert_eq!(cells[1][..3], ["ci", "admin", ""]);
    let json = token(folder.path(), &["ls", "--json"]);
    assert!(!json.stdout.contains("mtd_") && !json.stdout.contains("sha256"), "{json:?}");
    assert_eq!(json.json()["tokens"][0]["role"], "operate");

    token(folder.path(), &["create", "ci", "--role", "read"])
        .fails(5, "error: there is a token named `ci` already; revoke it first: maitred token revoke ci\n");
    token(folder.path(), &["revoke", "ci"]).prints("revoked ci\n");
    token(folder.path(), &["revoke", "ci"])
        .fails(3, "error: there is no token named `ci`\n  see all: maitred token ls\n");
}

#[test]
fn what_is_not_valid_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for args in [["create", "two words", "--role", "read"], ["create", "ana", "--role", "root"]] {
        assert_eq!(token(folder.path(), &args).status, 2, "{args:?}");
    }
    assert_eq!(token(folder.path(), &["create", "ana"]).status, 2);
    let missing = token(&folder.path().join("none"), &["ls"]);
    assert_eq!(missing.status, 3);
    assert!(missing.stderr.contains("there is no data folder at"), "{missing:?}");
}

#[test]
fn the_first_token_makes_the_folder_and_a_token_may_have_an_end() {
    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("data");
    let made = token(&folder, &["create", "ci", "--role", "read", "--expires", "90d", "--json"]).json();
    let listed = token(&folder, &["ls", "--json"]).json();
    let lives = listed["tokens"][0]["expires_at"].as_u64().unwrap()
        - listed["tokens"][0]["created_at"].as_u64().unwrap();
    assert_eq!((lives, &made["expires_at"]), (90 * 86_400_000, &listed["tokens"][0]["expires_at"]));
    assert!(listed["tokens"][0]["last_used_at"].is_null());
    for wrong in ["soon", "0s", ""] {
        assert_eq!(
            token(&folder, &["create", "x", "--role", "read", "--expires", wrong]).status,
            2,
            "{wrong}"
        );
    }
}
