package ingest

import (
	"errors"

	"github.com/dynosim/dynosim/schemas"
)

func openDynamo(*schemas.SourceSpec) (Reader, error) {
	return nil, errors.New("trace format dynamo is not supported yet")
}
