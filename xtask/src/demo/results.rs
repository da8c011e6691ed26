//! The result file: a line for every record that is done. A record is done when its line is in the file.

use std::{
    collections::HashMap,
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use super::catalog::{Enriched, Product, enrich};

pub struct Results {
    path: PathBuf,
    file: File,
}

impl Results {
    pub fn create(folder: &Path) -> io::Result<Results> {
        let path = folder.join("results.jsonl");
        Ok(Results { file: File::create(&path)?, path })
    }

    pub fn append(&mut self, enriched: &Enriched) -> io::Result<()> {
        let line = serde_json::to_string(enriched)? + "\n";
        self.file.write_all(line.as_bytes())
    }

    /// Reads the file anew and compares it with what was to be done. What is wrong, if anything.
    pub fn check(&self, products: &[Product]) -> io::Result<Vec<String>> {
        Ok(compare(&fs::read_to_string(&self.path)?, products))
    }
}

fn compare(text: &str, products: &[Product]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut lines: HashMap<String, u64> = HashMap::new();
    let expected: HashMap<&str, Enriched> =
        products.iter().map(|product| (product.sku.as_str(), enrich(product))).collect();
    for line in text.lines() {
        match serde_json::from_str::<Enriched>(line) {
            Ok(enriched) if expected.get(enriched.sku.as_str()) == Some(&enriched) => {
                *lines.entry(enriched.sku).or_default() += 1;
            }
            _ => wrong.push(format!("not what the partner makes of any record: {line}")),
        }
    }
    for product in products {
        match lines.get(&product.sku) {
            Some(1) => {}
            Some(times) => wrong.push(format!("{} is there {times} times", product.sku)),
            None => wrong.push(format!("{} is missing", product.sku)),
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::{Results, compare};
    use crate::demo::catalog::{enrich, products};

    #[test]
    fn what_is_missing_double_or_wrong_is_named() {
        let products = products(1, 3);
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::create(folder.path()).unwrap();
        for product in &products {
            results.append(&enrich(product)).unwrap();
        }
        assert_eq!(results.check(&products).unwrap(), Vec::<String>::new());
        results.append(&enrich(&products[1])).unwrap();
        assert_eq!(results.check(&products).unwrap(), ["P000001 is there 2 times"]);

        let mut spoiled = enrich(&products[0]);
        spoiled.shipping_cents += 1;
        let wrong = compare(&serde_json::to_string(&spoiled).unwrap(), &products);
        assert_eq!(wrong.len(), 4, "{wrong:?}"); // the line, and three records that are not there
    }
}
