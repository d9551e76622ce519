package queries

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/duckdb/duckdb-go/v2"
)

// appendFloat writes the shortest decimal that reads back as f, with a point or an
// exponent so that it stays a float. JSON knows no infinities and no NaN: they are null.
func appendFloat(b []byte, f float64) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	start := len(b)
	if a := math.Abs(f); a != 0 && (a < 1e-5 || a >= 1e16) {
		b = strconv.AppendFloat(b, f, 'e', -1, 64)
	} else {
		b = strconv.AppendFloat(b, f, 'f', -1, 64)
	}
	if strings.ContainsAny(string(b[start:]), ".e") {
		return b
	}
	return append(b, ".0"...)
}

// appendValue writes a value of a result as JSON.
func appendValue(b []byte, v driver.Value) []byte {
	switch x := v.(type) {
	case nil:
		return append(b, "null"...)
	case float64:
		return appendFloat(b, x)
	case float32:
		return appendFloat(b, float64(x))
	case int64:
		return strconv.AppendInt(b, x, 10)
	case int32:
		return strconv.AppendInt(b, int64(x), 10)
	case int16:
		return strconv.AppendInt(b, int64(x), 10)
	case int8:
		return strconv.AppendInt(b, int64(x), 10)
	case uint64:
		return strconv.AppendUint(b, x, 10)
	case uint32:
		return strconv.AppendUint(b, uint64(x), 10)
	case uint16:
		return strconv.AppendUint(b, uint64(x), 10)
	case uint8:
		return strconv.AppendUint(b, uint64(x), 10)
	case bool:
		return strconv.AppendBool(b, x)
	case string:
		return appendString(b, x)
	case json.RawMessage:
		return append(b, x...)
	case *big.Int:
		return x.Append(b, 10)
	case duckdb.Decimal:
		return append(b, x.String()...)
	case time.Time:
		return appendString(b, timeText(x))
	case []any:
		b = append(b, '[')
		for i, e := range x {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	default:
		if text, err := json.Marshal(plain(v)); err == nil {
			return append(b, text...)
		}
		return appendString(b, fmt.Sprint(v))
	}
}

// plain turns the nested values of a result into ones that encoding/json can write. A member
// whose name ends in ? is left out when it is null.
func plain(v any) any {
	switch x := v.(type) {
	case map[string]any:
		m := make(map[string]any, len(x))
		for k, e := range x {
			k, optional := strings.CutSuffix(k, "?")
			if e != nil || !optional {
				m[k] = plain(e)
			}
		}
		return m
	case []any:
		s := make([]any, len(x))
		for i, e := range x {
			s[i] = plain(e)
		}
		return s
	case float64:
		return json.RawMessage(appendFloat(nil, x))
	case duckdb.Decimal:
		return json.RawMessage(x.String())
	case duckdb.Map:
		m := make(map[string]any, len(x))
		for k, e := range x {
			m[fmt.Sprint(k)] = plain(e)
		}
		return m
	case time.Time:
		return timeText(x)
	case fmt.Stringer:
		return x.String()
	default:
		return v
	}
}

// timeText writes a date or a timestamp as SQL does.
func timeText(t time.Time) string {
	if t.Equal(t.Truncate(24 * time.Hour)) {
		return t.Format("2006-01-02")
	}
	return t.Format("2006-01-02 15:04:05.999999999")
}

// appendString writes a JSON string.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c >= 0x7f || c == '"' || c == '\\' {
			text, err := json.Marshal(s)
			if err != nil {
				return append(b, `""`...)
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
