//! The accept loop: how many connections there may be, and how each one ends.
//!
//! Not axum's own, because that one sets no timer, has no cap, and waits without end for open calls when it is
//! told to stop.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    io,
    net::{IpAddr, SocketAddr},
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use super::{
    App, Limits,
    door::Door,
    events::GoesOn,
    guard::OwnAddress,
    stream::{Presence, Stream, Turn, Turns},
};
use crate::{callbacks::CallbackNumbers, tls::Certificates, token::Tokens};
use axum::{body::Body, response::Response};
use bytes::Bytes;
use hyper::{
    body::{Frame, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore, watch},
    task::JoinHandle,
};

/// hyper's own bounds lie above ours, so that ours answer as problems.
const HEAD_BYTES_MOST: usize = 32 * 1024;
const BUFFER_BYTES_MOST: usize = 64 * 1024;
/// A peer that vanished without a word is noticed after a minute: [`keepalive_after`] and three times this.
const KEEPALIVE_EVERY: Duration = Duration::from_secs(10);
/// How long a connection without a request stays open after the server was told to stop.
const LAST_ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// How soon a revoked token and a renewed certificate are noticed.
const LOOKED_AT_EVERY: Duration = Duration::from_secs(1);
const TOO_MANY: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n\
    Connection: close\r\nRetry-After: 1\r\nContent-Length: 99\r\n\r\n\
    {\"status\":\"error\",\"reason\":\"overloaded\",\"message\":\"too many connections; close some, or try later\"}";

/// A running HTTP server.
pub struct Server {
    pub addr: SocketAddr,
    app: App,
    stop: watch::Sender<bool>,
    places: Arc<Semaphore>,
    accepting: JoinHandle<()>,
}

impl Server {
    /// Serves on a listener that is already bound.
    pub fn start(listener: TcpListener, app: App) -> io::Result<Server> {
        let addr = listener.local_addr()?;
        let (stop, stopped) = watch::channel(false);
        let places = Arc::new(Semaphore::new(app.limits.connections));
        let hall = Hall {
            accepted: 0,
            app: Arc::clone(&app),
            door: Door::new(Arc::clone(&app)),
            places: Arc::clone(&places),
            peers: Arc::default(),
            stopped,
        };
        let accepting = tokio::spawn(hall.accept(listener));
        Ok(Server { addr, app, stop, places, accepting })
    }

    pub fn callback_numbers(&self) -> &CallbackNumbers {
        &self.app.numbers.callbacks
    }

    /// Reads the tokens of the data folder and the certificate again, if they have changed.
    pub fn reload_files(&self) {
        self.app.reload_files();
    }

    /// Takes no more calls, ends those that wait, finishes the others, and closes what is still open at the end.
    pub async fn stop(self, within: Duration) {
        self.app.draining.send_replace(true);
        let until = tokio::time::Instant::now() + within;
        let _ = self.stop.send(true);
        self.app.node.stop(within).await;
        let all = u32::try_from(self.app.limits.connections).unwrap_or(u32::MAX);
        let _ = tokio::time::timeout_at(until, self.places.acquire_many(all)).await;
        self.app.tokens.iter().for_each(Tokens::close);
        self.accepting.abort();
    }
}

struct Hall {
    /// How many connections were accepted.
    accepted: u64,
    app: App,
    door: Door,
    places: Arc<Semaphore>,
    peers: Arc<Peers>,
    stopped: watch::Receiver<bool>,
}

impl Hall {
    async fn accept(self, listener: TcpListener) {
        let app = Arc::clone(&self.app);
        tokio::select! {
            () = self.accept_all(listener) => {}
            () = follow_files(&app) => {}
        }
    }

    async fn accept_all(mut self, listener: TcpListener) {
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                _ = self.stopped.changed() => return,
            };
            match accepted {
                Ok((tcp, peer)) => {
                    self.accepted += 1;
                    self.admit(tcp, peer);
                }
                Err(error) => pause_after(&error).await,
            }
        }
    }

    fn admit(&self, tcp: TcpStream, peer: SocketAddr) {
        let Some(place) = self.place(peer.ip()) else {
            self.app.numbers.refused_connections.inc();
            if self.app.tls.is_none() {
                let _ = tcp.try_write(TOO_MANY);
            }
            return;
        };
        let Ok(local) = prepare(&tcp, self.accepted) else { return };
        let connection = Connection {
            own: OwnAddress(local.ip()),
            door: self.door.clone(),
            stopped: self.stopped.clone(),
            place,
        };
        tokio::spawn(connection.serve(tcp, self.app.limits.clone()));
    }

    fn place(&self, peer: IpAddr) -> Option<Place> {
        let permit = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let most = self.app.limits.connections_per_peer.unwrap_or(usize::MAX);
        self.peers.add(peer, most).then(|| {
            self.app.numbers.open_connections.inc();
            Place { peer, peers: Arc::clone(&self.peers), app: Arc::clone(&self.app), _permit: permit }
        })
    }
}

