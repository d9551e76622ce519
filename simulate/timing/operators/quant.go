// Package operators prices single operators of a forward pass from measured tables, as
// spec 09 sections 5 and 6 say: matrix products, attention, collectives, experts, multi-head latent
// attention and memory traffic on one GPU system with one serving backend.
//
// The package computes; it reads nothing. A Source hands it the rows of the measured tables the first
// time a query needs them, and Tables keeps them compiled into flat arrays.
package operators

// Quant is a number format of weights, activations or cache entries (spec 09 section 2.3).
type Quant uint8

// The formats of spec 09 section 2.3, then the kernel variants that the experts' table files
// apart (section 5.8), which no configuration names.
const (
	BFloat16 Quant = iota
	FP8
	FP8Static
	FP8Block
	NVFP4
	Int8WeightOnly
	Int4WeightOnly
	W4A16MXFP4
	W4A8MXFP4MXFP8
	w4A8MXFP4MXFP8TRTLLM
	w4A16MXFP4Cutlass
	w4A16MXFP4Humming
	quants
)

// Arithmetic selects the tensor-core throughput that bounds a format.
type Arithmetic uint8

// The arithmetics of spec 09 section 1.6.
const (
	ArithmeticBF16 Arithmetic = iota
	ArithmeticFP8
	ArithmeticFP4
	ArithmeticInt8
	Arithmetics
)

var quantTable = [quants]struct {
	name       string
	bytes      float64
	arithmetic Arithmetic
}{
	BFloat16:             {"bfloat16", 2, ArithmeticBF16},
	FP8:                  {"fp8", 1, ArithmeticFP8},
	FP8Static:            {"fp8_static", 1, ArithmeticFP8},
	FP8Block:             {"fp8_block", 1, ArithmeticFP8},
	NVFP4:                {"nvfp4", 9.0 / 16, ArithmeticFP4},
	Int8WeightOnly:       {"int8_wo", 1, ArithmeticBF16},
	Int4WeightOnly:       {"int4_wo", 0.5, ArithmeticBF16},
	W4A16MXFP4:           {"w4a16_mxfp4", 0.5, ArithmeticBF16},
	W4A8MXFP4MXFP8:       {"w4a8_mxfp4_mxfp8", 0.5, ArithmeticFP8},
	w4A8MXFP4MXFP8TRTLLM: {"w4a8_mxfp4_mxfp8_trtllm", 0.5, ArithmeticFP8},
	w4A16MXFP4Cutlass:    {"w4a16_mxfp4_cutlass", 0.5, ArithmeticBF16},
	w4A16MXFP4Humming:    {"w4a16_mxfp4_humming", 0.5, ArithmeticBF16},
}

// String is the name used in the tables and in configurations.
func (q Quant) String() string { return quantTable[q].name }

// Bytes is the storage of one element.
func (q Quant) Bytes() float64 { return quantTable[q].bytes }

// Arithmetic is the throughput that bounds the format.
func (q Quant) Arithmetic() Arithmetic { return quantTable[q].arithmetic }

// ParseQuant finds the format with a name.
func ParseQuant(name string) (Quant, bool) {
	for q := range quants {
		if quantTable[q].name == name {
			return q, true
		}
	}
	return 0, false
}

// QuantNames lists the formats that a configuration may name.
func QuantNames() []string {
	names := make([]string, 0, w4A8MXFP4MXFP8TRTLLM)
	for q := range w4A8MXFP4MXFP8TRTLLM {
		names = append(names, quantTable[q].name)
	}
	return names
}

// String is the name of an arithmetic as it appears in messages.
func (a Arithmetic) String() string {
	return [Arithmetics]string{"bfloat16", "fp8", "fp4", "int8"}[a]
}
