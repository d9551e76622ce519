package strict

import (
	"math/big"
	"regexp"
	"strings"
)

// Plain (unquoted) YAML scalars follow the YAML 1.1 rules that users of PyYAML know:
// yes, no, on and off are booleans, 0x10, 0b11, 010 and 1_000 are integers, 1:30 is
// ninety. One rule is from YAML 1.2, since it can only be meant as a number: 1e3 and
// 1.5e3 are floats without a sign in the exponent.
var (
	nullText  = regexp.MustCompile(`^(?:~|null|Null|NULL|)$`)
	boolText  = regexp.MustCompile(`^(?:yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF)$`)
	intText   = regexp.MustCompile(`^[-+]?(?:0b[0-1_]+|0[0-7_]+|0|[1-9][0-9_]*|0x[0-9a-fA-F_]+)$`)
	sixtyText = regexp.MustCompile(`^[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+$`)
	floatText = regexp.MustCompile(`^[-+]?(?:(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+)$`)
	wordFloat = regexp.MustCompile(`^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$`)
	dateText  = regexp.MustCompile(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}.*)?$`)
)

// maxDigits bounds the length of a number literal; longer ones are text.
const maxDigits = 1000

// resolvePlain sets the kind and text of n from the text of a plain YAML scalar.
func resolvePlain(n *Node, text string) {
	n.Kind, n.Text = TextKind, text
	switch {
	case nullText.MatchString(text):
		n.Kind, n.Text = NullKind, ""
	case len(text) > maxDigits:
	case boolText.MatchString(text):
		n.Kind, n.Text = BoolKind, "false"
		switch strings.ToLower(text) {
		case "yes", "true", "on":
			n.Text = "true"
		}
	case intText.MatchString(text), sixtyText.MatchString(text):
		if digits, ok := decimal(text); ok {
			n.Kind, n.Text = IntKind, digits
		}
	case floatText.MatchString(text):
		n.Kind, n.Text = FloatKind, strings.ReplaceAll(text, "_", "")
	case wordFloat.MatchString(text):
		n.Kind, n.Text = FloatKind, strings.ToLower(strings.ReplaceAll(text, ".", ""))
	case dateText.MatchString(text):
		n.Kind = DateKind
	}
}

// decimal turns a YAML 1.1 integer literal into decimal digits.
func decimal(text string) (string, bool) {
	s := strings.ReplaceAll(text, "_", "")
	negative := strings.HasPrefix(s, "-")
	s = strings.TrimLeft(s, "+-")
	value, ok := new(big.Int), true
	switch {
	case strings.HasPrefix(s, "0b"):
		_, ok = value.SetString(s[2:], 2)
	case strings.HasPrefix(s, "0x"):
		_, ok = value.SetString(s[2:], 16)
	case strings.Contains(s, ":"):
		for part := range strings.SplitSeq(s, ":") {
			digit, valid := new(big.Int).SetString(part, 10)
			if !valid {
				return "", false
			}
			value.Add(value.Mul(value, big.NewInt(60)), digit)
		}
	case len(s) > 1 && s[0] == '0':
		_, ok = value.SetString(s, 8)
	default:
		_, ok = value.SetString(s, 10)
	}
	if negative {
		value.Neg(value)
	}
	return value.String(), ok
}
