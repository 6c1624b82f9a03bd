// Package exporter puts a simulated site's pages of metrics on the wire:
// dcgm-exporter's for every node, before and after DCGM renamed its fields,
// node_exporter's of RDMA ports, NMX-T's of NVLinks, an NFS client's of every
// storage system and vLLM's of every job that serves.
//
// It owns what such programs write and how they round it. It must never know
// who reads it.
package exporter
