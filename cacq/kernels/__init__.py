"""The only compiled code: functions over arrays that fill an `out` array. No objects, no strategy, no state."""
