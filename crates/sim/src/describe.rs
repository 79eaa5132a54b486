//! What an algorithm is, as JSON: for Python and for the page.

use crate::scenario::Algorithms;
use ackclock_host::{Algorithm, Configured, Param};
use serde_json::{json, Map, Value};

/// What its file declares, and a hash of its code.
pub fn algorithm(algorithm: &Algorithm) -> Value {
    let params = algorithm.params().iter().map(|param| {
        json!({
            "name": param.name,
            "default": number(param, param.default),
            "min": number(param, param.min),
            "max": number(param, param.max),
            "doc": param.doc,
        })
    });
    let presets = algorithm.presets().iter();
    let docs = presets
        .clone()
        .map(|preset| (preset.name.clone(), preset.doc.clone().into()));
    let settings = presets.map(|preset| (preset.name.clone(), algorithm.settings(preset).into()));
    json!({
        "name": algorithm.name(),
        "summary": algorithm.summary(),
        "source": algorithm.source_path(),
        "head": algorithm.head(),
        "fingerprint": fingerprint(algorithm),
        "params": params.collect::<Vec<_>>(),
        "presets": docs.collect::<Map<_, _>>(),
        "preset_settings": settings.collect::<Map<_, _>>(),
    })
}

/// What its file declares, values and the shortest spec.
pub fn configured(configured: &Configured) -> Value {
    let mut of = algorithm(configured.algorithm());
    of["values"] = values(configured);
    of["spec"] = configured.spec().into();
    of
}

/// As `configured`, of an algorithm whose declarations are not known here.
pub fn undeclared(spec: &str, name: &str, summary: &str) -> Value {
    json!({
        "name": name, "summary": summary, "source": "", "head": "", "fingerprint": "", "params": [],
        "presets": {}, "preset_settings": {}, "values": {}, "spec": spec,
    })
}

/// What ran, by its spec in the scenario.
pub fn code(algorithms: &Algorithms) -> Value {
    let each = algorithms.iter().map(|(spec, configured)| {
        let algorithm = configured.algorithm();
        let code = json!({
            "name": algorithm.name(),
            "source": algorithm.source_path(),
            "spec": configured.spec(),
            "values": values(configured),
            "fingerprint": fingerprint(algorithm),
        });
        (spec.clone(), code)
    });
    each.collect::<Map<_, _>>().into()
}

/// An algorithm's fingerprint, as text.
pub fn fingerprint(algorithm: &Algorithm) -> String {
    format!("{:016x}", algorithm.fingerprint())
}

/// The value of each parameter, as a user writes it.
pub fn values(configured: &Configured) -> Value {
    let params = configured.algorithm().params().iter();
    let values = params.zip(configured.values());
    let values = values.map(|(param, (name, stored))| (name.into(), number(param, stored)));
    values.collect::<Map<_, _>>().into()
}

/// A stored value as a user writes it: 717 of 1024 is 0.7.
fn number(param: &Param, stored: u32) -> Value {
    if param.scale == 1 {
        return param.whole(stored).into();
    }
    let shortest = param.display(stored).parse::<f64>();
    shortest.expect("a number is shown as one").into()
}
