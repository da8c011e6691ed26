//! The `maitred` binary, built as this task runner itself was built.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use serde_json::Value;

/// The root of the repository.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here).to_owned()
}

/// A `cargo` at the root of the repository, the same that started this. It is not told of what cargo tells this task
/// runner of itself: build scripts that look at it, such as ring's, would run again, and all behind them be built anew.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    let names = env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    for name in names.filter(|name| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_")) {
        command.env_remove(name);
    }
    command
}

/// This task runner with another task.
pub fn this(arguments: &[&str]) -> Command {
    let mut command = Command::new(env::current_exe().unwrap_or_else(|_| "xtask".into()));
    command.args(arguments).current_dir(root());
    command
}

/// An `npm` in a folder of the repository.
pub fn npm(folder: &str) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(root().join(folder));
    command
}

/// The profile this executable was built with: nothing is compiled a second time for what it starts.
pub fn profile() -> String {
    let exe = env::current_exe().unwrap_or_default();
    let folder = exe.parent().and_then(Path::file_name).unwrap_or_default().to_string_lossy().into_owned();
    if folder == "debug" { "dev".to_owned() } else { folder }
}

/// Builds `maitred` and tells where it is.
pub fn build() -> Result<PathBuf, String> {
    let packages = ["--package", "xtask", "--package", "maitred-server", "--profile", &profile()];
    build_as("maitred", &packages)
}

/// The same, saying that it knows newer rules. It lies where the other one does: take it from there.
pub fn build_newer() -> Result<PathBuf, String> {
    let packages = ["--package", "xtask", "--package", "maitred-server", "--package", "maitred-engine"];
    let as_built = ["--features", "maitred-engine/next-rules", "--profile", &profile()];
    build_as("maitred", &[&packages[..], &as_built[..]].concat())
}

/// Builds with these arguments and tells where the binary of that name is. What cargo says goes to standard error.
pub fn build_as(name: &str, arguments: &[&str]) -> Result<PathBuf, String> {
    let output = cargo()
        .args(["build", "--bin", name, "--message-format=json-render-diagnostics"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("the binary `{name}` could not be built; what cargo says is above"));
    }
    let lines = String::from_utf8_lossy(&output.stdout);
    let built = lines.lines().filter_map(|line| executable(line, name)).next_back();
    built.ok_or_else(|| format!("cargo built no binary `{name}`"))
}

fn executable(line: &str, name: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(line).ok()?;
    let is_it = message["target"]["name"] == name && message["target"]["kind"][0] == "bin";
    message["executable"].as_str().filter(|_| is_it).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::{executable, root};

    #[test]
    fn the_root_is_the_workspace() {
        assert!(root().join("Cargo.lock").exists());
    }

    #[test]
    fn only_the_binary_counts() {
        let line = |kind| {
            format!(r#"{{"target":{{"name":"maitred","kind":["{kind}"]}},"executable":"/t/ci/maitred"}}"#)
        };
        assert_eq!(executable(&line("bin"), "maitred"), Some("/t/ci/maitred".into()));
        assert_eq!(executable(&line("lib"), "maitred"), None);
        assert_eq!(executable("{}", "maitred"), None);
    }
}
