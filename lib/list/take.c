/* SPDX-License-Identifier: MIT */
/* Takes loans from a task's kept list. The list is a queue: whoever asks takes from its front, by
 * row locks, and needs no lock of the task.
 *
 *   peek    read the front of the list, by a plain read
 *   check   ask the view whether those loans still match, in a statement of its own
 *   pop     lock the rows of the loans, and give them: one transaction on the server
 *
 * What the pop locks, it locks in one procedure of schema/doors. So a process that is stopped
 * or dies at any moment holds no lock, and nobody waits for it. */
#include "list/take.h"

#include <inttypes.h>
#include <string.h>

#include "handle/bounds.h"
#include "rules/rules.h"

/* FORCE INDEX: the order of the primary key makes the server stop at LIMIT. The loans of before the
 * list's head are gone, and the rows that they have left are not read. The joins stand outside, so
 * that they are not made for the rows of OFFSET. */
#define PEEK(also_excluded, only) \
	"SELECT k.position, k.loan_id, COALESCE(w.version, 0) = k.version," \
	"       w.loan_id IS NULL OR " ROW_IS_AVAILABLE "," \
	"       e.loan_id IS NOT NULL" also_excluded ", NOW(6)" \
	"  FROM (SELECT l.task_id, l.position, l.loan_id, l.version" \
	"          FROM kept_loan AS l FORCE INDEX (PRIMARY)" \
	"         WHERE l.task_id = ? AND l.epoch = ?" \
	"           AND (l.position < ? OR l.position >= ?)" only \
	"         ORDER BY l.position" \
	"         LIMIT ? OFFSET ?) AS k" \
	"  LEFT JOIN work AS w FORCE INDEX (PRIMARY)" \
	"    ON w.task_id = k.task_id AND w.loan_id = k.loan_id" \
	"  LEFT JOIN work_exclusion AS e FORCE INDEX (PRIMARY)" \
	"    ON e.task_id = k.task_id AND e.user_id = ? AND e.loan_id = k.loan_id" \
	"   AND e.until > NOW(6)" \
	" ORDER BY k.position"
static DB_QUERY(peek_list, DB_MANY, PEEK("", ""));
/* The same of a task with rules. */
static DB_QUERY(peek_by_rules, DB_MANY, PEEK(" OR " NOT_FOR("k.task_id", "k.loan_id", "?"), ""));
/* And only the loans that the rules do not keep from the user, however far down the list. */
static DB_QUERY(peek_behind, DB_MANY, PEEK("", " AND NOT " NOT_FOR("l.task_id", "l.loan_id", "?")));

static DB_QUERY(pop_list, DB_MANY, "CALL list_serves_2(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");

/* What a try reads of the list. */
struct part {
	uint64_t from;  /* so many of its first loans are not read */
	uint64_t most;  /* so many are */
	bool behind;    /* without those that the task's rules keep from the user */
};

static void
add_position(struct text *json, uint32_t position)
{
	text_add(json, "%s%" PRIu32, json->used == 0 ? "[" : ",", position);
}

/* Runs one of the three statements. */
static enum db_rc
run_peek(struct db *db, const struct task *task, const struct kept *kept, const struct taker *who,
    const struct part *part, uint64_t most, struct db_rows *rows)
{
	struct db_arg user = db_u64(who->user_id), task_id = db_u64(task->task_id);
	struct db_arg epoch = db_u64(kept->epoch), touched = db_u64(kept->touched);
	struct db_arg head = db_u64(FIRST_PLACE + kept->head);

	if (part->behind)
		return db_run(db, &peek_behind, DB_ARGS(task_id, epoch, touched, head, user, user,
		    user, db_u64(most), db_u64(part->from), user), rows);
	if (task->has_rules)
		return db_run(db, &peek_by_rules, DB_ARGS(user, user, user, task_id, epoch,
		    touched, head, db_u64(most), db_u64(part->from), user), rows);
	return db_run(db, &peek_list, DB_ARGS(task_id, epoch, touched, head, db_u64(most),
	    db_u64(part->from), user), rows);
}

static enum db_rc
peek(struct db *db, const struct task *task, const struct kept *kept, const struct taker *who,
    const struct part *part, struct front *front)
{
	enum { POSITION, LOAN, AS_SEEN, AVAILABLE, EXCLUDED, SEEN_AT };
	struct db_rows rows = { 0, 0, NULL, NULL };
	uint64_t most = part->most + who->excluded;
	/* What is left out at the front is not gone. */
	bool found = part->from > 0 || part->behind;
	enum db_rc rc = run_peek(db, task, kept, who, part, most, &rows);

	front->left_out = false;
	front->check.n = 0;
	front->stale = (struct text){ NULL, 0, 0, false };
	front->all = rows.n_rows < most;
	front->gone = kept->head;
	copy_cell(front->seen_at, sizeof(front->seen_at), &rows, 0, SEEN_AT);
	for (size_t i = 0; rc == DB_OK && i < rows.n_rows; i++) {
		uint32_t position = (uint32_t)db_cell_u64(&rows, i, POSITION);

		if (!found && position >= FIRST_PLACE) {
			front->gone = position - FIRST_PLACE;
			found = true;
		}
		front->left_out = front->left_out || db_cell_u64(&rows, i, EXCLUDED) != 0;
		/* Somebody has had the loan since the query. */
		if (db_cell_u64(&rows, i, AS_SEEN) == 0) {
			add_position(&front->stale, position);
		} else if (db_cell_u64(&rows, i, AVAILABLE) != 0 &&
		    db_cell_u64(&rows, i, EXCLUDED) == 0) {
			if (front->check.n == CHECK_MOST) {
				front->all = false;
				break;
			}
			front->place[front->check.n] = position;
			front->check.loans[front->check.n++] = db_cell_u64(&rows, i, LOAN);
		}
	}
	db_rows_clear(&rows);
	return rc;
}

