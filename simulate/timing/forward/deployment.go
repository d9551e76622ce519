// Package forward prices forward passes from measured operators. A deployment (model,
// GPU system, backend, parallel sizes, quantisation) is compiled once into two lists of
// operators, one for prefill and one for decode; the duration of a pass is the sum of its
// list, added in order (spec 09 sections 3, 4 and 8). The same lists give the memory of the
// weights and with it the size of the KV pool (section 9).
package forward

import (
	"fmt"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
)

// Parallel is how a worker's GPUs share the work, each at least 1 (spec 09 section 9.5).
type Parallel struct {
	Tensor, Pipeline, AttentionData, MoETensor, MoEExpert int64
}

// Deployment is what decides the operator lists of a worker.
type Deployment struct {
	Model    *models.Config
	Backend  schemas.Backend
	Parallel Parallel
	Modes    models.Modes
	// Generation is the SM generation of the GPUs, 90 for Hopper.
	Generation int64
	// DraftTokens is the speculative depth, 0 for none (spec 09 section 3.4).
	DraftTokens int64
	// FoldNames adds operators of the same name first, as the engine stack does (spec 09
	// section 8).
	FoldNames bool
}

// Role says which of the two lists a worker uses.
type Role int

// Roles of workers.
const (
	Aggregated Role = iota
	PrefillOnly
	DecodeOnly
)

// Check refuses shapes that do not fit, whatever the GPUs and the data (spec 09 sections 2.2 and
// 7).
func (d *Deployment) Check() error {
	m, p := d.Model, d.Parallel
	if err := m.Check(); err != nil {
		return err
	}
	if why := m.Checkpoint.Supported(); why != "" {
		return fmt.Errorf("%s: %s is not supported by this release", m.Name, why)
	}
	if p.MoETensor*p.MoEExpert > 1 && p.MoETensor*p.MoEExpert != p.Tensor*p.AttentionData {
		return fmt.Errorf("parallelism: moe_tensor %d × moe_expert %d must be tensor %d × attention_data %d, or both 1", p.MoETensor, p.MoEExpert, p.Tensor, p.AttentionData)
	}
	if m.Heads%p.Tensor != 0 {
		return fmt.Errorf("parallelism.tensor: %d does not divide the %d attention heads of %s", p.Tensor, m.Heads, m.Name)
	}
	if m.Family != models.Dense {
		if err := d.checkExperts(); err != nil {
			return err
		}
	}
	return nil
}

// checkArithmetic refuses products in a precision that the GPUs do not have.
func (d *Deployment) checkArithmetic() error {
	if d.Generation >= 89 {
		return nil
	}
	for _, q := range d.productModes() {
		if q.FP8Arithmetic() {
			return fmt.Errorf("%s: quantisation %s needs fp8 arithmetic, which GPUs of SM generation %d do not have (89 and newer do); use a bfloat16 checkpoint", d.Model.Name, q, d.Generation)
		}
	}
	return nil
}

// productModes are the modes of matrix products that the lists have.
func (d *Deployment) productModes() []models.Quant {
	if d.Model.Family == models.Dense {
		return []models.Quant{d.Modes.GEMM}
	}
	return []models.Quant{d.Modes.GEMM, d.Modes.MoE}
}

func (d *Deployment) checkExperts() error {
	m, p := d.Model, d.Parallel
	switch {
	case p.Tensor*p.AttentionData != p.MoETensor*p.MoEExpert:
		return fmt.Errorf("parallelism: %s has experts, so tensor %d × attention_data %d must be moe_tensor %d × moe_expert %d", m.Name, p.Tensor, p.AttentionData, p.MoETensor, p.MoEExpert)
	case m.Experts < p.MoEExpert:
		return fmt.Errorf("parallelism.moe_expert: %d is more than the %d experts of %s", p.MoEExpert, m.Experts, m.Name)
	case d.Modes.MoE == models.FP8Block && m.ExpertWidth/p.MoETensor%m.WeightBlock != 0:
		return fmt.Errorf("parallelism.moe_tensor: %d leaves %d of the experts' width %d on a GPU, which is no multiple of the quantisation block %d of %s",
			p.MoETensor, m.ExpertWidth/p.MoETensor, m.ExpertWidth, m.WeightBlock, m.Name)
	}
	return nil
}

// kvHeadsPerGPU is the key-value heads of a GPU, rounded up.
func (d *Deployment) kvHeadsPerGPU() int64 {
	return (d.Model.KVHeads + d.Parallel.Tensor - 1) / d.Parallel.Tensor
}
