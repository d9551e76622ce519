package perfdata_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// opsCall is a case of single-operator queries.
type opsCall struct {
	Config struct {
		System  string `json:"system"`
		Backend string `json:"backend"`
	} `json:"config"`
	Queries []opsQuery `json:"queries"`
}

type opsQuery struct {
	Op                string  `json:"op"`
	Quant             string  `json:"quant"`
	N                 int64   `json:"n"`
	K                 int64   `json:"k"`
	LowPrecisionInput bool    `json:"low_precision_input"`
	Tokens            *int64  `json:"tokens"`
	Batch             *int64  `json:"batch"`
	Seq               *int64  `json:"seq"`
	Prefix            int64   `json:"prefix"`
	Heads             int64   `json:"heads"`
	KVHeads           int64   `json:"kv_heads"`
	HeadDim           int64   `json:"head_dim"`
	Window            int64   `json:"window"`
	KV                string  `json:"kv"`
	FMHA              string  `json:"fmha"`
	QKNorm            bool    `json:"qk_norm"`
	Hidden            int64   `json:"hidden"`
	TP                int64   `json:"tp"`
	PP                int64   `json:"pp"`
	GPUs              int64   `json:"gpus"`
	Collective        string  `json:"collective"`
	ElementsPerToken  float64 `json:"elements_per_token"`
	TopK              int64   `json:"topk"`
	Experts           int64   `json:"experts"`
	Inter             int64   `json:"inter"`
	MoETP             int64   `json:"moe_tp"`
	MoEEP             int64   `json:"moe_ep"`
	AttentionDP       *int64  `json:"attention_dp"`
	Distribution      string  `json:"distribution"`
	BytesPerToken     float64 `json:"bytes_per_token"`
	GEMM              string  `json:"gemm"`
	Native            int64   `json:"native"`
	Post              bool    `json:"post"`
}

func orOne(v *int64) int64 {
	if v == nil {
		return 1
	}
	return *v
}

var errQuant = errors.New("no such format")

// ask answers a query as the reference does: not below 0.
func ask(t *operators.Tables, q *opsQuery) (float64, error) {
	mode, ok1 := operators.ParseQuant(orName(q.Quant))
	kv, ok2 := operators.ParseQuant(orName(q.KV))
	fmha, ok3 := operators.ParseQuant(orName(q.FMHA))
	gemm, ok4 := operators.ParseQuant(orName(q.GEMM))
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return 0, errQuant
	}
	tokens, batch, seq := orOne(q.Tokens), orOne(q.Batch), orOne(q.Seq)
	key := operators.AttentionKey{FMHA: fmha, KV: kv, KVHeads: q.KVHeads, HeadSize: q.HeadDim, Window: q.Window, QKNorm: q.QKNorm}
	v, err := 0.0, error(nil)
	switch q.Op {
	case "gemm":
		v, err = t.GEMM(mode, q.LowPrecisionInput, tokens, q.N, q.K)
	case "context_attention":
		v, err = t.PrefillAttention(key, q.Heads, batch, seq, q.Prefix)
	case "generation_attention":
		v, err = t.DecodeAttention(key, q.Heads, batch, seq)
	case "all_reduce":
		v, err = t.AllReduce(q.TP, float64(tokens*q.Hidden))
	case "p2p":
		v, err = t.PipelineHop(q.PP, float64(tokens*q.Hidden))
	case "nccl":
		c, ok := operators.ParseCollective(q.Collective)
		if !ok {
			return 0, errQuant
		}
		v, err = t.NCCL(c, q.GPUs, float64(tokens)*q.ElementsPerToken)
	case "moe":
		v, err = t.Experts(operators.ExpertsKey{
			Mode: mode, Distribution: q.Distribution, TopK: q.TopK, Experts: q.Experts, Hidden: q.Hidden, Inter: q.Inter, TP: q.MoETP, EP: q.MoEEP,
		}, tokens*orOne(q.AttentionDP))
	case "mla_prefill":
		v, err = t.MLAPrefill(fmha, kv, q.Heads, batch, seq, q.Prefix)
	case "mla_decode":
		v, err = t.MLADecode(kv, q.Heads, batch, seq)
	case "mla_prefill_module":
		v, err = t.MLAPrefillModule(fmha, kv, gemm, q.Native, q.Heads, batch, seq, q.Prefix)
	case "mla_decode_module":
		v, err = t.MLADecodeModule(kv, gemm, q.Native, q.Heads, batch, seq)
	case "bmm":
		v, err = t.BMM(mode, q.Post, q.Heads, tokens)
	case "elementwise":
		v = t.Memory(q.BytesPerToken * float64(tokens))
	default:
		return 0, errors.New("unknown operator " + q.Op)
	}
	return max(v, 0), err
}

func orName(name string) string {
	if name == "" {
		return "bfloat16"
	}
	return name
}

// TestGoldenOperators asks every single-operator query of the reference's cases: the answers
// agree in every bit, and what is refused there is missing data here.
func TestGoldenOperators(t *testing.T) {
	folders, err := filepath.Glob("../../testdata/golden/perfmodel/ops-*")
	if extra := os.Getenv("DYNOSIM_OPERATOR_CASES"); extra != "" {
		folders, err = filepath.Glob(extra)
	}
	if err != nil || len(folders) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, folder := range folders {
		t.Run(filepath.Base(folder), func(t *testing.T) { checkOperators(t, folder) })
	}
}

func checkOperators(t *testing.T, folder string) {
	var call opsCall
	var expected struct {
		MS []jsontext.Value `json:"ms"`
	}
	for name, into := range map[string]any{"call.json": &call, "expected.json": &expected} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, into, json.RejectUnknownMembers(false)); err != nil {
			t.Fatal(name, err)
		}
	}
	sets, err := embeddedOnly()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := perfdata.OpenIn(sets, call.Config.System, call.Config.Backend, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(call.Queries) != len(expected.MS) || len(call.Queries) == 0 {
		t.Fatalf("%d queries, %d answers", len(call.Queries), len(expected.MS))
	}
	wrong, refused := map[string]int{}, 0
	for i := range call.Queries {
		q := &call.Queries[i]
		v, err := ask(tables, q)
		text, _ := json.Marshal(q)
		var want float64
		if expected.MS[i].Kind() == '{' {
			refused++
			kind := operators.ErrMissingData
			if strings.Contains(string(expected.MS[i]), "missing system flops") {
				kind = operators.ErrMissingArithmetic
			}
			if !errors.Is(err, kind) {
				wrong[q.Op]++
				t.Errorf("query %d: %v, %v, want %s\n%s", i, v, err, expected.MS[i], text)
			}
			continue
		}
		if err := json.Unmarshal(expected.MS[i], &want); err != nil {
			t.Fatal(err)
		}
		if err != nil || math.Float64bits(v) != math.Float64bits(want) {
			if wrong[q.Op]++; wrong[q.Op] <= 5 {
				t.Errorf("query %d: %v, %v, want %v\n%s", i, v, err, want, text)
			}
		}
	}
	t.Logf("%d queries, %d refused, wrong %v", len(call.Queries), refused, wrong)
}

func embeddedOnly() ([]*perfdata.Set, error) {
	s, err := perfdata.Embedded()
	return []*perfdata.Set{s}, err
}
