-- A request that ends without a loan has `requested` = 0, so its two numbers tell how it stands.
-- Those of before follow with --finish, when no program is left that still ends some as before.
-- Every statement may be run again.
ALTER TABLE work_requested
  MODIFY requested INT UNSIGNED NOT NULL
         COMMENT 'as asked; once the request has ended, as assigned',
  ALGORITHM=INSTANT;
