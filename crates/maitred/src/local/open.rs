//! Brings a journal up: opens it, replays it, gives it its birth if it is new, and asks whether this machine's
//! clock can be believed.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use bytes::Bytes;
use maitred_engine::time::{DAY_MS, Millis, SECOND_MS, format_duration};
use maitred_journal::{
    AppendError, Archive, Clock, Journal, JournalError, Local, Memory, Options, SystemClock,
};

use super::{
    awake::Awake,
    follower::{Follower, Halt},
    record::{Body, Entry},
    seen::Seen,
    start::{NodeOptions, StartError},
};

const REPLAY_BYTES: usize = 8 * 1024 * 1024;
/// A clock that is behind the last record by no more than this was only corrected.
const BEHIND_MS: Millis = 5 * SECOND_MS;

/// A journal that is ready to be written.
pub struct Opened {
    pub journal: Box<dyn Journal>,
    pub follower: Follower,
    pub writer: u64,
    pub clock: Arc<dyn Clock>,
}

/// The journal that the options name.
pub async fn journal(options: &NodeOptions) -> Result<Box<dyn Journal>, StartError> {
    if let Some(url) = &options.journal {
        return shared(url, options).await;
    }
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    Ok(match (&options.folder, &options.memory) {
        (Some(folder), _) => Box::new(open_folder(&folder.join("journal"), clock)?),
        (None, Some(memory)) => Box::new(memory.journal()),
        (None, None) => Box::new(Memory::local(clock).journal()),
    })
}

/// One that several nodes write to.
#[cfg_attr(not(any(feature = "postgres", feature = "jetstream")), expect(unused_variables))]
async fn shared(url: &str, options: &NodeOptions) -> Result<Box<dyn Journal>, StartError> {
    let scheme = url.split_once("://").map(|(scheme, _)| scheme);
    match scheme {
        #[cfg(feature = "postgres")]
        Some("postgres" | "postgresql") => {
            use maitred_journal::postgres::{self, PostgresOptions};
            let accept_weaker_durability = options.accept_weaker_durability;
            let opening = PostgresOptions { accept_weaker_durability, ..PostgresOptions::new(url) };
            let opened = postgres::open(opening).await;
            let journal =
                opened.map_err(|error| StartError(format!("the journal cannot be opened: {error}")))?;
            Ok(Box::new(journal))
        }
        #[cfg(feature = "jetstream")]
        Some("nats" | "tls") => {
            use maitred_journal::jetstream::{JetStream, Settings};
            let settings = Settings::parse(url).map_err(StartError)?;
            let accept_weaker_durability = options.accept_weaker_durability;
            let opened = JetStream::open(Settings { accept_weaker_durability, ..settings }).await;
            let journal =
                opened.map_err(|error| StartError(format!("the journal cannot be opened: {error}")))?;
            Ok(Box::new(journal))
        }
        // The rest may hold a password.
        _ => Err(StartError(format!(
            "no journal for URLs that begin with `{}` in this build; allowed: postgres://USER@HOST/DATABASE, \
             nats://HOST/STREAM",
            scheme.unwrap_or_default()
        ))),
    }
}

/// Replays the journal, and gives it its birth if it is new.
pub async fn bring_up(mut journal: Box<dyn Journal>, options: &NodeOptions) -> Result<Opened, StartError> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let writer = random().0;
    let mut archive = journal.archive();
    let mut follower = replay(&mut *archive).await.map_err(|halt| StartError(halt.to_string()))?;
    if follower.head() == 0 {
        follower = give_birth(&mut *journal, writer).await?;
    } else if !options.manual_clock && follower.now() > 0 && !journal.is_shared() {
        // Behind a birth alone nothing can be due.
        let awake_until = options.folder.as_deref().and_then(Awake::last);
        check_clock(follower.now(), awake_until, clock.now(), options.accept_clock)?;
    }
    Ok(Opened { journal, follower, writer, clock })
}

/// What this node knows of a shared journal from before, which must still be there.
pub async fn seen(
    options: &NodeOptions,
    journal: &dyn Journal,
    follower: &Follower,
) -> Result<Option<Seen>, StartError> {
    let Some(folder) = options.folder.as_deref().filter(|_| journal.is_shared()) else { return Ok(None) };
    let mut seen = Seen::open(folder);
    if options.accept_lost_end {
        seen.forget();
    }
    seen.check(&mut *journal.archive(), follower).await.map_err(StartError)?;
    Ok(Some(seen))
}

/// Where to write down how long this process is there, and what time it is now: only then is it asked at a start.
pub fn awake(options: &NodeOptions, journal: &dyn Journal, clock: &dyn Clock) -> Option<(PathBuf, Millis)> {
    let is_asked = !options.manual_clock && !journal.is_shared();
    options.folder.clone().filter(|_| is_asked).map(|folder| (folder, clock.now()))
}

