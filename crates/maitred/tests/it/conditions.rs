//! Changes of a limit on the condition that it is as the caller saw it.

use maitred::{
    api::{Answer, BatchItem, Call, Context, LimitInfo, NamedLimit, Problem, Reason},
    local::{Node, NodeOptions},
};

async fn node() -> Node {
    let node = Node::start(NodeOptions::default()).await.expect("the node starts");
    let voice = NamedLimit { name: "voice".to_owned(), capacity: 20_u32.into(), max_hold: "10m".into() };
    change(&node, &Context::default(), Call::Declare(voice)).await.expect("declared");
    node
}

async fn change(node: &Node, context: &Context, call: Call) -> Result<LimitInfo, Problem> {
    match node.call(context, call).await? {
        Answer::Limit(answer) => Ok(answer.limit),
        other => panic!("{other:?}"),
    }
}

async fn seen(node: &Node) -> LimitInfo {
    change(node, &Context::default(), Call::Limit { limit: "voice".to_owned() }).await.expect("it is there")
}

fn capacity(capacity: u32) -> Call {
    Call::SetCapacity { limit: "voice".to_owned(), capacity: capacity.into() }
}

fn having(tag: &str) -> Context {
    Context { if_match: Some(tag.to_owned()), ..Context::default() }
}

#[tokio::test]
async fn whoever_saw_older_settings_is_refused_and_told_the_new_ones() {
    let node = node().await;
    let tag = seen(&node).await.tag;
    let after = change(&node, &having(&format!("\"{tag}\"")), capacity(30)).await.expect("nobody was faster");
    assert_ne!(after.tag, tag);
    let refused = change(&node, &having(&tag), capacity(25)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SettingsChanged);
    assert!(refused.message.contains("capacity 30, max hold 10m"), "{refused}");
    assert_eq!(refused.details.unwrap()["tag"], after.tag);
    assert_eq!(seen(&node).await.capacity, 30);
    // Each setting makes another tag, and back is the same one again.
    let limit = || "voice".to_owned();
    let acts = [
        Call::SetMaxHold { limit: limit(), max_hold: "1h".into() },
        Call::Pause { limit: limit() },
        Call::Resume { limit: limit() },
        Call::ResetMaxHold { limit: limit() },
        Call::ResetCapacity { limit: limit() },
    ];
    let mut tags = vec![after.tag];
    for act in acts {
        let last = tags.last().expect("one").clone();
        tags.push(change(&node, &having(&last), act).await.expect("the tag of the answer before").tag);
    }
    let [first, second, paused, resumed, reset, declared] = &tags[..] else { panic!("{tags:?}") };
    assert_eq!((second, first, &tag), (resumed, reset, declared));
    assert!(paused != second && second != first && first != declared, "{tags:?}");
}

/// However many come at once, and however they share records: exactly one of those that saw the same is the first.
#[tokio::test]
async fn of_all_who_saw_the_same_one_wins() {
    let node = node().await;
    for round in 0..20 {
        let tag = seen(&node).await.tag;
        let asked: Vec<_> = (0..50)
            .map(|number| {
                let (node, context) = (node.clone(), having(&tag));
                let to = 100 + round * 50 + number;
                tokio::spawn(async move {
                    change(&node, &context, capacity(to)).await.map(|limit| limit.capacity)
                })
            })
            .collect();
        let mut won = Vec::new();
        for asked in asked {
            match asked.await.expect("it ran") {
                Ok(capacity) => won.push(capacity),
                Err(problem) => assert_eq!(problem.reason, Reason::SettingsChanged),
            }
        }
        assert_eq!(won, [seen(&node).await.capacity], "round {round}");
    }
}

#[tokio::test]
async fn a_retry_is_given_its_first_answer_whatever_the_tag_is_by_then() {
    let node = node().await;
    let tag = seen(&node).await.tag;
    let context = Context { request_id: Some("r-1".to_owned()), ..having(&tag) };
    change(&node, &context, capacity(30)).await.expect("nobody was faster");
    change(&node, &context, capacity(30)).await.expect("it was done");
    let other = Context { request_id: Some("r-2".to_owned()), ..having(&tag) };
    assert_eq!(change(&node, &other, capacity(31)).await.unwrap_err().reason, Reason::SettingsChanged);
}

#[tokio::test]
async fn a_condition_is_for_changes_of_one_limit() {
    let node = node().await;
    let release = Call::Release { slot: "s".to_owned() };
    let refused = node.call(&having("x"), release).await.unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let items = vec![BatchItem { id: None, call: capacity(3) }];
    let refused = node.batch(&having("x"), items).await.remove(0).unwrap_err();
    assert_eq!(refused.reason, Reason::InvalidArgument);
    let gone = NamedLimit { name: "new".to_owned(), capacity: 1_u32.into(), max_hold: "1m".into() };
    let refused = change(&node, &having("x"), Call::Declare(gone)).await.unwrap_err();
    assert_eq!(refused.reason, Reason::SettingsChanged);
    let nowhere = Call::Pause { limit: "nowhere".to_owned() };
    assert_eq!(node.call(&having("x"), nowhere).await.unwrap_err().reason, Reason::LimitNotFound);
}
