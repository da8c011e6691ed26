//! Rules that the scenario format has no words for: outages (T2a), lines (S7a), fences (S14), request ids (A5),
//! namespaces (N1) and the numbers of a decision (A2).

use maitred_model::{
    Acquire, Answer, Declared, EndStatus, Model, SlotView, Spec, SpecResult, State, Verb, Verdict,
};

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;

/// A model with limit `l` of this capacity and a max hold of 10 minutes.
fn with_limit(capacity: u64) -> Model {
    let mut model = Model::new();
    let limit = Verb::Declare { limit: "l".into(), capacity, max_hold_ms: 10 * MINUTE_MS };
    assert_eq!(say(&mut model, 0, limit), Answer::Done);
    model
}

fn say(model: &mut Model, at_ms: u64, verb: Verb) -> Answer {
    model.command(at_ms, "default", None, verb)
}

fn acquire(model: &mut Model, at_ms: u64, ask: &Acquire) -> SlotView {
    match say(model, at_ms, Verb::Acquire(ask.clone())) {
        Answer::Slot(view) => view,
        other => panic!("{ask} answered {other:?}"),
    }
}

fn ordinary(slot: &str) -> Acquire {
    Acquire::new(slot, "l")
}

fn auto(slot: &str, line: Option<u64>) -> Acquire {
    Acquire { auto: true, line, ..Acquire::new(slot, "l") }
}

fn busy(model: &mut Model, at_ms: u64, slot: &str) {
    assert_eq!(acquire(model, at_ms, &auto(slot, None)).state, State::Busy);
}

fn state(model: &Model, at_ms: u64, slot: &str) -> State {
    model.slot(at_ms, "default", slot).state
}

fn release(slot: &str) -> Verb {
    Verb::Release { slot: slot.into() }
}

mod outages {
    use super::*;

    /// h expires at 10m; nobody is there until `back_ms`. Whoever waits is granted then, with two whole minutes.
    fn granted_after_silence(back_ms: u64) -> SlotView {
        let mut model = with_limit(1);
        busy(&mut model, 0, "h");
        acquire(&mut model, 0, &ordinary("a"));
        say(&mut model, back_ms, Verb::Advance);
        model.slot(back_ms, "default", "a")
    }

    #[test]
    fn five_seconds_late_is_no_outage() {
        let view = granted_after_silence(10 * MINUTE_MS + 5000);
        assert_eq!(view.reserved_until_ms, Some(12 * MINUTE_MS));
    }

    #[test]
    fn a_millisecond_more_is_one() {
        let view = granted_after_silence(10 * MINUTE_MS + 5001);
        assert_eq!(view.reserved_until_ms, Some(12 * MINUTE_MS + 5001));
        assert_eq!(view.expires_at_ms, Some(20 * MINUTE_MS + 5001));
        assert_eq!(view.fence, Some(2));
    }

    #[test]
    fn what_was_due_ends_at_its_own_time() {
        let mut model = with_limit(1);
        busy(&mut model, 0, "h");
        acquire(&mut model, 0, &Acquire { timeout_ms: 11 * MINUTE_MS, ..ordinary("a") });
        acquire(&mut model, 0, &ordinary("b"));
        say(&mut model, HOUR_MS, Verb::Advance);
        let ended = |slot| model.slot(HOUR_MS, "default", slot).ended_at_ms;
        assert_eq!(ended("h"), Some(10 * MINUTE_MS));
        assert_eq!((state(&model, HOUR_MS, "a"), ended("a")), (State::TimedOut, Some(11 * MINUTE_MS)));
        let view = model.slot(HOUR_MS, "default", "b");
        assert_eq!((view.state, view.expires_at_ms), (State::Reserved, Some(HOUR_MS + 10 * MINUTE_MS)));
    }

    #[test]
    fn a_slot_that_lapsed_while_nobody_was_there_lapses_once() {
        let mut model = with_limit(1);
        acquire(&mut model, 0, &ordinary("a"));
        acquire(&mut model, 1, &ordinary("b"));
        acquire(&mut model, 2, &ordinary("c"));
        say(&mut model, HOUR_MS, Verb::Advance);
        assert_eq!(state(&model, HOUR_MS, "b"), State::Reserved);
        assert_eq!(model.queue(HOUR_MS, "default", "l"), Ok(vec!["c".into(), "a".into()]));
    }

    /// The command itself comes last: a release after the outage finds the slot expired, the grant made.
    #[test]
    fn the_command_comes_after_the_grants() {
        let mut model = with_limit(1);
        busy(&mut model, 0, "h");
        acquire(&mut model, 0, &ordinary("a"));
        assert_eq!(say(&mut model, HOUR_MS, release("h")), Answer::Released(false));
        assert_eq!(say(&mut model, HOUR_MS, release("a")), Answer::Released(true));
    }

