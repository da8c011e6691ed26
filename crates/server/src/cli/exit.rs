//! Exit statuses: what a script can tell apart.

use maitred_api::Reason;

pub const OK: u8 = 0;
pub const FAILED: u8 = 1;
pub const USAGE: u8 = 2;
pub const NOT_FOUND: u8 = 3;
pub const NOT_ALLOWED: u8 = 4;
pub const REFUSED: u8 = 5;
pub const TIMED_OUT: u8 = 6;
pub const UNREACHABLE: u8 = 7;
pub const NOT_EXECUTABLE: u8 = 126;
pub const NO_COMMAND: u8 = 127;
/// A process that a signal ended, as shells tell it: this plus the signal's number.
pub const SIGNAL: u8 = 128;

/// What `maitred help exit-codes` prints.
pub const TABLE: &str = "\
Exit statuses:
  0    done
  1    failed, or a scenario differs
  2    the command line or a value in it is not valid
  3    no such limit or slot
  4    not allowed: no token, or one that may not do this
  5    refused: not confirmed, a conflict, a retired limit, a weight that never fits
  6    timed out waiting for a slot
  7    the server could not be reached, or could not take the call now
  126  run: the command could not be executed
  127  run: there is no such command
  130  interrupted (128 and the number of the signal: 143 for SIGTERM)

`maitred run` answers with the status of the command it ran once that has started.";

/// The status of a command that ended with this problem.
pub fn of(reason: Reason) -> u8 {
    match reason {
        Reason::NotFound | Reason::LimitNotFound => NOT_FOUND,
        Reason::Unauthorized | Reason::Forbidden | Reason::WrongHost => NOT_ALLOWED,
        Reason::Conflict
        | Reason::SettingsChanged
        | Reason::LimitRetired
        | Reason::NeverFits
        | Reason::TooOld => REFUSED,
        Reason::Unavailable | Reason::Unknown | Reason::Overloaded | Reason::StorageFull => UNREACHABLE,
        other if other.http_status() == 400 => USAGE,
        _ => FAILED,
    }
}
