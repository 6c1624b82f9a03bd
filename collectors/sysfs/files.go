package sysfs

// managedFiles are those of counters/: file, metric, unit, and where a metric
// holds if not everywhere. What is only on the wire of InfiniBand is only RDMA
// on Ethernet.
const managedFiles = `
symbol_error                    port_symbol_errors_total              1
link_error_recovery             port_link_recoveries_total            1
link_downed                     port_link_downs_total                 1
port_rcv_errors                 port_rx_errors_total                  1
port_rcv_remote_physical_errors port_rx_remote_physical_errors_total  1
port_rcv_switch_relay_errors    port_rx_switch_relay_errors_total     1
port_xmit_discards              port_tx_discards_total                1
port_rcv_discards               port_rx_discards_total                1
port_xmit_constraint_errors     port_tx_constraint_errors_total       1
port_rcv_constraint_errors      port_rx_constraint_errors_total       1
local_link_integrity_errors     port_local_integrity_errors_total     1
excessive_buffer_overrun_errors port_buffer_overruns_total            1
VL15_dropped                    port_vl15_dropped_total               1
port_xmit_wait                  port_xmit_wait_ticks_total            1
port_xmit_data                  port_tx_bytes_total                   words wire
port_xmit_data                  rdma_tx_bytes_total                   words
port_rcv_data                   port_rx_bytes_total                   words wire
port_rcv_data                   rdma_rx_bytes_total                   words
port_xmit_packets               port_tx_packets_total                 1     wire
port_xmit_packets               rdma_tx_packets_total                 1     rdma
port_rcv_packets                port_rx_packets_total                 1     wire
port_rcv_packets                rdma_rx_packets_total                 1     rdma
unicast_xmit_packets            port_tx_unicast_packets_total         1     wire
unicast_xmit_packets            rdma_vport_tx_unicast_packets_total   1     rdma
unicast_rcv_packets             port_rx_unicast_packets_total         1     wire
unicast_rcv_packets             rdma_vport_rx_unicast_packets_total   1     rdma
multicast_xmit_packets          port_tx_multicast_packets_total       1     wire
multicast_xmit_packets          rdma_vport_tx_multicast_packets_total 1     rdma
multicast_rcv_packets           port_rx_multicast_packets_total       1     wire
multicast_rcv_packets           rdma_vport_rx_multicast_packets_total 1     rdma
`

// extendedFiles are those of counters_ext/ (kernels before 4.5), and the file of
// counters/ that has the same in fewer bits.
const extendedFiles = `
port_xmit_data_64           port_xmit_data
port_rcv_data_64            port_rcv_data
port_xmit_packets_64        port_xmit_packets
port_rcv_packets_64         port_rcv_packets
port_unicast_xmit_packets   unicast_xmit_packets
port_unicast_rcv_packets    unicast_rcv_packets
port_multicast_xmit_packets multicast_xmit_packets
port_multicast_rcv_packets  multicast_rcv_packets
`

// narrowFiles are those of counters/ that have 32 bits where unicast_rcv_packets is
// missing, and then saturate.
const narrowFiles = "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets"
