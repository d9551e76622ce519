// Package queries turns the tables of a run into its report. Every figure is computed by
// the SQL files in sql/, run by DuckDB over the run's Parquet files; the Go code only
// opens the database, moves rows and writes JSON and text.
package queries

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/duckdb/duckdb-go/v2"

	"github.com/dynosim/dynosim/schemas"
)

// Options bounds what the database may use. Zero fields take the defaults of the caller.
type Options struct {
	// Threads is the number of threads of a query.
	Threads int
	// MemoryMB is the memory the database may hold before it spills to disk.
	MemoryMB int
	// TempDir is where it spills; empty is the system's folder for temporary files. The
	// spilled files are in a folder of their own that is removed on Close.
	TempDir string
}

// database is one in-memory DuckDB with one connection.
type database struct {
	connector *duckdb.Connector
	db        *sql.DB
	conn      *sql.Conn
	spill     string
}

// open starts an empty database.
func open(ctx context.Context, o Options) (*database, error) {
	if o.TempDir == "" {
		o.TempDir = os.TempDir()
	}
	// DuckDB makes the folder when it spills for the first time.
	spill := filepath.Join(o.TempDir, fmt.Sprintf("dynosim-duckdb-%d-%p", os.Getpid(), new(int)))
	connector, err := duckdb.NewConnector("", nil)
	if err != nil {
		return nil, fmt.Errorf("cannot start the query engine: %w", oneLine(err))
	}
	d := &database{connector: connector, db: sql.OpenDB(connector), spill: spill}
	if d.conn, err = d.db.Conn(ctx); err == nil {
		// These hold for all connections.
		settings := fmt.Sprintf("SET threads = %d; SET temp_directory = %s;", max(o.Threads, 1), quote(spill))
		if o.MemoryMB > 0 {
			settings += fmt.Sprintf(" SET memory_limit = '%dMB';", o.MemoryMB)
		}
		_, err = d.conn.ExecContext(ctx, settings)
	}
	if err != nil {
		d.close()
		return nil, fmt.Errorf("cannot start the query engine: %w", oneLine(err))
	}
	return d, nil
}

// close ends the database and removes what it spilled.
func (d *database) close() error {
	var errs []error
	if d.conn != nil {
		errs = append(errs, d.conn.Close())
	}
	errs = append(errs, d.db.Close(), d.connector.Close(), os.RemoveAll(d.spill))
	return errors.Join(errs...)
}

// exec runs statements without results.
func (d *database) exec(ctx context.Context, statements string) error {
	_, err := d.conn.ExecContext(ctx, statements)
	return err
}

// rows runs query and hands every row to each, as the driver gives it: no conversion. The
// slice is reused. columns is called once before the first row.
func (d *database) rows(ctx context.Context, query string, columns func(names []string, types []string) error, each func(values []driver.Value) error) error {
	return d.conn.Raw(func(c any) error {
		rows, err := c.(driver.QueryerContext).QueryContext(ctx, query, nil)
		if err != nil {
			return err
		}
		defer rows.Close()
		names := rows.Columns()
		if columns != nil {
			types := make([]string, len(names))
			if t, ok := rows.(driver.RowsColumnTypeDatabaseTypeName); ok {
				for i := range types {
					types[i] = t.ColumnTypeDatabaseTypeName(i)
				}
			}
			if err := columns(names, types); err != nil {
				return err
			}
		}
		values := make([]driver.Value, len(names))
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := rows.Next(values); err != nil {
				if errors.Is(err, io.EOF) {
					return nil
				}
				return err
			}
			if err := each(values); err != nil {
				return err
			}
		}
	})
}

// addRun makes a view of every table file in the run directory and reports the names.
func (d *database) addRun(ctx context.Context, dir string) ([]string, error) {
	var names []string
	var statements strings.Builder
	for _, t := range schemas.AllTables {
		file := filepath.Join(dir, t.Name+".parquet")
		if _, err := os.Stat(file); err != nil {
			continue
		}
		names = append(names, t.Name)
		fmt.Fprintf(&statements, "CREATE OR REPLACE VIEW %s AS SELECT * FROM read_parquet(%s, hive_partitioning = false);\n", t.Name, quote(globEscape(file)))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s is not a run directory: it holds no table", dir)
	}
	if err := d.exec(ctx, statements.String()); err != nil {
		return nil, fmt.Errorf("cannot read the tables of %s: %w", dir, oneLine(err))
	}
	return names, nil
}

// quote makes an SQL string literal.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// globEscape keeps the wildcards of a path from being taken as such.
func globEscape(path string) string {
	return strings.NewReplacer("[", "[[]", "*", "[*]", "?", "[?]").Replace(path)
}

// oneLine cuts an error of DuckDB to its useful line, without the kind in front and the
// query below.
func oneLine(err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	text := err.Error()
	if line, _, ok := strings.Cut(text, "\n"); ok {
		text = line
	}
	for _, kind := range []string{"Catalog Error: ", "Binder Error: ", "Parser Error: ", "Conversion Error: ", "IO Error: ", "Invalid Input Error: ", "Out of Memory Error: ", "INTERNAL Error: ", "Invalid Error: "} {
		text = strings.TrimPrefix(text, kind)
	}
	return &lineError{strings.TrimSpace(text), err}
}

// lineError is an error of DuckDB cut to a line.
type lineError struct {
	text string
	err  error
}

func (e *lineError) Error() string { return e.text }
func (e *lineError) Unwrap() error { return e.err }

// outOfMemory tells whether the memory limit was in the way.
func outOfMemory(err error) bool {
	var known *duckdb.Error
	// A commit that finds no memory is an error of the transaction.
	return errors.As(err, &known) && (known.Type == duckdb.ErrorTypeOutOfMemory || strings.Contains(known.Msg, "could not allocate"))
}
