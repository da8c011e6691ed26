//! History, audit, explain and the event stream of a node.

use std::time::Duration;

use maitred::{
    api::{
        AcquireFields, Answer, AuditAnswer, AuditFields, Block, Call, ConfirmMode, Context, ExplainAnswer,
        ExplainedKind, Given, HistoryAnswer, LiveSnapshot, NamedLimit, Reason, RunFilter, RunStatus,
        RunsFields, SlotState,
    },
    local::{Node, NodeOptions, Scope},
};

async fn node(folder: Option<&std::path::Path>) -> Node {
    let options = NodeOptions { folder: folder.map(Into::into), ..NodeOptions::default() };
    Node::start(options).await.expect("the node starts")
}

async fn ask(node: &Node, call: Call) -> Answer {
    let context =
        Context { by: Some("ana".to_owned()), reason: Some("test".to_owned()), ..Context::default() };
    node.call(&context, call).await.expect("answered")
}

fn declare(limit: &str, capacity: u32) -> Call {
    Call::Declare(NamedLimit { name: limit.to_owned(), capacity: capacity.into(), max_hold: "10m".into() })
}

fn acquire(limits: &[&str], slot: &str, run: &str) -> Call {
    let limits = limits
        .iter()
        .map(|limit| maitred::api::WeightedLimit { limit: (*limit).to_owned(), weight: Given::default() });
    Call::Acquire(AcquireFields {
        slot: Some(slot.to_owned()),
        limits: limits.collect(),
        run: Some(run.to_owned()),
        label: Some(format!("order-{slot}")),
        confirm: ConfirmMode::Auto,
        ..AcquireFields::default()
    })
}

fn release(slot: &str) -> Call {
    Call::Release { slot: slot.to_owned() }
}

/// The history once it has caught up with everything asked so far.
async fn history(node: &Node, call: Call) -> HistoryAnswer {
    for _ in 0..500 {
        match ask(node, call.clone()).await {
            Answer::History(answer) if answer.reach.lag == 0 => return answer,
            Answer::History(_) => tokio::time::sleep(Duration::from_millis(10)).await,
            other => panic!("{other:?}"),
        }
    }
    panic!("the history does not catch up");
}

fn of(limit: Option<&str>, slot: Option<&str>, run: Option<&str>, label: Option<&str>) -> Call {
    let text = |text: Option<&str>| text.map(ToOwned::to_owned);
    Call::History {
        limit: text(limit),
        slot: text(slot),
        run: text(run),
        label: text(label),
        before: None,
        most: None,
    }
}

