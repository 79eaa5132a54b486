"""A run as qlog: the file has the form of the drafts, and says what the tables say."""

from typing import Annotated, Any, Literal

import polars as pl
import pytest
from pydantic import AnyUrl, BaseModel, ConfigDict, Field

from ackclock import AckclockError, Result, run

MSS = 1448
Unsigned = Annotated[int, Field(ge=0)]
Ms = Annotated[float, Field(gt=0)]


class Closed(BaseModel):
    """A map of the CDDL without `* text => any`, but for our own member."""

    model_config = ConfigDict(extra="forbid", strict=True)
    ackclock: dict[str, Any] | None = None


class MetricsUpdated(Closed):
    """RecoveryMetricsUpdated."""

    min_rtt: Ms | None = None
    smoothed_rtt: Ms | None = None
    congestion_window: Unsigned | None = None
    bytes_in_flight: Unsigned | None = None
    ssthresh: Unsigned | None = None
    packets_in_flight: Unsigned | None = None


class CongestionStateUpdated(Closed):
    """RecoveryCongestionStateUpdated."""

    old: str | None = None
    new: str
    trigger: Literal["persistent_congestion", "ECN"] | None = None


class PacketLost(Closed):
    """RecoveryPacketLost: each of its members may be missing."""


class MetricsEvent(BaseModel):
    time: float
    name: Literal["recovery:metrics_updated"]
    data: MetricsUpdated


class StateEvent(BaseModel):
    time: float
    name: Literal["recovery:congestion_state_updated"]
    data: CongestionStateUpdated


class LostEvent(BaseModel):
    time: float
    name: Literal["recovery:packet_lost"]
    data: PacketLost


class ReferenceTime(Closed):
    clock_type: Literal["system", "monotonic"]
    epoch: Literal["unknown"]  # a monotonic clock's


class CommonFields(BaseModel):
    time_format: Literal["relative_to_epoch", "relative_to_previous_event"]
    reference_time: ReferenceTime
    group_id: str


class VantagePoint(Closed):
    name: str | None = None
    type: Literal["client", "server", "network", "unknown"]


class Trace(BaseModel):
    title: str
    common_fields: CommonFields
    vantage_point: VantagePoint
    event_schemas: Annotated[list[AnyUrl], Field(min_length=1)]
    events: list[Annotated[MetricsEvent | StateEvent | LostEvent, Field(discriminator="name")]]


class QlogFile(BaseModel):
    """QlogFile of draft-ietf-quic-qlog-main-schema."""

    file_schema: Literal["urn:ietf:params:qlog:file:contained"]
    serialization_format: Literal["application/qlog+json"]
    traces: list[Trace]


def test_the_file_says_what_the_tables_say(small, tmp_path):
    result = run(small)
    path = result.to_qlog(tmp_path / "run.qlog")
    text = path.read_text(encoding="utf-8")
    assert text.index("file_schema") < text.index("serialization_format") < 256
    file = QlogFile.model_validate_json(text)
    assert len(file.traces) == len(result.flows) == 2
    for number, trace in enumerate(file.traces, 1):
        samples = result.samples.filter(pl.col("flow") == number)
        events = result.events.filter(pl.col("flow") == number)
        times = [event.time for event in trace.events]
        assert times == sorted(times)
        metrics = {}
        for event in trace.events:
            if isinstance(event, MetricsEvent):
                metrics |= event.data.model_dump(exclude_none=True)
        last = samples.row(-1, named=True)
        assert metrics["congestion_window"] == MSS * last["cwnd_packets"]
        assert metrics["bytes_in_flight"] == MSS * last["in_flight_packets"]
        assert metrics["ssthresh"] == MSS * last["ssthresh_packets"]
        assert metrics["smoothed_rtt"] == last["srtt_us"] / 1e3
        assert metrics["ackclock"]["delivered_bytes"] == last["delivered_bytes"]
        lost = [event for event in trace.events if isinstance(event, LostEvent)]
        assert sum(event.data.ackclock["packets"] for event in lost) == last["lost_packets"] > 0
        states = [event.data for event in trace.events if isinstance(event, StateEvent)]
        assert states[0].new == "slow_start"
        assert [state.old for state in states[1:]] == [state.new for state in states[:-1]]
        entered = [state for state in states if state.ackclock["event"] == "recovery"]
        assert len(entered) == events.filter(pl.col("kind") == "recovery").height > 0


def test_the_command_writes_it(ackclock, small, tmp_path):
    done = ackclock("run", "-", "--qlog", "run.qlog", "-o", "out", input=small.to_toml())
    assert done.returncode == 0, done.stderr
    assert "written: run.qlog" in done.stdout
    written = (tmp_path / "run.qlog").read_text()
    again = Result.load(tmp_path / "out").to_qlog(tmp_path / "again.qlog")
    assert written == again.read_text()
    done = ackclock("run", "-", "--qlog", "x", "--seeds", "2", input=small.to_toml())
    assert "--qlog x: takes one run" in done.stderr
    with pytest.raises(AckclockError, match="cannot be written"):
        run(small).to_qlog(tmp_path / "run.qlog" / "no" / "run.qlog")
