-- Programs before schema 13 called on_complete and on_undo by it, in UTC.
DROP PROCEDURE IF EXISTS work_completes;
