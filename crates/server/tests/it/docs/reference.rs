//! The generated pages: the command line from its own help, HTTP from the OpenAPI document.

use std::{collections::BTreeSet, fmt::Write};

use serde_json::Value;

use super::{pages, server::shell};

const HOW: &str = "<!-- Generated: MAITRED_DOCS=write cargo test -p maitred-server --test it -->\n\n";

#[test]
fn the_command_line_is_as_its_help_says() {
    let mut page = format!(
        "# Command line\n\n{HOW}Every command with its own help. `maitred help exit-codes` prints the table at the \
         end.\n"
    );
    add_command(&mut page, &mut Vec::new());
    let _ = write!(page, "\n## Exit statuses\n\n```text\n{}```\n", printed(&["exit-codes"]));
    pages::is_fresh("docs/src/reference/cli.md", &page);
}

fn add_command(page: &mut String, path: &mut Vec<String>) {
    let mut words: Vec<&str> = path.iter().map(String::as_str).collect();
    words.push("--help");
    let help = printed(&words);
    let _ = write!(page, "\n## maitred {}", path.join(" "));
    page.truncate(page.trim_end().len());
    let _ = write!(page, "\n\n```text\n{help}```\n");
    for command in commands(&help) {
        path.push(command);
        add_command(page, path);
        path.pop();
    }
}

/// The names in the section `Commands:`.
fn commands(help: &str) -> Vec<String> {
    let section =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names = section.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
    names
        .filter(|name| !name.is_empty() && *name != "help" && *name != "exit-codes")
        .map(str::to_owned)
        .collect()
}

fn printed(words: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let line = format!("maitred {}", words.join(" "));
    let output = shell(folder.path()).args(["-c", &line]).output().unwrap();
    assert!(output.status.success(), "`{line}`: {output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    lines.join("\n") + "\n"
}

#[test]
fn http_is_as_the_openapi_document_says() {
    let document: Value = serde_json::from_str(&pages::read("openapi/v1.json")).unwrap();
    let mut page = format!("# HTTP\n\n{HOW}{}\n\n", document["info"]["description"].as_str().unwrap());
    page += "Bodies are JSON. Where a server wants tokens, each call needs one of the role in the table, or a higher one. A refused call is answered with a [problem](errors.md). `openapi/v1.json` has every \
             schema, and a server gives the same document under `/openapi.json`.\n";
    let operations = operations(&document);
    page += "\n| | route | role | what it does |\n|---|---|---|---|\n";
    for operation in &operations {
        let Operation { method, path, is } = operation;
        let role = is["x-role"].as_str().expect("every route says which role it needs");
        let _ = writeln!(page, "| {method} | `{path}` | {role} | {} |", operation.summary());
    }
    common_headers(&mut page, &operations);
    for operation in &operations {
        operation.add_to(&mut page);
    }
    page += "\n## Fields of bodies and answers\n\nA field without a value is left out of an answer.\n";
    schemas(&mut page, &document, &operations);
    pages::is_fresh("docs/src/reference/http.md", &page);
}

struct Operation<'a> {
    method: String,
    path: &'a str,
    is: &'a Value,
}

fn operations(document: &Value) -> Vec<Operation<'_>> {
    let paths = document["paths"].as_object().unwrap();
    let all = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().unwrap().iter();
        methods.map(move |(method, is)| Operation { method: method.to_uppercase(), path, is })
    });
    all.collect()
}

impl Operation<'_> {
    fn summary(&self) -> String {
        one_line(self.is["summary"].as_str().unwrap_or_default())
    }

    fn parameters(&self) -> impl Iterator<Item = &Value> {
        self.is["parameters"].as_array().into_iter().flatten()
    }

    fn add_to(&self, page: &mut String) {
        let _ = write!(page, "\n## {} {}\n\n{}\n", self.method, self.path, self.summary());
        if let Some(more) = self.is["description"].as_str() {
            let _ = write!(page, "\n{}\n", one_line(more));
        }
        let mine: Vec<&Value> =
            self.parameters().filter(|one| one["in"] != "header" || one["name"] == "Last-Event-ID").collect();
        if !mine.is_empty() {
            *page += "\n| parameter | in | |\n|---|---|---|\n";
        }
        for one in mine {
            let about = one_line(one["description"].as_str().unwrap_or_default());
            let (name, place) = (one["name"].as_str().unwrap(), one["in"].as_str().unwrap());
            let words = [about].into_iter().chain(words_of(&one["schema"])).filter(|part| !part.is_empty());
            let _ = writeln!(page, "| `{name}` | {place} | {} |", words.collect::<Vec<_>>().join(" "));
        }
        if let Some(body) = self.body() {
            let _ = write!(page, "\nBody: {}.\n", link(body));
        }
        if let Some(answer) = self.answer() {
            let _ = write!(page, "\nAnswer: {}.\n", link(answer));
        }
        if self.path == STREAM {
            let [snapshot, event] = STREAMED.map(link);
            let _ = write!(page, "\nData of `snapshot`: {snapshot}; of `events`: a list of {event}.\n");
        }
    }

    fn body(&self) -> Option<&str> {
        referred(&self.is["requestBody"]["content"]["application/json"]["schema"])
    }

    fn answer(&self) -> Option<&str> {
        referred(&self.is["responses"]["200"]["content"]["application/json"]["schema"])
    }
}