    /// Something else was due long ago, so nobody was there for the expiry of a second ago either.
    #[test]
    fn one_step_is_one_outage() {
        let view = granted_a_second_late(|model| {
            acquire(model, 0, &Acquire { timeout_ms: MINUTE_MS, ..ordinary("b") });
        });
        assert_eq!(view.expires_at_ms, Some(20 * MINUTE_MS + 1000));
    }

    /// The end of a window writes nothing, so it does not show whether anybody was there.
    #[test]
    fn a_window_that_ended_long_ago_is_no_outage() {
        let view = granted_a_second_late(|model| {
            let spec = rate("k", 1, MINUTE_MS);
            say(model, 0, Verb::Admit { task: "t".into(), run: None, specs: vec![spec] });
        });
        assert_eq!(view.expires_at_ms, Some(20 * MINUTE_MS));
    }

    fn granted_a_second_late(before: impl FnOnce(&mut Model)) -> SlotView {
        let mut model = with_limit(1);
        busy(&mut model, 0, "h");
        acquire(&mut model, 0, &ordinary("a"));
        before(&mut model);
        say(&mut model, 10 * MINUTE_MS + 1000, Verb::Advance);
        model.slot(10 * MINUTE_MS + 1000, "default", "a")
    }
}

mod lines {
    use super::*;

    fn hang_up(slot: &str, line: u64) -> Verb {
        Verb::HangUp { slot: slot.into(), line }
    }

    fn with_waiting(ask: &Acquire) -> Model {
        let mut model = with_limit(1);
        busy(&mut model, 0, "h");
        assert_eq!(acquire(&mut model, 0, ask).state, State::Queued);
        model
    }

    #[test]
    fn on_the_line_a_grant_is_busy_and_otherwise_reserved() {
        let mut model = with_waiting(&auto("a", Some(1)));
        acquire(&mut model, 0, &auto("b", None));
        say(&mut model, 1, release("h"));
        assert_eq!(state(&model, 1, "a"), State::Busy);
        say(&mut model, 2, release("a"));
        assert_eq!(state(&model, 2, "b"), State::Reserved);
        assert_eq!(acquire(&mut model, 3, &auto("b", None)).state, State::Busy);
    }

    #[test]
    fn hanging_up_leaves_the_queue_and_gives_back_what_was_granted() {
        let mut model = with_waiting(&auto("a", Some(1)));
        acquire(&mut model, 0, &auto("b", Some(2)));
        say(&mut model, 1, hang_up("a", 1));
        assert_eq!(state(&model, 1, "a"), State::Left);
        say(&mut model, 2, release("h"));
        assert_eq!(state(&model, 2, "b"), State::Busy);
        say(&mut model, 2, hang_up("b", 2));
        assert_eq!(state(&model, 2, "b"), State::Released);
    }

    #[test]
    fn an_older_line_cannot_hang_up_for_a_newer_one() {
        let mut model = with_waiting(&auto("a", Some(1)));
        acquire(&mut model, 1, &auto("a", Some(2)));
        say(&mut model, 2, hang_up("a", 1));
        assert_eq!(state(&model, 2, "a"), State::Queued);
        say(&mut model, 3, hang_up("a", 2));
        assert_eq!(state(&model, 3, "a"), State::Left);
    }

    /// S7a: asked for without a wait, a slot is ordinary; an older line that breaks later is nobody's concern.
    #[test]
    fn asking_again_without_a_line_leaves_the_old_one() {
        let mut model = with_waiting(&auto("a", Some(1)));
        acquire(&mut model, 1, &auto("a", None));
        say(&mut model, 2, hang_up("a", 1));
        assert_eq!(state(&model, 2, "a"), State::Queued);
        say(&mut model, 3, release("h"));
        assert_eq!(state(&model, 3, "a"), State::Reserved);
    }

    #[test]
    fn a_wait_that_runs_out_is_no_hang_up() {
        let mut model = with_waiting(&auto("a", Some(1)));
        say(&mut model, 1, Verb::LineEnd { slot: "a".into(), line: 1 });
        say(&mut model, 2, hang_up("a", 1));
        assert_eq!(state(&model, 2, "a"), State::Queued);
        say(&mut model, 3, release("h"));
        let view = model.slot(3, "default", "a");
        assert_eq!((view.state, view.reserved_until_ms), (State::Reserved, Some(2 * MINUTE_MS + 3)));
        assert_eq!(acquire(&mut model, 4, &auto("a", Some(3))).state, State::Busy);
    }

    #[test]
    fn a_caller_without_auto_has_only_lost_a_connection() {
        let mut model = with_waiting(&Acquire { line: Some(1), ..ordinary("a") });
        say(&mut model, 1, hang_up("a", 1));
        assert_eq!(state(&model, 1, "a"), State::Queued);
    }

