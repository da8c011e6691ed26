//! The book holds together: every page is in its summary, and every page of the summary is there.

use std::collections::BTreeSet;

use super::pages;

#[test]
fn the_summary_has_every_page_once() {
    let summary = pages::read("docs/src/SUMMARY.md");
    let listed: Vec<&str> = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    let unique: BTreeSet<String> = listed.iter().map(|page| page.to_string()).collect();
    let pages: BTreeSet<String> =
        pages::all().into_iter().map(|page| page.name).filter(|name| name != "SUMMARY.md").collect();
    assert_eq!(listed.len(), unique.len(), "a page is listed twice");
    assert_eq!(unique, pages);
}

#[test]
fn the_book_is_set_up_and_pages_have_one_title() {
    let settings: toml::Table = pages::read("docs/book.toml").parse().unwrap();
    assert_eq!(settings["book"]["src"].as_str(), Some("src"));
    for page in pages::all().iter().filter(|page| page.name != "SUMMARY.md") {
        let mut is_code = false;
        let titles = page.text.lines().filter(|line| {
            is_code ^= line.starts_with("```");
            !is_code && line.starts_with("# ")
        });
        assert_eq!(titles.count(), 1, "{}", page.name);
    }
}

/// The short list for machines names pages that are there.
#[test]
fn the_list_for_machines_names_pages() {
    let list = pages::read("docs/src/llms.txt");
    let named: Vec<&str> = list.split("](").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert!(named.len() >= 20, "{named:?}");
    let pages: BTreeSet<String> = pages::all().into_iter().map(|page| page.name).collect();
    for name in named {
        assert!(pages.contains(name), "docs/src/llms.txt names {name}, which is not there");
    }
}
