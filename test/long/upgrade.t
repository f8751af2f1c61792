#!/usr/bin/env bash
# The upgrade under load, with a million rows: no call takes longer than two seconds.
LOCKQ_UPGRADE_ROWS=1000000 LOCKQ_UPGRADE_MS=2000 exec "$(dirname "$0")/../race/upgrade.t"
