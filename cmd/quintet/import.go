package main

import (
	"bufio"
	"fmt"
	"reflect"
	"strconv"

	"github.com/alecthomas/kong"

	"github.com/quintet-dc/quintet/cmd/cli"
	"github.com/quintet-dc/quintet/replay/importers/kind"
)

// importCommand turns other data into a trace: a command for each kind of importer.
type importCommand struct {
	kong.Plugins
}

// importing is the command of one kind.
type importing struct {
	Source kind.Settings `embed:""`
	Output string        `short:"o" required:"" placeholder:"FILE" help:"The trace to write."`
	Force  bool          `help:"Replace FILE if it is there."`
}

// importers makes the commands of kinds.
func importers(kinds []kind.Kind) (c importCommand) {
	for _, k := range kinds {
		tag := fmt.Sprintf(`cmd:"" name:%s help:%s`, strconv.Quote(k.Name), strconv.Quote(k.Doc))
		command := reflect.New(reflect.StructOf([]reflect.StructField{{Name: "Import", Type: reflect.TypeFor[importing](), Tag: reflect.StructTag(tag)}}))
		command.Elem().Field(0).Set(reflect.ValueOf(importing{Source: k.New()}))
		c.Plugins = append(c.Plugins, command.Interface())
	}
	return c
}

// Validate returns an error if the flags are invalid.
func (c *importing) Validate() error { return c.Source.Validate() }

// Run writes the trace next to its place and moves it there when it is whole.
func (c *importing) Run(sh *cli.Shell) error {
	if err := unclaimed(c.Output, c.Force); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	line := newProgress(sh.Err, "reading")
	b, err := c.Source.Read(sh.Ctx, kind.Environment{Warn: sh.Warn, Progress: func(done float64) { line.at(done, "") }})
	line.done()
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	sh.Doubts(b.Warnings)
	if err := writeWhole(c.Output, func(w *bufio.Writer) error { return b.WriteTrace(w, program()) }); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	_, err = fmt.Fprintf(sh.Out, "%s: %d samples, %d events, %d edges; no history before this time\n", c.Output, b.Samples(), len(b.Events), len(b.Edges))
	return err
}
