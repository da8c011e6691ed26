use super::stage::Stage;

fn counted() -> Stage {
    let stage = Stage::still();
    let specs = ["user=ana@example.com", "ip="].map(|key| maitred_api::SpecFields {
        key: key.to_owned(),
        limit: 2u64.into(),
        window_seconds: 60u64.into(),
        ..Default::default()
    });
    let fields =
        maitred_api::AdmitFields { task: "t".to_owned(), specs: specs.to_vec(), ..Default::default() };
    stage.call(maitred_api::Call::Admit(fields)).unwrap();
    stage
}

#[test]
fn keys_are_masked_unless_revealed() {
    let stage = counted();
    let ends = stage.runtime.block_on(stage.node.now()) + 60_000;
    let sorted = |stdout: &str| {
        let mut lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let masked = stage.run(&["rates", "list"]);
    assert_eq!(sorted(&masked.stdout), [format!("t\tuser…\t1\t{ends}\t0"), format!("t\t…\t1\t{ends}\t0")]);
    let whole = stage.run(&["rates", "list", "--reveal"]);
    assert_eq!(
        sorted(&whole.stdout),
        [format!("t\tip=\t1\t{ends}\t0"), format!("t\tuser=ana@example.com\t1\t{ends}\t0")]
    );
    assert_eq!((masked.stderr.as_str(), whole.stderr.as_str()), ("", ""));
    assert_eq!(stage.run(&["rates", "list", "--json"]).json()["keys"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_key_is_shown_and_reset() {
    let stage = counted();
    let ends = stage.runtime.block_on(stage.node.now()) + 60_000;
    stage.run(&["rates", "show", "t", "ip="]).prints(&format!("t\tip=\t1\t{ends}\t0\n"));
    stage.run(&["rates", "reset", "t", "ip=", "--reason", "first day"]).prints("t\tip=\t0\t\t0\n");
    stage.run(&["rates", "show", "t", "never"]).prints("t\tnever\t0\t\t0\n");
}

#[test]
fn a_preview_counts_nothing_and_tells_the_verdict() {
    let stage = counted();
    let spec = "key=user=ana@example.com,limit=1,window=60s,label=per user";
    let over = stage.run(&["rates", "preview", "t", spec, "key=ip=,limit=9,window=1m"]);
    assert_eq!((over.status, over.stderr.as_str()), (5, ""));
    assert_eq!(over.stdout, "over\t1\t1\t0\t60\tper user\nallowed\t1\t9\t8\t60\t\n");
    for _ in 0..2 {
        stage
            .run(&["rates", "preview", "t", "key=ip=,limit=2,window=60s"])
            .prints("allowed\t2\t2\t0\t60\t\n");
    }
    let place = ["rates", "preview", "t", "key=x,limit=1", "--run", "r1", "--json"];
    assert_eq!(stage.run(&place).json()["overLimit"], false);
    let wrong = stage.run(&["rates", "preview", "t", "key=x"]);
    assert_eq!(wrong.status, 2);
    assert!(wrong.stderr.contains("key and limit must be given; allowed: key="), "{wrong:?}");
}
