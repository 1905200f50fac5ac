"""After the eddy: results stored once with their lineage, and what each query gets of them."""
