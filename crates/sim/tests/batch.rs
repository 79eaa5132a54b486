//! Every job of a batch answers, one that panics with what it said.

use ackclock_sim::batch::{Answer, Batch};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn answers(jobs: u32, threads: usize) -> Vec<Answer<u32>> {
    let work = |job: &u32| match job % 4 {
        1 => panic!("job {job} breaks"),
        2 => std::panic::panic_any(7),
        _ => 10 * job,
    };
    let mut batch = Batch::start(Arc::new((0..jobs).collect()), threads, work).unwrap();
    let mut answers: Vec<_> = std::iter::from_fn(|| match batch.wait(LONG) {
        Answer::End => None,
        answer => Some(answer),
    })
    .collect();
    answers.sort_by_key(|answer| match answer {
        Answer::Done(index, _) | Answer::Lost(index, _) => *index,
        _ => usize::MAX,
    });
    answers
}

#[test]
fn a_panic_is_an_answer_and_the_other_jobs_go_on() {
    for threads in [1, 2, 7, 100] {
        let expected: Vec<_> = (0..9)
            .map(|job| match job % 4 {
                1 => Answer::Lost(job, format!("job {job} breaks")),
                2 => Answer::Lost(job, "a panic without a message".into()),
                _ => Answer::Done(job, 10 * job as u32),
            })
            .collect();
        assert_eq!(answers(9, threads), expected);
    }
}

#[test]
fn no_jobs_are_no_answers() {
    assert_eq!(answers(0, 4), []);
}

#[test]
fn a_stopped_batch_says_which_jobs_have_no_result() {
    // The second job says that it has begun, and waits until the batch is stopped.
    let (begins, has_begun) = std::sync::mpsc::channel();
    let (stopped, is_stopped) = std::sync::mpsc::channel();
    let both = Arc::new(Mutex::new((begins, is_stopped)));
    let mut batch = Batch::start(Arc::new((0..50).collect()), 1, move |job| {
        if *job == 1 {
            let both = both.lock().unwrap();
            both.0.send(()).unwrap();
            both.1.recv().unwrap();
        }
    })
    .unwrap();
    assert_eq!(batch.wait(LONG), Answer::Done(0, ()));
    has_begun.recv_timeout(LONG).unwrap();
    batch.stop();
    stopped.send(()).unwrap();
    let mut lost = 0;
    loop {
        match batch.wait(LONG) {
            Answer::Done(..) => (),
            Answer::Lost(_, reason) => {
                assert_eq!(reason, "its thread ended without a result");
                lost += 1;
            }
            answer => break assert_eq!(answer, Answer::End),
        }
    }
    assert_eq!(lost, 48);
}