/* How many loans the list still has, as far as its head tells. */
static uint32_t
left_of(const struct kept *kept)
{
	return kept->length > kept->head ? kept->length - kept->head : 0;
}

/* Where many loans at the front are gone, that is noted for those who come next: seldom, since
 * reading past what others have taken costs less than a row that all of them write; but often
 * enough to see in time that a short list runs out. */
static struct db_arg
head_to_note(const struct kept *kept, const struct front *front)
{
	uint32_t left = left_of(kept);
	uint32_t step = left / 8 < HEAD_STEP ? left / 8 + 1 : HEAD_STEP;

	return front->gone >= kept->head + step ? db_u64(front->gone) : db_null();
}

/* Divides what was read: into positions that may be given, and those that must not be. */
static void
divide(const struct front *front, struct text *good, struct text *stale)
{
	const struct check *check = &front->check;

	if (front->stale.used > 0)
		text_add(stale, "%s", front->stale.data);
	for (size_t i = 0; i < check->n; i++) {
		/* An application may touch any loan: only the view tells whether it matches. */
		if (check->too_dear && front->place[i] < FIRST_PLACE)
			continue;
		add_position(check->too_dear || check->shown[i] ? good : stale, front->place[i]);
	}
	text_add(good, good->used == 0 ? "[]" : "]");
	text_add(stale, stale->used == 0 ? "[]" : "]");
}

/* Runs the pop, and reads its outcome. */
static enum db_rc
pop(struct db *db, const struct task *task, const struct kept *kept, const struct taker *who,
    const struct front *front, bool joins, struct taken *taken, char outcome[16])
{
	struct db_rows rows = { 0, 0, NULL, NULL };
	struct text good = { NULL, 0, 0, false }, stale = { NULL, 0, 0, false };
	enum db_rc rc = DB_ENOMEM;

	divide(front, &good, &stale);
	if (!good.failed && !stale.failed && !front->stale.failed)
		rc = db_run(db, &pop_list, DB_ARGS(db_text(who->uuid),
		    who->request_id != 0 ? db_u64(who->request_id) : db_null(),
		    db_u64(who->user_id), db_u64(task->task_id), db_u64(who->count),
		    db_u64(front->all ? 1 : who->count),
		    db_u64(kept->epoch), db_text(good.data), db_text(stale.data),
		    front->check.too_dear ? db_null() : db_text(front->seen_at),
		    head_to_note(kept, front), db_bool(joins)), &rows);
	rc = db_after_call(db, rc);
	copy_cell(outcome, 16, &rows, 0, 0);
	if (rc == DB_OK && !db_cell_is_null(&rows, 0, 1))
		taken->request_id = db_cell_u64(&rows, 0, 1);
	text_clear(&good);
	text_clear(&stale);
	if (rc == DB_OK && strcmp(outcome, "given") == 0) {
		taken->others_wait = db_cell_u64(&rows, 0, 2) != 0;
		taken->rows = rows;
	} else {
		db_rows_clear(&rows);
	}
	return rc;
}

/* A number by chance: other ones in other sessions, and in the next millisecond. */
static uint64_t
by_chance(struct db *db)
{
	return (db_connection_id(db) * 7919 + db_clock_ms()) * 0x9E3779B97F4A7C15u >> 32;
}

/* Chooses what a try reads, where others take beside it and @spare tells how many. If all of them
 * read the same loans, the first ones lock these, and the others have read and checked in vain. So
 * each begins elsewhere in the front of the list. One in 16 begins at its first loan all the same,
 * or nobody would see how many are gone. Where even this was not enough, all rows may be locked,
 * and what is touched comes first: then a try reads everything from the front on. Each try reads
 * more than the last one, as much more as it wants itself. */
static struct part
choose_part(struct db *db, const struct kept *kept, const struct taker *who, uint32_t spare,
    unsigned int try)
{
	uint64_t count = who->count, chance = by_chance(db);
	uint64_t places = (spare - TAKE_SPARE) * count, half = left_of(kept) / 2;

	if (spare > SPARE_MOST || kept->touched > 0)
		return (struct part){ 0, count + spare, false };
	return (struct part){
		chance % 16 == 0 ? 0 : chance / 16 % ((places < half ? places : half) + 1),
		count + (count * try > TAKE_SPARE ? count * try : TAKE_SPARE), false
	};
}

