package pipeline

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/dynosim/dynosim/simulate"
)

// Observer is told what a run is doing. Its methods are called from one goroutine.
type Observer interface {
	// Reading reports the bytes of the source read so far, of total; total is 0 when unknown.
	Reading(done, total int64)
	// Simulating starts watching a simulation of requests requests; the function returned
	// ends it.
	Simulating(p *simulate.Progress, requests int64) (stop func())
	// Reporting says that the report is being computed.
	Reporting()
	// Note says one line about the run.
	Note(line string)
}

// NewObserver shows progress on w: a bar with rate and remaining time on a terminal, plain
// lines every few seconds elsewhere, and nothing for runs that are over before that.
func NewObserver(w io.Writer, terminal bool) Observer {
	if terminal {
		return &barObserver{w: w}
	}
	return &lineObserver{w: w, start: time.Now(), next: time.Now().Add(lineEvery)}
}

const (
	barEvery  = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

// silent observes nothing.
type silent struct{}

func (silent) Reading(int64, int64)                               {}
func (silent) Simulating(*simulate.Progress, int64) (stop func()) { return func() {} }
func (silent) Reporting()                                         {}
func (silent) Note(string)                                        {}

func orSilent(o Observer) Observer {
	if o == nil {
		return silent{}
	}
	return o
}

// every calls tick regularly on another goroutine until stop is called, which waits for it.
func every(interval time.Duration, tick func()) (stop func()) {
	done := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		t := time.NewTicker(interval)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				tick()
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		wait.Wait()
	}
}

// barObserver draws bars.
type barObserver struct {
	w       io.Writer
	reading *progressbar.ProgressBar
}

func (b *barObserver) bar(total int64, what string, bytes bool) *progressbar.ProgressBar {
	options := []progressbar.Option{
		progressbar.OptionSetWriter(b.w), progressbar.OptionSetDescription(what), progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true), progressbar.OptionFullWidth(), progressbar.OptionThrottle(barEvery),
		progressbar.OptionClearOnFinish(),
	}
	if bytes {
		options = append(options, progressbar.OptionShowBytes(true))
	} else {
		options = append(options, progressbar.OptionShowIts(), progressbar.OptionSetItsString("requests"))
	}
	return progressbar.NewOptions64(total, options...)
}

func (b *barObserver) Reading(done, total int64) {
	if b.reading == nil {
		if total == 0 {
			total = -1
		}
		b.reading = b.bar(total, "reading", true)
	}
	_ = b.reading.Set64(done)
}

func (b *barObserver) Simulating(p *simulate.Progress, requests int64) (stop func()) {
	if b.reading != nil {
		_ = b.reading.Finish()
	}
	bar := b.bar(requests, "simulating", false)
	update := func() {
		bar.Describe(fmt.Sprintf("simulating, %s of virtual time", clock(p.VirtualMS())))
		_ = bar.Set64(p.Ended())
	}
	stopTicks := every(barEvery, update)
	return func() {
		stopTicks()
		_ = bar.Finish()
	}
}

func (b *barObserver) Reporting() {}

func (b *barObserver) Note(line string) { fmt.Fprintln(b.w, line) }

// lineObserver prints lines.
type lineObserver struct {
	w           io.Writer
	start, next time.Time
}

// due reports whether a line may be printed now.
func (l *lineObserver) due() bool {
	if now := time.Now(); now.After(l.next) {
		l.next = now.Add(lineEvery)
		return true
	}
	return false
}

func (l *lineObserver) Reading(done, total int64) {
	if l.due() {
		fmt.Fprintf(l.w, "reading: %s of %s\n", megabytes(done), megabytes(total))
	}
}

func (l *lineObserver) Simulating(p *simulate.Progress, requests int64) (stop func()) {
	begin := time.Now()
	return every(lineEvery, func() {
		ended, elapsed := p.Ended(), time.Since(begin)
		left := "unknown"
		if ended > 0 {
			left = (elapsed * time.Duration(requests-ended) / time.Duration(ended)).Round(time.Second).String()
		}
		fmt.Fprintf(l.w, "simulating: %s of virtual time, %d of %d requests, %.0f requests/s, %s left\n",
			clock(p.VirtualMS()), ended, requests, float64(ended)/elapsed.Seconds(), left)
	})
}

func (l *lineObserver) Reporting() {
	if time.Since(l.start) > lineEvery {
		fmt.Fprintln(l.w, "computing the report")
	}
}

func (l *lineObserver) Note(line string) { fmt.Fprintln(l.w, line) }

// clock writes virtual milliseconds as hours, minutes and seconds.
func clock(ms float64) string {
	s := int64(ms / 1000)
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

func megabytes(n int64) string {
	if n <= 0 {
		return "an unknown size"
	}
	return fmt.Sprintf("%.1f MB", float64(n)/1e6)
}
