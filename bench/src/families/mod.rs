//! All figures. A new one is a row in its family's table and a `put` where it is measured; a new family is a file and
//! a row here.

mod across;
mod engine;
mod http;
mod journal;
mod memory;
mod near;
mod permits;
mod restart;
mod shared;
mod versus;
mod waiting;

use crate::{
    figure::{Figure, Trouble},
    report::Report,
    scene::Scene,
};

/// Figures that are measured together.
pub struct Family {
    pub name: &'static str,
    pub figures: &'static [Figure],
    pub run: fn(&Scene, &mut Report) -> Result<(), Trouble>,
}

pub const FAMILIES: &[&Family] = &[
    &engine::MIXED,
    &engine::WAITING,
    &memory::FAMILY,
    &permits::FAMILY,
    &journal::FAMILY,
    &near::ADMIT,
    &near::SLOTS,
    &http::TAKE_AND_GIVE,
    &http::ADMIT,
    &http::BATCH,
    &waiting::FAMILY,
    &restart::FAMILY,
    &versus::REDIS,
    &versus::POSTGRES,
    &versus::THROTTLECRAB,
    &shared::POSTGRES,
    &shared::NATS,
    &shared::ROW_LOCKS,
    &across::FAMILY,
];

/// The family and the figure of this name, which must be one of the tables'.
pub fn figure(name: &str) -> (&'static str, &'static Figure) {
    let mut all =
        FAMILIES.iter().flat_map(|family| family.figures.iter().map(|figure| (family.name, figure)));
    all.find(|(_, figure)| figure.name == name)
        .unwrap_or_else(|| panic!("{name} stands in no table of figures"))
}

/// Those with a figure, or a name, that was asked for; all if nothing was.
pub fn chosen(names: &[String]) -> Result<Vec<&'static Family>, Trouble> {
    let answers = |family: &Family, name: &String| {
        family.name == name || family.figures.iter().any(|figure| figure.name == name)
    };
    if let Some(unknown) = names.iter().find(|name| !FAMILIES.iter().any(|family| answers(family, name))) {
        return Err(Trouble::Wrong(format!("there is no figure and no family {unknown}; --list shows all")));
    }
    let wanted =
        FAMILIES.iter().filter(|family| names.is_empty() || names.iter().any(|name| answers(family, name)));
    Ok(wanted.copied().collect())
}

pub fn list() {
    for family in FAMILIES {
        println!("{}", family.name);
        for figure in family.figures {
            println!(
                "  {:<34} {:<11} {:<18} {}",
                figure.name,
                figure.unit,
                figure.target.to_string(),
                figure.what
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{FAMILIES, chosen};

    #[test]
    fn every_name_is_there_once() {
        let figures = FAMILIES.iter().flat_map(|family| family.figures).map(|figure| figure.name);
        let names: Vec<&str> = figures.chain(FAMILIES.iter().map(|family| family.name)).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
    }

    #[test]
    fn a_figure_brings_its_family() {
        let run = |name: &str| chosen(&[name.to_owned()]).map(|chosen| chosen.len()).ok();
        assert_eq!(run("grant_p50_ms"), Some(1));
        assert_eq!(run("engine"), Some(1));
        assert_eq!(run("grant_p50"), None);
        assert_eq!(chosen(&[]).unwrap().len(), FAMILIES.len());
    }
}
