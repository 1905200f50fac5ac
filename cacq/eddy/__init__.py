"""One eddy for all queries of a flow: tables of operators and queries, routing, and the loop."""
