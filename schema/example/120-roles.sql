-- Workers, and the account that runs heavy queries where there is one, may read the candidates
-- views but not the tables behind them. lockq-migrate adds the database to each role's name.
CREATE ROLE IF NOT EXISTS lockq_worker, lockq_query;
GRANT SELECT ON candidates_ask_for_identity TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_verify_identity TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_verify_income TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_read_tax_return TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_appraise_property TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_ask_again TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_verify_bank_account TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_decide TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_second_look TO lockq_worker, lockq_query;
GRANT SELECT ON candidates_prepare_closing TO lockq_worker, lockq_query;

-- Workers ask the check view with their own account, on the primary.
GRANT SELECT ON check_verify_bank_account TO lockq_worker;

-- Workers and viewers may read the detail views, which checkwork shows beside a loan.
CREATE ROLE IF NOT EXISTS lockq_viewer;
GRANT SELECT ON detail_applicant TO lockq_worker, lockq_viewer;
GRANT SELECT ON detail_property TO lockq_worker, lockq_viewer;
GRANT SELECT ON detail_decision TO lockq_worker, lockq_viewer;
