//! A worker that holds a slot while it works: `cargo run -p maitred --example guard`.
//!
//! With a URL it does the same against a server (`maitred dev`): `… --example guard -- http://127.0.0.1:7654`.

use std::{
    error::Error,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use maitred::{AcquireError, Maitred};

const CALLS: usize = 12;
const AT_ONCE: u32 = 3;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let maitred = match std::env::args().nth(1) {
        Some(url) => Maitred::connect(&url)?,
        None => Maitred::open(folder.path()).await?,
    };
    maitred.declare("voice-calls", AT_ONCE, Duration::from_secs(45 * 60)).await?;

    let inside = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    let calls = (1..=CALLS).map(|number| call(&maitred, number, &inside, &most));
    for outcome in join_all(calls).await {
        outcome?;
    }
    println!("{CALLS} calls, at most {} at once", most.load(Ordering::SeqCst));

    // Started here, ended elsewhere: the id is all that the other side needs.
    let id = maitred.acquire("voice-calls").label("call 13").await?.detach();
    let released = maitred.release(&id).await?;
    println!("call 13 ended elsewhere: released = {}", released.released);

    let left = maitred.close(Duration::from_secs(5)).await;
    assert!(left.is_empty() && most.into_inner() == AT_ONCE as usize);
    Ok(())
}

async fn call(
    maitred: &Maitred,
    number: usize,
    inside: &AtomicUsize,
    most: &AtomicUsize,
) -> Result<(), AcquireError> {
    let asked =
        maitred.acquire("voice-calls").label(format!("call {number}")).timeout(Duration::from_secs(30));
    asked
        .with(async |slot| {
            most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(50)).await; // talks
            inside.fetch_sub(1, Ordering::SeqCst);
            println!("call {number:2} is over; it was grant {}", slot.fence());
        })
        .await
}

/// All at once, in this task.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut waiting: Vec<_> = futures.map(Box::pin).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|future| match future.as_mut().poll(context) {
            std::task::Poll::Ready(output) => {
                done.push(output);
                false
            }
            std::task::Poll::Pending => true,
        });
        if waiting.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done
}
