//! The product records, made from a seed, and what the partner makes of them.

use serde::{Deserialize, Serialize};

use crate::chance::Chance;

/// A product as a shop knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Product {
    pub sku: String,
    pub name: String,
    /// Thirteen digits, the last of which checks the others. About one in twenty is mistyped.
    pub ean: String,
    pub price_cents: u64,
    pub weight_g: u64,
}

/// What the partner knows of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Enriched {
    pub sku: String,
    pub category: String,
    pub is_ean_valid: bool,
    pub vat_cents: u64,
    pub shipping_cents: u64,
}

const ADJECTIVES: [&str; 8] = ["Oak", "Steel", "Linen", "Ceramic", "Folding", "Small", "Large", "Heavy"];
const NOUNS: [(&str, &str); 8] = [
    ("chair", "furniture"),
    ("table", "furniture"),
    ("lamp", "lighting"),
    ("kettle", "kitchen"),
    ("pan", "kitchen"),
    ("towel", "textiles"),
    ("curtain", "textiles"),
    ("novel", "books"),
];

pub fn products(seed: u64, count: usize) -> Vec<Product> {
    let mut chance = Chance::new(seed, "products");
    (0..count).map(|number| product(&mut chance, number)).collect()
}

fn product(chance: &mut Chance, number: usize) -> Product {
    let (noun, _) = chance.pick(&NOUNS);
    let name = format!("{} {noun}", chance.pick(&ADJECTIVES));
    let digits = format!("40{:010}", chance.below(10_000_000_000));
    let slip = u32::from(chance.one_in(20));
    let ean = format!("{digits}{}", (check_digit(&digits) + slip) % 10);
    Product {
        sku: format!("P{number:06}"),
        name,
        ean,
        price_cents: chance.between(99, 250_000),
        weight_g: chance.between(20, 40_000),
    }
}

/// The partner's whole business. A pure function, so that every line of the result file can be checked.
pub fn enrich(product: &Product) -> Enriched {
    let is_a = |noun: &str| product.name.ends_with(&format!(" {noun}"));
    let category = NOUNS.iter().find(|(noun, _)| is_a(noun)).map_or("other", |(_, category)| category);
    let vat_percent = if category == "books" { 7 } else { 19 };
    Enriched {
        sku: product.sku.clone(),
        category: category.to_owned(),
        is_ean_valid: is_ean_valid(&product.ean),
        vat_cents: product.price_cents * vat_percent / (100 + vat_percent),
        shipping_cents: 390 + 60 * (product.weight_g / 1_000),
    }
}

fn is_ean_valid(ean: &str) -> bool {
    let (digits, check) = ean.split_at_checked(12).unwrap_or_default();
    ean.len() == 13 && check.parse() == Ok(check_digit(digits))
}

/// Of twelve digits, every second counts three times; what is missing to the next ten is the thirteenth.
fn check_digit(digits: &str) -> u32 {
    let weighted = digits.chars().enumerate().map(|(place, digit)| {
        let weight = if place % 2 == 1 { 3 } else { 1 };
        digit.to_digit(10).unwrap_or(0) * weight
    });
    (10 - weighted.sum::<u32>() % 10) % 10
}

#[cfg(test)]
mod tests {
    use super::{enrich, is_ean_valid, products};

    #[test]
    fn a_known_ean() {
        assert!(is_ean_valid("4006381333931"));
        assert!(!is_ean_valid("4006381333932"));
        assert!(!is_ean_valid("400638133393"));
    }

    #[test]
    fn the_seed_fixes_the_records_and_some_are_mistyped() {
        let records = products(7, 1_000);
        assert_eq!(records, products(7, 1_000));
        assert_ne!(records, products(8, 1_000));
        let wrong = records.iter().filter(|product| !enrich(product).is_ean_valid).count();
        assert!((20..=80).contains(&wrong), "{wrong} of 1000 have a wrong check digit");
        assert!(records.iter().all(|product| enrich(product).category != "other"));
    }
}
