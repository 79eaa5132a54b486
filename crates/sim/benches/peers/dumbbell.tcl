# The dumbbell in ns-2: ns dumbbell.tcl RATE_BPS RTT_S FLOWS START_GAP_S SECONDS
# CUBIC flows with SACK and delayed ACKs share one drop-tail link with a buffer of 1 BDP. Sources and
# sinks sit at its two ends, so nothing else costs time. Prints the data packets that were sent.

lassign $argv rate_bps rtt_s flows gap_s seconds

Agent/TCP set packetSize_ 1448
Agent/TCP set tcpip_base_hdr_size_ 52
Agent/TCP set window_ 1000000
Agent/TCP set maxcwnd_ 0
Agent/TCPSink set interval_ 40ms

set ns [new Simulator -multicast off]
set source [$ns node]
set sink [$ns node]
$ns simplex-link $source $sink $rate_bps [expr {$rtt_s / 2}] DropTail
$ns simplex-link $sink $source $rate_bps [expr {$rtt_s / 2}] DropTail
$ns queue-limit $source $sink [expr {int($rate_bps * $rtt_s / 12000)}]
$ns queue-limit $sink $source 1000000

set senders {}
for {set flow 0} {$flow < $flows} {incr flow} {
    set sender [new Agent/TCP/Linux]
    set receiver [new Agent/TCPSink/Sack1/DelAck]
    $ns attach-agent $source $sender
    $ns attach-agent $sink $receiver
    $ns connect $sender $receiver
    $ns at 0 "$sender select_ca cubic"
    set ftp [new Application/FTP]
    $ftp attach-agent $sender
    $ns at [expr {$flow * $gap_s}] "$ftp start"
    lappend senders $sender
}

proc finish {} {
    global senders
    set packets 0
    foreach sender $senders {
        incr packets [$sender set ndatapack_]
    }
    puts "packets: $packets"
    flush stdout
    exit 0
}
$ns at $seconds finish
$ns run
