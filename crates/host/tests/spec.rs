//! `NAME_OR_PATH[@preset][:parameter=value,…]`: what it means, and what is said when
//! it means nothing.

use ackclock_host::{Algorithm, Configured};

fn configure(spec: &str) -> Configured {
    Algorithm::configure(spec).unwrap_or_else(|error| panic!("{spec}: {error}"))
}

fn refusal(spec: &str) -> String {
    Algorithm::configure(spec).expect_err(spec).to_string()
}

fn value(spec: &str, name: &str) -> u32 {
    let configured = configure(spec);
    let values = configured.values();
    values
        .iter()
        .find(|(known, _)| *known == name)
        .expect(name)
        .1
}

#[test]
fn the_built_in_algorithms() {
    let all = Algorithm::all();
    let names: Vec<_> = all.iter().map(Algorithm::name).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    for (name, path) in [
        ("reno", "algorithms/tcp_reno.c"),
        ("cubic", "algorithms/tcp_cubic.c"),
        ("cubic_fc", "algorithms/tcp_cubic_fc.c"),
    ] {
        let algorithm = Algorithm::find(name).unwrap();
        assert_eq!(algorithm.source_path(), path);
        assert!(!algorithm.summary().is_empty());
    }
    let mut fingerprints: Vec<_> = all.iter().map(Algorithm::fingerprint).collect();
    fingerprints.sort_unstable();
    fingerprints.dedup();
    assert_eq!(fingerprints.len(), all.len());
}

#[test]
fn a_files_head_is_told() {
    for algorithm in Algorithm::all() {
        let (name, head) = (algorithm.name(), algorithm.head());
        assert!(head.lines().count() >= 2 && !head.contains("*/"), "{name}");
        assert!(!head
            .lines()
            .any(|line| line.starts_with([' ', '*']) && line.contains("* ")));
    }
    let head = Algorithm::find("reno").unwrap().head().to_string();
    assert!(
        head.starts_with("Standard TCP: ") && head.ends_with("This is Linux's \"reno\"."),
        "{head}"
    );
}

#[test]
fn a_presets_settings_are_what_a_user_would_write() {
    let cubic = Algorithm::find("cubic").unwrap();
    let preset = |name| {
        cubic
            .presets()
            .iter()
            .find(|preset| preset.name == name)
            .unwrap()
    };
    assert_eq!(cubic.settings(preset("linux")), "");
    assert_eq!(
        cubic.settings(preset("ha2008")),
        "beta=0.8,hystart=0,min_cnt=1,start_cnt=0,update_gate=0,exact_alpha=1,count_beyond=1"
    );
    for algorithm in Algorithm::all() {
        for preset in algorithm.presets() {
            let name = algorithm.name();
            let settings = algorithm.settings(preset);
            let written = if settings.is_empty() {
                name.to_string()
            } else {
                format!("{name}:{settings}")
            };
            let named = configure(&format!("{name}@{}", preset.name));
            assert_eq!(configure(&written).values(), named.values());
        }
    }
}

#[test]
fn settings_are_in_the_users_units() {
    for (spec, name, stored) in [
        ("cubic", "beta", 717),
        ("cubic:beta=0.7", "beta", 717),
        ("cubic:beta=.5", "beta", 512),
        ("cubic:C=1", "C", 1024),
        ("cubic:hystart=0", "hystart", 0),
        (
            "cubic:hystart_ack_delta_us=3000",
            "hystart_ack_delta_us",
            3000,
        ),
        ("cubic@linux", "beta", 717),
        ("cubic@ha2008", "beta", 819),
        ("cubic@ha2008", "hystart", 0),
        ("cubic@ha2008:beta=0.7", "beta", 717),
        ("cubic@ha2008:beta=0.7", "hystart", 0),
        ("cubic_fc@linux-2.6.32", "min_cnt", 1),
        ("cubic_fc", "f_max", 614),
        (" cubic : beta = 0.6 , C = 0.5 ", "C", 512),
    ] {
        assert_eq!(value(spec, name), stored, "{spec}: {name}");
    }
}

#[test]
fn the_canonical_spec_is_the_shortest() {
    for (spec, canonical) in [
        ("reno", "reno"),
        ("cubic:beta=0.7,C=0.4", "cubic"),
        ("cubic:C=0.5,beta=0.75", "cubic:beta=0.75,C=0.5"),
        ("cubic:beta=0.70019", "cubic"),
        ("cubic@ha2008", "cubic@ha2008"),
        ("cubic@ha2008:beta=0.8", "cubic@ha2008"),
        (
            "cubic@ha2008:hystart=1,beta=0.7",
            "cubic@ha2008:beta=0.7,hystart=1",
        ),
    ] {
        assert_eq!(configure(spec).spec(), canonical);
        assert_eq!(configure(canonical).values(), configure(spec).values());
    }
}

