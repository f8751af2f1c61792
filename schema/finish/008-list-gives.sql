-- Programs before schema 8 gave loans of kept lists by this procedure. It knows neither tasks that
-- are paused nor people who are disabled.
DROP PROCEDURE IF EXISTS list_gives;
