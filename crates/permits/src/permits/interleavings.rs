//! Every order in which callers, releases and resizes can interleave, tried one after another.
//!
//! All that is shared is the books, which are changed under their lock, and the semaphore, whose calls are each one
//! step for everybody else. So the steps below are as fine as threads can interleave, and a few actors have few enough
//! orders to try them all. In each order, at each step: nobody is inside beyond what is in circulation. At its end:
//! nobody waits who could be served, and all permits are there.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::task::{Context, Poll, Wake, Waker};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::circulation::Circulation;

#[derive(Clone, Copy, Debug)]
enum Actor {
    /// Takes so many, or waits for them, and gives them back.
    Caller(u32),
    /// The same, and goes at any moment while it waits.
    Impatient(u32),
    Resize(u32),
}

struct World {
    books: Circulation,
    line: Arc<Semaphore>,
    held: u32,
}

type Waiting = Pin<Box<dyn Future<Output = Result<OwnedSemaphorePermit, AcquireError>>>>;

/// What an actor does next.
enum At {
    Start,
    /// Adds permits to the semaphore, after the lock; then goes on.
    Adds(u32, Box<At>),
    Queues,
    Waits(Waiting, Arc<Woken>),
    /// Has been given permits by the semaphore, not yet by the books.
    Served,
    /// Has left the semaphore, not yet the books.
    Left,
    Holds,
    Done,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, SeqCst);
    }
}

impl Actor {
    fn wanted(self) -> u32 {
        match self {
            Actor::Caller(wanted) | Actor::Impatient(wanted) => wanted,
            Actor::Resize(_) => 0,
        }
    }

    /// In how many ways it can go on: 0 if it waits for others.
    fn ways(self, at: &At) -> usize {
        match (self, at) {
            (_, At::Done) => 0,
            (Actor::Impatient(_), At::Waits(_, woken)) => 1 + usize::from(woken.0.load(SeqCst)),
            (_, At::Waits(_, woken)) => usize::from(woken.0.load(SeqCst)),
            _ => 1,
        }
    }

    fn step(self, at: At, way: usize, world: &mut World) -> At {
        let World { books, line, held } = world;
        let wanted = self.wanted();
        match (self, at) {
            (Actor::Resize(size), At::Start) => At::Adds(books.resize(size, line), Box::new(At::Done)),
            (_, At::Start) if books.take(wanted, line) => {
                *held += wanted;
                At::Holds
            }
            (_, At::Start) => At::Adds(books.join(wanted), Box::new(At::Queues)),
            (_, At::Adds(permits, then)) => {
                line.add_permits(permits as usize);
                *then
            }
            (_, At::Queues) => {
                let waiting = Box::pin(Arc::clone(line).acquire_many_owned(wanted));
                poll(waiting, Arc::new(Woken(AtomicBool::new(false))))
            }
            (Actor::Impatient(_), At::Waits(waiting, _)) if way == 0 => {
                drop(waiting);
                At::Left
            }
            (_, At::Waits(waiting, woken)) => {
                woken.0.store(false, SeqCst);
                poll(waiting, woken)
            }
            (_, At::Served) => {
                books.leave(wanted, line);
                *held += wanted;
                At::Holds
            }
            (_, At::Left) => {
                books.leave(wanted, line);
                At::Done
            }
            (_, At::Holds) => {
                *held -= wanted;
                At::Adds(books.give_back(wanted), Box::new(At::Done))
            }
            (_, At::Done) => unreachable!("it has no way to go on"),
        }
    }
}

fn poll(mut waiting: Waiting, woken: Arc<Woken>) -> At {
    let waker = Waker::from(Arc::clone(&woken));
    match waiting.as_mut().poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(permits) => {
            permits.expect("the semaphore is open").forget();
            At::Served
        }
        Poll::Pending => At::Waits(waiting, woken),
    }
}

/// Plays one order: at each step the choice that `choices` names, the first one behind its end. The answer is the
/// choices that were made, each with how many there were.
fn play(size: u32, actors: &[Actor], choices: &[usize]) -> Vec<(usize, usize)> {
    let mut world = World { books: Circulation::new(size), line: Arc::new(Semaphore::new(0)), held: 0 };
    let mut at: Vec<At> = actors.iter().map(|_| At::Start).collect();
    let mut made = Vec::new();
    loop {
        let ways: Vec<usize> = actors.iter().zip(&at).map(|(actor, at)| actor.ways(at)).collect();
        let all = ways.iter().sum();
        if all == 0 {
            break;
        }
        let choice = choices.get(made.len()).copied().unwrap_or(0);
        made.push((choice, all));
        let (mut who, mut way) = (0, choice);
        while way >= ways[who] {
            way -= ways[who];
            who += 1;
        }
        let now = std::mem::replace(&mut at[who], At::Done);
        at[who] = actors[who].step(now, way, &mut world);
        let most = world.books.in_circulation();
        assert!(u64::from(world.held) <= most, "{} inside, {most} in circulation: {made:?}", world.held);
    }
    let stuck = at.iter().filter(|at| !matches!(at, At::Done)).count();
    assert_eq!(stuck, 0, "waits for ever: {actors:?} {made:?}");
    let (size, free) = (world.books.size(), world.books.available(&world.line));
    assert_eq!((free, world.books.waiting(), world.held), (size, 0, 0), "{actors:?} {made:?}");
    made
}

/// All orders; how many there were.
fn play_all(size: u32, actors: &[Actor]) -> u64 {
    let (mut orders, mut choices) = (0, Vec::new());
    loop {
        let mut made = play(size, actors, &choices);
        orders += 1;
        // The last choice that has another one after it.
        while made.pop_if(|(choice, all)| *choice + 1 == *all).is_some() {}
        let Some((last, _)) = made.last_mut() else { return orders };
        *last += 1;
        choices = made.into_iter().map(|(choice, _)| choice).collect();
    }
}

#[test]
fn callers_of_one_and_of_many() {
    use Actor::{Caller, Impatient};
    let mut orders = 0;
    for (size, actors) in [
        (1, [Caller(1), Caller(1), Caller(1)]),
        (1, [Caller(1), Caller(1), Impatient(1)]),
        (2, [Caller(1), Caller(2), Impatient(1)]),
        (2, [Caller(2), Impatient(2), Caller(1)]),
    ] {
        orders += play_all(size, &actors);
    }
    println!("{orders} orders");
    assert!(orders > 10_000, "{orders}");
}

#[test]
fn sizes_that_change_under_callers() {
    use Actor::{Caller, Impatient, Resize};
    let mut orders = 0;
    for (size, actors) in [
        (2, [Caller(1), Caller(1), Resize(1)]),
        (1, [Caller(1), Caller(1), Resize(2)]),
        (2, [Caller(2), Impatient(1), Resize(3)]),
        (3, [Caller(1), Impatient(1), Resize(1)]),
    ] {
        orders += play_all(size, &actors);
    }
    println!("{orders} orders");
    assert!(orders > 1_000, "{orders}");
}
