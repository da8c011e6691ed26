//! What a shell offers at the tab key, with names that only the server knows.

use std::{
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use super::stage::Stage;

const MAITRED: &str = env!("CARGO_BIN_EXE_maitred");

/// What bash offers for the last of these words, with our script loaded as a person would load it.
fn bash(url: &str, words: &[&str]) -> Vec<String> {
    let line = r#"
        source <(maitred completions bash)
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
        function=$(complete -p maitred | sed 's/.*-F \([^ ]*\).*/\1/')
        $function maitred "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let folder = Path::new(MAITRED).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", line, "bash"]).args(words).env("PATH", path).env("MAITRED_URL", url);
    command.env("XDG_CONFIG_HOME", "/nonexistent");
    let output = command.output().unwrap();
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let offered = String::from_utf8(output.stdout).unwrap();
    offered.lines().map(|line| line.trim_end().to_owned()).filter(|line| !line.is_empty()).collect()
}

#[test]
fn limits_are_offered_as_the_server_has_them_now() {
    let stage = Stage::still();
    stage.declare("voice-calls", 1, "10m");
    stage.declare("voice-mail", 1, "10m");
    stage.declare("gpu", 1, "10m");
    assert_eq!(bash(&stage.url, &["maitred", "limits", "slots", "voi"]), ["voice-calls", "voice-mail"]);
    assert_eq!(bash(&stage.url, &["maitred", "run", "--limit", "g"]), ["gpu"]);
    assert_eq!(bash(&stage.url, &["maitred", "acquire", "voice-m"]), ["voice-mail"]);
    let of_flag = ["maitred", "limits", "pause", "--url", &stage.url, "gp"];
    assert_eq!(bash("http://127.0.0.1:1", &of_flag), ["gpu"], "the server that the line names");
    assert_eq!(bash(&stage.url, &["maitred", "limits", "max"]), ["max-hold"], "and the line's own words");
}

#[test]
fn a_server_that_does_not_answer_holds_nobody_up() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let began = Instant::now();
    assert!(bash(&url, &["maitred", "limits", "slots", "voi"]).is_empty());
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
}

/// zsh and fish are not everywhere, so their side of it is asked as their scripts ask.
#[test]
fn zsh_and_fish_are_answered_too() {
    let stage = Stage::still();
    stage.declare("voice-calls", 1, "10m");
    for shell in ["zsh", "fish"] {
        let mut command = Command::new(MAITRED);
        command.args(["--", "maitred", "limits", "slots", "voi"]);
        command
            .env("MAITRED_COMPLETE", shell)
            .env("_CLAP_COMPLETE_INDEX", "3")
            .env("MAITRED_URL", &stage.url);
        let output = command.output().unwrap();
        let offered = String::from_utf8_lossy(&output.stdout);
        assert!(offered.contains("voice-calls"), "{shell}: {output:?}");
    }
}
