//! Tasks that have live keys. Task and key are kept apart, never joined into one text (R1).

use crate::{
    digest::Named,
    engine::Engine,
    index::{Hashed, NameHash},
    limits::Space,
    names::{Namespace, TaskId},
    slab::Ref,
};

#[cfg_attr(feature = "check", derive(Clone))]
pub(crate) struct Task {
    hash: NameHash,
    pub(crate) space: Ref<Space>,
    pub(crate) id: TaskId,
    /// How many counters and keys of places are its own.
    pub(crate) uses: u32,
}

impl Hashed for Task {
    fn hash(&self) -> NameHash {
        self.hash
    }
}

impl Engine {
    /// The task, which has one use more.
    pub(crate) fn use_task(&mut self, namespace: &Namespace, space: Ref<Space>, task: &TaskId) -> Ref<Task> {
        let hash = self.hash_key.name(Named::Task, [namespace.as_str(), task.as_str()]);
        let found = self.tasks.find(hash);
        let at = found.unwrap_or_else(|| self.tasks.insert(Task { hash, space, id: task.clone(), uses: 0 }));
        self.tasks[at].uses += 1;
        at
    }

    /// One use less; without any it is forgotten.
    pub(crate) fn unuse_task(&mut self, at: Ref<Task>) {
        self.tasks[at].uses -= 1;
        if self.tasks[at].uses == 0 {
            self.tasks.remove(at);
        }
    }
}
