//! A way to a server that can be spoilt: frozen, cut, or made to lose answers.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::watch,
};

pub struct Proxy {
    pub url: String,
    /// Connections with a lower number carry nothing any more, and stay open.
    frozen_below: watch::Sender<usize>,
    /// Connections with a lower number are closed.
    cut_below: watch::Sender<usize>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    connections: AtomicUsize,
    /// How many of the next answers are lost, with their connection.
    answers_to_lose: AtomicUsize,
    answers_lost: AtomicUsize,
}

impl Proxy {
    pub async fn before(server: SocketAddr) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (frozen_below, frozen) = watch::channel(0);
        let (cut_below, cut) = watch::channel(0);
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        tokio::spawn(async move {
            loop {
                let (client, _) = listener.accept().await.unwrap();
                let number = accepting.connections.fetch_add(1, Ordering::SeqCst);
                let server = TcpStream::connect(server).await;
                let pipe =
                    Pipe { number, shared: Arc::clone(&accepting), frozen: frozen.clone(), cut: cut.clone() };
                if let Ok(server) = server {
                    tokio::spawn(pipe.run(client, server));
                }
            }
        });
        Proxy { url, frozen_below, cut_below, shared }
    }

    /// Every connection there is goes silent and stays open; new ones work.
    pub fn freeze(&self) {
        self.frozen_below.send_replace(self.shared.connections.load(Ordering::SeqCst));
    }

    /// New ones go silent too.
    pub fn freeze_all(&self) {
        self.frozen_below.send_replace(usize::MAX);
    }

    /// Every connection there is breaks; new ones work.
    pub fn cut(&self) {
        self.cut_below.send_replace(self.shared.connections.load(Ordering::SeqCst));
    }

    /// The server gets the next requests, and their answers are lost together with their connections.
    pub fn lose_answers(&self, count: usize) {
        self.shared.answers_to_lose.store(count, Ordering::SeqCst);
    }

    pub fn answers_lost(&self) -> usize {
        self.shared.answers_lost.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn loses(&self) -> bool {
        let lose = |left: usize| left.checked_sub(1);
        let loses = self.answers_to_lose.fetch_update(Ordering::SeqCst, Ordering::SeqCst, lose).is_ok();
        self.answers_lost.fetch_add(usize::from(loses), Ordering::SeqCst);
        loses
    }
}

struct Pipe {
    number: usize,
    shared: Arc<Shared>,
    frozen: watch::Receiver<usize>,
    cut: watch::Receiver<usize>,
}

impl Pipe {
    async fn run(self, mut client: TcpStream, mut server: TcpStream) {
        let (mut up, mut down) = (vec![0; 16_384], vec![0; 16_384]);
        let Pipe { number, shared, mut frozen, mut cut } = self;
        loop {
            tokio::select! {
                () = passed(&mut cut, number) => return,
                () = passed(&mut frozen, number) => break,
                read = client.read(&mut up) => match read {
                    Ok(n @ 1..) if server.write_all(&up[..n]).await.is_ok() => {}
                    _ => return,
                },
                read = server.read(&mut down) => match read {
                    Ok(1..) if shared.loses() => return,
                    Ok(n @ 1..) if client.write_all(&down[..n]).await.is_ok() => {}
                    _ => return,
                },
            }
        }
        // Frozen: both sides keep a connection that carries nothing.
        passed(&mut cut, number).await;
    }
}

/// Waits until the bound is above this number.
async fn passed(bound: &mut watch::Receiver<usize>, number: usize) {
    let _ = bound.wait_for(|below| number < *below).await;
}
