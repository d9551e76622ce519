package forward

import (
	"errors"
	"fmt"

	"github.com/dynosim/dynosim/schemas"
	"github.com/dynosim/dynosim/schemas/models"
	"github.com/dynosim/dynosim/simulate/timing/operators"
)

// Compiled is a deployment bound to its measured tables. It does not change and may be shared by
// goroutines; each asks through a Pricer of its own.
type Compiled struct {
	deployment Deployment
	tables     *operators.Tables
	lists      lists
}

// Compile builds the operator lists. It fails when the deployment cannot be built (spec 09 section
// 7): shapes that do not divide, arithmetic that the GPUs do not have, or a table of the role's
// lists that has no row at all. Slices that were not measured show at the first pass that needs them.
func Compile(d Deployment, t *operators.Tables, role Role) (*Compiled, error) {
	d.Generation = int64(t.Hardware().SMVersion)
	if err := d.Check(); err != nil {
		return nil, err
	}
	if err := d.checkArithmetic(); err != nil {
		return nil, err
	}
	c := &Compiled{deployment: d, tables: t, lists: d.compile()}
	if role != DecodeOnly {
		if err := c.present(c.lists.prefill, true); err != nil {
			return nil, err
		}
	}
	if role != PrefillOnly {
		if err := c.present(c.lists.decode, false); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Deployment is what was compiled.
func (c *Compiled) Deployment() *Deployment { return &c.deployment }

// Tables are the measured tables it was compiled with.
func (c *Compiled) Tables() *operators.Tables { return c.tables }

// present checks that every table of a list has rows.
func (c *Compiled) present(ops []op, prefill bool) error {
	for i := range ops {
		o := &ops[i]
		for _, table := range c.needs(o, prefill) {
			if c.tables.Rows(table) == 0 {
				return fmt.Errorf("no measured data of %v for %s on %s, which operator %s needs", table, c.deployment.Backend, c.tables.Hardware().Name, o.name)
			}
		}
		if o.kind == overlap {
			for _, group := range [][]op{o.first, o.second} {
				if err := c.present(group, prefill); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// needs lists the tables that an operator is priced from.
func (c *Compiled) needs(o *op, prefill bool) []operators.Table {
	switch o.kind {
	case gemm:
		out := []operators.Table{operators.TableGEMM}
		if o.mode == models.FP8Static {
			out = append(out, operators.TableComputeScale)
			if o.lowInput {
				out = append(out, operators.TableScaleMatrix)
			}
		}
		return out
	case attention:
		if prefill {
			return []operators.Table{operators.TablePrefillAttention}
		}
		return []operators.Table{operators.TableDecodeAttention}
	case allReduce:
		if c.deployment.Parallel.Tensor > 1 {
			return []operators.Table{operators.TableAllReduce}
		}
	case dispatch:
		var out []operators.Table
		for _, s := range o.steps {
			if s.name == "" {
				out = append(out, operators.TableAllReduce)
			} else {
				out = append(out, operators.TableNCCL)
			}
		}
		return out
	case experts:
		return []operators.Table{operators.TableExperts}
	}
	return nil
}

// Pricer answers queries about one deployment. It keeps the times of operators that depend on the
// number of tokens only, so that a query costs the attention and a sum. It is for one goroutine.
type Pricer struct {
	compiled        *Compiled
	prefill, decode phase
	// width is the tokens that each decoding request computes.
	width int64
	// observed collects the pricers that sum up their operators; nil for none.
	observed *observers
}

// Pricer makes a pricer with empty caches.
func (c *Compiled) Pricer() *Pricer {
	p := &Pricer{compiled: c, width: c.deployment.DraftTokens + 1}
	p.prefill.prepare(c, c.lists.prefill, true)
	p.decode.prepare(c, c.lists.decode, false)
	return p
}

// Private returns a pricer of the same deployment for another goroutine.
func (p *Pricer) Private() schemas.PassTimes {
	q := p.compiled.Pricer()
	if p.observed != nil {
		q.prefill.observe()
		q.decode.observe()
		p.observed.pricers = append(p.observed.pricers, q)
	}
	return q
}

// String identifies the deployment and its data.
func (p *Pricer) String() string {
	d, t := p.compiled.deployment, p.compiled.tables
	return fmt.Sprintf("%+v %v %v %v %s %s %d %d %t", *d.Model, d.Parallel, d.Modes, t.Backend(), t.Version(), t.Hardware().Name, d.Generation, d.DraftTokens, d.FoldNames)
}

// maxCount bounds the counts of a query (spec 09 section 4.3).
const maxCount = 1<<32 - 1

// PrefillMS is the time of requests requests with tokens new tokens each after cached tokens each
// (spec 09 section 4.1).
func (p *Pricer) PrefillMS(requests, tokens, cached int64) (float64, error) {
	if requests <= 0 || tokens <= 0 {
		return 0, nil
	}
	if requests > maxCount || tokens > maxCount/requests || cached > maxCount {
		return 0, errors.New("a prefill pass with more than 2^32 - 1 tokens cannot be priced")
	}
	return p.prefill.total(query{batch: requests, tokens: requests * tokens, sequence: tokens, prefix: cached})
}

// DecodeMS is the time of requests requests with kv tokens in the cache each (spec 09 section
// 4.2).
func (p *Pricer) DecodeMS(requests, kv int64) (float64, error) {
	if requests <= 0 {
		return 0, nil
	}
	if requests > maxCount/p.width || kv > maxCount {
		return 0, errors.New("a decode pass with more than 2^32 - 1 tokens cannot be priced")
	}
	batch := requests * p.width
	return p.decode.total(query{batch: batch, tokens: batch, sequence: kv})
}

// MinDecodeMS is a lower bound on DecodeMS of at least one request: the latency of the memory
// operators, which no number of tokens shortens.
func (p *Pricer) MinDecodeMS() float64 {
	least := p.compiled.tables.Memory(0)
	total := 0.0
	for i := range p.compiled.lists.decode {
		if o := &p.compiled.lists.decode[i]; o.kind == memory {
			total += least * o.scale
		}
	}
	// Half of it leaves room for every rounding.
	return total / 2
}

// MixedMS is the time of one pass with both kinds of work (spec 09 section 4.4): prefills requests with
// newTokens new and cached cached tokens in total, decodes requests with kv cached tokens in total.
func (p *Pricer) MixedMS(prefills, newTokens, cached, decodes, kv int64) (float64, error) {
	switch {
	case prefills <= 0 && decodes <= 0:
		return 0, nil
	case prefills <= 0:
		return p.DecodeMS(decodes, kv/decodes)
	case decodes <= 0:
		return p.PrefillMS(prefills, newTokens/prefills, cached/prefills)
	}
	x := max(newTokens+decodes, 1)
	each := max(newTokens/prefills, 1)
	batch := max((newTokens+each-1)/each, 1)
	share := max((each+max(newTokens, 1)-1)/max(newTokens, 1), 1)
	total := 0.0
	for i := range p.prefill.ops {
		o := &p.prefill.ops[i]
		if o.name == "context_attention" {
			continue
		}
		v, err := o.value(query{batch: 1, tokens: x, sequence: x, prefix: cached})
		if err != nil {
			return 0, err
		}
		total += v
	}
	for i := range p.prefill.ops {
		if o := &p.prefill.ops[i]; o.name == "context_attention" {
			v, err := o.value(query{batch: batch, tokens: batch * each, sequence: each, prefix: cached / prefills})
			if err != nil {
				return 0, err
			}
			total += v / float64(share)
		}
	}
	for i := range p.decode.ops {
		if o := &p.decode.ops[i]; o.name == "generation_attention" {
			v, err := o.value(query{batch: decodes, tokens: decodes, sequence: max(kv/decodes, 1)})
			if err != nil {
				return 0, err
			}
			total += v
		}
	}
	return total, nil
}

// OperatorTime is the time of one operator of a pass, all its repetitions.
type OperatorTime struct {
	Name string
	MS   float64
	// Source says what the time comes from: a measured table, or a formula.
	Source string
}

// PrefillBreakdown is the operators of PrefillMS in list order.
func (p *Pricer) PrefillBreakdown(requests, tokens, cached int64) ([]OperatorTime, error) {
	return p.prefill.breakdown(query{batch: requests, tokens: requests * tokens, sequence: tokens, prefix: cached})
}

// DecodeBreakdown is the operators of DecodeMS in list order.
func (p *Pricer) DecodeBreakdown(requests, kv int64) ([]OperatorTime, error) {
	batch := requests * p.width
	return p.decode.breakdown(query{batch: batch, tokens: batch, sequence: kv})
}

// Compiled is the deployment that is priced.
func (p *Pricer) Compiled() *Compiled { return p.compiled }