#[test]
fn every_value_can_be_written() {
    for algorithm in Algorithm::all() {
        for param in algorithm.params() {
            let step = ((param.max - param.min) / 1000).max(1) as usize;
            for stored in (param.min..=param.max).step_by(step).chain([param.max]) {
                let spec = format!(
                    "{}:{}={}",
                    algorithm.name(),
                    param.name,
                    param.display(stored)
                );
                assert_eq!(value(&spec, &param.name), stored, "{spec}");
            }
        }
    }
}

#[test]
fn every_preset_is_known_and_described() {
    for algorithm in Algorithm::all() {
        for preset in algorithm.presets() {
            configure(&format!("{}@{}", algorithm.name(), preset.name));
            assert!(!preset.doc.is_empty());
        }
        assert!(algorithm.params().iter().all(|param| !param.doc.is_empty()));
    }
}

#[test]
fn what_is_wrong_is_named_with_its_remedy() {
    // (spec, what the message must contain)
    let vectors: [(&str, &[&str]); 36] = [
        (
            "cubik",
            &[
                "unknown algorithm `cubik`",
                "did you mean `cubic`?",
                "`ackclock list`",
                "./cubik.c",
            ],
        ),
        (
            "warp_drive",
            &["unknown algorithm `warp_drive`; `ackclock list`"],
        ),
        (
            "cdg",
            &["`cdg`; Linux has it, ackclock does not yet", "kernel:cdg"],
        ),
        ("CUBIC", &["did you mean `cubic`?"]),
        ("cubci", &["did you mean `cubic`?"]),
        ("newreno", &["did you mean `reno`?"]),
        ("tcp_cubic", &["did you mean `cubic`?"]),
        ("westwod", &["did you mean `westwood`?"]),
        ("constantrate", &["did you mean `constant_rate`?"]),
        ("quic", &["unknown algorithm `quic`; `ackclock list`"]),
        ("rxxo", &["unknown algorithm `rxxo`; `ackclock list`"]),
        (
            "",
            &["name is missing", "NAME[@preset][:parameter=value,...]"],
        ),
        ("@ha2008", &["name is missing"]),
        (
            "cubic@ha2009",
            &[
                "cubic has no preset `ha2009`",
                "did you mean `ha2008`?",
                "linux, linux-2.6.32, linux-2.6.32-backports, ha2008",
            ],
        ),
        (
            "reno@linux",
            &["reno has no preset `linux`", "it has no presets"],
        ),
        (
            "cubic:bets=0.5",
            &[
                "cubic has no parameter `bets`",
                "did you mean `beta`?",
                "fast_convergence",
            ],
        ),
        (
            "reno:beta=0.5",
            &["reno has no parameter `beta`", "it has no parameters"],
        ),
        (
            "cubic:beta=1.5",
            &["cubic: beta = 1.5 is out of range", "0.001 to 0.999"],
        ),
        ("cubic:beta=0", &["beta = 0 is out of range"]),
        ("cubic:beta=-1", &["beta = -1 is out of range"]),
        ("cubic:beta=717", &["beta = 717 is out of range"]),
        (
            "cubic:hystart=3",
            &["hystart = 3 is out of range", "0 to 2"],
        ),
        (
            "cubic:beta=high",
            &["beta = `high` is not a number; choose a value from 0.001 to 0.999"],
        ),
        (
            "cubic:beta=0,5",
            &["beta = `0,5` is not a number: write 0.5, with a point"],
        ),
        ("cubic:beta=0,75,C=1", &["write 0.75, with a point"]),
        ("cubic:beta=0.5,5", &["`5` is not parameter=value"]),
        (
            "cubic:beta=0.5:C=1",
            &["between parameters: `:beta=0.5,C=1`"],
        ),
        (
            "./no.c:beta=0.5:C=1",
            &["between parameters: `:beta=0.5,C=1`"],
        ),
        ("cubic:beta=nan", &["beta = `nan` is not a number"]),
        ("cubic:beta=inf", &["beta = `inf` is not a number"]),
        ("cubic:beta=", &["beta = `` is not a number"]),
        (
            "cubic:hystart=0.5",
            &["hystart = `0.5` is not a whole number; choose a value from 0 to 2"],
        ),
        ("cubic:beta", &["`beta` is not parameter=value"]),
        ("cubic:", &["`` is not parameter=value"]),
        ("cubic:beta=0.5,,C=1", &["`` is not parameter=value"]),
        ("cubic:beta=0.5,beta=0.6", &["beta is set twice"]),
    ];
    for (spec, parts) in vectors {
        let message = refusal(spec);
        for part in parts {
            assert!(message.contains(part), "{spec}: {message}");
        }
        assert!(!message.contains('\n'), "{message}");
    }
}

#[test]
fn what_has_a_slash_or_ends_in_c_is_a_path() {
    for spec in [
        "./no_such.c",
        "no_such.c",
        "some/where",
        "/no/such/file.c:beta=0.5",
        "./no_such.c@fast",
    ] {
        let message = refusal(spec);
        let path = spec.split([':', '@']).next().unwrap();
        assert!(
            message.starts_with(&format!("cannot read {path}: ")),
            "{message}"
        );
    }
}