/// Never ends.
async fn follow_files(app: &App) {
    loop {
        tokio::time::sleep(LOOKED_AT_EVERY).await;
        app.reload_files();
    }
}

/// Out of file descriptors, most likely: give others time to close theirs.
async fn pause_after(error: &io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// When a connection that says nothing is first asked whether it is there: after 20 to 39 s. Were it the same for all,
/// thousands that began to wait at once would be asked in the same moment, again and again. A kernel drops what it cannot
/// queue (a thousand packets, on a machine's own address), and whoever misses three questions in a row is taken for gone.
fn keepalive_after(connection: u64) -> Duration {
    Duration::from_secs(20 + connection % 20)
}

fn prepare(tcp: &TcpStream, connection: u64) -> io::Result<SocketAddr> {
    tcp.set_nodelay(true)?;
    rustix::net::sockopt::set_socket_keepalive(tcp, true)?;
    rustix::net::sockopt::set_tcp_keepidle(tcp, keepalive_after(connection))?;
    rustix::net::sockopt::set_tcp_keepintvl(tcp, KEEPALIVE_EVERY)?;
    rustix::net::sockopt::set_tcp_keepcnt(tcp, 3)?;
    tcp.local_addr()
}

/// How many connections each address has open.
#[derive(Default)]
struct Peers(Mutex<BTreeMap<IpAddr, usize>>);

impl Peers {
    fn add(&self, peer: IpAddr, most: usize) -> bool {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = peers.entry(peer).or_default();
        let fits = *count < most;
        *count += usize::from(fits);
        fits
    }

    fn remove(&self, peer: IpAddr) {
        let mut peers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = peers.get_mut(&peer) {
            *count -= 1;
            if *count == 0 {
                peers.remove(&peer);
            }
        }
    }
}

/// One of the connections there may be; free again when dropped.
struct Place {
    peer: IpAddr,
    peers: Arc<Peers>,
    app: App,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.peers.remove(self.peer);
        self.app.numbers.open_connections.dec();
    }
}

struct Connection {
    own: OwnAddress,
    door: Door,
    stopped: watch::Receiver<bool>,
    place: Place,
}

impl Connection {
    async fn serve(mut self, tcp: TcpStream, limits: Limits) {
        let Some(tls) = self.place.app.tls.as_ref().map(Certificates::acceptor) else {
            return self.talk(tcp, limits).await;
        };
        let greeted = tokio::select! {
            greeted = tokio::time::timeout(limits.head_within, tls.accept(tcp)) => greeted,
            () = told_to_stop(&mut self.stopped) => return,
        };
        match greeted {
            Ok(Ok(stream)) => self.talk(stream, limits).await,
            Ok(Err(error)) => tracing::debug!(%error, "a caller does not speak TLS with us"),
            Err(_) => tracing::debug!("a caller took too long to speak TLS"),
        }
    }

