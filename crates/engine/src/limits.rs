//! Limits: declared, deployed, overridden, paused, retired (L).

use std::collections::BTreeMap;

use crate::{
    command::Declaration,
    digest::Named,
    engine::Engine,
    event::{Event, EventKind},
    holders::Holders,
    index::{Hashed, NameHash},
    names::{LimitName, Namespace},
    outcome::{Outcome, Refusal},
    queue::Queue,
    slab::Ref,
    time::Millis,
};

/// A namespace that exists: something was declared or counted in it. It stays (N1).
#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Space {
    pub(crate) hash: NameHash,
    pub(crate) name: Namespace,
    pub(crate) limits: BTreeMap<LimitName, Ref<Limit>>,
}

impl Hashed for Space {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Declared,
    /// Takes nothing new, and is gone when it is empty (L3).
    Retired,
    /// Not there, but an operator's override or pause is still in force, should it be declared again (L4, L7).
    Gone,
}

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Limit {
    pub(crate) hash: NameHash,
    pub(crate) space: Ref<Space>,
    pub(crate) name: LimitName,
    pub(crate) presence: Presence,
    pub(crate) declared_capacity: u32,
    pub(crate) declared_max_hold_ms: Millis,
    pub(crate) capacity_override: Option<u32>,
    pub(crate) max_hold_override_ms: Option<Millis>,
    pub(crate) paused: bool,
    pub(crate) holders: Holders,
    pub(crate) queue: Queue,
}

impl Hashed for Limit {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

impl Limit {
    /// In force (L4).
    pub(crate) fn capacity(&self) -> u32 {
        self.capacity_override.unwrap_or(self.declared_capacity)
    }

    /// In force (L4).
    pub(crate) fn max_hold_ms(&self) -> Millis {
        self.max_hold_override_ms.unwrap_or(self.declared_max_hold_ms)
    }

    /// L5, L7.
    pub(crate) fn has_room(&self, weight: u32) -> bool {
        !self.paused && self.holders.used() + u64::from(weight) <= u64::from(self.capacity())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.holders.is_empty()
    }

    /// Whether an operator's word outlives it.
    pub(crate) fn is_set_by_hand(&self) -> bool {
        self.capacity_override.is_some() || self.max_hold_override_ms.is_some() || self.paused
    }

    /// Whether nothing would be left of it if it were retired now.
    fn leaves_nothing(&self) -> bool {
        self.presence != Presence::Gone && self.is_empty() && !self.is_set_by_hand()
    }

    /// True if that changes anything.
    fn declare(&mut self, declaration: &Declaration) -> bool {
        let before = (self.presence, self.declared_capacity, self.declared_max_hold_ms);
        self.presence = Presence::Declared;
        self.declared_capacity = declaration.capacity;
        self.declared_max_hold_ms = declaration.max_hold_ms;
        before != (self.presence, self.declared_capacity, self.declared_max_hold_ms)
    }
}

impl Engine {
    pub(crate) fn find_space(&self, namespace: &str) -> Option<Ref<Space>> {
        self.spaces.find(self.hash_key.name(Named::Namespace, [namespace]))
    }

    pub(crate) fn has_room_for_space(&self, namespace: &Namespace) -> bool {
        self.spaces.len() < self.bounds.namespaces || self.find_space(namespace.as_str()).is_some()
    }

    /// The namespace, which exists from now on.
    pub(crate) fn space_of(&mut self, namespace: &Namespace) -> Ref<Space> {
        self.find_space(namespace.as_str()).unwrap_or_else(|| {
            let hash = self.hash_key.name(Named::Namespace, [namespace.as_str()]);
            self.spaces.insert(Space { hash, name: namespace.clone(), limits: BTreeMap::new() })
        })
    }

    pub(crate) fn limit_hash(&self, namespace: &str, limit: &str) -> NameHash {
        self.hash_key.name(Named::Limit, [namespace, limit])
    }

    fn find_limit_entry(&self, namespace: &str, limit: &str) -> Option<Ref<Limit>> {
        self.limits.find(self.limit_hash(namespace, limit))
    }

    /// A limit that is there: declared, or retired and not yet empty.
    pub(crate) fn find_limit(&self, namespace: &str, limit: &str) -> Option<Ref<Limit>> {
        self.find_limit_entry(namespace, limit).filter(|&at| self.limits[at].presence != Presence::Gone)
    }

    pub(crate) fn declare(
        &mut self,
        namespace: &Namespace,
        declaration: &Declaration,
        events: &mut Vec<Event>,
    ) -> Outcome {
        if !self.has_room_for_space(namespace) {
            return Outcome::Refused(Refusal::TooManyNamespaces);
        }
        let is_new = self.find_limit_entry(namespace.as_str(), declaration.limit.as_str()).is_none();
        if is_new && self.limits.len() >= self.bounds.limits {
            return Outcome::Refused(Refusal::TooManyLimits);
        }
        self.declare_one(namespace, declaration, events);
        Outcome::Done
    }

    /// The whole set of a namespace (L3): all of it, or nothing.
    pub(crate) fn deploy(
        &mut self,
        namespace: &Namespace,
        declarations: &[Declaration],
        events: &mut Vec<Event>,
    ) -> Outcome {
        if !declarations.is_empty() && !self.has_room_for_space(namespace) {
            return Outcome::Refused(Refusal::TooManyNamespaces);
        }
        let missing = self.missing_in(namespace, declarations);
        let is_new = |declaration: &&Declaration| {
            self.find_limit_entry(namespace.as_str(), declaration.limit.as_str()).is_none()
        };
        let new = declarations.iter().filter(is_new).count();
        let freed = missing.iter().filter(|&&at| self.limits[at].leaves_nothing()).count();
        if self.limits.len() as usize + new > self.bounds.limits as usize + freed {
            return Outcome::Refused(Refusal::TooManyLimits);
        }
        declarations.iter().for_each(|declaration| self.declare_one(namespace, declaration, events));
        missing.into_iter().for_each(|at| self.retire(at, events));
        Outcome::Done
    }

