// Package modbus reads registers of Modbus/TCP devices, directly or behind a
// gateway: power shelves, rack PDUs, coolant distribution units, air handlers.
//
// A device is described by data: which registers it has and how their words become
// numbers (registers.yaml), and what those numbers mean (a mapping file, in the
// same language as that of pages which are scraped). Devices that come with the
// program are folders of devices; a user's own are files that the configuration
// names.
//
// It owns the protocol as far as reading needs it: function codes 3 and 4 of the
// Modbus Application Protocol V1.1b3 over the MBAP header of the Modbus Messaging
// Guide V1.0b. It never writes: no function code that changes a device is known
// here.
package modbus