    #[test]
    fn when_the_server_dies_its_lines_are_ordinary_until_they_ask_again() {
        let mut model = with_waiting(&auto("a", Some(1)));
        acquire(&mut model, 0, &auto("b", Some(2)));
        say(&mut model, 1, Verb::DropLines);
        acquire(&mut model, 2, &auto("b", Some(3)));
        say(&mut model, 3, release("h"));
        assert_eq!(state(&model, 3, "a"), State::Reserved);
        assert_eq!(state(&model, 2 * MINUTE_MS + 3, "b"), State::Busy);
        assert_eq!(state(&model, 2 * MINUTE_MS + 3, "a"), State::Queued);
    }
}

#[test]
fn a_fence_only_grows_over_namespaces_and_grants_again() {
    let mut model = with_limit(2);
    assert_eq!(acquire(&mut model, 0, &ordinary("a")).fence, Some(1));
    let other = Verb::Declare { limit: "l".into(), capacity: 1, max_hold_ms: HOUR_MS };
    model.command(0, "other", None, other);
    model.command(0, "other", None, Verb::Acquire(ordinary("a")));
    assert_eq!(model.slot(0, "other", "a").fence, Some(2));
    assert_eq!(acquire(&mut model, 1, &ordinary("b")).fence, Some(3));
    say(&mut model, 2 * MINUTE_MS, Verb::Advance); // both of the first lapse and are granted again
    assert_eq!(model.slot(2 * MINUTE_MS, "default", "a").fence, Some(4));
    assert_eq!(model.slot(2 * MINUTE_MS, "other", "a").fence, Some(5));
    assert_eq!(state(&model, 2 * MINUTE_MS, "b"), State::Reserved);
}

#[test]
fn namespaces_never_meet() {
    let mut model = with_limit(1);
    busy(&mut model, 0, "h");
    assert_eq!(
        model.command(0, "other", None, Verb::Acquire(ordinary("h"))),
        Answer::Error("limit_not_found")
    );
    let limits = vec![Declared { limit: "l".into(), capacity: 1, max_hold_ms: HOUR_MS }];
    model.command(0, "other", None, Verb::Deploy { limits });
    model.command(0, "other", None, Verb::Acquire(ordinary("h")));
    assert_eq!(model.slot(0, "other", "h").state, State::Reserved);
    model.command(0, "other", None, Verb::Deploy { limits: Vec::new() });
    assert!(model.limit(0, "default", "l").is_ok_and(|limit| !limit.retired && limit.busy == 1));
    assert_eq!(model.command(0, "third", None, release("h")), Answer::Released(false));
}

mod request_ids {
    use super::*;

    #[test]
    fn a_release_sent_twice_answers_twice_the_same() {
        let mut model = with_limit(1);
        busy(&mut model, 0, "a");
        for at_ms in [1, 2] {
            let answer = model.command(at_ms, "default", Some("q"), release("a"));
            assert_eq!(answer, Answer::Released(true), "at {at_ms}");
        }
        assert_eq!(say(&mut model, 3, release("a")), Answer::Released(false));
        assert_eq!(model.command(4, "default", Some("q"), release("b")), Answer::Error("conflict"));
        let pause = Verb::Pause { limit: "l".into() };
        assert_eq!(model.command(4, "default", Some("q"), pause), Answer::Error("conflict"));
        assert_eq!(model.command(4, "other", Some("q"), release("b")), Answer::Released(false));
    }

    #[test]
    fn a_message_delivered_twice_counts_once_and_keeps_its_verdict() {
        let mut model = Model::new();
        let admit = Verb::Admit { task: "t".into(), run: None, specs: vec![rate("k", 1, MINUTE_MS)] };
        let first = model.command(0, "default", Some("m1"), admit.clone());
        let second = model.command(1, "default", Some("m2"), admit.clone());
        assert_eq!(model.command(MINUTE_MS - 1, "default", Some("m1"), admit.clone()), first);
        assert_eq!(model.command(2 * MINUTE_MS, "default", Some("m2"), admit), second);
        assert!(matches!(second, Answer::Verdict(Verdict { allowed: false, .. })));
        assert_eq!(model.counter(2 * MINUTE_MS, "default", "t", "k"), None);
    }

    #[test]
    fn an_override_sent_again_does_not_undo_a_later_one() {
        let mut model = with_limit(1);
        let set = |value| Verb::Capacity { limit: "l".into(), value: Some(value) };
        model.command(0, "default", Some("q1"), set(5));
        model.command(1, "default", Some("q2"), set(7));
        assert_eq!(model.command(2, "default", Some("q1"), set(5)), Answer::Done);
        assert_eq!(model.limit(2, "default", "l").map(|limit| limit.capacity), Ok(7));
    }

