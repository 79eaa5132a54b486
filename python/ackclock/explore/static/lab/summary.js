// What a run comes to, in numbers: results/summary.py, as far as the page without a server has the rows.

// From their last start to their first stop all flows without a size are active; if they never are at once,
// or there are none, it is the whole run. From s to s.
function common({ flows, duration_us: endUs }, startsUs) {
  const long = flows.map((flow, index) => ({ ...flow, startUs: startsUs[index] })).filter((flow) => flow.size_bytes === null);
  const from = long.reduce((latest, { startUs }) => Math.max(latest, startUs), 0);
  const until = long.reduce((first, { stop_ns: stop }) => Math.min(first, stop === null ? endUs : stop / 1000), endUs);
  return (from < until ? [from, until] : [0, endUs]).map((us) => us / 1e6);
}

// Mean over the regular samples until a time, of values that are measured: above 0.
function mean({ times, columns }, name, intervalUs, untilUs) {
  let [sum, count] = [0, 0];
  for (let i = 0; i < times.size && times.store[i] <= untilUs; i++) {
    const value = columns[name].store[i];
    const last = i + 1 === times.size || times.store[i + 1] > times.store[i]; // of the rows at one time
    if (value <= 0 || !last || times.store[i] % intervalUs) continue;
    sum += value;
    count += 1;
  }
  return count ? sum / count : null;
}

function jain(shares) {
  const squares = shares.length * shares.reduce((sum, each) => sum + each * each, 0);
  return squares ? shares.reduce((sum, each) => sum + each, 0) ** 2 / squares : null;
}

// `totals` are the columns of the table of flows.
export function summaryOf({ about, flows, queues }, totals) {
  const [from, until] = common(about, totals.start_us);
  const told = about.flows.map(({ name, direction }, index) => {
    const curve = flows.get(index + 1);
    const end = totals.completed_us[index] || about.duration_us;
    const of = (column) => (curve ? mean(curve, column, about.sample_interval_us, end) : null);
    const rtt = of("srtt_us");
    return {
      flow: index + 1,
      algorithm: name,
      direction,
      goodput_bps: (8 * totals.common_bytes[index]) / (until - from),
      mean_cwnd_packets: of("cwnd_packets"),
      mean_rtt_s: rtt === null ? null : rtt / 1e6,
      retransmitted_packets: totals.retransmitted_packets[index],
      recoveries: totals.recoveries[index],
      timeouts: totals.timeouts[index],
    };
  });
  const forward = told.filter(({ direction }) => direction === "forward");
  return {
    duration_s: about.duration_us / 1e6,
    common_s: [from, until],
    jain_index: jain(forward.map(({ goodput_bps: each }) => each)),
    flows: told,
    queues: [...queues].map(([queue, { times, columns }]) => {
      const lengths = columns.queue_packets.store.subarray(0, times.size);
      return { queue, mean_queue_packets: lengths.reduce((sum, each) => sum + each, 0) / times.size };
    }),
  };
}