fn open_folder(folder: &Path, clock: Arc<dyn Clock>) -> Result<Local, StartError> {
    let (high, low) = random();
    let mut id = [0; 16];
    id[..8].copy_from_slice(&high.to_le_bytes());
    id[8..].copy_from_slice(&low.to_le_bytes());
    let options = Options { clock, ..Options::new(id) };
    let opened = Local::open(folder, options);
    let mut local = opened.map_err(|error| StartError(format!("the journal cannot be opened: {error}")))?;
    for warning in local.warnings() {
        tracing::warn!(warning, "the journal");
    }
    Ok(local)
}

/// Chance comes in here and nowhere else.
fn random() -> (u64, u64) {
    uuid::Uuid::new_v4().as_u64_pair()
}

/// The newest snapshot, and every durable record since.
pub async fn replay(archive: &mut dyn Archive) -> Result<Follower, Halt> {
    let mut follower = newest_snapshot(archive).await?;
    loop {
        let records = archive.read(follower.head(), REPLAY_BYTES).await.map_err(failed)?;
        if records.is_empty() {
            return Ok(follower);
        }
        for record in &records {
            follower.take(record, |_, _, _, _, _| {})?;
        }
        // A local journal answers at once: whoever asks the program to stop must be heard between two readings.
        tokio::task::yield_now().await;
    }
}

/// Where a replay begins: at the newest snapshot, or before the birth.
pub async fn newest_snapshot(archive: &mut dyn Archive) -> Result<Follower, Halt> {
    match archive.snapshot().await.map_err(failed)? {
        Some(snapshot) => Follower::restore(&snapshot),
        None => Ok(Follower::default()),
    }
}

fn failed(error: JournalError) -> Halt {
    Halt::Journal(match error {
        JournalError::Trimmed { .. } => format!(
            "{error}, and no snapshot covers what is gone: the journal has lost records that were acknowledged; read \
             `A lost end` in the operator's pages before anything else"
        ),
        error => error.to_string(),
    })
}

/// On a shared journal another node may do it at the same moment: then that birth is the one.
async fn give_birth(journal: &mut dyn Journal, writer: u64) -> Result<Follower, StartError> {
    let (first, second) = random();
    let body = Body::Birth { key: [first, second], rules: maitred_engine::RULES_MAX };
    let bytes: Bytes = Entry { writer, before: 0, body }.encode();
    let born = async {
        match journal.append(0, bytes).await {
            Ok(_) | Err(AppendError::Conflict { .. } | AppendError::Unknown(_)) => {}
            Err(error) => return Err(error.to_string()),
        }
        journal.sync().await.map_err(|error| error.to_string())?;
        let follower = replay(&mut *journal.archive()).await.map_err(|error| error.to_string())?;
        let is_born = follower.engine().is_some();
        is_born.then_some(follower).ok_or_else(|| "its first record was not taken; try again".to_owned())
    };
    born.await.map_err(|error| StartError(format!("a new journal could not be begun: {error}")))
}

/// Whether the clock may be believed after this process was away (a leap would free every slot).
fn check_clock(
    last_at: Millis,
    awake_until: Option<Millis>,
    now: Millis,
    accepted: bool,
) -> Result<(), StartError> {
    let Some(leap) = leap(last_at, awake_until, now) else { return Ok(()) };
    if accepted || clock_is_synchronised() {
        return Ok(());
    }
    Err(StartError(format!(
        "this machine's clock is {leap}, and nothing says that it is synchronised. \
         Check the date; if it is right, start once with --accept-clock"
    )))
}

/// What is odd about the clock, in words.
fn leap(last_at: Millis, awake_until: Option<Millis>, now: Millis) -> Option<String> {
    let there_until = awake_until.map_or(last_at, |until| until.max(last_at));
    if now + BEHIND_MS < last_at {
        Some(format!("{} behind the last record", format_duration(last_at - now)))
    } else if now > there_until + DAY_MS {
        Some(format!("{} after a server was last there", format_duration(now - there_until)))
    } else {
        None
    }
}

/// What the machine's time service says of itself.
fn clock_is_synchronised() -> bool {
    Path::new("/run/systemd/timesync/synchronized").exists()
}

#[cfg(test)]
mod tests {
    use maitred_engine::time::{DAY_MS, SECOND_MS};

    use super::leap;

    #[test]
    fn a_leap_is_a_day_in_which_no_server_was_there() {
        let (monday, wednesday) = (10 * DAY_MS, 12 * DAY_MS);
        assert_eq!(leap(monday, None, monday + DAY_MS), None);
        assert_eq!(leap(monday, None, wednesday).as_deref(), Some("2d after a server was last there"));
        assert_eq!(leap(monday, Some(wednesday - SECOND_MS), wednesday), None);
        assert_eq!(leap(monday, Some(monday - DAY_MS), monday + DAY_MS), None);
        assert!(leap(monday, Some(monday + SECOND_MS), wednesday).is_some());
        assert_eq!(leap(monday, Some(wednesday), monday - 5 * SECOND_MS), None);
        let behind = leap(monday, Some(wednesday), monday - 6 * SECOND_MS);
        assert_eq!(behind.as_deref(), Some("6s behind the last record"));
    }
}
