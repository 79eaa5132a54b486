//! Resolves scenario files: a JSON object {"toml", "files"} on each line of standard input, and on
//! each of standard output the canonical form, or what is wrong.

use std::collections::BTreeMap;
use std::io::{stdin, BufRead};

use serde_json::{json, Value};

fn main() {
    for line in stdin().lock().lines() {
        let job: Value = serde_json::from_str(&line.expect("text")).expect("JSON");
        let files = job["files"].as_object().into_iter().flatten();
        let files = files.map(|(path, text)| (path.clone(), text.as_str().unwrap_or("").into()));
        let files = ackclock_resolve::Files(files.collect::<BTreeMap<_, _>>());
        let answer = match ackclock_resolve::resolve(job["toml"].as_str().unwrap_or(""), &files) {
            Ok(resolved) => json!({"scenario": resolved.prepared.scenario().to_json()}),
            Err(text) => json!({"error": text}),
        };
        println!("{answer}");
    }
}
