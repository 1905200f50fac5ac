"""What moves through the engine: typed columns, schemas, batches and their lineage."""
