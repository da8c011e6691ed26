//! `maitred limits …`: see and operate limits.

mod act;
mod release;
mod show;
mod top;
mod watch;

use std::time::Duration;

use clap::{Args, Subcommand};
use maitred_api::{Call, Given};

use crate::cli::{
    complete,
    failure::Failure,
    output,
    session::{ConnectOptions, Session, Why},
};

pub use release::{can_ask, is_agreed};
pub use show::ends_at;

#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub struct LimitsArgs {
    #[command(subcommand)]
    verb: LimitsVerb,
    #[command(flatten)]
    connect: ConnectOptions,
}

#[derive(Subcommand, Debug)]
enum LimitsVerb {
    /// Every limit: busy of capacity, waiting, oldest wait, max hold, and where the values come from
    #[command(after_help = LIST_HELP)]
    List,
    /// One limit: what is in force, what is declared, what it holds
    #[command(after_help = SHOW_HELP)]
    Show {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
    },
    /// One limit's slots: busy first, then reserved, then the queue in order
    #[command(after_help = SLOTS_HELP)]
    Slots {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
        /// How many at the most
        #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
        most: u32,
    },
    /// Give a busy or reserved slot back, when its release got lost
    #[command(after_help = RELEASE_HELP)]
    Release {
        /// The id of the slot
        slot: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Override the capacity until it is reset; no deploy clears it
    #[command(after_help = CAPACITY_HELP)]
    Capacity {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
        /// A whole number from 1 to 100000, or `reset`: back to what is declared
        #[arg(value_name = "N|reset")]
        capacity: String,
        /// Say what it would do, and do nothing
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Override the max hold until it is reset; it applies to slots granted from now on
    #[command(after_help = MAX_HOLD_HELP)]
    MaxHold {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
        /// A duration such as 45m, 2h or 1h30m (a number alone is milliseconds), up to 30d, or `reset`: back to what is declared
        #[arg(value_name = "DURATION|reset")]
        max_hold: String,
        /// Say what it would do, and do nothing
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        why: Why,
    },
    /// Grant nothing more until it is resumed; what is busy goes on, what waits goes on waiting
    #[command(after_help = PAUSE_HELP)]
    Pause {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
        #[command(flatten)]
        why: Why,
    },
    /// Grant again
    #[command(after_help = RESUME_HELP)]
    Resume {
        /// Its name
        #[arg(add = complete::limits())]
        limit: String,
        #[command(flatten)]
        why: Why,
    },
    /// What happens, line by line as it happens: to every limit, or to one
    #[command(after_help = WATCH_HELP)]
    Watch {
        /// Its name
        #[arg(add = complete::limits())]
        limit: Option<String>,
    },
    /// Every limit on the whole screen, the longest queues first, until Ctrl-C
    #[command(after_help = TOP_HELP)]
    Top {
        /// How often it is drawn
        #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = often)]
        every: Duration,
    },
}

fn often(text: &str) -> Result<Duration, String> {
    let ms = maitred::parse_duration(text).filter(|ms| (100..=3_600_000).contains(ms));
    ms.map(Duration::from_millis).ok_or_else(|| "allowed: 100ms to 1h".to_owned())
}

impl LimitsArgs {
    pub fn wants_json(&self) -> bool {
        self.connect.json
    }
}

pub async fn run(args: LimitsArgs) -> Result<u8, Failure> {
    let session = Session::open(&args.connect)?;
    match args.verb {
        LimitsVerb::Top { every } => top::run(&session, every).await,
        LimitsVerb::List => show::list(&session).await,
        LimitsVerb::Show { limit } => show::one(&session, &limit).await,
        LimitsVerb::Slots { limit, most } => show::slots(&session, &limit, most).await,
        LimitsVerb::Release { slot, yes, why } => release::run(&session.by_hand(&why), &slot, yes).await,
        LimitsVerb::Capacity { limit, capacity, dry_run: true, .. } => {
            act::preview(&session, limit, Given::from(capacity), Given::default()).await
        }
        LimitsVerb::MaxHold { limit, max_hold, dry_run: true, .. } => {
            output::note_milliseconds(Some(&max_hold), session.out.json);
            act::preview(&session, limit, Given::default(), Given::from(max_hold)).await
        }
        LimitsVerb::Capacity { limit, capacity, why, .. } => {
            let call = match capacity.as_str() {
                "reset" => Call::ResetCapacity { limit: limit.clone() },
                number => Call::SetCapacity { limit: limit.clone(), capacity: Given::from(number) },
            };
            act::run(&session.because(&why), &limit, call).await
        }
        LimitsVerb::MaxHold { limit, max_hold, why, .. } => {
            output::note_milliseconds(Some(&max_hold), session.out.json);
            let call = match max_hold.as_str() {
                "reset" => Call::ResetMaxHold { limit: limit.clone() },
                duration => Call::SetMaxHold { limit: limit.clone(), max_hold: Given::from(duration) },
            };
            act::run(&session.because(&why), &limit, call).await
        }
        LimitsVerb::Watch { limit } => watch::run(&session, limit.as_deref()).await,
        LimitsVerb::Pause { limit, why } => {
            act::run(&session.because(&why), &limit, Call::Pause { limit: limit.clone() }).await
        }
        LimitsVerb::Resume { limit, why } => {
            act::run(&session.because(&why), &limit, Call::Resume { limit: limit.clone() }).await
        }
    }
}

const HELP: &str = "\
Examples:
  maitred limits list
  maitred limits slots voice-calls
  maitred limits capacity voice-calls 30 --agent staging

Limits are declared, changed for good and retired in a file: maitred apply --help.";

const LIST_HELP: &str = "\
Examples:
  maitred limits list
  maitred limits list --agent staging --json
  maitred limits list --header | column -t

USE is busy of capacity; reserved slots are told apart. In a pipe, tab-separated:
name, busy, reserved, capacity, waiting, oldest wait (ms), max hold (ms), source, paused, retired.";

const SHOW_HELP: &str = "\
Examples:
  maitred limits show voice-calls
  maitred limits show voice-calls --json";

const SLOTS_HELP: &str = "\
Examples:
  maitred limits slots voice-calls
  maitred limits slots voice-calls --most 1000 | awk -F'\\t' '$1 == \"busy\" {print $3}'

In a pipe, tab-separated: state, place in the queue, slot, run, label, weight, fence, and in ms
since 1970 queued at, granted at, ends at (lapses, expires or gives up).";

const RELEASE_HELP: &str = "\
Examples:
  maitred limits release 0198f3c2-… --yes --reason 'worker lost'
  maitred limits slots voice-calls        # who holds what

Release by hand only when the release got lost: the work itself is not stopped. Otherwise the
slot comes back at its max hold. On a terminal it asks; elsewhere it needs --yes (exit status 5
without).";

const CAPACITY_HELP: &str = "\
Examples:
  maitred limits capacity voice-calls 30 --dry-run
  maitred limits capacity voice-calls 30
  maitred limits capacity voice-calls reset

Raised, it grants waiting slots at once. Lowered, it takes nothing back. With --dry-run it says how
many would be granted; in a pipe, tab-separated: limit, capacity, max hold (ms), grants at once,
places over the capacity, slots that would never fit.";

const MAX_HOLD_HELP: &str = "\
Examples:
  maitred limits max-hold voice-calls 2h --dry-run
  maitred limits max-hold voice-calls 2h
  maitred limits max-hold voice-calls reset";

const PAUSE_HELP: &str = "\
Examples:
  maitred limits pause voice-calls --reason 'provider is down'
  maitred limits resume voice-calls

Only resume lifts it: no deploy and no restart does.";

const TOP_HELP: &str = "\
Examples:
  maitred limits top
  maitred limits top --every 500ms --agent staging

It only shows, and needs a terminal. To act: maitred limits capacity, max-hold, pause, release.";

const WATCH_HELP: &str = "\
Examples:
  maitred limits watch
  maitred limits watch voice-calls
  maitred limits watch --json | jq -c 'select(.kind == \"slot_ended\")'

It goes on over a lost connection, and says so on stderr. In a pipe, tab-separated: at (ms since
1970), revision, kind, limit, slot, state, run, label, fence, waited (ms), by. With --json one
object a line; the first is what is true.";

const RESUME_HELP: &str = "\
Examples:
  maitred limits resume voice-calls
  maitred limits list                     # paused limits are marked";
