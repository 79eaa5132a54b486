"""The Parquet file of a link in time, as the CSV that the resolver reads."""

import io

import polars as pl


def to_csv(content: bytes) -> bytes:
    """The table as CSV; raises `ValueError` that says what is wrong."""
    try:
        table = pl.read_parquet(io.BytesIO(content))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise ValueError(f"is not Parquet: {str(error).splitlines()[0]}") from None
    return table.write_csv().encode()
