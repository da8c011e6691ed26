use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::Duration,
};

use maitred_api::ConfirmMode;

use super::stage::Stage;

/// A command's lines as they come, and its end when the test ends.
pub struct Watch {
    child: Child,
    out: Receiver<String>,
    err: Receiver<String>,
}

impl Watch {
    pub fn of(mut command: Command) -> Watch {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let out = lines(child.stdout.take().unwrap());
        let err = lines(child.stderr.take().unwrap());
        Watch { child, out, err }
    }

    #[track_caller]
    pub fn says(&self) -> String {
        self.out.recv_timeout(Duration::from_secs(20)).expect("a line")
    }

    #[track_caller]
    fn notes(&self) -> String {
        self.err.recv_timeout(Duration::from_secs(20)).expect("a note")
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(read: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(read).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

#[test]
fn what_happens_is_told_line_by_line() {
    let stage = Stage::still();
    stage.declare("voice", 1, "10m");
    stage.declare("gpu", 1, "10m");
    let json = Watch::of(stage.command(&["limits", "watch", "--json"]));
    let snapshot: serde_json::Value = serde_json::from_str(&json.says()).unwrap();
    assert_eq!(
        (&snapshot["kind"], snapshot["snapshot"]["limits"].as_array().unwrap().len()),
        (&"snapshot".into(), 2)
    );
    stage.acquire("gpu", "g", |fields| fields.confirm = ConfirmMode::Auto);
    let event: serde_json::Value = serde_json::from_str(&json.says()).unwrap();
    assert_eq!((&event["kind"], &event["slot"]), (&"slot_granted".into(), &"g".into()));
}

/// Answers each connection with one message, closes it, and tells what was asked.
fn flaky(messages: Vec<&'static str>) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, asked) = channel();
    std::thread::spawn(move || {
        for message in messages {
            let (tcp, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(&tcp).lines().map_while(Result::ok);
            let _ = sender.send(lines.next().unwrap_or_default());
            lines.find(String::is_empty);
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
            let _ = (&tcp).write_all(format!("{head}{message}").as_bytes());
        }
    });
    (url, asked)
}

#[test]
fn it_goes_on_where_it_was_over_a_lost_connection() {
    let (url, asked) = flaky(vec![
        "event: events\nid: 41\ndata: [{\"revision\":41,\"at\":1,\"kind\":\"slot_queued\",\"slot\":\"a\"}]\n\n",
        ":\n\nevent: bye\ndata: {\"reason\":\"the server stops\"}\n\n",
        "event: reset\ndata: {\"reason\":\"too much happened\"}\n\n",
    ]);
    let watch = Watch::of(super::stage::command(&url, &["limits", "watch", "voice"]));
    assert_eq!(watch.says(), "1\t41\tslot_queued\t\ta\t\t\t\t\t\t");
    for note in [
        "the server closed the stream; connecting again",
        "connected again",
        "the server stops; connecting again",
        "connected again",
        "too much happened",
    ] {
        assert_eq!(watch.notes(), note);
    }
    let targets: Vec<String> = asked.iter().take(3).collect();
    assert_eq!(targets[0], "GET /v1/events?limit=voice HTTP/1.1");
    assert_eq!(targets[1..], ["GET /v1/events?limit=voice&after=41 HTTP/1.1"; 2]);
}

#[test]
fn a_limit_that_nobody_knows_is_said_at_once() {
    let stage = Stage::still();
    stage.declare("voice-calls", 1, "10m");
    stage.run(&["limits", "watch", "voice-cals"]).fails(
        3,
        "error: no limit named `voice-cals` in namespace `default`\n  did you mean `voice-calls`?\n  \
         see all: maitred limits list\n",
    );
}
