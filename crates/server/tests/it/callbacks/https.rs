//! Over `https`: an app is believed if the platform's roots or those of the target say who it is, and nobody else.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::serve::Listener;
use maitred_api::SlotState;
use maitred_server::callbacks::{Network, TargetFields};
use maitred_testbed::authority;
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tempfile::NamedTempFile;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::app::{App, Reply, Rig, eventually, target};

/// Somebody who makes certificates, and the file with the root that says so.
struct Maker {
    root: NamedTempFile,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Maker {
    fn new() -> Maker {
        let (mut root, issuer) = (NamedTempFile::new().unwrap(), authority().unwrap());
        root.write_all(issuer.pem().as_bytes()).unwrap();
        Maker { root, issuer }
    }

    /// For whoever is called this.
    fn acceptor(&self, name: &str) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let cert =
            CertificateParams::new(vec![name.to_owned()]).unwrap().signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
        TlsAcceptor::from(Arc::new(config.with_single_cert(vec![cert.der().clone()], key).unwrap()))
    }
}

struct TlsListener {
    tcp: TcpListener,
    acceptor: TlsAcceptor,
    broken_off: Arc<AtomicUsize>,
}

impl Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let Ok((stream, from)) = self.tcp.accept().await else { continue };
            match self.acceptor.accept(stream).await {
                Ok(stream) => return (stream, from),
                Err(_) => self.broken_off.fetch_add(1, Ordering::SeqCst),
            };
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.tcp.local_addr()
    }
}

/// An app with a certificate, and what its callers make of it.
struct Shown {
    app: App,
    broken_off: Arc<AtomicUsize>,
}

impl Shown {
    async fn by(maker: &Maker, name: &str) -> Shown {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (addr, broken_off) = (tcp.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let acceptor = maker.acceptor(name);
        let app = App::on(addr, TlsListener { tcp, acceptor, broken_off: Arc::clone(&broken_off) });
        app.script().runs = [("wrun_a".to_owned(), "running")].into();
        Shown { app, broken_off }
    }

    fn target(&self, host: &str, believing: Option<&Maker>) -> TargetFields {
        let url = format!("https://{host}:{}/maitred", self.app.addr.port());
        TargetFields { ca: believing.map(|maker| maker.root.path().to_owned()), ..target(&url) }
    }

    async fn is_told(&self) {
        eventually("the app is told", async || !self.app.told_of("a").is_empty()).await;
    }

    /// Called, and the caller hung up before it said anything.
    async fn is_not_believed(&self) {
        eventually("the app is called", async || self.broken_off.load(Ordering::SeqCst) >= 2).await;
        assert!(self.app.script().told.is_empty());
    }
}

async fn reserved() -> Rig {
    let rig = Rig::start().await;
    assert_eq!(rig.acquire("a", "wrun_a").await, SlotState::Reserved);
    rig
}

#[tokio::test]
async fn an_app_is_believed_by_the_roots_of_its_target() {
    let (mut rig, maker) = (reserved().await, Maker::new());
    let shown = Shown::by(&maker, "localhost").await;
    rig.call_back(&[shown.target("localhost", Some(&maker))]);
    shown.is_told().await;
    assert_eq!(shown.broken_off.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_app_of_unknown_make_is_told_nothing() {
    let (mut rig, maker, another) = (reserved().await, Maker::new(), Maker::new());
    for believed in [None, Some(&another)] {
        let shown = Shown::by(&maker, "localhost").await;
        rig.call_back(&[shown.target("localhost", believed)]);
        shown.is_not_believed().await;
    }
    assert_eq!(rig.slot("a").await, SlotState::Reserved);
}

#[tokio::test]
async fn an_app_that_shows_the_name_of_another_is_told_nothing() {
    let (mut rig, maker) = (reserved().await, Maker::new());
    let shown = Shown::by(&maker, "another.example").await;
    rig.call_back(&[shown.target("localhost", Some(&maker))]);
    shown.is_not_believed().await;
}

#[tokio::test]
async fn a_name_is_looked_up_in_the_network_that_was_allowed_over_https_too() {
    let (mut rig, maker) = (reserved().await, Maker::new());
    let shown = Shown::by(&maker, "localhost").await;
    for network in [Network::Private, Network::Public] {
        rig.call_back(&[TargetFields { network, ..shown.target("localhost", Some(&maker)) }]);
        tokio::time::sleep(std::time::Duration::from_millis(600)).await;
        assert!(shown.app.script().told.is_empty(), "localhost is not in the network {network:?}");
        assert_eq!(shown.broken_off.load(Ordering::SeqCst), 0, "it is not even called");
    }
    rig.call_back(&[shown.target("localhost", Some(&maker))]);
    shown.is_told().await;
}

#[tokio::test]
async fn a_redirect_is_not_followed_over_https_too() {
    let (mut rig, maker) = (reserved().await, Maker::new());
    let (shown, elsewhere) = (Shown::by(&maker, "localhost").await, App::start().await);
    let away = || Reply::Redirect(307, elsewhere.url());
    shown.app.script().notices = [away(), away()].into();
    rig.call_back(&[shown.target("localhost", Some(&maker))]);
    eventually("three notices", async || shown.app.told_of("a").len() == 3).await;
    assert!(elsewhere.script().told.is_empty());
}
