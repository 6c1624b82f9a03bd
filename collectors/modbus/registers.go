package modbus

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/quintet-dc/quintet/collectors/entry"
	"github.com/quintet-dc/quintet/collectors/mapping"
)

// files holds the devices that come with the program: a folder each, with
// registers.yaml and mapping.yaml.
//
//go:embed devices
var files embed.FS

// Devices returns the names of the devices that come with the program.
func Devices() []string {
	all, err := fs.ReadDir(files, "devices")
	if err != nil {
		return nil // the folder is part of the program
	}
	var out []string
	for _, d := range all {
		out = append(out, d.Name())
	}
	return out
}

// format is how the words of a register become a number.
type format string

const (
	uint16Format  format = "uint16"
	int16Format   format = "int16"
	uint32Format  format = "uint32"
	int32Format   format = "int32"
	uint64Format  format = "uint64"
	float32Format format = "float32"
)

func formats() []string {
	return []string{string(uint16Format), string(int16Format), string(uint32Format), string(int32Format), string(uint64Format), string(float32Format)}
}

// words is how many 16-bit registers a number has.
func (f format) words() int {
	switch f {
	case uint32Format, int32Format, float32Format:
		return 2
	case uint64Format:
		return 4
	}
	return 1
}

// register is a number that a device has.
type register struct {
	name    string
	address uint16
	format  format
	mask    uint64 // of the bits that count; zero is all
	divide  float64
}

// registerMap is what a device has. Registers are in the order of addresses.
type registerMap struct {
	function  function
	swapped   bool // of a number of several words, the least significant comes first
	registers []register
	blocks    []block
}

// block is a run of registers that is read at once. Undefined addresses are never
// read: some devices refuse the whole request for one.
type block struct {
	address uint16
	count   int // of words
	first   int // register of the map
	n       int // registers
}

// maxRegisters and maxFile bound the description of a device.
const (
	maxRegisters = 1024
	maxFile      = 1 << 20
)

// errEmpty is the error of a description without registers.
var errEmpty = errors.New("no registers")

// shipped returns the description of a device that comes with the program.
func shipped(device string) (registerMap, *mapping.File, error) {
	read := func(name string) ([]byte, error) { return files.ReadFile(path.Join("devices", device, name)) }
	b, err := read("registers.yaml")
	if err != nil {
		return registerMap{}, nil, fmt.Errorf("device %q: not found; have %v", device, Devices())
	}
	m, err := decodeRegisters(b)
	if err != nil {
		return registerMap{}, nil, fmt.Errorf("device %s: %w", device, err)
	}
	if b, err = read("mapping.yaml"); err != nil {
		return registerMap{}, nil, err
	}
	f, err := mapping.Decode(b)
	if err != nil {
		return registerMap{}, nil, fmt.Errorf("device %s: %w", device, err)
	}
	return m, f, nil
}

// readRegisters reads a user's file. Errors name file, line and column.
func readRegisters(file string) (registerMap, error) {
	b, err := entry.ReadFile(file, maxFile)
	if err != nil {
		return registerMap{}, err
	}
	m, err := decodeRegisters(b)
	if err != nil {
		return registerMap{}, fmt.Errorf("%s:%w", file, err)
	}
	return m, nil
}

// decodeRegisters reads the description of a device. The error joins an
// *entry.Fault for everything that is wrong.
func decodeRegisters(b []byte) (registerMap, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return registerMap{}, err
	}
	if len(doc.Content) == 0 {
		return registerMap{}, errEmpty
	}
	r, m := entry.NewReader("registers"), registerMap{function: holding}
	r.Entry(&doc,
		entry.Key{Name: "about", Read: func(n *yaml.Node) { r.Text(n, "about") }},
		entry.Key{Name: "function", Read: func(n *yaml.Node) {
			if r.OneOf(n, "function", "holding", "input") == "input" {
				m.function = input
			}
		}},
		entry.Key{Name: "word_order", Read: func(n *yaml.Node) {
			m.swapped = r.OneOf(n, "word_order", "big-endian", "little-endian") == "little-endian"
		}},
		entry.Key{Name: "registers", Read: func(n *yaml.Node) {
			r.List(n, "registers", func(x *yaml.Node) { m.registers = append(m.registers, decodeRegister(r, x)) })
		}},
	)
	if n := len(m.registers); r.Err() == nil && (n == 0 || n > maxRegisters) {
		r.Fail(doc.Content[0], "registers: %d, want 1 to %d", n, maxRegisters)
	}
	if err := r.Err(); err != nil {
		return registerMap{}, err
	}
	slices.SortStableFunc(m.registers, func(a, b register) int { return cmp.Compare(a.address, b.address) })
	m.blocks = blocks(m.registers)
	return m, nil
}

