//! TLS of the server's own, against certificates made here: who is believed, what is taken over without a restart,
//! and what an operator is told before a certificate ends.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, SystemTime},
};

use maitred::{Far, FarOptions};
use maitred_api::{AcquireFields, Answer, Call, ConfirmMode, Context, Problem, Reason, SlotState};
use maitred_server::tls::{Certificates, TlsError};
use maitred_testbed::authority;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use tempfile::TempDir;

use super::{
    process::start,
    support::{Line, Rig, eventually, impatient, request, rig_with},
};

const DAY: Duration = Duration::from_secs(24 * 3600);

/// Somebody who makes certificates, and the folder they lie in.
struct Maker {
    folder: TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Maker {
    fn new() -> Maker {
        let (folder, issuer) = (tempfile::tempdir().unwrap(), authority().unwrap());
        fs::write(folder.path().join("ca.pem"), issuer.pem()).unwrap();
        Maker { folder, issuer }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A certificate for `localhost` that ends after `lives`, in place of the one before.
    fn renew(&self, lives: Duration) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.not_after = (SystemTime::now() + lives).into();
        let cert = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.file("cert.pem"), cert.pem()).unwrap();
        fs::write(self.file("key.pem"), key.serialize_pem()).unwrap();
        fs::set_permissions(self.file("key.pem"), fs::Permissions::from_mode(0o600)).unwrap();
    }

    fn certificates(&self) -> Result<Certificates, TlsError> {
        Certificates::open(&self.file("cert.pem"), &self.file("key.pem"))
    }

    fn believing(&self, port: u16) -> Far {
        let options = FarOptions { roots: Some(self.file("ca.pem")), ..FarOptions::default() };
        Far::connect(&format!("https://localhost:{port}"), options).unwrap()
    }
}

async fn rig(maker: &Maker) -> Rig {
    rig_with(|shared| shared.tls = Some(maker.certificates().unwrap())).await
}

async fn limits(far: &Far) -> Result<Answer, Problem> {
    far.call(&Context::default(), Call::Limits { after: None, most: None, prefixes: Vec::new() }).await
}

#[tokio::test]
async fn a_client_believes_the_roots_it_was_given_and_nobody_else() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    let rig = rig(&maker).await;
    limits(&maker.believing(rig.addr.port())).await.unwrap();

    let others = Maker::new();
    let refused = limits(&others.believing(rig.addr.port())).await.unwrap_err();
    assert_eq!(refused.reason, Reason::Unavailable, "nothing was sent, so nothing happened");
    assert!(refused.message.contains("certificate"), "{}", refused.message);

    let mut plain = Line::to(rig.addr).await;
    plain.say(request("GET", "/v1/limits", &[], "")).await;
    assert!(plain.hear().await.is_none(), "not without TLS");
    let roots = Some(maker.file("key.pem"));
    let no_roots = Far::connect("https://localhost", FarOptions { roots, ..FarOptions::default() });
    assert!(no_roots.unwrap_err().message.contains("no certificate"));
}

#[tokio::test]
async fn a_hang_up_under_tls_leaves_the_queue() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    let rig = rig(&maker).await;
    let far = maker.believing(rig.addr.port());
    let ask = |slot: &str, wait: &str| {
        let fields = AcquireFields {
            slot: Some(slot.to_owned()),
            limit: Some("a".to_owned()),
            confirm: ConfirmMode::Auto,
            wait: wait.into(),
            ..AcquireFields::default()
        };
        let far = far.clone();
        async move { far.call(&Context::default(), Call::Acquire(fields)).await }
    };
    let state = async |slot: &str| match far
        .call(&Context::default(), Call::Slot { slot: slot.to_owned(), wait: Default::default() })
        .await
    {
        Ok(Answer::Slot(answer)) => answer.slot.state,
        other => panic!("{other:?}"),
    };
    let limit =
        maitred_api::NamedLimit { name: "a".to_owned(), capacity: 1_u32.into(), max_hold: "1h".into() };
    far.call(&Context::default(), Call::Declare(limit)).await.unwrap();
    ask("one", "1s").await.unwrap();
    let waiting = tokio::spawn(ask("two", "30s"));
    eventually("it waits", async || state("two").await == SlotState::Queued).await;
    waiting.abort();
    eventually("it has left", async || state("two").await == SlotState::Left).await;
}

