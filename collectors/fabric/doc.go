// Package fabric collects from an InfiniBand subnet in band, by the programs of
// infiniband-diags: its topology, the counters of its switches' ports, and who
// its subnet manager is.
//
// It owns what may be asked when: so many management datagrams a second and no
// more, fewer when the subnet loses some. It must never change anything in the
// subnet, reset a counter among them.
//
// # Entities
//
// A switch's port is port:<switch>/<number>, or as the configuration has ports
// named; an adapter with one port nic:<node>/<device>, a port of one with
// several nic:<node>/<device>:<port>. Names come from the nodes' descriptions
// by the rules of a profile, or from a node name map; a node without a name, or
// with a name that another one has, is known by its GUID. The subnet manager is
// sm:<subnet>.
package fabric
