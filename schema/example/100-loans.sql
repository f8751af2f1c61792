-- The example's business: loans, and the documents that applicants hand in. lockq itself needs none
-- of it and only runs the views of 110-tasks.sql. Every statement may be run again. Nothing here is
-- newer than MySQL 8.0.19.

CREATE TABLE IF NOT EXISTS loan (
  loan_id       BIGINT UNSIGNED NOT NULL,
  applicant     VARCHAR(128) NOT NULL,
  amount        DECIMAL(14,2) NOT NULL,
  city          VARCHAR(64) NULL,
  state         VARCHAR(32) NULL,
  stage         ENUM('submitted','approved','declined','funded') NOT NULL DEFAULT 'submitted',
  submitted_at  DATETIME NOT NULL,
  reviewed_by   VARCHAR(64) NULL COMMENT 'the user who looked at the declined loan once more',
  PRIMARY KEY (loan_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- The procedures of 115-procedures.sql write here what a clerk has checked. The loan then no longer
-- matches the views that look for documents to check.
CREATE TABLE IF NOT EXISTS loan_document (
  document_id   BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  loan_id       BIGINT UNSIGNED NOT NULL,
  kind          ENUM('bank_statement','identity','pay_stub','tax_return','appraisal') NOT NULL,
  status        ENUM('submitted','verified','rejected') NOT NULL DEFAULT 'submitted',
  submitted_at  DATETIME NOT NULL,
  checked_at    DATETIME NULL COMMENT 'when it was verified or rejected',
  checked_by    VARCHAR(64) NULL COMMENT 'the user who checked it, if lockq was told',
  checksum      CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL COMMENT 'of the scan',
  PRIMARY KEY (document_id),
  KEY loan_document_loan (loan_id, kind, status),
  KEY loan_document_to_check (kind, status, loan_id, submitted_at),
  CONSTRAINT loan_document_of_loan FOREIGN KEY (loan_id) REFERENCES loan (loan_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Tables of an earlier example lack some of these columns. MySQL has no ADD COLUMN IF NOT EXISTS,
-- so the statements look into the catalogue.
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'loan'
                           AND column_name = 'reviewed_by'), 'DO 0',
  'ALTER TABLE loan
     ADD COLUMN reviewed_by VARCHAR(64) NULL
     COMMENT ''the user who looked at the declined loan once more''');
PREPARE example_alter FROM @alter;
EXECUTE example_alter;
SET @alter = IF(EXISTS (SELECT 1 FROM information_schema.columns
                         WHERE table_schema = DATABASE() AND table_name = 'loan_document'
                           AND column_name = 'checked_by'), 'DO 0',
  'ALTER TABLE loan_document
     MODIFY COLUMN document_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
     ADD COLUMN checked_by VARCHAR(64) NULL COMMENT ''the user who checked it, if lockq was told''
     AFTER checked_at');
PREPARE example_alter FROM @alter;
EXECUTE example_alter;
DEALLOCATE PREPARE example_alter;

-- Checksums of bank statements that are known to be forged. Nobody needs to look at those again.
CREATE TABLE IF NOT EXISTS example_forgery (
  checksum  CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  revoked   CHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT ''
            COMMENT 'the seal of the entry, if its reporter took it back',
  PRIMARY KEY (checksum)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;

-- Ten thousand entries, the same in every database. The server looks for KILL and
-- max_execution_time between rows. With so many rows the work for one row stays short, however
-- heavy the query is.
INSERT INTO example_forgery (checksum)
  SELECT SHA2(CONCAT('forgery ', d0.d + 10 * d1.d + 100 * d2.d + 1000 * d3.d), 256)
    FROM JSON_TABLE('[0,1,2,3,4,5,6,7,8,9]', '$[*]' COLUMNS (d INT PATH '$')) AS d0
   CROSS JOIN JSON_TABLE('[0,1,2,3,4,5,6,7,8,9]', '$[*]' COLUMNS (d INT PATH '$')) AS d1
   CROSS JOIN JSON_TABLE('[0,1,2,3,4,5,6,7,8,9]', '$[*]' COLUMNS (d INT PATH '$')) AS d2
   CROSS JOIN JSON_TABLE('[0,1,2,3,4,5,6,7,8,9]', '$[*]' COLUMNS (d INT PATH '$')) AS d3
   WHERE NOT EXISTS (SELECT 1 FROM example_forgery);

-- heavy_rounds tells how often an entry's checksum is repeated before it is hashed to its seal.
-- With 0 no seal is computed. `seedloans --heavy SECONDS` measures and sets it.
CREATE TABLE IF NOT EXISTS example_setting (
  name   VARCHAR(64) NOT NULL,
  value  BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_as_cs;
INSERT INTO example_setting (name, value)
  SELECT 'heavy_rounds', 0 FROM DUAL
   WHERE NOT EXISTS (SELECT 1 FROM example_setting WHERE name = 'heavy_rounds');