#[tokio::test]
async fn a_renewed_certificate_is_taken_over_and_a_bad_one_is_not() {
    let maker = Maker::new();
    maker.renew(3 * DAY);
    let rig = rig(&maker).await;
    let far = || maker.believing(rig.addr.port());
    let notes = async || far().ready().await.unwrap().notes.join("; ");
    assert!(notes().await.contains("cert.pem expires in 2d 23h"), "{}", notes().await);

    fs::write(maker.file("cert.pem"), "half a file").unwrap();
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(notes().await.contains("expires in 2d 23h"), "the old one goes on");

    maker.renew(90 * DAY);
    eventually("the new one is shown", async || notes().await.is_empty()).await;

    maker.renew(Duration::ZERO);
    eventually("nobody connects with one that has ended", async || {
        limits(&far()).await.is_err_and(|problem| problem.message.contains("certificate"))
    })
    .await;
    assert!(maker.certificates().unwrap().note().unwrap().contains("has expired"));
}

#[tokio::test]
async fn the_end_of_the_certificate_is_a_metric() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    let rig = rig(&maker).await;
    let expires = maker.certificates().unwrap().expires_at();
    let url = format!("https://localhost:{}/metrics", rig.addr.port());
    let mut curl = tokio::process::Command::new("curl");
    let heard = curl.arg("-fsS").arg("--cacert").arg(maker.file("ca.pem")).arg(url).output().await.unwrap();
    let text = String::from_utf8_lossy(&heard.stdout).into_owned() + &String::from_utf8_lossy(&heard.stderr);
    let line = format!("maitred_tls_certificate_expires_timestamp_seconds {expires}");
    assert!(text.contains(&line), "{line} is missing in {text}");
}

#[test]
fn what_cannot_be_used_is_refused_with_the_file_named() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    fs::set_permissions(maker.file("key.pem"), fs::Permissions::from_mode(0o644)).unwrap();
    let error = maker.certificates().err().unwrap().to_string();
    assert!(error.contains("chmod o=") && error.contains("key.pem"), "{error}");

    let key = KeyPair::generate().unwrap().serialize_pem();
    fs::write(maker.file("key.pem"), key).unwrap();
    fs::set_permissions(maker.file("key.pem"), fs::Permissions::from_mode(0o600)).unwrap();
    assert!(matches!(maker.certificates(), Err(TlsError::Unusable { .. })), "another's key");
    fs::write(maker.file("cert.pem"), "").unwrap();
    assert!(matches!(maker.certificates(), Err(TlsError::NoCertificate { .. })));
}

/// The binary: `https` in its banner, `--ca` of the command line, a new certificate at SIGHUP.
#[tokio::test]
async fn serve_and_the_command_line_speak_tls() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    let folder = maker.folder.path();
    let line = ["dev", "--tls-cert", "cert.pem", "--tls-key", "key.pem"];
    let process = start(folder, &line);
    let list_by = |scheme: &str, ca: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_maitred"));
        let url = format!("{scheme}://localhost:{}", process.addr.port());
        command.args(["limits", "list", "--url", &url]).env("MAITRED_CA", ca);
        command.stdin(Stdio::null()).output().unwrap()
    };
    let list = |ca: &Path| list_by("https", ca);
    let listed = list(&maker.file("ca.pem"));
    assert!(String::from_utf8_lossy(&listed.stdout).contains("voice-calls"), "{listed:?}");
    let unsigned = list(&maker.file("cert.pem"));
    assert_eq!(unsigned.status.code(), Some(7), "a root that did not sign it");
    let told = String::from_utf8_lossy(&unsigned.stderr).into_owned();
    assert!(told.ends_with("name the root: --ca FILE or MAITRED_CA\n"), "{told}");
    let clear = list_by("http", &maker.file("ca.pem"));
    let told = String::from_utf8_lossy(&clear.stderr).into_owned();
    assert!(told.ends_with("TLS is spoken there; begin the URL with https://\n"), "{told}");

    maker.renew(2 * DAY);
    process.signal("HUP");
    let far = maker.believing(process.addr.port());
    eventually("the new certificate is warned of", async || !far.ready().await.unwrap().notes.is_empty())
        .await;
}

/// Whoever opens a connection and does not greet to the end is let go, and holds nobody up meanwhile.
#[tokio::test]
async fn half_a_greeting_is_not_waited_for() {
    let maker = Maker::new();
    maker.renew(90 * DAY);
    let rig = rig_with(|shared| {
        shared.tls = Some(maker.certificates().unwrap());
        shared.limits = impatient();
    })
    .await;
    let mut open = Vec::new();
    for says in [&b""[..], &[0x16, 3, 1, 2, 0, 1], b"GET /livez HTTP/1.1\r\n\r\n"] {
        for _ in 0..100 {
            let mut line = rig.line().await;
            line.say(says).await;
            open.push(line);
        }
    }
    maker.believing(rig.addr.port()).ready().await.expect("an answer beside them");
    for mut line in open {
        assert!(line.hear().await.is_none(), "nothing is said in the clear");
    }
}
