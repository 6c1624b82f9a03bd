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

	"github.com/quintet-dc/quintet/collectors/mapping"
	"github.com/quintet-dc/quintet/settings"
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
	Name    string `yaml:"name" max:"128"`
	Address *int   `yaml:"address" min:"0" max:"65535"`
	Format  format `yaml:"format" default:"uint16" oneof:"uint16 int16 uint32 int32 uint64 float32"`
	Mask    mask   `yaml:"mask"` // of the bits that count; zero is all
	Divide  int    `yaml:"divide" default:"1" max:"1073741824"`
}

// Validate reports what is missing, and numbers that no device can have.
func (x register) Validate() error {
	switch {
	case x.Name == "" || x.Address == nil:
		return errors.New("want a name and an address")
	case *x.Address+x.Format.words() > math.MaxUint16+1:
		return fmt.Errorf("%s ends beyond address %d", x.Name, math.MaxUint16)
	case x.Mask != 0 && (x.Format == float32Format || x.Divide != 1):
		return fmt.Errorf("%s: a mask goes with whole numbers that are not divided", x.Name)
	}
	return nil
}

// mask is a mask of bits, decimal or as 0x….
type mask uint64

// Set reads the text form.
func (m *mask) Set(text string) error {
	v, err := strconv.ParseUint(text, 0, 64)
	if err != nil || v == 0 {
		return fmt.Errorf("want a whole number such as 0x0300, found %.40q", text)
	}
	*m = mask(v)
	return nil
}

// description is the form of a file that describes a device.
type description struct {
	About     string     `yaml:"about"`
	Function  string     `yaml:"function" default:"holding" oneof:"holding input"`
	WordOrder string     `yaml:"word_order" default:"big-endian" oneof:"big-endian little-endian"`
	Registers []register `yaml:"registers" max:"1024"`
}

// Validate reports a description without registers.
func (d description) Validate() error {
	if len(d.Registers) == 0 {
		return errEmpty
	}
	return nil
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
	f, err := mapping.DecodeSeries(b)
	if err != nil {
		return registerMap{}, nil, fmt.Errorf("device %s: %w", device, err)
	}
	return m, f, nil
}

// readRegisters reads a user's file. Errors name file, line and column.
func readRegisters(file string) (registerMap, error) {
	b, err := settings.ReadFile(file, mapping.MaxFile)
	if err != nil {
		return registerMap{}, err
	}
	m, err := decodeRegisters(b)
	if err != nil {
		return registerMap{}, fmt.Errorf("%s:%w", file, err)
	}
	return m, nil
}

// decodeRegisters reads the description of a device. The error joins a
// *settings.Problem for everything that is wrong.
func decodeRegisters(b []byte) (registerMap, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return registerMap{}, err
	}
	if len(doc.Content) == 0 {
		return registerMap{}, errEmpty
	}
	var d description
	if err := settings.Decode("registers", &doc, &d); err != nil {
		return registerMap{}, err
	}
	m := registerMap{function: holding, swapped: d.WordOrder == "little-endian", registers: d.Registers}
	if d.Function == "input" {
		m.function = input
	}
	slices.SortStableFunc(m.registers, func(a, b register) int { return cmp.Compare(*a.Address, *b.Address) })
	m.blocks = blocks(m.registers)
	return m, nil
}

// blocks joins registers that follow each other, or share words, into runs that one
// answer can hold.
func blocks(rs []register) (out []block) {
	for i, x := range rs {
		at := *x.Address
		end := at + x.Format.words()
		if n := len(out); n > 0 {
			b := &out[n-1]
			if last := int(b.address) + b.count; at <= last && end-int(b.address) <= maxWords {
				b.count, b.n = max(b.count, end-int(b.address)), b.n+1
				continue
			}
		}
		out = append(out, block{address: uint16(at), count: x.Format.words(), first: i, n: 1})
	}
	return out
}

// number returns the value of a register in the words of its block.
func (m *registerMap) number(x *register, b block, words []uint16) mapping.Number {
	w := words[*x.Address-int(b.address):][:x.Format.words()]
	var u uint64
	for i := range w {
		k := i
		if m.swapped {
			k = len(w) - 1 - i
		}
		u = u<<16 | uint64(w[k])
	}
	if x.Mask != 0 {
		u &= uint64(x.Mask)
	}
	var v float64
	switch x.Format {
	case float32Format:
		v = float64(math.Float32frombits(uint32(u)))
	case int16Format:
		return whole(int64(int16(u)), x.Divide)
	case int32Format:
		return whole(int64(int32(u)), x.Divide)
	default:
		if x.Divide == 1 {
			return mapping.Number{Mantissa: u, Float: float64(u), Exact: true}
		}
		v = float64(u)
	}
	return mapping.FloatNumber(v / float64(x.Divide))
}

// whole is a whole number over a divisor, exact where there is none.
func whole(v int64, divide int) mapping.Number {
	if divide == 1 {
		return mapping.IntNumber(v)
	}
	return mapping.FloatNumber(float64(v) / float64(divide))
}
