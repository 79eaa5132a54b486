//! Programs on a scenario's links: what `ackclock shell` calls.

use std::fs::File;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use ackclock_linux::testbed::{self, Conversed, Host};
use ackclock_py_tables::{python, refuse, tables};
use ackclock_sim::describe::code;
use ackclock_sim::Scenario;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::testbed::{describe, failed, Snapshot};

/// A client's host and a server's host with the links of a scenario (canonical JSON) between them,
/// until `finish`. `packets`: a file for the packets at the client, and how many bytes of each it
/// keeps.
///
/// Raises FieldError or AckclockError if the scenario or the machine cannot.
#[pyclass(frozen, module = "ackclock._kernel")]
pub struct Shell(Mutex<Option<testbed::Shell>>);

#[pymethods]
impl Shell {
    #[new]
    #[pyo3(signature = (snapshot, scenario_json, packets=None))]
    fn new(
        py: Python<'_>,
        snapshot: &Snapshot,
        scenario_json: &str,
        packets: Option<(PathBuf, u32)>,
    ) -> PyResult<Self> {
        let scenario: Scenario = Scenario::parse(scenario_json).map_err(refuse)?;
        let packets = packets
            .map(|(path, snaplen)| Ok::<_, std::io::Error>((File::create(path)?, snaplen)))
            .transpose()?;
        let opened = py.detach(|| testbed::Shell::open(scenario, &snapshot.0, packets));
        Ok(Self(Mutex::new(Some(opened.map_err(failed)?))))
    }

    /// When the link opened, nanoseconds of the monotonic clock.
    #[getter]
    fn started_ns(&self) -> PyResult<u64> {
        self.with(|shell| Ok(shell.started_ns()))
    }

    /// The kernel's name of the algorithm that sockets begin with.
    #[getter]
    fn algorithm(&self) -> PyResult<String> {
        self.with(|shell| Ok(shell.algorithm().into()))
    }

    /// The addresses of the client's host and the server's.
    #[getter]
    fn addresses(&self) -> [String; 2] {
        [Host::Client, Host::Server].map(|host| host.address().to_string())
    }

    /// The descriptor of the server's network namespace.
    #[getter]
    fn server_namespace(&self) -> PyResult<i32> {
        self.with(|shell| Ok(shell.namespace(Host::Server)))
    }

    /// Moves the calling thread to the client's host, or to the server's.
    fn enter(&self, server: bool) -> PyResult<()> {
        let host = if server { Host::Server } else { Host::Client };
        self.with(|shell| Ok(shell.enter(host)?))
    }

    /// Moves the calling thread back to where the shell was opened.
    fn leave(&self) -> PyResult<()> {
        self.with(|shell| Ok(shell.leave()?))
    }

    /// Closes the link: the tables of `run_many`, all empty but `queues`; `certificate`, a dict;
    /// `algorithms`, the code that ran; `duration_ns`; and `conversations`, a list of (whether the
    /// server sent it, protocol, its port, the other's port, counts of its data packets by name).
    /// `min_rtt_us`: the smallest RTT that a socket measured, or 0.
    ///
    /// Raises AckclockError if the packets cannot be written.
    fn finish<'py>(&self, py: Python<'py>, min_rtt_us: u32) -> PyResult<Bound<'py, PyDict>> {
        let shell = self.0.lock().expect("nobody panics").take();
        let shell = shell.ok_or_else(|| refuse("the shell is closed"))?;
        let run = py.detach(|| shell.finish(min_rtt_us)).map_err(refuse)?;
        let wall = Duration::from_nanos(run.duration_ns);
        let dict = tables(py, run.result, wall)?;
        dict.set_item("certificate", describe(py, run.certificate)?)?;
        dict.set_item("algorithms", python(py, &code(&run.code))?)?;
        dict.set_item("duration_ns", run.duration_ns)?;
        let each = run.conversations.iter().map(|each| conversed(py, each));
        dict.set_item("conversations", each.collect::<PyResult<Vec<_>>>()?)?;
        Ok(dict)
    }
}

impl Shell {
    fn with<T>(&self, work: impl FnOnce(&testbed::Shell) -> PyResult<T>) -> PyResult<T> {
        let shell = self.0.lock().expect("nobody panics");
        work(
            shell
                .as_ref()
                .ok_or_else(|| refuse("the shell is closed"))?,
        )
    }
}

fn conversed<'py>(
    py: Python<'py>,
    each: &Conversed,
) -> PyResult<(bool, u8, u16, u16, Bound<'py, PyDict>)> {
    let dict = PyDict::new(py);
    macro_rules! copy {
        ($($name:ident)*) => { $(dict.set_item(stringify!($name), each.tally.$name)?;)* };
    }
    copy!(dropped_packets early_dropped_packets policed_packets marked_packets);
    dict.set_item("link_lost_packets", each.tally.lost_packets)?;
    let of = each.conversation;
    let from_server = each.from == Host::Server;
    Ok((
        from_server,
        of.protocol,
        of.source_port,
        of.destination_port,
        dict,
    ))
}