    #[test]
    fn an_error_is_not_remembered_and_an_id_is_for_a_day() {
        let mut model = Model::new();
        let pause = Verb::Pause { limit: "l".into() };
        let refused = model.command(0, "default", Some("q"), pause.clone());
        assert_eq!(refused, Answer::Error("limit_not_found"));
        let declare = Verb::Declare { limit: "l".into(), capacity: 1, max_hold_ms: 1 };
        say(&mut model, 1, declare);
        assert_eq!(model.command(2, "default", Some("q"), pause.clone()), Answer::Done);
        say(&mut model, 3, Verb::Resume { limit: "l".into() });
        model.command(24 * HOUR_MS + 1, "default", Some("q"), pause.clone());
        assert_eq!(model.limit(24 * HOUR_MS + 1, "default", "l").map(|limit| limit.paused), Ok(false));
        model.command(24 * HOUR_MS + 2, "default", Some("q"), pause);
        assert_eq!(model.limit(24 * HOUR_MS + 2, "default", "l").map(|limit| limit.paused), Ok(true));
    }
}

fn rate(key: &str, limit: u64, window_ms: u64) -> Spec {
    Spec { key: key.into(), limit, window_ms: Some(window_ms), cost: 1, successes_only: false, label: None }
}

fn place(key: &str, limit: u64) -> Spec {
    Spec { key: key.into(), limit, window_ms: None, cost: 1, successes_only: false, label: None }
}

mod decisions {
    use super::*;

    fn admit(model: &mut Model, at_ms: u64, run: &str, specs: &[Spec]) -> Vec<SpecResult> {
        let verb = Verb::Admit { task: "t".into(), run: Some(run.into()), specs: specs.to_vec() };
        let check = model.check(at_ms, "default", "t", Some(run), specs);
        let answer = say(model, at_ms, verb);
        assert_eq!(check, answer, "a check says what admit says");
        match answer {
            Answer::Verdict(verdict) => verdict.results,
            other => panic!("answered {other:?}"),
        }
    }

    fn result(used: u64, remaining: u64, over: bool, resets_in_ms: u64) -> SpecResult {
        SpecResult { used, remaining, over, resets_in_ms }
    }

    #[test]
    fn numbers_are_as_after_the_call() {
        let mut model = Model::new();
        let specs = [rate("k", 2, MINUTE_MS), place("p", 1)];
        let first = admit(&mut model, 0, "a", &specs);
        assert_eq!(first, [result(1, 1, false, MINUTE_MS), result(1, 0, false, 0)]);
        let again = admit(&mut model, 1000, "a", &specs);
        assert_eq!(again, [result(2, 0, false, MINUTE_MS - 1000), result(1, 0, false, 0)]);
        let refused = admit(&mut model, 2000, "b", &specs);
        assert_eq!(refused, [result(2, 0, true, MINUTE_MS - 2000), result(1, 0, true, 0)]);
    }

    #[test]
    fn a_lowered_limit_has_nothing_left_and_never_less() {
        let mut model = Model::new();
        admit(&mut model, 0, "a", &[rate("k", 9, MINUTE_MS), place("p", 2)]);
        admit(&mut model, 0, "b", &[rate("k", 9, MINUTE_MS), place("p", 2)]);
        let lowered = admit(&mut model, 0, "a", &[rate("k", 1, MINUTE_MS), place("p", 0)]);
        assert_eq!(lowered, [result(2, 0, true, MINUTE_MS), result(2, 0, false, 0)]);
    }

    #[test]
    fn a_run_that_fails_gives_back_before_the_next_is_judged() {
        let mut model = Model::new();
        let spec = Spec { successes_only: true, ..rate("k", 1, MINUTE_MS) };
        admit(&mut model, 0, "a", std::slice::from_ref(&spec));
        say(&mut model, 1, Verb::End { run: "a".into(), status: EndStatus::Failed });
        assert_eq!(admit(&mut model, 2, "b", &[spec]), [result(1, 0, false, MINUTE_MS)]);
    }
}

/// T3: at 2m a busy slot of `m` expires and a reservation of `l` lapses. Each makes one grant possible, and only the fences
/// tell which came first: the expiry.
#[test]
fn an_expiry_comes_before_a_lapse_of_the_same_instant() {
    let mut model = with_limit(1);
    let short = Verb::Declare { limit: "m".into(), capacity: 1, max_hold_ms: 2 * MINUTE_MS };
    say(&mut model, 0, short);
    acquire(&mut model, 0, &ordinary("lapses"));
    acquire(&mut model, 0, &Acquire { auto: true, ..Acquire::new("expires", "m") });
    acquire(&mut model, 1, &ordinary("after.lapse"));
    acquire(&mut model, 2, &Acquire::new("after.expiry", "m"));
    let fence = |slot| model.slot(2 * MINUTE_MS, "default", slot).fence;
    assert_eq!((fence("after.expiry"), fence("after.lapse")), (Some(3), Some(4)));
}
