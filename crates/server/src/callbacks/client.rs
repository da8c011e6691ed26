//! The calls to one app. Every answer is one of a few words; what an app says besides is not looked at.

use std::{collections::BTreeMap, time::Duration};

use maitred_api::RunStatus;
use reqwest::{Client, Response, StatusCode, redirect::Policy};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::sync::Semaphore;

use super::{CallbackNumbers, Target, network::Guarded, numbers::Called};

const CONNECT_WITHIN: Duration = Duration::from_secs(2);
const ANSWER_WITHIN: Duration = Duration::from_secs(5);
/// Calls to one app at once.
const AT_ONCE: usize = 16;
/// Runs in one question for states.
pub const STATES_MOST: usize = 100;
const ANSWER_BYTES_MOST: usize = 32 * 1024;

/// What the app is told: its body.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message<'a> {
    /// Look at this slot: it is reserved for you, or has ended.
    Slot { slot: &'a str, limit: &'a str, run: &'a str, state: &'a str },
    /// How do these runs stand?
    Runs { runs: &'a [String] },
}

/// How a run stands, in an app's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Completed,
    Failed,
    Cancelled,
    /// The app has no such run.
    NotFound,
    Running,
    #[serde(other)]
    Unknown,
}

impl Standing {
    /// How it ended, if it has.
    pub fn ended(self) -> Option<RunStatus> {
        match self {
            Standing::Completed => Some(RunStatus::Succeeded),
            Standing::Failed => Some(RunStatus::Failed),
            Standing::Cancelled => Some(RunStatus::Cancelled),
            Standing::NotFound | Standing::Running | Standing::Unknown => None,
        }
    }
}

/// What came of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Woken,
    /// The app is not there, or the run does not listen yet.
    Again,
    Over(RunStatus),
}

#[derive(Deserialize)]
struct Gone {
    run: Standing,
}

#[derive(Deserialize)]
struct States {
    runs: BTreeMap<String, Standing>,
}

/// A target, and the way to it.
pub struct App {
    pub target: Target,
    client: Client,
    places: Semaphore,
    numbers: CallbackNumbers,
}

impl App {
    pub fn new(target: Target, numbers: CallbackNumbers) -> reqwest::Result<Self> {
        let client = Client::builder()
            .tls_backend_preconfigured(target.believed.clone())
            .connect_timeout(CONNECT_WITHIN)
            .timeout(ANSWER_WITHIN)
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Guarded(target.network))
            .user_agent(concat!("maitred/", env!("CARGO_PKG_VERSION")))
            .build()?;
        numbers.known(&target.name);
        Ok(Self { target, client, places: Semaphore::new(AT_ONCE), numbers })
    }

    pub fn has(&self, run: &str) -> bool {
        run.starts_with(&self.target.runs)
    }

    pub async fn notify(&self, message: &Message<'_>) -> Verdict {
        let verdict = match self.send(message).await {
            Ok(response) => judged(response).await,
            Err(why) => {
                tracing::debug!(app = self.target.name, why, "an app could not be called");
                self.numbers.called(&self.target.name, Called::Failed);
                return Verdict::Again;
            }
        };
        let called = match verdict {
            Verdict::Woken => Called::Woken,
            Verdict::Again => Called::Again,
            Verdict::Over(_) => Called::Over,
        };
        self.numbers.called(&self.target.name, called);
        verdict
    }

    /// How these runs stand; a run that is not in the answer is not known to stand in any way.
    pub async fn states(&self, runs: &[String]) -> BTreeMap<String, Standing> {
        let answer: Result<States, String> = async {
            let response = self.send(&Message::Runs { runs }).await?;
            match response.status() {
                StatusCode::OK => body(response).await.ok_or_else(|| "no list of states".to_owned()),
                status => Err(format!("status {status}")),
            }
        }
        .await;
        match answer {
            Ok(States { runs }) => {
                self.numbers.called(&self.target.name, Called::States);
                runs
            }
            Err(why) => {
                tracing::warn!(app = self.target.name, why, "an app does not say how its runs stand");
                self.numbers.called(&self.target.name, Called::Failed);
                BTreeMap::new()
            }
        }
    }

    async fn send(&self, message: &Message<'_>) -> Result<Response, String> {
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let request = self.client.post(self.target.url.clone()).bearer_auth(&self.target.secret.0);
        let response = request.json(message).send().await.map_err(|error| causes(&error.without_url()))?;
        if matches!(response.status(), StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            let why = "an app does not take the secret; is MAITRED_CALLBACK_SECRET the same at both ends?";
            tracing::warn!(app = self.target.name, status = response.status().as_u16(), "{why}");
        }
        Ok(response)
    }
}

async fn judged(response: Response) -> Verdict {
    match response.status() {
        status if status.is_success() => Verdict::Woken,
        // Only in the app's own words: a gateway may say 410 too.
        StatusCode::GONE => match body::<Gone>(response).await.and_then(|gone| gone.run.ended()) {
            Some(status) => Verdict::Over(status),
            None => Verdict::Again,
        },
        _ => Verdict::Again,
    }
}

/// The JSON of an answer, if it is short.
async fn body<T: DeserializeOwned>(mut response: Response) -> Option<T> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > ANSWER_BYTES_MOST {
            return None;
        }
    }
    serde_json::from_slice(&bytes).ok()
}

fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
