"""Read every table of a collection of runs with DuckDB, pandas, polars and pyarrow, and print what each found.

    python read_tables.py COLLECTION

One line of JSON: reader -> run -> table -> column -> [values that are there, their sum], the sum of the lengths in bytes for
text. Sums are text, so that nothing is rounded on the way. The table "" of a run has the rows of each table.
"""
import json
import math
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq

collection = Path(sys.argv[1])


def total(values):
    """The exact sum of whole numbers, the rounded exact sum of others."""
    values = list(values)
    if any(isinstance(v, float) for v in values):
        return repr(math.fsum(values))
    return str(sum(values))


def size(v):
    return len(v.encode()) if isinstance(v, str) else v


def with_duckdb(path):
    db = duckdb.connect()
    db.execute(f"create view t as select * from read_parquet('{path}', hive_partitioning = false)")
    out = {}
    for name, kind, *_ in db.execute("describe t").fetchall():
        out[name] = [v for v, in db.execute(f'select "{name}" from t').fetchall()]
    return db.execute("select count(*) from t").fetchone()[0], out


def with_pandas(path):
    frame = pd.read_parquet(path, dtype_backend="numpy_nullable", partitioning=None)
    return len(frame), {c: frame[c].tolist() for c in frame}


def with_polars(path):
    frame = pl.read_parquet(path, hive_partitioning=False)
    return frame.height, {c: frame[c].to_list() for c in frame.columns}


def with_pyarrow(path):
    table = pq.read_table(path, partitioning=None)
    return table.num_rows, {c: table[c].to_pylist() for c in table.column_names}


def missing(v):
    return v is None or v is pd.NA or isinstance(v, float) and math.isnan(v)


found = {}
for reader, read in {"duckdb": with_duckdb, "pandas": with_pandas, "polars": with_polars, "pyarrow": with_pyarrow}.items():
    for path in sorted(collection.glob("run=*/*.parquet")):
        run, table = path.parent.name, path.stem
        rows, columns = read(path)
        tables = found.setdefault(reader, {}).setdefault(run, {"": {}})
        tables[""][table] = [rows, str(rows)]
        tables[table] = {}
        for name, values in columns.items():
            present = [size(v) for v in values if not missing(v)]
            tables[table][name] = [len(present), total(present)]

# The collection as one table, with the run as a column.
files = str(collection / "run=*" / "passes.parquet")
runs = {
    "duckdb": dict(duckdb.connect().execute(f"select run, count(*) from read_parquet('{files}', hive_partitioning = true) group by run").fetchall()),
    "polars": dict(pl.scan_parquet(files, hive_partitioning=True).group_by("run").len().collect().iter_rows()),
    "pyarrow": {},
}
dataset = ds.dataset([str(p) for p in sorted(collection.glob("run=*/passes.parquet"))], partitioning=ds.partitioning(flavor="hive"), partition_base_dir=str(collection))
for row in dataset.to_table().group_by("run").aggregate([("pass", "count")]).to_pylist():
    runs["pyarrow"][row["run"]] = row["pass_count"]
print(json.dumps({"found": found, "runs": runs}))
