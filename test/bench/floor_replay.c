/* SPDX-License-Identifier: MIT */
/*
 * Replays the statements of a program without its logic: the same connections, the same statements
 * in the same order. They change and show as many rows; the results are not used.
 *
 *   floor_replay FILE LEADERS   FILE is what trace.jq made; LEADERS is how many leaders the task
 *                               has had since the first trace
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <mysql.h>

enum { MOST = 64, FIELDS = 64, UUIDS = 4, UUID_BYTES = 37, NULL_MARK = 4 };

/* A step of the file. Its fields are the kind, the connection, and what else the kind needs. */
struct event {
	char *field[FIELDS];
	size_t n;
};

static MYSQL *connections[MOST];
static MYSQL_STMT *prepared[MOST];
static unsigned long long insert_ids[MOST * 16];
static size_t n_events;
static char uuids[UUIDS][UUID_BYTES];
static unsigned long long leaders;

_Noreturn static void
die(const struct event *event, const char *what, const char *more)
{
	fprintf(stderr, "floor_replay: event %zu, %s of connection %s: %s%s\n", n_events,
	    event->field[0], event->field[1], what, more);
	exit(5);
}

static unsigned long long
number(const char *text)
{
	return strtoull(text, NULL, 10);
}

static const char *
fresh_uuid(size_t which)
{
	unsigned int r[4];

	if (which >= UUIDS)
		abort();
	if (uuids[which][0] == '\0' && getrandom(r, sizeof(r), 0) == (ssize_t)sizeof(r))
		snprintf(uuids[which], UUID_BYTES, "%08x-%04x-4%03x-8%03x-%08x%04x", r[0],
		    r[1] >> 16, r[1] & 0xfff, r[2] >> 20, r[3], r[2] & 0xffff);
	return uuids[which];
}

/* Writes a mark's value. @mark is the text between the two bytes that enclose the mark. */
static void
fill_in(FILE *out, char *mark)
{
	char *rest;

	if (mark[0] == 'u')
		fputs(fresh_uuid(number(mark + 1)), out);
	else if (mark[0] == 'i')
		fprintf(out, "%llu", insert_ids[number(mark + 1)]);
	else
		fprintf(out, "%llu", strtoull(mark + 1, &rest, 10) + leaders * number(rest + 1));
}

/* Returns a field with its marks replaced by values. Most fields have no marks. */
static char *
value_of(char *field)
{
	char *whole = NULL, *from = field, *mark, *close;
	size_t size;
	FILE *out;

	if (field[0] == NULL_MARK)
		return NULL;
	if (strchr(field, 2) == NULL)
		return field;
	out = open_memstream(&whole, &size);
	if (out == NULL)
		abort();
	for (mark = strchr(from, 2); mark != NULL; mark = strchr(from, 2)) {
		fwrite(from, 1, (size_t)(mark - from), out);
		close = strchr(mark, 3);
		*close = '\0';
		fill_in(out, mark + 1);
		from = close + 1;
	}
	fputs(from, out);
	fclose(out);
	return whole;
}

static char *
text_of(const struct event *event, size_t at)
{
	char *text = at < event->n ? value_of(event->field[at]) : NULL;

	if (text == NULL)
		die(event, "has no text", "");
	return text;
}

static MYSQL **
connection_of(const struct event *event)
{
	MYSQL **mysql = &connections[number(event->field[1]) % MOST];

	if (*mysql == NULL)
		*mysql = mysql_init(NULL);
	if (*mysql == NULL)
		abort();
	return mysql;
}

static void
check(const struct event *event, const char *what, const char *recorded, unsigned long long is)
{
	char text[64];

	if (recorded[0] == '-' || number(recorded) == is)
		return;
	snprintf(text, sizeof(text), "%llu, recorded are %s", is, recorded);
	die(event, what, text);
}

static void
set_option(const struct event *event, MYSQL *mysql)
{
	enum mysql_option option = (enum mysql_option)number(event->field[2]);
	unsigned int value = (unsigned int)number(event->field[4]);

	if (mysql_options(mysql, option, event->field[3][0] == 's' ? event->field[4] :
	    (const char *)&value) != 0)
		die(event, "", mysql_error(mysql));
}

static void
connect_it(const struct event *event, MYSQL *mysql)
{
	char *value[7];

	for (size_t i = 0; i < 7; i++)
		value[i] = value_of(event->field[2 + i]);
	if (mysql_real_connect(mysql, value[0], value[1], value[2], value[3],
	    (unsigned int)number(value[4]), value[5], number(value[6])) == NULL)
		die(event, "", mysql_error(mysql));
}

/* Checks how many rows a statement changed: field @at has the number of the trace. */
static void
take_done(const struct event *event, MYSQL *mysql, size_t at, int rc)
{
	if (rc != 0)
		die(event, "", mysql_error(mysql));
	if (event->field[at][0] != '-')
		check(event, "rows changed: ", event->field[at], mysql_affected_rows(mysql));
	insert_ids[n_events] = mysql_insert_id(mysql);
}

static void
send_text(const struct event *event, MYSQL *mysql)
{
	char *sql = text_of(event, 2);

	if (event->field[0][0] == 't')
		take_done(event, mysql, 3, mysql_real_query(mysql, sql, strlen(sql)));
	else if (mysql_send_query(mysql, sql, strlen(sql)) != 0)
		die(event, "", mysql_error(mysql));
}

static void
pass_over_rows(const struct event *event, MYSQL *mysql)
{
	int stored = event->field[0][0] == 'r';
	MYSQL_RES *result = stored ? mysql_store_result(mysql) : mysql_use_result(mysql);
	unsigned long long n = 0;

	if (result == NULL)
		die(event, "no rows: ", mysql_error(mysql));
	while (!stored && mysql_fetch_row(result) != NULL)
		n++;
	check(event, "rows: ", event->field[2], stored ? mysql_num_rows(result) : n);
	mysql_free_result(result);
}

