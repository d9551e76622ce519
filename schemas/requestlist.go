package schemas

import (
	"fmt"
	"math"
	"strconv"

	"github.com/dynosim/dynosim/schemas/strict"
)

// ListedRequest is a request that a call of kind spec lists itself.
type ListedRequest struct {
	// ID names the request in its record.
	ID        string
	ArrivalMS float64
	// InputTokens and OutputTokens are lengths. Input and Output are the tokens themselves, nil where
	// only the length is known: such a prompt matches nothing.
	InputTokens, OutputTokens int64
	Input, Output             []uint32
	// SessionID and Turn only stand in the record; Turn is -1 for none.
	SessionID  string
	HasSession bool
	Turn       int32
	// Rank and PrefillRank are the attention data-parallel ranks that the request names, -1 for none:
	// of an aggregated or decode worker, and of a prefill worker (spec 05 section 6).
	Rank, PrefillRank int32
}

// listedRow is a request as it is written.
type listedRow struct {
	ID                               string
	ArrivalMS                        float64
	InputTokens, OutputTokens        int64
	InputTokenIDs, OutputTokenIDs    *strict.Node
	SessionID                        *string
	TurnIndex, DPRank, PrefillDPRank *int64
}

func (q *listedRow) fields() *strict.Object {
	return &strict.Object{
		Doc: "A request.",
		Fields: []*strict.Field{
			strict.String("id", &q.ID, "Its name; no two requests have the same.").Required(),
			strict.Float("arrival_time_ms", &q.ArrivalMS, "Time of its arrival, ms.").Min(0).Required(),
			strict.Int("input_tokens", &q.InputTokens, "Prompt tokens.").Min(0).Limit(maxCount).Required(),
			strict.Int("output_tokens", &q.OutputTokens, "Output tokens.").Min(0).Limit(maxCount).Required(),
			strict.Raw("input_token_ids", &q.InputTokenIDs, "a list of token ids", "The prompt. Left out: tokens that no other request has.").Nullable(),
			strict.Raw("output_token_ids", &q.OutputTokenIDs, "a list of token ids", "The output; its length counts, not output_tokens.").Nullable(),
			strict.OptionalString("session_id", &q.SessionID, "A name for the record.").Nullable(),
			strict.OptionalInt("turn_index", &q.TurnIndex, "A number for the record.").Min(0).Limit(maxCount),
			strict.OptionalInt("dp_rank", &q.DPRank, "The rank that it runs on, in an aggregated or decode worker.").Min(0).Limit(maxCount),
			strict.OptionalInt("prefill_dp_rank", &q.PrefillDPRank, "The rank that it runs on in a prefill worker. Left out: dp_rank.").Min(0).Limit(maxCount),
		},
	}
}

// requestList is a list of requests, which may be empty.
func requestList(name string, dst *[]listedRow) *strict.Field {
	return strict.Items(name, dst, (*listedRow).fields, "The requests.")
}

// checkListed checks the requests and turns them into those of the specification.
func (c *Call) checkListed(r *strict.Report) {
	seen := make(map[string]bool, len(c.listed))
	c.requests = make([]ListedRequest, 0, len(c.listed))
	for i := range c.listed {
		q := &c.listed[i]
		at := func(key string) string { return fmt.Sprintf("requests[%d].%s", i, key) }
		out := ListedRequest{
			ID: q.ID, ArrivalMS: q.ArrivalMS, InputTokens: q.InputTokens, OutputTokens: q.OutputTokens,
			Turn: orNone(q.TurnIndex), Rank: orNone(q.DPRank), PrefillRank: orNone(q.PrefillDPRank),
		}
		if q.SessionID != nil {
			out.SessionID, out.HasSession = *q.SessionID, true
		}
		if seen[q.ID] {
			r.Fail(at("id"), "another request has the id %q too", q.ID)
		}
		seen[q.ID] = true
		out.Input = tokenIDs(r, at("input_token_ids"), q.InputTokenIDs)
		if out.Input != nil && int64(len(out.Input)) != q.InputTokens {
			r.Fail(at("input_token_ids"), "got %d token ids, but input_tokens is %d", len(out.Input), q.InputTokens)
		}
		if out.Output = tokenIDs(r, at("output_token_ids"), q.OutputTokenIDs); out.Output != nil {
			out.OutputTokens = int64(len(out.Output))
		}
		c.checkRanks(r, at, &out)
		c.requests = append(c.requests, out)
	}
}

// checkRanks checks the ranks that a request names, and lets the prefill rank fall back to the other one.
func (c *Call) checkRanks(r *strict.Report, at func(string) string, q *ListedRequest) {
	if !c.disaggregated() {
		if q.PrefillRank >= 0 {
			r.Fail(at("prefill_dp_rank"), "is for a disaggregated topology")
		}
		if ranks := c.launch().DPSize; int64(q.Rank) >= ranks {
			r.Fail(at("dp_rank"), "got %d, but workers have %d %s", q.Rank, ranks, plural(ranks, "rank"))
		}
		return
	}
	if c.Args.PrefillEngineArgs == nil || c.Args.DecodeEngineArgs == nil {
		return
	}
	key := "prefill_dp_rank"
	if q.PrefillRank < 0 {
		key, q.PrefillRank = "dp_rank", q.Rank
	}
	if ranks := c.Args.PrefillEngineArgs.DPSize; int64(q.PrefillRank) >= ranks {
		r.Fail(at(key), "got %d, but prefill workers have %d %s", q.PrefillRank, ranks, plural(ranks, "rank"))
	}
	if ranks := c.Args.DecodeEngineArgs.DPSize; int64(q.Rank) >= ranks {
		r.Fail(at("dp_rank"), "got %d, but decode workers have %d %s", q.Rank, ranks, plural(ranks, "rank"))
	}
}

// tokenIDs reads a list of token ids, nil for none.
func tokenIDs(r *strict.Report, path string, n *strict.Node) []uint32 {
	if n == nil {
		return nil
	}
	if n.Kind != strict.ListKind {
		r.Fail(path, "got %s, want a list of token ids", n.Describe())
		return nil
	}
	out := make([]uint32, 0, len(n.Items))
	for i, item := range n.Items {
		v, err := strconv.ParseUint(item.Text, 10, 32)
		if item.Kind != strict.IntKind || err != nil {
			r.Fail(fmt.Sprintf("%s[%d]", path, i), "got %s, want a token id from 0 to %d", item.Describe(), uint32(math.MaxUint32))
			return nil
		}
		out = append(out, uint32(v))
	}
	return out
}

func orNone(v *int64) int32 {
	if v == nil {
		return -1
	}
	return int32(*v)
}

func plural(n int64, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
