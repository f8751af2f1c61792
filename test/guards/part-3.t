#!/usr/bin/env bash
# Runs a quarter of the guards. One process for all guards would be the last test to end.
exec "$(dirname "$0")/../guards.t" --part 3/4
