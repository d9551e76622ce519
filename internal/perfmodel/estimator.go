// Package perfmodel joins model configurations and measured data into estimators: it resolves what
// a run specification leaves to the data (timing, KV blocks, context length, bytes of a token) and
// answers single queries. The rules are in simulate/timing/forward and schemas/models, the
// data in internal/perfdata (spec 09).
package perfmodel

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/dynosim/dynosim/internal/perfdata"
	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/forward"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// Options says what to estimate.
type Options struct {
	// Model is a known name or a folder, System a GPU system, Version a version of the backend's
	// data or "" for the current one.
	Model, System string
	Backend       schemas.Backend
	Version       string
	Parallel      forward.Parallel
	// GEMM, MoE, FMHA and KV replace the quantisation of the checkpoint; "" leaves it.
	GEMM, MoE, FMHA, KV string
	Role                forward.Role
	FoldNames           bool
	DraftTokens         int64
}

// Estimator is a deployment with its measured data.
type Estimator struct {
	*forward.Compiled
	Model *models.Config
}

// UnknownError is a model, a system or a version that is not known. What says which.
type UnknownError struct {
	What string
	Err  error
}

func (e *UnknownError) Error() string { return e.Err.Error() }

// Unwrap returns the reason.
func (e *UnknownError) Unwrap() error { return e.Err }

// What an UnknownError is about.
const (
	UnknownModel   = "model"
	UnknownSystem  = "system"
	UnknownVersion = "version"
)

// FolderVariable is the environment variable that names the folder of imported data, in place of the
// user's data folder.
const FolderVariable = "DYNOSIM_PERFDATA"

// findModel is models.Find with an error that says it is about the model.
func findModel(name string) (*models.Config, error) {
	m, err := models.Find(name)
	if err != nil {
		return nil, &UnknownError{UnknownModel, err}
	}
	return m, nil
}

// opened keeps the tables that were opened: they load what is asked for once and serve all runs
// of the process.
var opened sync.Map

// openTables opens measured data, with an error that says what is not known.
func openTables(system string, backend schemas.Backend, version string) (*operators.Tables, error) {
	folder := os.Getenv(FolderVariable)
	key := [4]string{folder, system, string(backend), version}
	if t, ok := opened.Load(key); ok {
		return t.(*operators.Tables), nil
	}
	t, err := perfdata.Open(folder, system, string(backend), version)
	if unknown, ok := errors.AsType[*perfdata.UnknownError](err); ok {
		what := UnknownSystem
		if unknown.What == UnknownVersion {
			what = UnknownVersion
		}
		return nil, &UnknownError{what, err}
	}
	if err != nil {
		return nil, err
	}
	opened.Store(key, t)
	return t, nil
}

// New builds an estimator. It fails when the model, the system or the version is not known (an
// *UnknownError), or when the deployment cannot be built (spec 09 section 7).
func New(o Options) (*Estimator, error) {
	m, d, t, err := prepare(o)
	if err != nil {
		return nil, err
	}
	c, err := forward.Compile(d, t, o.Role)
	if err != nil {
		return nil, err
	}
	return &Estimator{c, m}, nil
}

// prepare finds everything that a deployment needs.
func prepare(o Options) (*models.Config, forward.Deployment, *operators.Tables, error) {
	m, err := findModel(o.Model)
	if err != nil {
		return nil, forward.Deployment{}, nil, err
	}
	t, err := openTables(o.System, o.Backend, o.Version)
	if err != nil {
		return nil, forward.Deployment{}, nil, err
	}
	h := t.Hardware()
	modes, err := o.modes(m.Modes(string(o.Backend), t.Version() == "0.5.14" && h.SMVersion == 90))
	if err != nil {
		return nil, forward.Deployment{}, nil, err
	}
	return m, forward.Deployment{
		Model: m, Backend: o.Backend, Parallel: o.Parallel, Modes: modes, Generation: h.SMVersion, DraftTokens: o.DraftTokens, FoldNames: o.FoldNames,
	}, t, nil
}

// modes replaces the inferred modes that the options name (spec 09 section 2.4).
func (o *Options) modes(m models.Modes) (models.Modes, error) {
	half := []models.Quant{models.BFloat16, models.FP8}
	for _, mode := range []struct {
		name, value string
		allowed     []models.Quant
		to          *models.Quant
	}{
		{"gemm_quant_mode", o.GEMM, models.Quants(), &m.GEMM},
		{"moe_quant_mode", o.MoE, models.Quants(), &m.MoE},
		{"fmha_quant_mode", o.FMHA, half, &m.FMHA},
		{"kvcache_quant_mode", o.KV, half, &m.KV},
	} {
		if mode.value == "" {
			continue
		}
		q, err := models.ParseQuant(mode.name, mode.value, mode.allowed)
		if err != nil {
			return m, err
		}
		*mode.to = q
	}
	return m, nil
}

// Memory says where the memory of a GPU goes.
func (o Options) Memory(r forward.MemoryRequest) (forward.Memory, error) {
	_, d, t, err := prepare(o)
	if err != nil {
		return forward.Memory{}, err
	}
	return memory(&d, t, r)
}

func memory(d *forward.Deployment, t *operators.Tables, r forward.MemoryRequest) (forward.Memory, error) {
	if err := d.Check(); err != nil {
		return forward.Memory{}, err
	}
	return d.Memory(t.Hardware(), r)
}

// KVBytesPerToken is the KV bytes of a token on one GPU of tensor, for transfers and offload.
func KVBytesPerToken(model string, tensor int64, kv string) (int64, error) {
	m, err := findModel(model)
	if err != nil {
		return 0, err
	}
	var mode models.Quant
	if kv != "" {
		if mode, err = models.ParseQuant("kvcache_quant_mode", kv, []models.Quant{models.BFloat16, models.FP8}); err != nil {
			return 0, err
		}
	}
	return m.KVBytesPerToken(tensor, mode)
}

// ContextTokens is the longest sequence of a model.
func ContextTokens(model string) (int64, error) {
	m, err := findModel(model)
	if err != nil {
		return 0, err
	}
	n, err := m.ContextTokens()
	if err != nil {
		return 0, fmt.Errorf("%w; give a number of tokens", err)
	}
	return n, nil
}
