-- Programs before schema 8 gave loans of kept lists by this procedure. It knows neither tasks that
-- are paused nor people who are disabled.
DROP PROCEDURE IF EXISTS list_gives;
-- They changed `work` after the log, and kept no loan from a user.
DROP PROCEDURE IF EXISTS work_begins;
DROP PROCEDURE IF EXISTS work_follows;
-- They put touched loans before a list, and took old ones away, and know no urgent ones.
DROP PROCEDURE IF EXISTS list_touches;
DROP PROCEDURE IF EXISTS list_ends;
-- They noted how it went, but not whether it is a failure.
DROP PROCEDURE IF EXISTS refill_ends;