func decodeRegister(r *entry.Reader, n *yaml.Node) register {
	x, address := register{format: uint16Format, divide: 1}, -1
	r.Entry(n,
		entry.Key{Name: "name", Read: func(v *yaml.Node) { x.name = r.Name(v, "name", 128) }},
		entry.Key{Name: "address", Read: func(v *yaml.Node) { address = r.Whole(v, "address", 0, math.MaxUint16) }},
		entry.Key{Name: "format", Read: func(v *yaml.Node) { x.format = format(r.OneOf(v, "format", formats()...)) }},
		entry.Key{Name: "mask", Read: func(v *yaml.Node) { x.mask = decodeMask(r, v) }},
		entry.Key{Name: "divide", Read: func(v *yaml.Node) { x.divide = float64(r.Whole(v, "divide", 1, 1<<30)) }},
	)
	switch {
	case x.name == "" || address < 0:
		r.Fail(n, "registers: want a name and an address")
	case address+x.format.words() > math.MaxUint16+1:
		r.Fail(n, "registers: %s ends beyond address %d", x.name, math.MaxUint16)
	case x.mask != 0 && (x.format == float32Format || x.divide != 1):
		r.Fail(n, "registers: %s: a mask goes with whole numbers that are not divided", x.name)
	}
	x.address = uint16(address)
	return x
}

// decodeMask reads a mask, decimal or as 0x….
func decodeMask(r *entry.Reader, n *yaml.Node) uint64 {
	v, err := strconv.ParseUint(n.Value, 0, 64)
	if err != nil || v == 0 {
		r.Fail(n, "mask: want a whole number such as 0x0300, found %s", entry.KindOf(n))
	}
	return v
}

// blocks joins registers that follow each other, or share words, into runs that one
// answer can hold.
func blocks(rs []register) (out []block) {
	for i, x := range rs {
		end := int(x.address) + x.format.words()
		if n := len(out); n > 0 {
			b := &out[n-1]
			if last := int(b.address) + b.count; int(x.address) <= last && end-int(b.address) <= maxWords {
				b.count, b.n = max(b.count, end-int(b.address)), b.n+1
				continue
			}
		}
		out = append(out, block{address: x.address, count: x.format.words(), first: i, n: 1})
	}
	return out
}

// number returns the value of a register in the words of its block.
func (m *registerMap) number(x *register, b block, words []uint16) mapping.Number {
	w := words[int(x.address)-int(b.address):][:x.format.words()]
	var u uint64
	for i := range w {
		k := i
		if m.swapped {
			k = len(w) - 1 - i
		}
		u = u<<16 | uint64(w[k])
	}
	if x.mask != 0 {
		u &= x.mask
	}
	var v float64
	switch x.format {
	case float32Format:
		v = float64(math.Float32frombits(uint32(u)))
	case int16Format:
		return whole(int64(int16(u)), x.divide)
	case int32Format:
		return whole(int64(int32(u)), x.divide)
	default:
		if x.divide == 1 {
			return mapping.Number{Mantissa: u, Float: float64(u), Exact: true}
		}
		v = float64(u)
	}
	return mapping.FloatNumber(v / x.divide)
}

// whole is a whole number over a divisor, exact where there is none.
func whole(v int64, divide float64) mapping.Number {
	if divide == 1 {
		return mapping.IntNumber(v)
	}
	return mapping.FloatNumber(float64(v) / divide)
}
