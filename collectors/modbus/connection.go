package modbus

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Function is a function code that reads registers.
type function byte

const (
	holding function = 3 // Read Holding Registers
	input   function = 4 // Read Input Registers
)

const (
	headerBytes = 7   // of MBAP: transaction, protocol, length, unit
	maxWords    = 125 // of one answer (MODBUS Application Protocol V1.1b3, 6.3)
	errorBit    = 0x80
)

// exception is the code with which a device refuses a request.
type exception byte

const (
	illegalFunction exception = 1
	illegalAddress  exception = 2
	gatewayPath     exception = 10
	gatewayTarget   exception = 11
)

func (e exception) Error() string {
	switch e {
	case illegalFunction:
		return "exception 1: illegal function"
	case illegalAddress:
		return "exception 2: illegal data address"
	case 3:
		return "exception 3: illegal data value"
	case 4:
		return "exception 4: server device failure"
	case 6:
		return "exception 6: server device busy"
	case gatewayPath:
		return "exception 10: gateway path unavailable"
	case gatewayTarget:
		return "exception 11: gateway target device failed to respond"
	}
	return fmt.Sprintf("exception %d", byte(e))
}

// errFrame is joined by everything that is wrong with the form of an answer. The
// connection cannot be used after it: where the next answer begins is not known.
var errFrame = errors.New("malformed answer")

// connection is a connection to a device or gateway. It is used by one goroutine.
type connection struct {
	conn        net.Conn
	transaction uint16
	buf         [headerBytes + 2 + 2*maxWords]byte
}

// read requests count registers from address on, and returns their words. They are
// valid until the next read. An exception is the device's answer: the connection can
// be used again. After any other error it must be closed.
func (c *connection) read(ctx context.Context, unit byte, f function, b block, timeout time.Duration) ([]uint16, error) {
	deadline := time.Now().Add(timeout)
	if err := c.conn.SetDeadline(deadline); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })() // ends a read that waits
	c.transaction++
	req := binary.BigEndian.AppendUint16(c.buf[:0], c.transaction)
	req = append(req, 0, 0, 0, 6, unit, byte(f))
	req = binary.BigEndian.AppendUint16(req, b.address)
	req = binary.BigEndian.AppendUint16(req, uint16(b.count))
	if _, err := c.conn.Write(req); err != nil {
		return nil, err
	}
	return c.answer(unit, f, b.count)
}

// answer reads the answer to the request that was just sent.
func (c *connection) answer(unit byte, f function, count int) ([]uint16, error) {
	header := c.buf[:headerBytes]
	if _, err := io.ReadFull(c.conn, header); err != nil {
		return nil, err
	}
	length := int(binary.BigEndian.Uint16(header[4:]))
	switch {
	case binary.BigEndian.Uint16(header) != c.transaction:
		return nil, fmt.Errorf("%w: transaction %d, want %d", errFrame, binary.BigEndian.Uint16(header), c.transaction)
	case binary.BigEndian.Uint16(header[2:]) != 0:
		return nil, fmt.Errorf("%w: protocol %d, want 0", errFrame, binary.BigEndian.Uint16(header[2:]))
	case header[6] != unit:
		return nil, fmt.Errorf("%w: unit %d, want %d", errFrame, header[6], unit)
	case length < 3 || length-1 > len(c.buf)-headerBytes:
		return nil, fmt.Errorf("%w: a length of %d bytes", errFrame, length)
	}
	body := c.buf[headerBytes : headerBytes+length-1]
	if _, err := io.ReadFull(c.conn, body); err != nil {
		return nil, err
	}
	switch {
	case body[0] == byte(f)|errorBit && len(body) == 2:
		return nil, exception(body[1])
	case body[0] != byte(f):
		return nil, fmt.Errorf("%w: function %d, want %d", errFrame, body[0], f)
	case int(body[1]) != 2*count || len(body) != 2+2*count:
		return nil, fmt.Errorf("%w: %d bytes of registers, want %d", errFrame, body[1], 2*count)
	}
	words := make([]uint16, count)
	for i := range words {
		words[i] = binary.BigEndian.Uint16(body[2+2*i:])
	}
	return words, nil
}
