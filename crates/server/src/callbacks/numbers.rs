use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, gauge::Gauge},
    registry::Registry,
};

/// What became of a call to an app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Called {
    Woken,
    Again,
    Over,
    States,
    Failed,
}

impl Called {
    const ALL: [Called; 5] = [Called::Woken, Called::Again, Called::Over, Called::States, Called::Failed];

    fn as_str(self) -> &'static str {
        match self {
            Called::Woken => "woken",
            Called::Again => "again",
            Called::Over => "over",
            Called::States => "states",
            Called::Failed => "failed",
        }
    }
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfCall {
    target: String,
    outcome: &'static str,
}

/// Counts as long as it is there.
pub struct OpenNotice(Gauge);

impl Drop for OpenNotice {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// What `/metrics` tells of callbacks. The targets are the file's, so the labels are bounded.
#[derive(Clone, Default)]
pub struct CallbackNumbers {
    calls: Family<OfCall, Counter>,
    pub open_notices: Gauge,
    pub runs_ended: Counter,
}

impl CallbackNumbers {
    pub fn register(&self, registry: &mut Registry) {
        registry.register("calls", "Calls to apps by target and outcome", self.calls.clone());
        registry.register(
            "open_notices",
            "Notices that are not yet confirmed or in vain",
            self.open_notices.clone(),
        );
        registry.register(
            "runs_ended",
            "Runs that were ended since their app said they are over",
            self.runs_ended.clone(),
        );
    }

    pub fn open_notice(&self) -> OpenNotice {
        self.open_notices.inc();
        OpenNotice(self.open_notices.clone())
    }

    pub fn called(&self, target: &str, called: Called) {
        self.of(target, called).inc();
    }

    /// So that each outcome has a series before it first happens.
    pub fn known(&self, target: &str) {
        for called in Called::ALL {
            self.of(target, called);
        }
    }

    fn of(&self, target: &str, called: Called) -> Counter {
        let of_call = OfCall { target: target.to_owned(), outcome: called.as_str() };
        self.calls.get_or_create_owned(&of_call)
    }
}
