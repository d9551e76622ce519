"""Turn a mooncake trace into the tables requests and blocks with pyarrow.

    python ingest_pyarrow.py TRACE.jsonl DIR

The same job as `dynosim ingest TRACE.jsonl --format mooncake -o DIR`, written the way pyarrow wants it: the
streaming JSON reader (all cores, an explicit schema), whole columns at a time, no loop over rows,
Parquet with the default encodings. Members that only some rows have are columns of nulls.
"""
import os
import resource
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
import pyarrow.parquet as pq

ROWS = pa.schema([
    ("session_id", pa.string()), ("request_id", pa.string()), ("input_length", pa.int64()), ("output_length", pa.int64()),
    ("timestamp", pa.float64()), ("delay", pa.float64()), ("priority", pa.int32()), ("strict_priority", pa.uint32()),
    ("policy_class", pa.string()), ("hash_ids", pa.list_(pa.uint64())),
])
REQUESTS = pa.schema([
    ("request_index", pa.int64()), ("line", pa.int64()), ("session_id", pa.string()), ("request_id", pa.string()),
    ("input_tokens", pa.int64()), ("output_tokens", pa.int64()), ("timestamp_ms", pa.float64()), ("delay_ms", pa.float64()),
    ("priority", pa.int32()), ("strict_priority", pa.uint32()), ("policy_class", pa.string()), ("block_count", pa.int32()),
])
BLOCKS = pa.schema([("request_index", pa.int64()), ("position", pa.int32()), ("block_id", pa.uint64())])


def main(trace, folder):
    begin = time.perf_counter()
    os.makedirs(folder, exist_ok=True)
    reader = pj.open_json(
        trace,
        read_options=pj.ReadOptions(use_threads=True, block_size=4 << 20),
        parse_options=pj.ParseOptions(explicit_schema=ROWS, unexpected_field_behavior="ignore"),
    )
    rows = elements = 0
    with pq.ParquetWriter(f"{folder}/requests.parquet", REQUESTS) as requests, pq.ParquetWriter(f"{folder}/blocks.parquet", BLOCKS) as blocks:
        for batch in reader:
            n = batch.num_rows
            column = dict(zip(batch.schema.names, batch.columns))
            ids = column["hash_ids"]
            assert ids.null_count == 0 and column["output_length"].null_count == 0
            count = pc.list_value_length(ids)
            index = np.arange(rows, rows + n, dtype=np.int64)
            requests.write_batch(pa.record_batch([
                pa.array(index), pa.array(index + 1), column["session_id"], column["request_id"],
                column["input_length"], column["output_length"], column["timestamp"], column["delay"],
                pc.fill_null(column["priority"], 0), pc.fill_null(column["strict_priority"], 0), column["policy_class"], count,
            ], schema=REQUESTS), row_group_size=1 << 20)
            flat = ids.flatten()
            lengths = count.to_numpy()
            starts = np.cumsum(lengths, dtype=np.int64) - lengths
            owner = np.repeat(index, lengths)
            position = (np.arange(len(flat), dtype=np.int64) - np.repeat(starts, lengths)).astype(np.int32)
            blocks.write_batch(pa.record_batch([pa.array(owner), pa.array(position), flat], schema=BLOCKS))
            rows += n
            elements += len(flat)
    wall = time.perf_counter() - begin
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(f"{rows} requests, {elements} blocks: {wall:.1f} s wall, {usage.ru_utime:.1f} s user, {usage.ru_maxrss / 1024:.0f} MiB peak")


if __name__ == "__main__":
    main(*sys.argv[1:])
