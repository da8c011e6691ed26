//! Servers of which nobody asks anything write nothing, however many slots are held.

use std::time::Duration;

use maitred::{
    Far,
    api::{AcquireFields, Answer, Call, ConfirmMode, Context, SlotState},
};
use tokio::{task::JoinSet, time::sleep};
use uuid::Uuid;

use super::{Options, stage::Stage};
use crate::binary;

const SLOTS: usize = 10_000;
const AT_ONCE: usize = 50;

pub async fn run(options: &Options, minutes: u64) -> Result<(), String> {
    let limits = format!("[limits.held]\ncapacity = {SLOTS}\nmax_hold = \"30d\"\n");
    let stage = Stage::set(options, &binary::build()?, &limits).await?;
    let mut taking = JoinSet::new();
    for number in 0..AT_ONCE {
        taking.spawn(take(stage.servers[number % stage.servers.len()].far()));
    }
    while let Some(taken) = taking.join_next().await {
        taken.map_err(|error| error.to_string())??;
    }
    sleep(Duration::from_secs(5)).await;
    let before = stage.servers[0].gauge("maitred_revision").await?;
    sleep(Duration::from_secs(60 * minutes)).await;
    let after = stage.servers[0].gauge("maitred_revision").await?;
    println!("{SLOTS} slots held for {minutes} min: {} records written", after - before);
    match after == before {
        true => Ok(()),
        false => Err("nobody asked anything".to_owned()),
    }
}

async fn take(far: Far) -> Result<(), String> {
    for _ in 0..SLOTS / AT_ONCE {
        let fields = AcquireFields {
            slot: Some(Uuid::now_v7().to_string()),
            limit: Some("held".to_owned()),
            confirm: ConfirmMode::Auto,
            ..AcquireFields::default()
        };
        match far.call(&Context::default(), Call::Acquire(fields)).await {
            Ok(Answer::Slot(answer)) if answer.slot.state == SlotState::Busy => {}
            other => return Err(format!("a slot was not granted: {other:?}")),
        }
    }
    Ok(())
}
