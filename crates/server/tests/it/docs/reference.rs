//! The generated pages: the command line from its own help, HTTP from the OpenAPI document.

use std::fmt::Write;

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
    page += "\n## Fields of bodies\n";
    bodies(&mut page, &document, &operations);
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
        let mine: Vec<&Value> =
            self.parameters().filter(|one| one["in"] != "header" || one["name"] == "Last-Event-ID").collect();
        if !mine.is_empty() {
            *page += "\n| parameter | in | |\n|---|---|---|\n";
        }
        for one in mine {
            let about = one_line(one["description"].as_str().unwrap_or_default());
            let _ = writeln!(
                page,
                "| `{}` | {} | {about} |",
                one["name"].as_str().unwrap(),
                one["in"].as_str().unwrap()
            );
        }
        if let Some(body) = self.body() {
            let _ = write!(page, "\nBody: [`{body}`](#{}).\n", body.to_lowercase());
        }
        if let Some(answer) = schema_in(&self.is["responses"]["200"]["content"]) {
            let _ = write!(page, "\nAnswer: `{answer}`.\n");
        }
    }

    fn body(&self) -> Option<String> {
        schema_in(&self.is["requestBody"]["content"])
    }
}

/// The name of the schema that JSON content refers to.
fn schema_in(content: &Value) -> Option<String> {
    content["application/json"]["schema"]["$ref"].as_str()?.rsplit('/').next().map(str::to_owned)
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

fn bodies(page: &mut String, document: &Value, operations: &[Operation]) {
    let mut left: Vec<String> = operations.iter().filter_map(Operation::body).collect();
    let mut done = Vec::new();
    while !left.is_empty() {
        left.sort();
        left.dedup();
        let name = left.remove(0);
        if !done.contains(&name) {
            left.extend(add_fields(page, &name, &document["components"]["schemas"][&name]));
            done.push(name);
        }
    }
}

/// One schema as a table; gives the schemas of objects that its fields hold.
fn add_fields(page: &mut String, name: &str, schema: &Value) -> Vec<String> {
    let _ = write!(page, "\n### {name}\n");
    if let Some(about) = schema["description"].as_str() {
        let _ = write!(page, "\n{}\n", one_line(about));
    }
    let words: Vec<String> = schema["enum"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|word| format!("`{}`", word.as_str().unwrap_or_default()))
        .collect();
    if !words.is_empty() {
        let _ = write!(page, "\nOne of {}.\n", words.join(", "));
    }
    let mut inner = Vec::new();
    let fields = schema["properties"].as_object();
    if fields.is_some() {
        *page += "\n| field | kind | |\n|---|---|---|\n";
    }
    for (field, is) in fields.into_iter().flatten() {
        let refers = [&is["$ref"], &is["items"]["$ref"]].into_iter().find_map(|to| to.as_str());
        let refers = refers.or_else(|| is["oneOf"].as_array()?.iter().find_map(|one| one["$ref"].as_str()));
        let refers = refers.and_then(|to| to.rsplit('/').next()).filter(|name| *name != "Given");
        inner.extend(refers.map(str::to_owned));
        let about = one_line(is["description"].as_str().unwrap_or_default());
        let _ = writeln!(page, "| `{field}` | {} | {about} |", kind(is, refers));
    }
    inner
}

fn kind(is: &Value, refers: Option<&str>) -> String {
    match (refers, &is["type"]) {
        (Some(name), kind) if kind == "array" => format!("list of [`{name}`](#{})", name.to_lowercase()),
        (Some(name), _) => format!("[`{name}`](#{})", name.to_lowercase()),
        (None, Value::String(kind)) => kind.clone(),
        (None, Value::Array(kinds)) => {
            kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect()
        }
        _ => "number or text".to_owned(),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