async fn explain(node: &Node, what: &str) -> ExplainAnswer {
    match ask(node, Call::Explain { what: what.to_owned() }).await {
        Answer::Explain(answer) => answer,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_ended_is_found_by_limit_slot_run_and_label_and_over_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = node(Some(folder.path())).await;
    for call in [declare("a", 1), declare("b", 1), acquire(&["a", "b"], "s1", "r1"), release("s1")] {
        ask(&first, call).await;
    }
    first.stop(Duration::from_secs(5)).await;
    drop(first);
    let node = node(Some(folder.path())).await;
    for call in [acquire(&["b"], "s2", "r2"), release("s2")] {
        ask(&node, call).await;
    }
    let slots = |answer: HistoryAnswer| answer.ends.into_iter().map(|end| end.slot).collect::<Vec<_>>();
    assert_eq!(slots(history(&node, of(Some("a"), None, None, None)).await), ["s1"]);
    assert_eq!(slots(history(&node, of(Some("b"), None, None, None)).await), ["s2", "s1"]);
    assert_eq!(slots(history(&node, of(None, None, Some("r1"), None)).await), ["s1"]);
    assert_eq!(slots(history(&node, of(None, None, None, Some("order-s2"))).await), ["s2"]);
    let answer = history(&node, of(None, Some("s1"), None, None)).await;
    let end = &answer.ends[0];
    assert_eq!((end.state, end.was.as_str(), end.by.as_deref()), (SlotState::Released, "busy", Some("ana")));
    assert!(end.granted_at.is_some() && end.held_ms.is_some() && end.limits.len() == 2);
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() {
    let node = node(None).await;
    ask(&node, declare("a", 1)).await;
    for number in 0..5 {
        ask(&node, acquire(&["a"], &format!("s{number}"), "r")).await;
        ask(&node, release(&format!("s{number}"))).await;
    }
    let mut before = None;
    let mut seen = Vec::new();
    for _ in 0..3 {
        let call = Call::History { limit: None, slot: None, run: None, label: None, before, most: Some(2) };
        let page = history(&node, call).await;
        seen.extend(page.ends.into_iter().map(|end| end.slot));
        before = page.next;
    }
    assert_eq!(seen, ["s4", "s3", "s2", "s1", "s0"]);
    assert_eq!(before, None);
}

#[tokio::test]
async fn the_audit_names_who_changed_what_and_what_it_was_before() {
    let node = node(None).await;
    let limit = || "a".to_owned();
    ask(&node, declare("a", 1)).await;
    ask(&node, Call::SetCapacity { limit: limit(), capacity: 5_u32.into() }).await;
    ask(&node, Call::SetCapacity { limit: limit(), capacity: 7_u32.into() }).await;
    ask(&node, Call::Pause { limit: limit() }).await;
    history(&node, of(None, None, None, None)).await;
    let call = Call::Audit(AuditFields { limit: Some(limit()), ..AuditFields::default() });
    let Answer::Audit(AuditAnswer { acts, .. }) = ask(&node, call).await else { panic!("no audit") };
    let told: Vec<_> =
        acts.iter().map(|act| (act.act.as_str(), act.before.as_deref(), act.after.as_deref())).collect();
    let wanted = [
        ("paused", None, None),
        ("capacity", Some("5"), Some("7")),
        ("capacity", None, Some("5")),
        ("declared", None, Some("1 for 10m")),
    ];
    assert_eq!(told, wanted);
    assert!(acts.iter().all(|act| act.by.as_deref() == Some("ana") && act.reason.as_deref() == Some("test")));
}

/// A release that says why is an operator's, and stands under each limit that got its place back.
#[tokio::test]
async fn the_audit_has_releases_by_hand_and_is_searched() {
    let node = node(None).await;
    for call in [declare("a", 1), declare("b", 1), acquire(&["a", "b"], "s1", "r1"), release("s1")] {
        ask(&node, call).await;
    }
    ask(&node, acquire(&["a"], "s2", "r2")).await;
    let silent = Context { by: Some("worker".to_owned()), ..Context::default() };
    node.call(&silent, release("s2")).await.expect("released");
    node.call(&silent, Call::Pause { limit: "b".to_owned() }).await.expect("paused");
    history(&node, of(None, None, None, None)).await;
    let told = async |fields: AuditFields| match ask(&node, Call::Audit(fields)).await {
        Answer::Audit(answer) => {
            let told = answer.acts.into_iter().map(|act| format!("{} {}", act.act, act.target));
            told.collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    let all = AuditFields::default;
    let text = |text: &str| Some(text.to_owned());
    let everything = ["paused b", "released b", "released a", "declared b", "declared a"];
    assert_eq!(told(all()).await, everything);
    assert_eq!(told(AuditFields { act: text("released"), ..all() }).await, ["released b", "released a"]);
    assert_eq!(told(AuditFields { by: text("ORK"), ..all() }).await, ["paused b"]);
    assert_eq!(told(AuditFields { by: text("%"), ..all() }).await, Vec::<String>::new());
    assert_eq!(told(AuditFields { limit: text("a"), act: text("released"), ..all() }).await, ["released a"]);
    let now = node.now().await;
    let both = AuditFields { since: Some(now + 1), ..all() };
    assert_eq!(told(both).await, Vec::<String>::new());
    let both = AuditFields { since: Some(1), until: Some(now + 1), ..all() };
    assert_eq!(told(both).await, everything);
}

#[tokio::test]
async fn runs_are_searched_through_all_their_pages() {
    let node = node(None).await;
    ask(&node, declare("a", 2)).await;
    ask(&node, declare("b", 500)).await;
    for number in 0..300 {
        let limit = if number % 100 == 7 { "a" } else { "b" };
        ask(&node, acquire(&[limit], &format!("s{number}"), &format!("r{number}"))).await;
    }
    ask(&node, Call::EndRun { run: "r7".to_owned(), status: RunStatus::Succeeded }).await;
    history(&node, of(None, None, None, None)).await;
    let found = async |fields: RunsFields| {
        let (mut runs, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let fields = RunsFields { after, most: Some(20), ..fields.clone() };
            let Answer::Runs(page) = ask(&node, Call::Runs(fields)).await else { panic!("no runs") };
            assert!(page.runs.len() <= 20);
            runs.extend(page.runs.into_iter().map(|run| run.run));
            (after, pages) = (page.next, pages + 1);
            if after.is_none() {
                runs.sort();
                return (runs, pages);
            }
        }
    };
    let all = RunsFields::default;
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(found(all()).await.0.len(), 300);
    assert_eq!(
        found(RunsFields { limit: text("a"), ..all() }).await,
        (vec!["r107".into(), "r207".into(), "r7".into()], 1)
    );
    let waiting = RunsFields { only: Some(RunFilter::Waiting), ..all() };
    assert_eq!(found(waiting).await.0, ["r207"]);
    assert_eq!(found(RunsFields { only: Some(RunFilter::Ended), ..all() }).await.0, ["r7"]);
    assert_eq!(found(RunsFields { only: Some(RunFilter::Holding), ..all() }).await.0.len(), 299);
    assert_eq!(found(RunsFields { text: text("ORDER-S299"), ..all() }).await.0, ["r299"]);
}

#[tokio::test]
async fn explain_says_which_limit_blocks_and_who_holds() {
    let node = node(None).await;
    for call in [declare("gpu", 1), declare("api", 1), acquire(&["api"], "x", "rx")] {
        ask(&node, call).await;
    }
    ask(&node, acquire(&["gpu", "api"], "m", "rm")).await;
    ask(&node, acquire(&["gpu"], "y", "ry")).await;

    let waiting = explain(&node, "m").await;
    assert_eq!(waiting.kind, ExplainedKind::Slot);
    let blocks: Vec<Block> = waiting.slots[0].waits_for.iter().map(|limit| limit.block).collect();
    assert_eq!(blocks, [Block::None, Block::Full]);
    assert_eq!(waiting.slots[0].waits_for[1].holders[0].slot, "x");
    assert_eq!(waiting.slots[0].next_due_at, waiting.slots[0].waits_for[1].holders[0].expires_at);
    assert!(waiting.text.contains("1 of 1 are taken"), "{}", waiting.text);

    let behind = explain(&node, "ry").await;
    assert_eq!((behind.kind, behind.slots[0].waits_for[0].block), (ExplainedKind::Run, Block::Behind));
    assert_eq!(behind.slots[0].waits_for[0].first.as_ref().map(|first| first.slot.as_str()), Some("m"));
    assert_eq!(explain(&node, "order-x").await.kind, ExplainedKind::Label);

    ask(&node, release("x")).await;
    history(&node, of(None, None, None, None)).await;
    let ended = explain(&node, "x").await;
    assert_eq!((ended.kind, ended.ended[0].state), (ExplainedKind::Slot, SlotState::Released));
    assert!(ended.text.contains("released by `ana`"), "{}", ended.text);
    assert_eq!(explain(&node, "nobody").await.kind, ExplainedKind::Unknown);
}

/// What was is told by the second engine, a moment behind: not to those who ask for a revision.
#[tokio::test]
async fn whoever_wants_to_see_a_revision_sees_all_that_was_up_to_it() {
    let node = node(None).await;
    for call in [declare("a", 2), acquire(&["a"], "s1", "r1"), acquire(&["a"], "s2", "r2"), release("s1")] {
        ask(&node, call).await;
    }
    ask(&node, Call::EndRun { run: "r2".to_owned(), status: RunStatus::Succeeded }).await;
    let context = Context { min_revision: Some(node.health().await.revision), ..Context::default() };
    let asked = async |call| node.call(&context, call).await.expect("answered");
    match asked(Call::Run { run: "r2".to_owned() }).await {
        Answer::Run(answer) => assert!(answer.run.slots[0].run_ended_at.is_some(), "{answer:?}"),
        other => panic!("{other:?}"),
    }
    match asked(of(Some("a"), None, None, None)).await {
        Answer::History(answer) => assert_eq!((answer.ends.len(), answer.reach.lag), (1, 0)),
        other => panic!("{other:?}"),
    }
    let of_the_future = Context { min_revision: Some(u64::MAX), ..Context::default() };
    tokio::time::pause();
    let refused = node.call(&of_the_future, of(None, None, None, None)).await.expect_err("not there");
    assert_eq!(refused.reason, Reason::Unavailable);
}

#[tokio::test]
async fn a_stream_begins_with_what_is_and_goes_on_without_a_gap() {
    let node = node(None).await;
    ask(&node, declare("a", 1)).await;
    let context = Context::default();
    let about = Scope { limit: Some("a".to_owned()), ..Scope::default() };
    let (snapshot, mut events) = node.listen(&context, about, None).await.expect("a stream");
    let Some(LiveSnapshot::Limit(slots)) = snapshot else { panic!("no snapshot") };
    ask(&node, declare("b", 1)).await;
    ask(&node, acquire(&["a"], "s", "r")).await;
    let (first, told) = events.next().await.expect("not behind").expect("not ended");
    assert!(first > slots.revision);
    assert_eq!(told[0].kind, "slot_granted");
    ask(&node, release("s")).await;
    let (second, told) = events.next().await.expect("not behind").expect("not ended");
    assert_eq!((told[0].kind.as_str(), told[0].state.as_deref()), ("slot_ended", Some("released")));

    let (snapshot, mut again) = node.listen(&context, Scope::default(), Some(first)).await.expect("resumed");
    assert!(snapshot.is_none());
    assert_eq!(again.next().await.expect("not behind").map(|(revision, _)| revision), Some(second));
}