static void
prepare(const struct event *event, MYSQL *mysql)
{
	MYSQL_STMT *statement = mysql_stmt_init(mysql);
	char *sql = text_of(event, 3);

	prepared[number(event->field[2]) % MOST] = statement;
	if (statement == NULL || mysql_stmt_prepare(statement, sql, strlen(sql)) != 0)
		die(event, "", mysql_error(mysql));
}

static void
execute(const struct event *event)
{
	MYSQL_STMT *statement = prepared[number(event->field[2]) % MOST];
	unsigned long long numbers[FIELDS];
	MYSQL_BIND bind[FIELDS];

	memset(bind, 0, sizeof(bind));
	for (size_t i = 0; i + 5 < event->n; i++) {
		char *value = text_of(event, 5 + i);

		numbers[i] = number(value + 1);
		bind[i].buffer_type = value[0] == 's' ? MYSQL_TYPE_STRING :
		    value[0] == '0' ? MYSQL_TYPE_NULL : MYSQL_TYPE_LONGLONG;
		bind[i].buffer = value[0] == 's' ? value + 1 : (char *)&numbers[i];
		bind[i].buffer_length = strlen(value + 1);
		bind[i].is_unsigned = value[0] != 'i';
	}
	if (mysql_stmt_bind_param(statement, bind) != 0 || mysql_stmt_execute(statement) != 0)
		die(event, "", mysql_stmt_error(statement));
	if (event->field[3][0] != '-')
		check(event, "rows changed: ", event->field[3],
		    mysql_stmt_affected_rows(statement));
	insert_ids[n_events] = mysql_stmt_insert_id(statement);
}

static void
pass_over_stored(const struct event *event)
{
	MYSQL_STMT *statement = prepared[number(event->field[2]) % MOST];

	if (mysql_stmt_store_result(statement) != 0)
		die(event, "", mysql_stmt_error(statement));
	check(event, "rows: ", event->field[3], mysql_stmt_num_rows(statement));
	mysql_stmt_free_result(statement);
}

/* Replays a statement, or the reading of its result. Returns false if the event is of another
 * kind. */
static int
do_statement(const struct event *event, MYSQL *mysql)
{
	const char *kind = event->field[0];

	if (strcmp(kind, "text") == 0 || strcmp(kind, "send") == 0)
		send_text(event, mysql);
	else if (strcmp(kind, "reply") == 0)
		take_done(event, mysql, 2, mysql_read_query_result(mysql));
	else if (strcmp(kind, "next") == 0)
		take_done(event, mysql, 2, mysql_next_result(mysql));
	else if (strcmp(kind, "rows") == 0 || strcmp(kind, "stream") == 0)
		pass_over_rows(event, mysql);
	else if (strcmp(kind, "prepare") == 0)
		prepare(event, mysql);
	else if (strcmp(kind, "execute") == 0)
		execute(event);
	else if (strcmp(kind, "stored") == 0)
		pass_over_stored(event);
	else if (strcmp(kind, "forget") == 0)
		mysql_stmt_close(prepared[number(event->field[2]) % MOST]);
	else
		return 0;
	return 1;
}

static void
do_event(const struct event *event)
{
	MYSQL **mysql = connection_of(event);
	const char *kind = event->field[0];

	if (do_statement(event, *mysql))
		return;
	if (strcmp(kind, "option") == 0) {
		set_option(event, *mysql);
	} else if (strcmp(kind, "attribute") == 0) {
		mysql_options4(*mysql, MYSQL_OPT_CONNECT_ATTR_ADD, event->field[2],
		    event->field[3]);
	} else if (strcmp(kind, "connect") == 0) {
		connect_it(event, *mysql);
	} else if (strcmp(kind, "ping") == 0) {
		if (mysql_ping(*mysql) != 0)
			die(event, "", mysql_error(*mysql));
	} else if (strcmp(kind, "database") == 0) {
		if (mysql_select_db(*mysql, event->field[2]) != 0)
			die(event, "", mysql_error(*mysql));
	} else if (strcmp(kind, "close") == 0) {
		mysql_close(*mysql);
		*mysql = NULL;
	} else {
		die(event, "what is this", "");
	}
}

/* Cuts the next piece off *@rest, up to @separator. */
static char *
next_piece(char **rest, char separator)
{
	char *piece = *rest, *end = strchr(piece, separator);

	*rest = end != NULL ? end + 1 : NULL;
	if (end != NULL)
		*end = '\0';
	return piece;
}

static char *
read_file(const char *name)
{
	FILE *file = fopen(name, "re");
	char *text = NULL;
	size_t size = 0;

	if (file == NULL || getdelim(&text, &size, '\0', file) < 0) {
		fprintf(stderr, "floor_replay: %s can't be read\n", name);
		exit(5);
	}
	fclose(file);
	return text;
}

int
main(int argc, char **argv)
{
	char *rest, *line, none[] = "";

	if (argc != 3) {
		fprintf(stderr, "usage: floor_replay FILE LEADERS\n");
		return 2;
	}
	leaders = number(argv[2]);
	rest = read_file(argv[1]);
	for (; rest != NULL && n_events < MOST * 16; n_events++) {
		struct event event = { .n = 0 };

		line = next_piece(&rest, '\036');
		for (size_t i = 0; i < FIELDS; i++) {
			event.n += line != NULL;
			event.field[i] = line != NULL ? next_piece(&line, '\037') : none;
		}
		do_event(&event);
	}
	return rest == NULL ? 0 : 5;
}
