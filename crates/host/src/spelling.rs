//! What a user may have meant.

/// The known name of which what was written is a near misspelling: one letter off, or two in a name of
/// eight letters and more, one with the same first letter before others; or with which it ends (`tcp_cubic`).
pub fn nearest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let lower = written.to_lowercase();
    let nearest = known.iter().map(|name| {
        let begins_otherwise = name.as_bytes().first() != lower.as_bytes().first();
        (edits(&lower, &name.to_lowercase()), begins_otherwise, *name)
    });
    let (edits, _, name) = nearest.min()?;
    let length = name.len().max(written.len());
    let is_near = edits <= (length / 4).clamp(1, 2) || lower.ends_with(name);
    (length > 2 && is_near).then_some(name)
}

/// `; did you mean …?` if there is such a name.
pub(crate) fn did_you_mean(written: &str, known: &[&str]) -> String {
    let near = nearest(written, known);
    near.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// How many letters were added, dropped or replaced, or neighbours swapped.
fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
