//! Deploying the sets of a file, and saying what came of it.

use std::{collections::BTreeMap, fmt};

use maitred::Client;
use maitred_api::{Answer, Call, Context, LimitInfo, NamedLimit, Problem, Reason};

use crate::config::LimitsFile;

/// What a deploy did to one namespace, by names of limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Deployed {
    pub namespace: String,
    /// Were not there, or were retired.
    pub added: Vec<String>,
    pub changed: Vec<String>,
    pub unchanged: Vec<String>,
    pub retired: Vec<String>,
    /// An operator's override stands in front of what is declared, so the deploy cannot be seen there.
    pub overridden: Vec<String>,
}

/// Deploys every set, one namespace after the other.
pub async fn deploy(client: &Client, file: &LimitsFile, by: &str) -> Result<Vec<Deployed>, Problem> {
    let mut all = Vec::with_capacity(file.sets.len());
    for (namespace, set) in &file.sets {
        all.push(deploy_set(client, namespace, set, by).await?);
    }
    Ok(all)
}

async fn deploy_set(
    client: &Client,
    namespace: &str,
    set: &[NamedLimit],
    by: &str,
) -> Result<Deployed, Problem> {
    let context =
        Context { namespace: Some(namespace.to_owned()), by: Some(by.to_owned()), ..Context::default() };
    let before = limits(client, &context).await?;
    client.call(&context, Call::Deploy { limits: set.to_vec() }).await?;
    let after = limits(client, &context).await?;
    Ok(compare(namespace, &before, &after))
}

/// Every limit of a namespace, page by page.
pub async fn limits(client: &Client, context: &Context) -> Result<Vec<LimitInfo>, Problem> {
    let mut all = Vec::new();
    let mut after = None;
    loop {
        let answer = client.call(context, Call::Limits { after, most: None, prefixes: Vec::new() }).await?;
        let Answer::Limits(page) = answer else {
            return Err(Problem::new(
                Reason::Internal,
                "a list of limits was asked for, and something else came",
            ));
        };
        all.extend(page.limits);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(all),
        }
    }
}

/// What happened between two lists of the limits of a namespace.
pub fn compare(namespace: &str, before: &[LimitInfo], after: &[LimitInfo]) -> Deployed {
    let was: BTreeMap<&str, &LimitInfo> = before.iter().map(|limit| (limit.limit.as_str(), limit)).collect();
    let mut deployed = Deployed { namespace: namespace.to_owned(), ..Deployed::default() };
    for limit in after.iter().filter(|limit| !limit.retired) {
        let name = limit.limit.clone();
        if limit.capacity_override.is_some() || limit.max_hold_override_ms.is_some() {
            deployed.overridden.push(name.clone());
        }
        match was.get(limit.limit.as_str()) {
            Some(old) if !old.retired && declared(old) == declared(limit) => deployed.unchanged.push(name),
            Some(old) if !old.retired => deployed.changed.push(name),
            _ => deployed.added.push(name),
        }
    }
    let stays = |name: &str| after.iter().any(|limit| limit.limit == name && !limit.retired);
    let gone = before.iter().filter(|limit| !limit.retired && !stays(&limit.limit));
    deployed.retired = gone.map(|limit| limit.limit.clone()).collect();
    deployed
}

fn declared(limit: &LimitInfo) -> (u32, u64) {
    (limit.declared_capacity, limit.declared_max_hold_ms)
}

impl fmt::Display for Deployed {
    /// `default: 2 added (a, b), 1 unchanged, 1 overridden, so not visible (c)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            ("added", &self.added, true),
            ("changed", &self.changed, true),
            ("unchanged", &self.unchanged, false),
            ("retired", &self.retired, true),
            ("overridden, so not visible", &self.overridden, true),
        ];
        let told = parts.iter().filter(|(_, names, _)| !names.is_empty()).map(|(what, names, named)| {
            let count = names.len();
            if *named { format!("{count} {what} ({})", some(names)) } else { format!("{count} {what}") }
        });
        let told: Vec<String> = told.collect();
        let told = if told.is_empty() { "nothing declared".to_owned() } else { told.join(", ") };
        write!(f, "{}: {told}", self.namespace)
    }
}

/// The first names of a long list.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 10;
    let mut text = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use maitred_api::LimitInfo;

    use super::compare;

    fn limit(name: &str, declared: u32, overridden: Option<u32>, retired: bool) -> LimitInfo {
        LimitInfo {
            tag: String::new(),
            limit: name.to_owned(),
            capacity: overridden.unwrap_or(declared),
            max_hold_ms: 1,
            declared_capacity: declared,
            declared_max_hold_ms: 1,
            capacity_override: overridden,
            max_hold_override_ms: None,
            paused: false,
            retired,
            busy: 0,
            reserved: 0,
            available: 0,
            busy_slots: 0,
            reserved_slots: 0,
            waiting: 0,
            oldest_queued_at: None,
            oldest_granted_at: None,
        }
    }

    #[test]
    fn a_deploy_is_told_by_what_it_did() {
        let before = [
            limit("back", 1, None, true),
            limit("draining", 1, None, true),
            limit("gone", 1, None, false),
            limit("more", 1, None, false),
            limit("same", 1, Some(9), false),
            limit("used", 1, None, false),
        ];
        let after = [
            limit("back", 1, None, false),
            limit("draining", 1, None, true),
            limit("more", 2, None, false),
            limit("new", 1, None, false),
            limit("same", 1, Some(9), false),
            limit("used", 1, None, true),
        ];
        assert_eq!(
            compare("ns", &before, &after).to_string(),
            "ns: 2 added (back, new), 1 changed (more), 1 unchanged, 2 retired (gone, used), \
             1 overridden, so not visible (same)"
        );
        assert_eq!(compare("ns", &[], &[]).to_string(), "ns: nothing declared");
    }
}
