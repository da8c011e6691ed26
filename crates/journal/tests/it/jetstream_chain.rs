//! Several writers on a cluster whose servers are killed: what one of them took for done is done for everybody who
//! reads the records, also where the servers let two through at one place.
//!
//! Each record names the one before it, as maitred's do. It counts if that is the last one that counted.
#![cfg(feature = "jetstream")]

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hasher},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::{Buf, BufMut, Bytes, BytesMut};
use maitred_journal::{
    AppendError, Archive, Journal, Position, Record,
    jetstream::{JetStream, Settings},
};
use maitred_testbed::{Nats, NatsCluster};

const ROUNDS: usize = 3;

/// The chain as one reader sees it.
#[derive(Default)]
struct Chain {
    head: Position,
    hash: u64,
    voids: u64,
    counted: HashSet<Bytes>,
}

impl Chain {
    fn take(&mut self, record: &Record) -> bool {
        assert_eq!(record.position, self.head + 1, "a gap");
        self.head = record.position;
        let counts = record.bytes.slice(..8).get_u64() == self.hash;
        if counts {
            self.hash = hash(&record.bytes);
            self.counted.insert(record.bytes.clone());
        } else {
            self.voids += 1;
        }
        counts
    }

    /// Takes what is there. False if the servers do not answer.
    async fn catch_up(&mut self, archive: &mut dyn Archive) -> bool {
        loop {
            match archive.read(self.head, 1 << 20).await {
                Ok(records) if records.is_empty() => return true,
                Ok(records) => records.iter().for_each(|record| {
                    self.take(record);
                }),
                Err(maitred_journal::JournalError::Unreachable { .. }) => return false,
                Err(error) => panic!("a read: {error}"),
            }
        }
    }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

fn record(before: u64, writer: u64, count: u64) -> Bytes {
    let mut bytes = BytesMut::new();
    bytes.put_u64(before);
    bytes.put_u64(writer);
    bytes.put_u64(count);
    bytes.freeze()
}

async fn open(settings: &Settings) -> JetStream {
    loop {
        match JetStream::open(settings.clone()).await {
            Ok(journal) => return journal,
            Err(maitred_journal::JournalError::Unreachable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Appends until it is told to stop, and answers what it took for done.
async fn write(writer: u64, settings: Settings, stop: Arc<AtomicBool>) -> Vec<Bytes> {
    let mut journal = open(&settings).await;
    let mut archive = journal.archive();
    let mut chain = Chain::default();
    let (mut done, mut count) = (Vec::new(), 0);
    while !stop.load(Ordering::Relaxed) {
        if !chain.catch_up(&mut *archive).await {
            tokio::time::sleep(Duration::from_millis(20)).await;
            continue;
        }
        count += 1;
        let bytes = record(chain.hash, writer, count);
        match journal.append(chain.head, bytes.clone()).await {
            Ok(stamp) if stamp.position == chain.head + 1 => {
                let own = Record { position: stamp.position, at: stamp.at, bytes: bytes.clone() };
                assert!(chain.take(&own), "directly behind the head it knows");
                done.push(bytes);
            }
            // It was let through behind others: they tell.
            Ok(_) | Err(AppendError::Conflict { .. }) => {}
            Err(AppendError::Unknown(_)) => tokio::time::sleep(Duration::from_millis(20)).await,
            Err(error) => panic!("an append: {error}"),
        }
    }
    done
}

async fn rounds_of_kills(cluster: &mut NatsCluster, settings: &Settings) -> (usize, Chain) {
    drop(open(settings).await);
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> =
        (0..3).map(|writer| tokio::spawn(write(writer, settings.clone(), Arc::clone(&stop)))).collect();
    for round in 0..ROUNDS {
        tokio::time::sleep(Duration::from_secs(2)).await;
        cluster.servers[round].kill().expect("it is killed");
        tokio::time::sleep(Duration::from_secs(3)).await;
        cluster.servers[round].start_again().expect("it starts again");
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    stop.store(true, Ordering::Relaxed);
    let mut done = Vec::new();
    for writer in writers {
        done.extend(writer.await.expect("a writer ends"));
    }
    let journal = open(settings).await;
    let mut chain = Chain::default();
    while !chain.catch_up(&mut *journal.archive()).await {}
    for bytes in &done {
        assert!(chain.counted.contains(bytes), "{bytes:?} was done for its writer, and for nobody else");
    }
    println!("{} done, {} records, {} of them void", done.len(), chain.head, chain.voids);
    (done.len(), chain)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_done_for_its_writer_is_done_for_all() {
    let mut cluster = NatsCluster::start().expect("a cluster");
    let settings = Settings::parse(&cluster.url("limits")).expect("a good URL");
    let (done, chain) = rounds_of_kills(&mut cluster, &settings).await;
    assert!(done > 100, "only {done} were done");
    assert_eq!(chain.voids, 0, "two were let through at one place");
}

/// What the servers should never let through is seen: the test would tell.
#[tokio::test]
async fn a_record_that_was_let_through_is_void() {
    let server = Nats::start().expect("a server");
    let settings = Settings::parse(&server.url("limits")).expect("a good URL");
    let mut journal = open(&settings).await;
    let mut chain = Chain::default();
    for count in 1..=3 {
        let before = chain.hash;
        journal.append(chain.head, record(before, 1, count)).await.expect("an append");
        assert!(chain.catch_up(&mut *journal.archive()).await);
    }
    let stale = record(0, 2, 1);
    let client = async_nats::connect(format!("127.0.0.1:{}", server.port())).await.expect("a connection");
    let stranger = async_nats::jetstream::new(client);
    let sent = stranger.publish("limits.records", stale.clone()).await;
    sent.expect("it is sent").await.expect("it is taken");
    let refused = journal.append(chain.head, record(chain.hash, 1, 4)).await.expect_err("its place is taken");
    assert!(matches!(refused, AppendError::Conflict { expected: 3 }), "{refused}");
    assert!(chain.catch_up(&mut *journal.archive()).await);
    assert_eq!((chain.head, chain.voids, chain.counted.contains(&stale)), (4, 1, false));
    journal.append(4, record(chain.hash, 1, 4)).await.expect("behind the void one");
    assert!(chain.catch_up(&mut *journal.archive()).await);
    assert_eq!((chain.head, chain.voids, chain.counted.len()), (5, 1, 4));
}

/// Its compare-and-append is faulty, and it acknowledges before it flushes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "the long form: MAITRED_NATS_SERVER must name a server of 2.9, Debian's say"]
async fn the_chain_holds_on_an_old_server() {
    let mut cluster = NatsCluster::start_with("").expect("a cluster");
    let settings = Settings::parse(&cluster.url("limits")).expect("a good URL");
    let settings = Settings { accept_weaker_durability: true, ..settings };
    let (done, _) = rounds_of_kills(&mut cluster, &settings).await;
    assert!(done > 100, "only {done} were done");
}
