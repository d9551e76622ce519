package perfmodel

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/simulate/timing/forward"
)

// Names are the words of a document for what an error is about.
type Names struct {
	// File is the document.
	File string
	// Model, System and Version are the paths of these fields.
	Model, System, Version string
	// HostOffload are the paths of the mappings of the host cache, by pool.
	HostOffload [3]string
}

// DocumentNames are the paths of a predict document.
func DocumentNames(file string) Names {
	return Names{File: file, Model: "engine.model", System: "engine.hardware", Version: "engine.backend_version", HostOffload: schemas.DocumentOffloadPaths}
}

// CallNames are the paths of a call.
func CallNames(file string) Names {
	const config = "timing_model.config."
	return Names{File: file, Model: config + "model", System: config + "system", Version: config + "backend_version", HostOffload: schemas.CallOffloadPaths}
}

// Resolve fills in what the workers of a specification leave to the model and the measured data: the
// timing of passes, KV blocks, the longest sequence and the bytes of a token (spec 09 sections 8 and
// 9), and checks what then is known of the host caches. It changes nothing else, and reads nothing when
// no worker needs data. Errors name the document; one about an unknown name that the size of a cache
// depends on is a schemas.Problems, as the reference refuses it when it reads the document.
func Resolve(spec *schemas.RunSpec, names Names) error {
	for i := range spec.Pools {
		if err := resolve(spec, &spec.Pools[i]); err != nil {
			return names.explain(err, &spec.Pools[i].Engine)
		}
	}
	if spec.LoadData.Given() {
		if err := resolveLoad(&spec.LoadData); err != nil {
			return fmt.Errorf("%s: args.ais_perf_config: %w", names.File, err)
		}
	}
	if problem, ok := errors.AsType[*schemas.OffloadProblem](spec.CheckOffload()); ok {
		return problem.At(names.File, names.HostOffload)
	}
	return spec.Simulated(names.File, names.HostOffload)
}

// resolveLoad fills in the prices of the router's load model.
func resolveLoad(s *schemas.LoadDataSpec) error {
	d := &s.Deployment
	estimator, err := New(Options{
		Model: d.Model, System: d.Hardware, Backend: d.Backend, Version: d.Version,
		Parallel: parallel(s.Tensor, s.Pipeline, s.AttentionData, d.MoETensor, d.MoEExpert),
		GEMM:     d.GEMMQuant, MoE: d.MoEQuant, FMHA: d.FMHAQuant, KV: d.KVQuant, DraftTokens: d.DraftTokens, Role: roles[s.Worker],
	})
	if err != nil {
		return err
	}
	s.Passes = estimator.Pricer()
	return nil
}

// roles are the phases of the data for a worker of a role; an aggregated one has both.
var roles = map[schemas.WorkerType]forward.Role{schemas.WorkerPrefill: forward.PrefillOnly, schemas.WorkerDecode: forward.DecodeOnly}

// explain puts the document and the field in front of an error.
func (n *Names) explain(err error, e *schemas.EngineSpec) error {
	unknown, ok := errors.AsType[*UnknownError](err)
	if !ok {
		return fmt.Errorf("%s: %w", n.File, err)
	}
	path := map[string]string{UnknownModel: n.Model, UnknownSystem: n.System, UnknownVersion: n.Version}[unknown.What]
	if (e.Deployment.EstimateBlocks || e.Deployment.CacheBytes) && unknown.What != UnknownVersion {
		return schemas.Problems{{File: n.File, Path: path, Message: err.Error()}}
	}
	return fmt.Errorf("%s: %s: %w", n.File, path, err)
}

// resolve fills in one pool.
func resolve(spec *schemas.RunSpec, pool *schemas.PoolSpec) error {
	e := &pool.Engine
	d := &e.Deployment
	if !e.NeedsModel() {
		return nil
	}
	if d.ModelContext {
		n, err := ContextTokens(d.Model)
		switch unknown, ok := errors.AsType[*UnknownError](err); {
		case err == nil:
			e.MaxModelLen = n
		case ok && unknown.What == UnknownModel && spec.Source.Format.MayBeAgentic() && !e.NeedsData() && !d.TransferBytes && !d.CacheBytes:
			// The target model of plays may be a label: without data to look up, it sets no limit.
		default:
			return err
		}
	}
	if d.TransferBytes && pool.Pool == schemas.PoolPrefill {
		n, err := KVBytesPerToken(d.Model, e.TensorParallel, d.KVQuant)
		if err != nil {
			return err
		}
		spec.Transfer.BytesPerToken = n
	}
	if d.CacheBytes {
		n, err := KVBytesPerToken(d.Model, e.TensorParallel, d.KVQuant)
		if err != nil {
			return err
		}
		e.Host.BytesPerToken, e.Host.BlockBytes = n, n*e.BlockTokens
	}
	if !e.NeedsData() {
		return nil
	}
	o := optionsOf(spec, pool)
	if d.EstimateBlocks {
		m, err := o.Memory(memoryRequest(e))
		if err != nil {
			return err
		}
		e.NumBlocks = m.Blocks
	}
	if e.Timing.Kind != schemas.TimingDefault {
		return nil
	}
	if spec.Stack == schemas.StackDynamo && e.PipelineParallel != 1 {
		return fmt.Errorf("parallelism.pipeline: measured timing has no pipeline on the dynamo stack, got %d; use 1, or --stack engine", e.PipelineParallel)
	}
	estimator, err := New(o)
	if err != nil {
		return err
	}
	e.Timing.Passes = estimator.Pricer()
	if e.Host.LayoutDerived {
		if e.Host.LayoutID, err = layoutID(o); err != nil {
			return err
		}
	}
	if spec.Stack == schemas.StackDynamo {
		e.Timing.KVOffset, e.Timing.DecodeFloorMS = 1, 1
	}
	return nil
}

// layoutID identifies the layout of KV blocks beside what schemas.RunSpec.CheckOffload compares by itself: what
// measured data adds (spec 10 section 1). The generation of the GPUs stands for the attention kernel.
func layoutID(o Options) (string, error) {
	_, d, t, err := prepare(o)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("data %s, pipeline %d, KV %v, SM generation %d", t.Version(), o.Parallel.Pipeline, d.Modes.KV, d.Generation), nil
}

// optionsOf is the deployment of a pool's workers.
func optionsOf(spec *schemas.RunSpec, pool *schemas.PoolSpec) Options {
	e := &pool.Engine
	d := &e.Deployment
	o := Options{
		Model: d.Model, System: d.Hardware, Backend: cmp.Or(d.Backend, e.Backend), Version: d.Version,
		Parallel: forward.Parallel{
			Tensor: e.TensorParallel, Pipeline: e.PipelineParallel, AttentionData: e.DataParallelRanks, MoETensor: d.MoETensor, MoEExpert: d.MoEExpert,
		},
		GEMM: d.GEMMQuant, MoE: d.MoEQuant, FMHA: d.FMHAQuant, KV: d.KVQuant,
		FoldNames: spec.Stack == schemas.StackEngine, DraftTokens: d.DraftTokens,
	}
	switch pool.Pool {
	case schemas.PoolPrefill:
		o.Role = forward.PrefillOnly
	case schemas.PoolDecode:
		o.Role = forward.DecodeOnly
	}
	return o
}

func memoryRequest(e *schemas.EngineSpec) forward.MemoryRequest {
	return forward.MemoryRequest{
		BatchedTokens: e.MaxBatchedTokens, Fraction: e.Deployment.MemoryFraction, BlockTokens: e.BlockTokens, GraphBytes: float64(e.Deployment.GraphBytes),
	}
}
