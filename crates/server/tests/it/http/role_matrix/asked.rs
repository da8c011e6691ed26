//! One question of each route, and more of those where a parameter counts; one item of each kind of a batch.
//!
//! `{limit}` stands for `zebra-1`, which the tokens named *elsewhere* are not for. `{slot}` and `{run}` are live, on that
//! limit, and no other question's.

/// Method, path, what follows in the query, body.
pub type Route = (&'static str, &'static str, &'static str, &'static str);

pub const ROUTES: &[Route] = &[
    ("GET", "/healthz", "", ""),
    ("GET", "/livez", "", ""),
    ("GET", "/metrics", "", ""),
    ("GET", "/openapi.json", "", ""),
    ("GET", "/readyz", "", ""),
    ("POST", "/v1/admit", "", r#"{"task":"t","specs":[{"key":"k","limit":99,"windowSeconds":60}]}"#),
    ("GET", "/v1/audit", "", ""),
    ("GET", "/v1/audit", "limit={limit}", ""),
    ("POST", "/v1/batch", "", r#"{"items":[]}"#),
    ("GET", "/v1/clock", "", ""),
    ("POST", "/v1/clock", "", r#"{"advance":"1ms"}"#),
    ("GET", "/v1/events", "", ""),
    ("GET", "/v1/events", "limit={limit}", ""),
    ("GET", "/v1/explain", "what={slot}", ""),
    ("GET", "/v1/history", "", ""),
    ("GET", "/v1/history", "slot=ended", ""),
    ("DELETE", "/v1/keys", "task=t&key=k", ""),
    ("GET", "/v1/keys", "", ""),
    ("GET", "/v1/keys", "task=t&key=k", ""),
    ("GET", "/v1/keys", "reveal=true", ""),
    ("GET", "/v1/limits", "", ""),
    (
        "PUT",
        "/v1/limits",
        "",
        r#"{"limits":[{"name":"yak-1","capacity":9,"max_hold":"10m"},{"name":"zebra-1","capacity":99999,"max_hold":"10m"}]}"#,
    ),
    ("GET", "/v1/limits/{limit}", "", ""),
    ("PUT", "/v1/limits/{limit}", "", r#"{"capacity":99999,"max_hold":"10m"}"#),
    ("DELETE", "/v1/limits/{limit}/capacity", "", ""),
    ("PUT", "/v1/limits/{limit}/capacity", "", r#"{"capacity":99999}"#),
    ("GET", "/v1/limits/{limit}/history", "", ""),
    ("DELETE", "/v1/limits/{limit}/max-hold", "", ""),
    ("PUT", "/v1/limits/{limit}/max-hold", "", r#"{"max_hold":"10m"}"#),
    ("DELETE", "/v1/limits/{limit}/pause", "", ""),
    ("PUT", "/v1/limits/{limit}/pause", "", ""),
    ("GET", "/v1/limits/{limit}/preview", "capacity=1", ""),
    ("GET", "/v1/limits/{limit}/series", "", ""),
    ("GET", "/v1/limits/{limit}/slots", "", ""),
    ("GET", "/v1/namespaces", "", ""),
    ("GET", "/v1/nodes", "", ""),
    ("GET", "/v1/overview", "", ""),
    ("GET", "/v1/overview", "limit={limit}", ""),
    ("GET", "/v1/runs", "", ""),
    ("GET", "/v1/runs", "limit={limit}", ""),
    ("GET", "/v1/runs", "reveal=true", ""),
    ("GET", "/v1/runs/{run}", "", ""),
    ("GET", "/v1/runs/{run}", "reveal=true", ""),
    ("POST", "/v1/runs/{run}", "", r#"{"workflow":"w","input":{}}"#),
    ("POST", "/v1/runs/{run}/cancel", "", ""),
    ("POST", "/v1/runs/{run}/end", "", r#"{"status":"succeeded"}"#),
    ("POST", "/v1/slots", "", r#"{"slot":"new","limit":"{limit}"}"#),
    ("GET", "/v1/slots/{slot}", "", ""),
    ("GET", "/v1/slots/{slot}", "wait=1s", ""),
    ("POST", "/v1/slots/{slot}/confirm", "", ""),
    ("GET", "/v1/slots/{slot}/explain", "", ""),
    ("POST", "/v1/slots/{slot}/leave", "", ""),
    ("POST", "/v1/slots/{slot}/release", "", ""),
    ("GET", "/v1/whoami", "", ""),
];

/// In the order in which they are done. `op`, and the other fields.
pub const ITEMS: &[(&str, &str)] = &[
    ("declare", r#""name":"{limit}","capacity":99999,"max_hold":"10m""#),
    (
        "deploy",
        r#""limits":[{"name":"yak-1","capacity":9,"max_hold":"10m"},{"name":"zebra-1","capacity":99999,"max_hold":"10m"}]"#,
    ),
    ("set_capacity", r#""limit":"{limit}","capacity":99999"#),
    ("reset_capacity", r#""limit":"{limit}""#),
    ("set_max_hold", r#""limit":"{limit}","max_hold":"10m""#),
    ("reset_max_hold", r#""limit":"{limit}""#),
    ("pause", r#""limit":"{limit}""#),
    ("resume", r#""limit":"{limit}""#),
    ("acquire", r#""slot":"item","limit":"{limit}""#),
    ("confirm", r#""slot":"{slot}""#),
    ("release", r#""slot":"{slot}""#),
    ("leave", r#""slot":"{slot}""#),
    ("end_run", r#""run":"{run}","status":"succeeded""#),
    ("start_run", r#""run":"{run}","workflow":"w","input":{}"#),
    ("cancel_run", r#""run":"{run}""#),
    ("admit", r#""task":"t","specs":[{"key":"k","limit":99,"windowSeconds":60}]"#),
    ("reset_rate", r#""task":"t","key":"k""#),
    ("limits", ""),
    ("limit", r#""limit":"{limit}""#),
    ("limit_slots", r#""limit":"{limit}""#),
    ("slot", r#""slot":"{slot}""#),
    ("runs", ""),
    ("run", r#""run":"{run}""#),
    ("history", ""),
    ("audit", ""),
    ("explain", r#""what":"{slot}""#),
    ("overview", ""),
    ("series", r#""limit":"{limit}""#),
    ("preview", r#""limit":"{limit}","capacity":1"#),
    ("namespaces", ""),
    ("nodes", ""),
    ("keys", ""),
];

/// The text about the question of this number.
pub fn filled(text: &str, number: usize) -> String {
    let limit = text.replace("{limit}", "zebra-1");
    limit.replace("{slot}", &format!("s-{number}")).replace("{run}", &format!("r-{number}"))
}
