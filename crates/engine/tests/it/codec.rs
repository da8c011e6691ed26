//! Commands as bytes: everything comes back as it was, and nothing that is damaged gets in.

use maitred_engine::{
    bounds::{
        CAPACITY_MAX, COUNT_MAX, MAX_HOLD_MAX_MS, TIMEOUT_MAX_MS, WEIGHT_MAX, WINDOW_MAX_MS, WINDOW_MIN_MS,
    },
    bytes::{DecodeError, Reader, Writer},
    command::{
        Acquire, Admit, Ask, Command, Confirm, Declaration, Hold, Line, Request, RunStatus, Spec, SpecKind,
        Verb,
    },
};

fn encode(command: &Command) -> Vec<u8> {
    let mut writer = Writer::new();
    command.encode(&mut writer);
    writer.into_bytes()
}

fn decode(bytes: &[u8]) -> Result<Command, DecodeError> {
    let mut reader = Reader::new(bytes);
    let command = Command::decode(&mut reader)?;
    reader.finish()?;
    Ok(command)
}

fn name<T: std::str::FromStr>(text: &str) -> T {
    text.parse().ok().expect("a valid name")
}

fn of(verb: Verb) -> Command {
    Command::In(Box::new(Request {
        namespace: name("default"),
        request: Some(name("req-1")),
        by: Some(name("Ana at the desk")),
        reason: None,
        verb,
    }))
}

fn acquire() -> Acquire {
    Acquire {
        slot: name("s1"),
        asks: vec![Ask { limit: name("gpu"), weight: 3 }, Ask { limit: name("api"), weight: 1 }],
        run: Some(name("run-1")),
        workflow: Some(name("call")),
        label: None,
        timeout_ms: 86_400_000,
        confirm: Confirm::Auto,
        hold: Hold::Run,
        line: Some(Line { writer: u64::MAX, number: 7 }),
    }
}

fn admit() -> Admit {
    let rate = SpecKind::Rate { window_ms: 60_000, cost: 2, successes_only: true };
    Admit {
        task: name("t"),
        run: Some(name("r")),
        specs: vec![
            Spec { key: name("user=1"), limit: 5, kind: rate },
            Spec { key: name("user=1"), limit: 1, kind: SpecKind::Place },
        ],
    }
}

fn one_of_each() -> Vec<Command> {
    let declaration = Declaration { limit: name("gpu"), capacity: 4, max_hold_ms: 60_000 };
    let line = Line { writer: 9, number: 300 };
    vec![
        Command::Advance,
        Command::SetRules { version: 1 },
        Command::DropLines { writer: 1 << 63 },
        of(Verb::Declare(declaration.clone())),
        of(Verb::Deploy(vec![declaration.clone(), Declaration { limit: name("api"), ..declaration }])),
        of(Verb::SetCapacity { limit: name("gpu"), capacity: Some(100_000) }),
        of(Verb::SetMaxHold { limit: name("gpu"), max_hold_ms: None }),
        of(Verb::Pause { limit: name("gpu") }),
        of(Verb::Resume { limit: name("gpu") }),
        of(Verb::Acquire(acquire())),
        of(Verb::Confirm { slot: name("s1") }),
        of(Verb::Release { slot: name("s1") }),
        of(Verb::Leave { slot: name("s1") }),
        of(Verb::HangUp { slot: name("s1"), line }),
        of(Verb::EndLine { slot: name("s1"), line }),
        of(Verb::EndRun { run: name("r"), status: RunStatus::Cancelled }),
        of(Verb::Admit(admit())),
        of(Verb::ResetRate { task: name("t"), key: name("k") }),
    ]
}

#[test]
fn every_command_comes_back() {
    for command in one_of_each() {
        assert_eq!(decode(&encode(&command)), Ok(command));
    }
}

#[test]
fn a_cut_or_lengthened_command_is_refused() {
    for command in one_of_each() {
        let mut bytes = encode(&command);
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{command:?} cut to {len}");
        }
        bytes.push(0);
        assert_eq!(decode(&bytes), Err(DecodeError::Trailing { bytes: 1 }));
    }
}

/// A flipped bit may give another valid command, but then that command has exactly these bytes.
#[test]
fn a_flipped_bit_is_refused_or_read_as_what_it_says() {
    for command in one_of_each() {
        let bytes = encode(&command);
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            if let Ok(other) = decode(&flipped) {
                assert_eq!(encode(&other), flipped, "{command:?} with bit {bit} flipped");
                assert!(other.check_form());
            }
        }
    }
}