    /// What a deploy of this set leaves out, by name.
    fn missing_in(&self, namespace: &Namespace, declarations: &[Declaration]) -> Vec<Ref<Limit>> {
        let Some(space) = self.find_space(namespace.as_str()) else { return Vec::new() };
        let mut kept: Vec<&LimitName> = declarations.iter().map(|declaration| &declaration.limit).collect();
        kept.sort_unstable();
        let is_missing = |name: &LimitName| kept.binary_search(&name).is_err();
        self.spaces[space].limits.iter().filter(|(name, _)| is_missing(name)).map(|(_, &at)| at).collect()
    }

    fn declare_one(&mut self, namespace: &Namespace, declaration: &Declaration, events: &mut Vec<Event>) {
        let found = self.find_limit_entry(namespace.as_str(), declaration.limit.as_str());
        let at = found.unwrap_or_else(|| self.add_limit(namespace, declaration));
        if self.limits[at].declare(declaration) {
            let Declaration { limit, capacity, max_hold_ms } = declaration.clone();
            let namespace = namespace.clone();
            self.emit(events, EventKind::LimitDeclared { namespace, limit, capacity, max_hold_ms });
            self.look_at(at);
        }
    }

    fn add_limit(&mut self, namespace: &Namespace, declaration: &Declaration) -> Ref<Limit> {
        let space = self.space_of(namespace);
        let at = self.limits.insert(Limit {
            hash: self.limit_hash(namespace.as_str(), declaration.limit.as_str()),
            space,
            name: declaration.limit.clone(),
            presence: Presence::Gone,
            declared_capacity: declaration.capacity,
            declared_max_hold_ms: declaration.max_hold_ms,
            capacity_override: None,
            max_hold_override_ms: None,
            paused: false,
            holders: Holders::default(),
            queue: Queue::default(),
        });
        self.spaces[space].limits.insert(declaration.limit.clone(), at);
        at
    }

    fn retire(&mut self, at: Ref<Limit>, events: &mut Vec<Event>) {
        if self.limits[at].presence == Presence::Declared {
            self.limits[at].presence = Presence::Retired;
            let (namespace, limit) = self.name_of(at);
            self.emit(events, EventKind::LimitRetired { namespace, limit });
            self.look_at(at);
        }
    }

    /// A retired limit that has become empty is gone; what an operator set for it stays.
    pub(crate) fn drop_if_drained(&mut self, at: Ref<Limit>, events: &mut Vec<Event>) {
        let Some(limit) = self.limits.get(at) else { return };
        if limit.presence != Presence::Retired || !limit.is_empty() {
            return;
        }
        let (namespace, name) = self.name_of(at);
        if self.limits[at].is_set_by_hand() {
            self.limits[at].presence = Presence::Gone;
        } else {
            let limit = self.limits.remove(at);
            self.spaces[limit.space].limits.remove(&limit.name);
        }
        self.emit(events, EventKind::LimitGone { namespace, limit: name });
    }

    pub(crate) fn name_of(&self, at: Ref<Limit>) -> (Namespace, LimitName) {
        let limit = &self.limits[at];
        (self.spaces[limit.space].name.clone(), limit.name.clone())
    }

    pub(crate) fn set_capacity(
        &mut self,
        namespace: &Namespace,
        limit: &LimitName,
        after: Option<u32>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_limit(namespace.as_str(), limit.as_str()) else { return not_found(limit) };
        let before = std::mem::replace(&mut self.limits[at].capacity_override, after);
        if before != after {
            let (namespace, limit) = self.name_of(at);
            self.emit(events, EventKind::CapacityOverridden { namespace, limit, before, after });
            self.look_at(at);
        }
        Outcome::Done
    }

    pub(crate) fn set_max_hold(
        &mut self,
        namespace: &Namespace,
        limit: &LimitName,
        after: Option<Millis>,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_limit(namespace.as_str(), limit.as_str()) else { return not_found(limit) };
        let before = std::mem::replace(&mut self.limits[at].max_hold_override_ms, after);
        if before != after {
            let (namespace, limit) = self.name_of(at);
            self.emit(events, EventKind::MaxHoldOverridden { namespace, limit, before, after });
        }
        Outcome::Done
    }

    pub(crate) fn pause(
        &mut self,
        namespace: &Namespace,
        limit: &LimitName,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_limit(namespace.as_str(), limit.as_str()) else { return not_found(limit) };
        if !std::mem::replace(&mut self.limits[at].paused, true) {
            let (namespace, limit) = self.name_of(at);
            self.emit(events, EventKind::LimitPaused { namespace, limit });
        }
        Outcome::Done
    }

    pub(crate) fn resume(
        &mut self,
        namespace: &Namespace,
        limit: &LimitName,
        events: &mut Vec<Event>,
    ) -> Outcome {
        let Some(at) = self.find_limit(namespace.as_str(), limit.as_str()) else { return not_found(limit) };
        if std::mem::replace(&mut self.limits[at].paused, false) {
            let (namespace, limit) = self.name_of(at);
            self.emit(events, EventKind::LimitResumed { namespace, limit });
            self.look_at(at);
        }
        Outcome::Done
    }
}

fn not_found(limit: &LimitName) -> Outcome {
    Outcome::Refused(Refusal::LimitNotFound { limit: limit.clone() })
}
