//! One connection, driven by whoever waits on it: no task of its own, so it never outlives its handle and needs no
//! runtime but that of the caller.

use std::{
    collections::HashMap,
    future::poll_fn,
    pin::pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use tokio::{runtime, time::timeout};
use tokio_postgres::{
    AsyncMessage, Client, Error, NoTls, Row, Statement,
    error::{DbError, Severity, SqlState},
    types::ToSql,
};

use super::{address::Address, schema, tls};

/// What takes longer has failed: the connection is given up, and what was asked may have been done or not.
pub(super) const WITHIN: Duration = Duration::from_secs(4);
/// A few megabytes at the most.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(10);
/// The journal is large, and there is nobody who waits for an answer.
pub(super) const BULK_WITHIN: Duration = Duration::from_secs(120);

/// Why something was not done.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server refused it: it was not done.
    Refused(Box<DbError>),
    /// Not known.
    Lost(String),
}

impl Failure {
    pub(super) fn is(&self, code: &SqlState) -> bool {
        matches!(self, Failure::Refused(error) if error.code() == code)
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused(error) => write!(f, "{}", error.message()),
            Failure::Lost(what) => f.write_str(what),
        }
    }
}

type Drive = Box<dyn FnMut(&mut Context<'_>) -> Poll<Option<Result<AsyncMessage, Error>>> + Send>;

pub(super) struct Link {
    client: Arc<Client>,
    drive: Drive,
    statements: HashMap<&'static str, Statement>,
    /// The runtime whose reactor knows the socket.
    runtime: runtime::Id,
    own_process: Option<i32>,
    /// Others have sent a notification.
    pub has_news: bool,
    /// What the server warned of since this was last taken.
    pub warning: Option<String>,
    schema: String,
}

impl Link {
    pub(super) async fn connect(address: &Address) -> Result<Link, Failure> {
        let lost = |what: &dyn std::fmt::Display| Failure::Lost(what.to_string());
        let connector = tls::connector(&address.tls).map_err(|error| lost(&error))?;
        let connecting = async {
            match connector {
                Some(connector) => {
                    let (client, mut connection) = address.config.connect(connector).await?;
                    let drive: Drive = Box::new(move |cx| connection.poll_message(cx));
                    Ok::<_, Error>((client, drive))
                }
                None => {
                    let (client, mut connection) = address.config.connect(NoTls).await?;
                    let drive: Drive = Box::new(move |cx| connection.poll_message(cx));
                    Ok((client, drive))
                }
            }
        };
        let connected = timeout(WITHIN, connecting).await.map_err(|_| lost(&"no answer"))?;
        let (client, drive) = connected.map_err(|error| match tls::refusal(&error) {
            Some(why) => lost(&why),
            None => failure(error),
        })?;
        let mut link = Link {
            client: Arc::new(client),
            drive,
            statements: HashMap::new(),
            runtime: runtime::Handle::current().id(),
            own_process: None,
            has_news: true,
            warning: None,
            schema: address.schema.clone(),
        };
        link.set_up().await?;
        Ok(link)
    }

    /// Nothing of the session is left to what the role or the database has been given.
    async fn set_up(&mut self) -> Result<(), Failure> {
        self.batch(schema::SESSION).await?;
        self.own_process = self.row("SELECT pg_backend_pid()").await?.try_get(0).ok();
        self.warning = None;
        Ok(())
    }

    /// Whether it can be waited on here.
    pub(super) fn is_of_this_runtime(&self) -> bool {
        self.runtime == runtime::Handle::current().id()
    }

    fn client(&self) -> Arc<Client> {
        Arc::clone(&self.client)
    }

    /// The rows that a statement gives, `{s}` in it being the schema. It is prepared once.
    pub(super) async fn rows(
        &mut self,
        within: Duration,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Failure> {
        let statement = self.statement(sql).await?;
        let client = self.client();
        self.run(within, async move { client.query(&statement, values).await }).await
    }

    /// The first row of a statement that always gives one, otherwise as [`Link::rows`].
    pub(super) async fn row(&mut self, sql: &'static str) -> Result<Row, Failure> {
        let rows = self.rows(WITHIN, sql, &[]).await?;
        rows.into_iter().next().ok_or_else(|| Failure::Lost("the server answered with nothing".to_owned()))
    }

    /// How many rows a statement touches, otherwise as [`Link::rows`].
    pub(super) async fn execute(
        &mut self,
        within: Duration,
        sql: &'static str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<u64, Failure> {
        let statement = self.statement(sql).await?;
        let client = self.client();
        self.run(within, async move { client.execute(&statement, values).await }).await
    }

    /// Statements without parameters, several of them if need be.
    pub(super) async fn batch(&mut self, sql: &str) -> Result<(), Failure> {
        let client = self.client();
        self.run(WITHIN, async move { client.batch_execute(sql).await }).await
    }

    async fn statement(&mut self, sql: &'static str) -> Result<Statement, Failure> {
        if let Some(known) = self.statements.get(sql) {
            return Ok(known.clone());
        }
        let (client, text) = (self.client(), schema::named(sql, &self.schema));
        let statement = self.run(WITHIN, async move { client.prepare(&text).await }).await?;
        self.statements.insert(sql, statement.clone());
        Ok(statement)
    }

    /// Carries out what was asked of the client, and drives the connection meanwhile.
    async fn run<T>(
        &mut self,
        within: Duration,
        asked: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let mut asked = pin!(asked);
        let driven = poll_fn(|cx| {
            if let Poll::Ready(done) = asked.as_mut().poll(cx) {
                return Poll::Ready(done.map_err(failure));
            }
            if let Poll::Ready(why) = self.drive(cx) {
                // The last answer may have come with the end.
                return match asked.as_mut().poll(cx) {
                    Poll::Ready(done) => Poll::Ready(done.map_err(failure)),
                    Poll::Pending => Poll::Ready(Err(Failure::Lost(why))),
                };
            }
            asked.as_mut().poll(cx).map(|done| done.map_err(failure))
        });
        let no_answer = || Failure::Lost(format!("no answer within {} s", within.as_secs()));
        timeout(within, driven).await.unwrap_or_else(|_| Err(no_answer()))
    }

    /// Takes in what the server sends, until nothing more is there, or until the connection has ended.
    fn drive(&mut self, cx: &mut Context<'_>) -> Poll<String> {
        loop {
            match (self.drive)(cx) {
                Poll::Ready(Some(Ok(message))) => self.hear(message),
                Poll::Ready(Some(Err(error))) => return Poll::Ready(text(&error)),
                Poll::Ready(None) => return Poll::Ready("the connection has ended".to_owned()),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    fn hear(&mut self, message: AsyncMessage) {
        match message {
            AsyncMessage::Notification(news) => {
                self.has_news |= Some(news.process_id()) != self.own_process;
            }
            AsyncMessage::Notice(notice) if notice.parsed_severity() == Some(Severity::Warning) => {
                self.warning = Some(notice.message().to_owned());
            }
            _ => {}
        }
    }

    /// Waits for a notification of others. Cancel safe.
    pub(super) async fn news(&mut self) -> Result<(), Failure> {
        poll_fn(|cx| {
            let ended = self.drive(cx);
            match (self.has_news, ended) {
                (true, _) => Poll::Ready(Ok(())),
                (false, Poll::Ready(why)) => Poll::Ready(Err(Failure::Lost(why))),
                (false, Poll::Pending) => Poll::Pending,
            }
        })
        .await
    }
}

/// What the server refused as an error was rolled back. Everything else, the end of the session above all, may have
/// come after the commit.
fn failure(error: Error) -> Failure {
    match error.as_db_error() {
        Some(refused) if refused.parsed_severity() == Some(Severity::Error) => {
            Failure::Refused(Box::new(refused.clone()))
        }
        _ => Failure::Lost(text(&error)),
    }
}

/// With the causes, which the library keeps apart.
fn text(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(more) = cause {
        text = format!("{text}: {more}");
        cause = more.source();
    }
    text
}
