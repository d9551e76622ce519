package schemas

import (
	"fmt"
	"slices"
	"strings"
)

// flatFormats are the trace formats without agents, in the order of spec 01.
var flatFormats = []TraceFormat{FormatMooncake, FormatMooncakeDelta, FormatAppliedCompute, FormatDynamo}

// TraceSource is the source that a document with this format, these files and this block size has;
// blockTokens 0 is not given (spec 07 section 2.1). A format that is not known is an error.
func TraceSource(format string, paths []string, blockTokens int64) (SourceSpec, error) {
	f := TraceFormat(format)
	if !slices.Contains(flatFormats, f) {
		names := make([]string, len(flatFormats))
		for i, known := range flatFormats {
			names[i] = string(known)
		}
		return SourceSpec{}, fmt.Errorf("%q: allowed are %s", format, strings.Join(names, ", "))
	}
	if blockTokens == 0 && f != FormatDynamo {
		blockTokens = defaultTraceBlockTokens
	}
	return SourceSpec{Kind: SourceTrace, Format: f, Paths: paths, BlockTokens: blockTokens}, nil
}