/// Its data is text to OpenAPI.
const STREAM: &str = "/v1/events";
const STREAMED: [&str; 2] = ["LiveSnapshot", "LiveEvent"];

/// The name of the schema that this one is, or that it is a list of, or that it is if it is anything.
fn referred(schema: &Value) -> Option<&str> {
    let parts = [&schema["oneOf"], &schema["allOf"]].into_iter().flat_map(|all| all.as_array()).flatten();
    let to = [schema, &schema["items"]].into_iter().chain(parts).find_map(|one| one["$ref"].as_str())?;
    to.rsplit('/').next().filter(|name| *name != "Given")
}

fn link(name: &str) -> String {
    format!("[`{name}`](#{})", name.to_lowercase())
}

fn common_headers(page: &mut String, operations: &[Operation]) {
    *page += "\n## Headers of every call\n\n| header | |\n|---|---|\n";
    let mut seen = Vec::new();
    for one in operations.iter().flat_map(Operation::parameters).filter(|one| one["in"] == "header") {
        let name = one["name"].as_str().unwrap();
        if name == "Last-Event-ID" || seen.contains(&name) {
            continue;
        }
        seen.push(name);
        let _ =
            writeln!(page, "| `{name}` | {} |", one_line(one["description"].as_str().unwrap_or_default()));
    }
}

fn schemas(page: &mut String, document: &Value, operations: &[Operation]) {
    let named = operations.iter().flat_map(|one| [one.body(), one.answer()]).flatten();
    let mut left: BTreeSet<&str> = named.chain(STREAMED).collect();
    let mut done = BTreeSet::new();
    while let Some(name) = left.pop_first() {
        if done.insert(name) {
            left.extend(add_schema(page, name, &document["components"]["schemas"][name]));
        }
    }
}

/// One schema; gives the others that it is made of.
fn add_schema<'a>(page: &mut String, name: &str, schema: &'a Value) -> Vec<&'a str> {
    let _ = write!(page, "\n### {name}\n");
    if let Some(about) = schema["description"].as_str() {
        let _ = write!(page, "\n{}\n", one_line(about));
    }
    if let Some(words) = words_of(schema) {
        let _ = write!(page, "\n{words}\n");
    }
    let mut made_of = add_alternatives(page, schema);
    for part in list(&schema["allOf"]) {
        if let Some(whole) = referred(part) {
            let _ = write!(page, "\nAll of {}, and:\n", link(whole));
            made_of.push(whole);
        }
        made_of.extend(add_fields(page, part));
    }
    made_of.extend(add_fields(page, schema));
    made_of
}

/// What it is one of: calls by their `op`, or other schemas.
fn add_alternatives<'a>(page: &mut String, schema: &'a Value) -> Vec<&'a str> {
    let mut made_of = Vec::new();
    for (index, one) in list(&schema["oneOf"]).enumerate() {
        *page += if index == 0 { "\n" } else { "" };
        let parts = || list(&one["allOf"]).chain([one]);
        let op = parts().find_map(|part| part["properties"]["op"]["enum"][0].as_str());
        let fields = parts().flat_map(|part| part["properties"].as_object()).flatten();
        let fields = fields.filter(|(field, _)| op.is_none() || *field != "op");
        let shown: Vec<String> = fields
            .map(|(field, is)| {
                made_of.extend(referred(is));
                quoted(field)
            })
            .collect();
        let whole = parts().find_map(|part| referred(part)).inspect(|whole| made_of.push(whole)).map(link);
        let with: Vec<String> = whole.into_iter().chain(shown).collect();
        let head = op.map(|op| format!("`\"op\": \"{op}\"`")).into_iter();
        let tail = (!with.is_empty()).then(|| with.join(", "));
        let _ = writeln!(page, "- {}", head.chain(tail).collect::<Vec<_>>().join(": "));
    }
    made_of
}

/// Its fields as a table; gives the schemas that they hold.
fn add_fields<'a>(page: &mut String, schema: &'a Value) -> Vec<&'a str> {
    let fields = schema["properties"].as_object();
    if fields.is_some() {
        *page += "\n| field | kind | |\n|---|---|---|\n";
    }
    for (field, is) in fields.into_iter().flatten() {
        let about = one_line(is["description"].as_str().unwrap_or_default());
        let _ = writeln!(page, "| `{field}` | {} | {about} |", kind(is));
    }
    fields.into_iter().flatten().filter_map(|(_, is)| referred(is)).collect()
}

fn kind(is: &Value) -> String {
    match (referred(is), &is["type"]) {
        (Some(name), kind) if kind == "array" => format!("list of {}", link(name)),
        (Some(name), _) => link(name),
        (None, Value::String(kind)) if kind == "array" => match is["items"]["type"].as_str() {
            Some(kind) => format!("list of {kind}s"),
            None => "list".to_owned(),
        },
        (None, Value::String(kind)) => kind.clone(),
        (None, Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => "number or text".to_owned(),
    }
}

/// What it may say, if only certain words.
fn words_of(schema: &Value) -> Option<String> {
    let words: Vec<String> = list(&schema["enum"]).filter_map(Value::as_str).map(quoted).collect();
    (!words.is_empty()).then(|| format!("One of {}.", words.join(", ")))
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn quoted(word: &str) -> String {
    format!("`{word}`")
}

fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .replace('|', "\\|")
        .replace("[`", "`")
        .replace("`]", "`")
}