    /// Serves one request after the other until either side has had enough. When the peer hangs up, hyper drops
    /// the handler that still waits, and with it the call.
    async fn talk<T: AsyncRead + AsyncWrite + Unpin>(mut self, peer: T, limits: Limits) {
        let _place = self.place;
        let turns = Turns::default();
        let seen = turns.clone();
        let stream = Stream::new(peer, turns.clone(), &limits);
        let presence = stream.presence();
        let stream = TokioIo::new(stream);
        let (door, own) = (self.door, self.own);
        let service = service_fn(move |request: hyper::Request<Incoming>| {
            let turn = turns.begin();
            let (door, presence, turns) = (door.clone(), presence.clone(), turns.clone());
            async move {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(turns.clone());
                let response = unless_gone(door.pass(own, request), &presence, &turns).await?;
                Ok::<_, HungUp>(until_its_end(response, turn))
            }
        });
        let connection = http1::Builder::new()
            .header_read_timeout(None) // the stream has patience of its own, and one timer a request is enough
            .max_header_size(HEAD_BYTES_MOST)
            .max_buf_size(BUFFER_BYTES_MOST)
            .serve_connection(stream, service);
        let mut connection = std::pin::pin!(connection);
        let ended = tokio::select! {
            ended = connection.as_mut() => ended,
            () = told_to_stop(&mut self.stopped) => {
                connection.as_mut().graceful_shutdown();
                tokio::select! {
                    ended = connection => ended,
                    () = at_rest(&seen) => return,
                }
            }
        };
        if let Err(error) = ended {
            tracing::trace!(%error, "a connection ended early");
        }
    }
}

/// A caller that waited is gone; its connection is closed.
#[derive(Debug, thiserror::Error)]
#[error("the caller has hung up")]
struct HungUp;

/// The answer, unless its caller hangs up while it waits.
async fn unless_gone<T: AsyncRead + Unpin>(
    answer: impl Future<Output = Response>,
    presence: &Presence<T>,
    turns: &Turns,
) -> Result<Response, HungUp> {
    let mut answer = pin!(answer);
    poll_fn(|cx| match answer.as_mut().poll(cx) {
        Poll::Ready(response) => Poll::Ready(Ok(response)),
        Poll::Pending if turns.has_to_wait() => presence.poll_gone(cx).map(|()| Err(HungUp)),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// A request is being worked on until it is answered, or, if its answer goes on, until that ends.
fn until_its_end(response: Response, turn: Turn) -> Response {
    match response.extensions().get::<GoesOn>() {
        Some(GoesOn) => response.map(|body| Body::new(Held { body, _turn: turn })),
        None => response,
    }
}

struct Held {
    body: Body,
    _turn: Turn,
}

impl hyper::body::Body for Held {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }
}

async fn told_to_stop(stopped: &mut watch::Receiver<bool>) {
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

/// Until no request is being worked on, with time to write the last answer. What is left then has sent half a
/// request, or nothing.
async fn at_rest(turns: &Turns) {
    loop {
        tokio::time::sleep(LAST_ANSWER_WITHIN).await;
        if turns.are_at_rest() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rustix::net::sockopt::tcp_keepidle;
    use tokio::net::{TcpListener, TcpStream};

    use super::prepare;

    /// Of connections that come at once no more than a twentieth is asked in the same moment.
    #[tokio::test]
    async fn connections_are_asked_at_different_moments_whether_they_are_there() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut asked = BTreeMap::new();
        let mut open = Vec::new();
        for number in 0..100 {
            open.push(TcpStream::connect(listener.local_addr().expect("its address")).await.expect("open"));
            let (tcp, _) = listener.accept().await.expect("accepted");
            prepare(&tcp, number).expect("prepared");
            *asked.entry(tcp_keepidle(&tcp).expect("what was set")).or_insert(0) += 1;
        }
        assert!(asked.values().all(|&many| many == 5), "{asked:?}");
        assert!(asked.keys().all(|after| (20..40).contains(&after.as_secs())), "{asked:?}");
    }
}
