package limits

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
)

// System is the machine that runs the program. On systems without /proc nothing is known of memory.
type System struct{}

// CPUs is the number of processors the process may use.
func (System) CPUs() int { return runtime.NumCPU() }

// Memory reads /proc/meminfo and the memory group of the process; the smaller figures count.
func (System) Memory() (total, available int64) {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, 0
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		name, rest, _ := strings.Cut(lines.Text(), ":")
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		switch name {
		case "MemTotal":
			total = kilobytes << 10
		case "MemAvailable":
			available = kilobytes << 10
		}
	}
	if limit, used, ok := group(); ok {
		total, available = min(total, limit), min(available, max(0, limit-used))
	}
	return total, available
}

// group reads the limits of the process's memory group, version 2 or 1. Files that the kernel can drop
// do not count as used.
func group() (limit, used int64, ok bool) {
	for _, g := range []struct{ limit, used, stat, cache string }{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
	} {
		limit, known := number(g.limit)
		used, usedKnown := number(g.used)
		if !known || !usedKnown {
			continue
		}
		if text, err := os.ReadFile(g.stat); err == nil {
			for line := range strings.Lines(string(text)) {
				if rest, found := strings.CutPrefix(line, g.cache+" "); found {
					n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
					used = max(0, used-n)
				}
			}
		}
		return limit, used, true
	}
	return 0, 0, false
}

// number reads a file that holds one number; "max" is none.
func number(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return n, err == nil
}

// Resident is the resident memory of the process and its descendants.
func (System) Resident() int64 { return residentTree(os.Getpid(), 8) }

// residentTree adds up a process and its descendants, depth generations deep.
func residentTree(pid, depth int) (bytes int64) {
	folder := filepath.Join("/proc", strconv.Itoa(pid))
	if text, err := os.ReadFile(filepath.Join(folder, "statm")); err == nil {
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			pages, _ := strconv.ParseInt(fields[1], 10, 64)
			bytes = pages * int64(os.Getpagesize())
		}
	}
	if depth == 0 {
		return bytes
	}
	tasks, _ := filepath.Glob(filepath.Join(folder, "task", "*", "children"))
	for _, task := range tasks {
		text, err := os.ReadFile(task)
		if err != nil {
			continue
		}
		for _, child := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(child); err == nil {
				bytes += residentTree(n, depth-1)
			}
		}
	}
	return bytes
}
