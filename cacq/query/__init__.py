"""The control path: text -> ast -> normal form -> a plan of plain descriptors. Nothing here runs for a tuple."""
