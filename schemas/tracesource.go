package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// TraceSource is the source that a document with this format, these files and this block size has;
// blockTokens 0 is not given (spec 07 section 2.1). A format that is not known is an error.
func TraceSource(format string, paths []string, blockTokens int64) (SourceSpec, error) {
	f := TraceFormat(format)
	if !slices.Contains(traceFormats, f) {
		names := make([]string, len(traceFormats))
		for i, known := range traceFormats {
			names[i] = string(known)
		}
		return SourceSpec{}, fmt.Errorf("%q: allowed are %s", format, strings.Join(names, ", "))
	}
	if blockTokens == 0 && f != FormatDynamo && f != FormatWeka {
		blockTokens = defaultTraceBlockTokens
	}
	return SourceSpec{Kind: SourceTrace, Format: f, Paths: paths, BlockTokens: blockTokens}, nil
}
