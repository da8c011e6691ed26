//! `key=user=7,limit=20,window=60s`: one spec of a preview.
//!
//! A comma ends a value only where one of the names follows, so a key may have commas and equals signs of its own.

use maitred_api::{Given, SpecFields};

const NAMES: [&str; 5] = ["key", "limit", "window", "cost", "label"];
const ALLOWED: &str = "allowed: key=…,limit=N and, where wanted, window=60s, cost=N, label=…";

pub fn parse(text: &str) -> Result<SpecFields, String> {
    let mut spec = SpecFields::default();
    let mut seen = Vec::new();
    for (name, value) in pairs(text)? {
        if seen.contains(&name) {
            return Err(format!("{name} is given twice; {ALLOWED}"));
        }
        seen.push(name);
        match name {
            "key" => spec.key = value,
            "limit" => spec.limit = Given::from(value.as_str()),
            "window" => spec.window_seconds = Given::from(seconds(&value)?),
            "cost" => spec.cost = Given::from(value.as_str()),
            _ => spec.label = Some(value),
        }
    }
    match seen.contains(&"key") && seen.contains(&"limit") {
        true => Ok(spec),
        false => Err(format!("key and limit must be given; {ALLOWED}")),
    }
}

fn pairs(text: &str) -> Result<Vec<(&'static str, String)>, String> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    for part in text.split(',') {
        let named = part.split_once('=').and_then(|(name, value)| {
            let name = NAMES.into_iter().find(|known| *known == name)?;
            Some((name, value.to_owned()))
        });
        match (named, pairs.last_mut()) {
            (Some(pair), _) => pairs.push(pair),
            (None, Some((name, _))) if !matches!(*name, "key" | "label") => {
                let field = part.split('=').next().unwrap_or(part);
                return Err(format!("unknown field `{field}`; {ALLOWED}"));
            }
            (None, Some((_, value))) => *value = format!("{value},{part}"),
            (None, None) => return Err(format!("`{part}` is not a part of a spec; {ALLOWED}")),
        }
    }
    Ok(pairs)
}

fn seconds(text: &str) -> Result<u64, String> {
    let ms = maitred::parse_duration(text).filter(|ms| ms.is_multiple_of(1000));
    ms.map(|ms| ms / 1000)
        .ok_or_else(|| format!("window is `{text}`; allowed: whole seconds such as 60s, 5m or 1h"))
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn a_rate_and_a_place() {
        let rate = parse("key=user=7,a,limit=20,window=1m,label=per user").unwrap();
        assert_eq!((rate.key.as_str(), rate.window_seconds.whole_number()), ("user=7,a", Some(60)));
        assert_eq!((rate.limit.whole_number(), rate.label.as_deref()), (Some(20), Some("per user")));
        assert!(parse("limit=1,key=k").unwrap().window_seconds.is_missing());
    }

    #[test]
    fn a_name_that_is_misspelled_is_told() {
        let told = parse("key=k,limit=20,windw=60s").unwrap_err();
        assert!(told.starts_with("unknown field `windw`; allowed: "), "{told}");
    }

    #[test]
    fn what_is_not_a_spec_says_what_is() {
        for wrong in
            ["", "key=k", "limit=1", "k,limit=1", "key=k,limit=1,limit=2", "key=k,limit=1,window=1500"]
        {
            assert!(parse(wrong).unwrap_err().contains("allowed: "), "{wrong}");
        }
    }
}