/* Peeks and checks. *@found is false where there is nothing to pop. */
static enum db_rc
find(struct db *db, const struct task *task, const struct kept *kept, const struct taker *who,
    struct part part, struct front *front, bool *found)
{
	enum db_rc rc = peek(db, task, kept, who, &part, front);

	/* The list ends near the front, or before the part begins. */
	if (rc == DB_OK && front->all && part.from > 0) {
		text_clear(&front->stale);
		part = (struct part){ 0, part.from + part.most, false };
		rc = peek(db, task, kept, who, &part, front);
	}
	/* There may be any number of them, so the server passes over them. */
	if (rc == DB_OK && task->has_rules && front->left_out && front->check.n < who->count &&
	    !front->all) {
		text_clear(&front->stale);
		part = (struct part){ 0, part.most, true };
		rc = peek(db, task, kept, who, &part, front);
		/* That may have taken longer than a check may be old. */
		if (rc == DB_OK)
			rc = check_time(db, front->seen_at);
	}
	front->check.too_dear = kept->too_dear && task->use_unchecked;
	if (rc == DB_OK && front->check.n > 0 && !front->check.too_dear)
		rc = check_loans(db, task, &front->check);
	*found = rc == DB_OK && (front->check.n > 0 || front->stale.used > 0) &&
	    (!front->check.too_dear || task->use_unchecked);
	return rc;
}

/* What the @outcome of a pop means. *@again is true where others were faster. */
static enum take_result
result_of(const char *outcome, bool *again)
{
	if (strcmp(outcome, "given") == 0)
		return TAKE_GIVEN;
	if (strcmp(outcome, "ended") == 0)
		return TAKE_ENDED;
	if (strcmp(outcome, "refused") == 0 || strcmp(outcome, "full") == 0)
		return TAKE_REFUSED;
	if (strcmp(outcome, "over") == 0)
		return TAKE_OVER;
	*again = outcome[0] != '\0';
	return TAKE_NONE;
}

/* Peeks, checks and pops once. *@again is true where others were faster, or nothing was found in
 * @part and the list is longer. */
static enum db_rc
take_once(struct db *db, const struct task *task, const struct kept *kept,
    const struct taker *who, struct part part, bool *again, struct taken *taken)
{
	struct front front = { .check.too_dear = false };
	char outcome[16] = "";
	bool found;
	enum db_rc rc = find(db, task, kept, who, part, &front, &found);

	taken->result = TAKE_NONE;
	taken->sent = found;
	*again = false;
	if (found) {
		rc = pop(db, task, kept, who, &front, false, taken, outcome);
		if (rc == DB_OK)
			taken->result = result_of(outcome, again);
	} else if (rc == DB_OK && front.check.too_dear && !task->use_unchecked) {
		taken->result = TAKE_UNKNOWN;
	} else if (rc == DB_OK) {
		*again = !front.all;
	}
	text_clear(&front.stale);
	return rc;
}

enum db_rc
take_find(struct db *db, const struct task *task, const struct kept *kept, const struct taker *who,
    struct front *front, bool *found)
{
	uint32_t spare = *who->spare < TAKE_SPARE ? TAKE_SPARE : *who->spare;

	*front = (struct front){ .check.too_dear = false };
	return find(db, task, kept, who, choose_part(db, kept, who, spare, 0), front, found);
}

enum db_rc
take_found(struct db *db, const struct task *task, const struct kept *kept,
    const struct taker *who, const struct front *front, struct taken *taken)
{
	char outcome[16] = "";
	bool again;
	enum db_rc rc;

	*taken = (struct taken){ .result = TAKE_NONE, .request_id = who->request_id, .sent = true };
	rc = pop(db, task, kept, who, front, true, taken, outcome);
	if (rc == DB_OK)
		taken->result = result_of(outcome, &again);
	return rc;
}

enum db_rc
take_loans(struct db *db, const struct task *task, const struct kept *kept,
    const struct taker *who, struct taken *taken)
{
	uint32_t spare = *who->spare < TAKE_SPARE ? TAKE_SPARE : *who->spare;
	bool again = true;
	enum db_rc rc = DB_OK;

	*taken = (struct taken){ .result = TAKE_NONE, .request_id = who->request_id };
	for (unsigned int try = 0; rc == DB_OK && again && try < who->tries; try++) {
		if (try > 0)
			nap_with_jitter(db, try);
		rc = take_once(db, task, kept, who, choose_part(db, kept, who, spare, try),
		    &again, taken);
		/* A deadlock has undone everything. So has another row of work for a loan, which a
		 * leader has made meanwhile; a new request may be the duplicate itself. */
		if (rc == DB_ERETRY || (rc == DB_EDUPLICATE && who->request_id != 0)) {
			rc = DB_OK;
			again = true;
		}
		/* Where many take at once, the next call begins with what this one needed. */
		if (again && spare < CHECK_MOST)
			spare = 2 * spare + 1;
		else if (try == 0)
			spare -= spare / 16;
	}
	*who->spare = spare < SPARE_MOST ? spare : SPARE_MOST;
	return rc;
}
