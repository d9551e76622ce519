package ingest

import (
	"errors"

	"github.com/dynosim/dynosim/schemas"
)

func newAppliedParser(*schemas.SourceSpec) (rowParser, error) { return nil, errors.New("trace format applied_compute_agentic is not supported yet") }