#[test]
fn unknown_kinds_are_errors() {
    assert_eq!(decode(&[99]), Err(DecodeError::UnknownKind { what: "command", kind: 99 }));
    let mut writer = Writer::new();
    writer.number(4);
    writer.text("default");
    for byte in [0, 0, 0, 77] {
        writer.byte(byte);
    }
    assert_eq!(decode(writer.as_bytes()), Err(DecodeError::UnknownKind { what: "verb", kind: 77 }));
}

#[test]
fn what_is_out_of_bounds_is_refused() {
    let bad = [
        Command::SetRules { version: 0 },
        of(Verb::SetCapacity { limit: name("gpu"), capacity: Some(0) }),
        of(Verb::SetCapacity { limit: name("gpu"), capacity: Some(100_001) }),
        of(Verb::SetMaxHold { limit: name("gpu"), max_hold_ms: Some(0) }),
        of(Verb::Acquire(Acquire { asks: vec![], ..acquire() })),
        of(Verb::Acquire(Acquire { asks: vec![acquire().asks[0].clone(); 2], ..acquire() })),
        of(Verb::Acquire(Acquire { timeout_ms: u64::MAX, ..acquire() })),
        of(Verb::Admit(Admit { specs: vec![], ..admit() })),
        of(Verb::Admit(Admit { run: None, ..admit() })),
        of(Verb::Admit(Admit { specs: vec![admit().specs[0].clone(); 2], ..admit() })),
    ];
    for command in bad {
        assert!(!command.check_form(), "{command:?}");
        assert!(decode(&encode(&command)).is_err(), "{command:?}");
    }
}

/// A rate, a place, an ask or a declaration with one number just out of its bounds; with it just inside, it is taken.
#[test]
fn each_number_has_its_bounds() {
    let rate = |window_ms, cost| SpecKind::Rate { window_ms, cost, successes_only: false };
    let spec =
        |limit, kind| Verb::Admit(Admit { specs: vec![Spec { key: name("k"), limit, kind }], ..admit() });
    let ask = |weight| Acquire { asks: vec![Ask { limit: name("gpu"), weight }], ..acquire() };
    let declared = |capacity, max_hold_ms| Declaration { limit: name("gpu"), capacity, max_hold_ms };
    let (window, cost, count) = (rate(WINDOW_MIN_MS, 1), rate(WINDOW_MAX_MS, COUNT_MAX), COUNT_MAX);
    let inside = [
        spec(0, window),
        spec(count, cost),
        spec(count, SpecKind::Place),
        Verb::Acquire(ask(1)),
        Verb::Acquire(Acquire { timeout_ms: TIMEOUT_MAX_MS, ..ask(WEIGHT_MAX) }),
        Verb::Declare(declared(1, 1)),
        Verb::Declare(declared(CAPACITY_MAX, MAX_HOLD_MAX_MS)),
    ];
    let outside = [
        spec(1, rate(WINDOW_MIN_MS - 1, 1)),
        spec(1, rate(WINDOW_MIN_MS + 1, 1)),
        spec(1, rate(0, 1)),
        spec(1, rate(WINDOW_MAX_MS + 1_000, 1)),
        spec(1, rate(WINDOW_MIN_MS, 0)),
        spec(1, rate(WINDOW_MIN_MS, COUNT_MAX + 1)),
        spec(count + 1, window),
        spec(count + 1, SpecKind::Place),
        Verb::Acquire(ask(0)),
        Verb::Acquire(ask(WEIGHT_MAX + 1)),
        Verb::Acquire(Acquire { timeout_ms: TIMEOUT_MAX_MS + 1, ..acquire() }),
        Verb::Declare(declared(0, 1)),
        Verb::Declare(declared(1, 0)),
        Verb::Declare(declared(CAPACITY_MAX + 1, 1)),
        Verb::Declare(declared(1, MAX_HOLD_MAX_MS + 1)),
    ];
    inside.into_iter().for_each(|verb| assert!(of(verb.clone()).check_form(), "{verb:?}"));
    outside.into_iter().for_each(|verb| assert!(!of(verb.clone()).check_form(), "{verb:?}"));
}

#[test]
fn a_claimed_length_is_never_believed() {
    let mut writer = Writer::new();
    writer.number(u64::MAX);
    assert_eq!(Reader::new(writer.as_bytes()).text(), Err(DecodeError::Short));
    assert_eq!(Reader::new(writer.as_bytes()).count(1), Err(DecodeError::Short));
    assert_eq!(Reader::new(writer.as_bytes()).number(), Ok(u64::MAX));
}

#[test]
fn a_number_has_one_encoding() {
    assert_eq!(Reader::new(&[0x80, 0x00]).number(), Err(DecodeError::Invalid { what: "number" }));
    let over = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
    assert_eq!(Reader::new(&over).number(), Err(DecodeError::Invalid { what: "number" }));
}
