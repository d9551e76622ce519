package queries

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/peterh/liner"
)

// PromptOptions connects Prompt to its surroundings.
type PromptOptions struct {
	In  io.Reader
	Out io.Writer
	// Terminal says that In and Out are the terminal: lines can be edited and recalled.
	Terminal bool
	Query    QueryOptions
}

const promptHelp = `Type SQL, ended by a semicolon, or one of
  .tables         the tables and what a row of each is
  .schema TABLE   the columns of a table
  .named          the named queries; .run NAME runs one
  .format FORMAT  table, csv or json
  .help           this text
  .quit           leave (as does the end of the input)
`

// Prompt reads queries and commands until the end of the input or .quit. Errors are
// printed and do not end it. An interrupt ends the running query only.
func (e *Engine) Prompt(ctx context.Context, o PromptOptions) error {
	read, end := lineReader(o)
	defer end()
	var pending strings.Builder
	if o.Terminal {
		fmt.Fprintf(o.Out, "Tables: %s. Type .help for help.\n", strings.Join(e.tables, ", "))
	}
	for {
		prompt := "dynosim> "
		if pending.Len() > 0 {
			prompt = "    ...> "
		}
		line, err := read(prompt)
		if errors.Is(err, liner.ErrPromptAborted) {
			pending.Reset()
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		atEnd := err != nil
		trimmed := strings.TrimSpace(line)
		if pending.Len() == 0 && strings.HasPrefix(trimmed, ".") {
			quit, err := e.command(ctx, trimmed, &o)
			if err != nil {
				fmt.Fprintln(o.Out, "error:", err)
			}
			if quit {
				return nil
			}
		} else if trimmed != "" {
			pending.WriteString(line)
			pending.WriteByte('\n')
		}
		if text := strings.TrimSpace(pending.String()); text != "" && (atEnd || strings.HasSuffix(text, ";")) {
			pending.Reset()
			if err := e.interruptible(ctx, func(ctx context.Context) error { return e.Query(ctx, text, o.Out, o.Query) }); err != nil {
				fmt.Fprintln(o.Out, "error:", err)
			}
		}
		if atEnd {
			return nil
		}
	}
}

// interruptible runs f with a context that ends with the next interrupt signal.
func (e *Engine) interruptible(ctx context.Context, f func(context.Context) error) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	err := f(ctx)
	if ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// command runs a line that starts with a point.
func (e *Engine) command(ctx context.Context, line string, o *PromptOptions) (quit bool, err error) {
	words := strings.Fields(strings.TrimSuffix(line, ";"))
	arg := strings.Join(words[1:], " ")
	switch words[0] {
	case ".quit", ".exit", ".q":
		return true, nil
	case ".help":
		_, err = io.WriteString(o.Out, promptHelp)
	case ".tables":
		for _, name := range e.tables {
			fmt.Fprintf(o.Out, "%-16s %s\n", name, findTable(name).Doc)
		}
	case ".schema":
		err = e.printSchema(o.Out, arg)
	case ".named":
		for _, n := range NamedQueries() {
			fmt.Fprintf(o.Out, "%-12s %s\n", n.Name, n.Doc)
		}
	case ".run":
		err = e.interruptible(ctx, func(ctx context.Context) error { return e.Named(ctx, arg, o.Out, o.Query) })
	case ".format":
		var f Format
		if f, err = ParseFormat(arg); err == nil && f == FormatParquet {
			err = errors.New("parquet cannot be printed here: use dynosim query --format parquet")
		}
		if err == nil {
			o.Query.Format = f
		}
	default:
		err = fmt.Errorf("there is no command %s; .help lists them", words[0])
	}
	return false, err
}

// printSchema lists the columns of one table.
func (e *Engine) printSchema(w io.Writer, name string) error {
	t := findTable(name)
	if t == nil {
		return fmt.Errorf("there is no table %q; the tables are %s", name, strings.Join(e.tables, ", "))
	}
	for _, c := range t.Columns {
		null := ""
		if c.Nullable {
			null = "null"
		}
		fmt.Fprintf(w, "%-38s %-8s %-4s  %s\n", c.Name, sqlType(c.Type), null, c.Doc)
	}
	return nil
}

// lineReader reads lines with editing and history on a terminal, plainly otherwise.
func lineReader(o PromptOptions) (read func(prompt string) (string, error), end func()) {
	if !o.Terminal {
		in := bufio.NewReader(o.In)
		return func(string) (string, error) {
			line, err := in.ReadString('\n')
			return strings.TrimSuffix(line, "\n"), err
		}, func() {}
	}
	l := liner.NewLiner()
	l.SetCtrlCAborts(true)
	history := ""
	if dir, err := os.UserCacheDir(); err == nil {
		history = filepath.Join(dir, "dynosim", "query_history")
		if f, err := os.Open(history); err == nil {
			l.ReadHistory(f)
			f.Close()
		}
	}
	read = func(prompt string) (string, error) {
		line, err := l.Prompt(prompt)
		if err == nil && strings.TrimSpace(line) != "" {
			l.AppendHistory(line)
		}
		return line, err
	}
	end = func() {
		// History is a convenience: failing to keep it is no error.
		if history != "" && os.MkdirAll(filepath.Dir(history), 0o700) == nil {
			if f, err := os.OpenFile(history, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err == nil {
				l.WriteHistory(f)
				f.Close()
			}
		}
		l.Close()
	}
	return read, end
}
