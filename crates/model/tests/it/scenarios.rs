//! Every scenario file of the project, played on the model.

mod line;
mod player;

use std::path::{Path, PathBuf};

fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let entries = std::fs::read_dir(&folder).expect("the scenarios folder");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "txt"));
    files.sort();
    files
}

#[test]
fn every_file_plays() {
    let files = scenario_files();
    assert!(!files.is_empty(), "no scenario file found");
    let mut failures = Vec::new();
    for file in &files {
        let name = file.file_name().expect("a name").to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).expect("readable text");
        failures.extend(player::play(&text).into_iter().map(|failure| format!("{name}:{failure}")));
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn a_difference_is_found_and_named() {
    let text = "0s declare l capacity=1 max_hold=1m => ok\n1s acquire l slot=a => busy # wrong\n1s show l => limit reserved=2\n";
    let failures = player::play(text);
    assert_eq!(
        failures,
        [
            "2: expected `busy`, got `reserved`",
            "3: expected `limit reserved=2`, got `limit capacity=1 max_hold=1m busy=0 reserved=1 waiting=0 overridden=no retired=no paused=no`"
        ]
    );
}
