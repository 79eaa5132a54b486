// The dumbbell in ns-3: dumbbell RATE_BPS RTT_S FLOWS START_GAP_S SECONDS
// CUBIC flows with SACK and delayed ACKs share one drop-tail link with a buffer of 1 BDP. Sources and
// sinks sit at its two ends, so nothing else costs time. Prints the data packets that were sent.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdlib>
#include <iostream>

using namespace ns3;

static uint64_t packets = 0;

static void Sent(Ptr<const Packet> packet)
{
    packets += packet->GetSize() > 1000;
}

int main(int argc, char** argv)
{
    if (argc != 6)
    {
        std::cerr << "dumbbell RATE_BPS RTT_S FLOWS START_GAP_S SECONDS\n";
        return 2;
    }
    const double rate_bps = std::atof(argv[1]), rtt_s = std::atof(argv[2]);
    const int flows = std::atoi(argv[3]);
    const double gap_s = std::atof(argv[4]), seconds = std::atof(argv[5]);
    const uint32_t bdp = rate_bps * rtt_s / 12000;
    const uint32_t buffer_bytes = 1U << 30;

    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpCubic::GetTypeId()));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(2));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(buffer_bytes));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(buffer_bytes));

    NodeContainer nodes(2);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(uint64_t(rate_bps))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(rtt_s / 2)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize",
                  QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, bdp)));
    NetDeviceContainer devices = link.Install(nodes);
    InternetStackHelper().Install(nodes);
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    Ipv4InterfaceContainer interfaces = addresses.Assign(devices);
    TrafficControlHelper().Uninstall(devices); // only the device's own queue
    devices.Get(0)->TraceConnectWithoutContext("MacTx", MakeCallback(&Sent));

    for (int flow = 0; flow < flows; ++flow)
    {
        const uint16_t port = 5000 + flow;
        PacketSinkHelper sink("ns3::TcpSocketFactory",
                              InetSocketAddress(Ipv4Address::GetAny(), port));
        sink.Install(nodes.Get(1)).Start(Seconds(0));
        BulkSendHelper source("ns3::TcpSocketFactory",
                              InetSocketAddress(interfaces.GetAddress(1), port));
        source.SetAttribute("SendSize", UintegerValue(64 * 1448));
        source.Install(nodes.Get(0)).Start(Seconds(flow * gap_s));
    }
    Simulator::Stop(Seconds(seconds));
    Simulator::Run();
    std::cout << packets << "\n";
    Simulator::Destroy();
    return 0;
}
