//! What must hold of the whole world, looked at now and then and at the end.

use maitred::local::follower::Follower;
use maitred_engine::Engine;

use crate::world::{Checked, World};

impl World {
    /// A node that stands where the witness has been came to the same outcomes, and in the same place to the same state.
    pub(crate) fn check_node(&mut self, node: usize) -> Checked {
        let Some(process) = &self.nodes[node].process else { return Ok(()) };
        let follower = process.sequencer.follower();
        let (head, Some(engine)) = (follower.head(), follower.engine()) else { return Ok(()) };
        let Some(digest) = self.witness.digest_at(head) else { return Ok(()) };
        if digest != engine.outcome_digest() {
            return Err(format!("node {node} came to other outcomes at record {head}"));
        }
        if head == self.witness.head() && self.chance.below(200) == 0 {
            self.check_same_state(node, engine.state_digest())?;
        }
        Ok(())
    }

    fn check_same_state(&self, node: usize, digest: u64) -> Checked {
        match self.witness.engine().map(Engine::state_digest) {
            Some(own) if own != digest => Err(format!("node {node} has another state than the witness")),
            _ => Ok(()),
        }
    }

    /// Snapshot and the records since make the state that all records make.
    pub(crate) fn check_snapshot(&mut self) -> Checked {
        // Nobody looks into a folder that nobody has open.
        let Ok(Some(snapshot)) = self.store.snapshot() else { return Ok(()) };
        let mut follower = Follower::restore(&snapshot).map_err(|halt| halt.to_string())?;
        for record in &self.witness.records[snapshot.position as usize..] {
            follower.take(record, |_, _, _, _, _| {}).map_err(|halt| halt.to_string())?;
        }
        let same =
            follower.engine().map(Engine::state_digest) == self.witness.engine().map(Engine::state_digest);
        if same {
            Ok(())
        } else {
            Err(format!("snapshot {} and the rest make another state", snapshot.position))
        }
    }

    /// After the healing nothing is left over: no open call, no slot, no job.
    pub(crate) fn check_finished(&mut self) -> Checked {
        for (index, client) in self.clients.iter().enumerate() {
            if !client.is_done() {
                return Err(format!("client {index} never came to its end: {client:?}"));
            }
        }
        let live = self.witness.live_slots();
        if live > 0 {
            return Err(format!("{live} slots are still alive long after the healing"));
        }
        for node in &self.nodes {
            let Some(process) = &node.process else { return Err("a node is not running".to_owned()) };
            if !process.open.is_empty() {
                return Err(format!("calls were never answered: {:?}", process.open));
            }
        }
        self.witness.compare()
    }

    /// Everybody has the same state: the nodes, the witness, and whoever reads it all from the beginning.
    pub(crate) fn check_copies(&mut self) -> Checked {
        let mut fresh = Follower::default();
        for record in &self.witness.records {
            fresh.take(record, |_, _, _, _, _| {}).map_err(|halt| halt.to_string())?;
        }
        let states = |engine: Option<&Engine>| engine.map(Engine::state_digest);
        if states(fresh.engine()) != states(self.witness.engine()) {
            return Err("a replay from the beginning makes another state".to_owned());
        }
        for node in 0..self.nodes.len() {
            let Some(process) = &self.nodes[node].process else { continue };
            let follower = process.sequencer.follower();
            if follower.head() != self.witness.head() {
                return Err(format!(
                    "node {node} stands at {}, the journal at {}",
                    follower.head(),
                    self.witness.head()
                ));
            }
            if let Some(engine) = follower.engine() {
                self.check_same_state(node, engine.state_digest())?;
            }
        }
        self.check_snapshot()
    }
}
