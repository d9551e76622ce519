package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dynosim/dynosim/internal/rundir"
	"github.com/dynosim/dynosim/lower"
	"github.com/dynosim/dynosim/metrics"
)

// cache is a folder of ingested and lowered folders, each named by the digest of what it depends
// on. One that has its name is complete.
type cache struct{ path string }

// Folders that are not complete have this prefix; they are abandoned when nothing happened in them for
// so long.
const (
	unfinishedPrefix = ".unfinished-"
	abandonedAfter   = 24 * time.Hour
)

// openCache makes the folder when it is missing, and removes what killed processes left.
func openCache(path string) (*cache, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return nil, &InputError{fmt.Errorf("cannot use cache folder %s: %w", path, plain(err))}
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, &InputError{fmt.Errorf("cannot use cache folder %s: %w", path, plain(err))}
	}
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && strings.HasPrefix(e.Name(), unfinishedPrefix) && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.RemoveAll(filepath.Join(path, e.Name()))
		}
	}
	return &cache{path}, nil
}

// name is the folder of a stage with a digest.
func (c *cache) name(stage, digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return filepath.Join(c.path, stage+"-"+hex)
}

// find opens the folder of a stage, nil when it is not there. One that is not what its manifest
// says is removed.
func (c *cache) find(stage, digest string) *folder {
	path := c.name(stage, digest)
	stages := []string{"ingest", "lower"}
	if stage == "ingest" {
		stages = stages[:1]
	}
	f, err := openFolder(path, stages...)
	if err == nil {
		err = f.whole(stage, digest)
	}
	if err == nil {
		return f
	}
	if _, there := os.Stat(path); there == nil {
		c.drop(path)
	}
	return nil
}

// whole checks the digest and the sizes of the files.
func (f *folder) whole(stage, digest string) error {
	if stage == "ingest" && f.manifest.Ingest.Digest != digest || stage == "lower" && f.manifest.Lower.Digest != digest {
		return fmt.Errorf("%s has another digest", f.path)
	}
	for _, t := range f.manifest.Tables {
		info, err := os.Stat(tableFile(f.path, t.Name))
		if err != nil {
			return err
		}
		if info.Size() != t.Bytes {
			return fmt.Errorf("%s has %d bytes, its manifest says %d", tableFile(f.path, t.Name), info.Size(), t.Bytes)
		}
	}
	return nil
}

// unfinished is a new name for a folder that is not complete.
func (c *cache) unfinished() string {
	return filepath.Join(c.path, fmt.Sprintf("%s%016x", unfinishedPrefix, rand.Uint64()))
}

// drop removes a folder; it loses its name at once.
func (c *cache) drop(path string) {
	aside := c.unfinished()
	if os.Rename(path, aside) == nil {
		_ = os.RemoveAll(aside)
	}
}

// add makes a folder of a stage beside its place with fill, and gives it its name. When another process was
// first, its folder is as good.
func (c *cache) add(stage string, fill func(dir *rundir.Dir) (digest string, err error)) (*folder, error) {
	temp := c.unfinished()
	dir, err := rundir.Create(temp, rundir.Options{Known: metrics.FileNames()})
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) // it has another name when all went well
	digest, err := fill(dir)
	if err != nil {
		dir.Abort()
		return nil, err
	}
	path := c.name(stage, digest)
	if err := os.Rename(temp, path); err != nil {
		if f := c.find(stage, digest); f != nil {
			return f, nil
		}
		// find removed what was in the way.
		if err := os.Rename(temp, path); err != nil {
			return nil, fmt.Errorf("cannot keep %s: %w", path, plain(err))
		}
	}
	if err := syncFolder(c.path); err != nil {
		return nil, err
	}
	if f := c.find(stage, digest); f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("%s vanished from the cache", path)
}

func syncFolder(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// fromCache takes what the cache has and makes and keeps what it lacks. It leaves front nil when the source
// cannot be digested before it is read, or not at all.
func (r *runner) fromCache(ctx context.Context) error {
	c, err := openCache(r.Cache)
	if err != nil {
		return err
	}
	in := readInputs(&r.Spec.Source)
	if !in.regular() {
		r.Observer.Note("cache: not used: a source that is not a file can be read only once")
		return nil
	}
	entries, err := in.wait()
	if err != nil {
		return nil // reading it gives the better error
	}
	source := digestIngest(sourceSettings(r.Spec), entries)
	load := digestLower(source, r.Spec.Source.Format, loadSettings(r.Spec))
	if f := c.find("lower", load); f != nil {
		w, err := f.workload()
		if err == nil {
			r.Observer.Note("ingest, lower: reused " + f.path)
			r.front = &front{workload: w, inputs: entries, ingest: f.manifest.Ingest, lower: f.manifest.Lower, from: f}
			return nil
		}
		r.Observer.Note("lower: cannot be reused, made anew: " + err.Error())
		c.drop(f.path)
	}
	return r.fillCache(ctx, c, in, source)
}

// fillCache lowers the ingested folder of the cache, or the source itself, and keeps what is new.
func (r *runner) fillCache(ctx context.Context, c *cache, in *inputs, digest string) error {
	var made *front
	ingested := c.find("ingest", digest)
	builder := lower.NewBuilder(r.Spec)
	defer builder.Close()
	if ingested != nil {
		r.Observer.Note("ingest: reused " + ingested.path)
	} else {
		var err error
		ingested, err = c.add("ingest", func(dir *rundir.Dir) (string, error) {
			err := makeFolder(ctx, dir, ingestTables(r.Spec.Source.Format), func(ctx context.Context, _ *rundir.Dir, rec *metrics.Recorders) (f *front, err error) {
				if made, err = readSource(ctx, r.Spec, in, false, r.Observer, rec.WriteRequests, builder.Add); err == nil {
					err = in.unchanged()
				}
				return made, err
			}, "ingest")
			return digest, err
		})
		if err != nil {
			return err
		}
	}
	lowered, err := c.add("lower", func(dir *rundir.Dir) (string, error) {
		err := makeFolder(ctx, dir, lowerTables(r.Spec.Source.Format), func(ctx context.Context, dir *rundir.Dir, rec *metrics.Recorders) (f *front, err error) {
			if made == nil {
				made, err = lowerFolder(ctx, ingested, r.Spec, r.Observer, rec, true)
			} else {
				err = made.finishLower(r.Spec, builder, rec, true)
			}
			if err != nil {
				return nil, err
			}
			return made, ingested.link(dir, ingestTables(r.Spec.Source.Format))
		}, "ingest", "lower")
		if err != nil {
			return "", err
		}
		return made.lower.Digest, nil
	})
	if err != nil {
		return err
	}
	r.front = made
	r.front.from, r.front.inputs = lowered, in.entries
	return nil
}
