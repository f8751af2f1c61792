/* SPDX-License-Identifier: MIT */
/* A proxy between a client and the server. It passes bytes on and reads the client's statements. A
 * packet with sequence number 0 is a command. The text of a prepared statement is in its
 * COM_STMT_PREPARE, its id is in the answer. The proxy can read the packets, since a connection
 * over a socket of this machine has no TLS. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "support.h"

enum { PROXIES = 80, LINKS = 48, RULES = 6, LOGGED = 30000, TEXT_BYTES = 5120, HEADER = 4,
	COM_QUERY = 3, COM_PREPARE = 0x16, COM_EXECUTE = 0x17,
	COM_CLOSE = 0x19, ERROR_PACKET = 0xff, PREPARED = 64 /* more than the library keeps */ };

enum action { HOLD, BEFORE, AFTER, HOLD_CUT, FAIL };

struct rule {
	const char *text;   /* NULL: not in use */
	unsigned int nth;
	enum action action;
	unsigned int times; /* FAIL: how many statements fail, from the nth on */
	unsigned int error; /* FAIL: the error number */
};

/* A statement that the server has prepared. */
struct prepared {
	unsigned char id[4];
	char text[TEXT_BYTES];
};

struct link {
	int client, server; /* -1: closed */
	unsigned int number;
	struct prepared prepared[PREPARED]; /* an entry with the text "" is free */
	struct prepared *preparing;         /* the next answer has the id of this entry */
	unsigned char *in;
	size_t used, size;
	bool silent;        /* read from neither side */
	bool held;          /* nothing more is read from this client */
	unsigned int error; /* not 0: sent to the client once the server has rolled back */
	bool swallow;       /* cut the connection when the server answers */
	bool executing;     /* the last command was COM_STMT_EXECUTE */
	bool greeted;       /* the server's first packet has been passed on */
	bool zombie;        /* the client is gone, the server still has the connection */
};

struct entry {
	unsigned int connection;
	char text[TEXT_BYTES];
};

struct proxy {
	pthread_t thread;
	pthread_mutex_t mutex;
	int listener;
	int wake[2];
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	char folder[64];
	struct link links[LINKS];
	struct rule rules[RULES];
	proxy_wish *wish;  /* which statements are held, beside those of the rules */
	void *wish_data;
	size_t held;       /* position of the statement that was held last, */
	unsigned int n_held; /* and how many were held */
	struct entry *log;
	size_t n_log;
	size_t asked;      /* commands that the server answers */
	unsigned int n_links, n_crowded; /* connections passed on, and those refused */
	const char *version; /* the server's version for clients; NULL: the real one */
	const char *from, *to; /* replaced in the packets of clients; NULL: nothing */
	bool holding, release, drop, silence, refuse, crowded, routes, end;
};

static struct proxy *proxies[PROXIES];
static char server_path[256];

static void
give_up(const char *what)
{
	fprintf(stderr, "# proxy: %s: %s\n", what, strerror(errno));
	abort();
}

static void
close_link(struct link *link)
{
	if (link->client >= 0)
		close(link->client);
	if (link->server >= 0)
		close(link->server);
	free(link->in);
	*link = (struct link){ .client = -1, .server = -1 };
}

static int
dial(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	if (fd < 0)
		give_up("socket");
	memcpy(address.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Sends all bytes. Returns false if the other side is gone. */
static bool
send_all(int fd, const void *data, size_t size)
{
	const char *bytes = data;

	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

/* Sends the error with which a full server refuses a connection. */
static void
say_crowded(int client)
{
	static const char error[] = "\x17\x00\x00\x00\xff\x10\x04Too many connections";

	(void)send_all(client, error, sizeof(error) - 1);
	(void)shutdown(client, SHUT_WR);
	close(client);
}

static void
add_link(struct proxy *p)
{
	int client = accept(p->listener, NULL, NULL);
	int server = client >= 0 && !p->refuse ? dial(server_path) : -1;

	if (client >= 0 && server >= 0 && p->crowded) {
		close(server);
		say_crowded(client);
		p->n_crowded++;
		return;
	}
	if (client >= 0 && server < 0)
		close(client);
	if (server < 0)
		return;
	for (size_t i = 0; i < LINKS; i++) {
		if (p->links[i].client < 0 && p->links[i].server < 0) {
			p->links[i] = (struct link){ .client = client, .server = server,
				.number = p->n_links++ };
			return;
		}
	}
	errno = EMFILE;
	give_up("too many connections");
}

static size_t
packet_size(const unsigned char *packet)
{
	return HEADER + (packet[0] | (size_t)packet[1] << 8 | (size_t)packet[2] << 16);
}

/* Copies the printable bytes of a packet behind its command. Other bytes become blanks, except at
 * the start, where they are left out. */
static void
packet_text(const unsigned char *packet, char text[TEXT_BYTES])
{
	size_t size = packet_size(packet), n = 0;

	for (size_t i = HEADER + 1; i < size && n < TEXT_BYTES - 1; i++) {
		if (packet[i] > ' ')
			text[n++] = (char)packet[i];
		else if (n > 0)
			text[n++] = ' ';
	}
	text[n] = '\0';
}

/* Whether the statement matches @text, as support.h says. */
static bool
is_about(const char *statement, const char *text)
{
	return text[0] == '=' ? strcmp(statement, text + 1) == 0 : strstr(statement, text) != NULL;
}

/* Returns the statement whose id is in the packet; for NULL, a free entry. */
static struct prepared *
prepared(struct link *link, const unsigned char *packet)
{
	for (size_t i = 0; i < PREPARED; i++) {
		struct prepared *p = &link->prepared[i];

		if (packet == NULL ? p->text[0] == '\0' : p->text[0] != '\0' &&
		    memcmp(p->id, packet + HEADER + 1, sizeof(p->id)) == 0)
			return p;
	}
	errno = ENOENT;
	give_up("statement");
	return NULL;
}

/* Returns the statement that a packet starts, or NULL. */
static const char *
statement_of(struct link *link, const unsigned char *packet, char text[TEXT_BYTES])
{
	if (packet[3] != 0 || packet_size(packet) <= HEADER)
		return NULL;
	switch (packet[HEADER]) {
	case COM_QUERY:
		packet_text(packet, text);
		return text;
	case COM_PREPARE:
		link->preparing = prepared(link, NULL);
		packet_text(packet, link->preparing->text);
		return NULL;
	case COM_CLOSE:
		prepared(link, packet)->text[0] = '\0';
		return NULL;
	case COM_EXECUTE:
		return prepared(link, packet)->text;
	default:
		return NULL;
	}
}

/* Notes the id in the answer to COM_STMT_PREPARE, which is 0 and the id, or an error. */
static void
note_prepared(struct link *link, const char *bytes, size_t size)
{
	if (size >= HEADER + 5 && bytes[HEADER] == 0)
		memcpy(link->preparing->id, bytes + HEADER + 1, sizeof(link->preparing->id));
	else
		link->preparing->text[0] = '\0';
	link->preparing = NULL;
}

static void
log_statement(struct proxy *p, const struct link *link, const char *text)
{
	if (p->n_log == LOGGED) {
		errno = ENOSPC;
		give_up("log");
	}
	p->log[p->n_log].connection = link->number;
	snprintf(p->log[p->n_log++].text, TEXT_BYTES, "%s", text);
}

/* Counts the statement for all rules, and takes out the rule that is due with it. */
static bool
rule_for(struct proxy *p, const char *text, struct rule *due)
{
	bool found = false;

	for (size_t i = 0; i < RULES; i++) {
		struct rule *rule = &p->rules[i];

		if (rule->text == NULL || !is_about(text, rule->text))
			continue;
		if (rule->nth > 1) {
			rule->nth--;
		} else if (!found) {
			found = true;
			*due = *rule;
			if (rule->action != FAIL || --rule->times == 0)
				rule->text = NULL;
		}
	}
	return found;
}

/* Whether the server rolls the transaction back at this error. An expired lock wait (1205) undoes
 * only its statement. */
static bool
rolls_back(unsigned int error)
{
	return error == 1213 || error == 3101 || error == 1180;
}

static const char *
state_of(unsigned int error)
{
	return error == 1213 ? "40001" : error == 3101 ? "40000" : "HY000";
}

static bool
send_error(int client, unsigned int error)
{
	char packet[128];
	int n = snprintf(packet + HEADER + 3, sizeof(packet) - HEADER - 3,
	    "#%serror %u, made by the test%s", state_of(error), error,
	    error == 1290 ? " (--read-only)" : "");

	packet[0] = (char)(n + 3);
	packet[1] = packet[2] = 0;
	packet[3] = 1;
	packet[HEADER] = (char)0xff;
	packet[HEADER + 1] = (char)(error & 0xff);
	packet[HEADER + 2] = (char)(error >> 8);
	return send_all(client, packet, HEADER + 3 + (size_t)n);
}

/* Answers with an error in the server's place. A client takes its transaction for rolled back after
 * some errors, so the proxy first rolls back the server's transaction there. */
static bool
fail_statement(struct link *link, unsigned int error)
{
	static const char rollback[] = "\x09\x00\x00\x00\x03ROLLBACK";

	if (!rolls_back(error))
		return send_error(link->client, error);
	link->error = error;
	return send_all(link->server, rollback, sizeof(rollback) - 1);
}

static void
change(unsigned char *packet, size_t size, const char *from, const char *to)
{
	size_t length = strlen(from);

	for (size_t i = 0; i + length <= size; i++) {
		if (memcmp(packet + i, from, length) == 0)
			memcpy(packet + i, to, length);
	}
}

/* Passes on the complete packets that have come, up to one that is held. */
static void
pass_packets(struct proxy *p, struct link *link)
{
	while (!link->held && link->used >= HEADER && link->used >= packet_size(link->in)) {
		size_t size = packet_size(link->in);
		char text[TEXT_BYTES];
		const char *statement = statement_of(link, link->in, text);
		struct rule rule = { .action = AFTER };
		bool ruled = false;

		if (p->from != NULL)
			change(link->in, size, p->from, p->to);
		/* The packets of a login continue the server's numbers. A command's number is 0. */
		p->asked += link->in[3] == 0 && size > HEADER && link->in[HEADER] != COM_CLOSE;
		if (link->in[3] == 0 && size > HEADER)
			link->executing = link->in[HEADER] == COM_EXECUTE;
		if (statement != NULL) {
			log_statement(p, link, statement);
			ruled = rule_for(p, statement, &rule);
		}
		if (ruled && rule.action == BEFORE) {
			close_link(link);
			return;
		}
		if (!ruled && statement != NULL && p->wish != NULL &&
		    p->wish(statement, p->wish_data)) {
			rule.action = HOLD;
			ruled = true;
		}
		if (ruled && (rule.action == HOLD || rule.action == HOLD_CUT)) {
			link->held = p->holding = true;
			p->held = p->n_log - 1;
			p->n_held++;
			if (rule.action == HOLD_CUT) {
				link->zombie = true;
				close(link->client);
				link->client = -1;
			}
			return;
		}
		link->swallow = ruled && rule.action == AFTER;
		if (ruled && rule.action == FAIL ? !fail_statement(link, rule.error) :
		    !send_all(link->server, link->in, size)) {
			close_link(link);
			return;
		}
		memmove(link->in, link->in + size, link->used - size);
		link->used -= size;
	}
}

/* The held statement goes on as it came. No rule applies to it again. */
static void
release_link(struct proxy *p, struct link *link)
{
	size_t size = packet_size(link->in);

	link->held = false;
	if (!send_all(link->server, link->in, size)) {
		close_link(link);
		return;
	}
	memmove(link->in, link->in + size, link->used - size);
	link->used -= size;
	pass_packets(p, link);
}

static void
from_client(struct proxy *p, struct link *link)
{
	ssize_t n;

	if (link->size - link->used < 65536) {
		link->size = link->size * 2 + 131072;
		link->in = realloc(link->in, link->size);
		if (link->in == NULL)
			give_up("memory");
	}
	n = read(link->client, link->in + link->used, link->size - link->used);
	if (n <= 0) {
		close_link(link);
		return;
	}
	link->used += (size_t)n;
	pass_packets(p, link);
}

/* Sends the server's greeting with another version. The version follows the first byte and ends
 * with a zero byte. */
static bool
send_greeting(const struct link *link, const char *bytes, size_t size, const char *version)
{
	char packet[1024];
	size_t old = strlen(bytes + HEADER + 1), new = strlen(version);
	size_t rest = size - HEADER - 1 - old, length = 1 + new + rest;

	if (HEADER + length > sizeof(packet))
		give_up("greeting");
	packet[0] = (char)(length & 0xff);
	packet[1] = (char)(length >> 8);
	packet[2] = 0;
	packet[3] = bytes[3];
	packet[HEADER] = bytes[HEADER];
	memcpy(packet + HEADER + 1, version, new);
	memcpy(packet + HEADER + 1 + new, bytes + HEADER + 1 + old, rest);
	return send_all(link->client, packet, HEADER + length);
}

/* Whether an error comes behind other packets of an answer. Packets of an answer begin at number 1,
 * and the server sends the columns together with an error behind them. */
static bool
has_late_error(const char *bytes, size_t size)
{
	size_t at = 0;

	while (size - at > HEADER) {
		const unsigned char *packet = (const unsigned char *)bytes + at;

		if (packet[3] > 1 && packet[HEADER] == ERROR_PACKET)
			return true;
		if (packet_size(packet) >= size - at)
			break;
		at += packet_size(packet);
	}
	return false;
}

static void
from_server(struct proxy *p, struct link *link)
{
	char bytes[65536];
	ssize_t n = read(link->server, bytes, sizeof(bytes));
	bool sent;

	if (n > 0 && link->preparing != NULL)
		note_prepared(link, bytes, (size_t)n);
	if (n > HEADER && p->version != NULL && !link->greeted) {
		link->greeted = true;
		if (!send_greeting(link, bytes, (size_t)n, p->version))
			close_link(link);
		return;
	}
	link->greeted = true;
	if (n > 0 && link->error != 0) {
		/* This is the answer to the ROLLBACK of fail_statement(). */
		if (!send_error(link->client, link->error))
			close_link(link);
		link->error = 0;
		return;
	}
	/* A zombie is kept until its last statement has been answered. */
	if (n <= 0 || link->swallow || link->zombie ||
	    (p->routes && link->executing && has_late_error(bytes, (size_t)n))) {
		close_link(link);
		return;
	}
	/* A stopped client takes nothing, so this thread may wait here. The mutex is released
	 * meanwhile, so that nobody else waits. Only this thread changes links. */
	pthread_mutex_unlock(&p->mutex);
	sent = send_all(link->client, bytes, (size_t)n);
	pthread_mutex_lock(&p->mutex);
	if (!sent)
		close_link(link);
}

static void
close_links(struct proxy *p)
{
	for (size_t i = 0; i < LINKS; i++) {
		if (p->links[i].server >= 0)
			close_link(&p->links[i]);
	}
}

static void
obey(struct proxy *p)
{
	char byte;

	while (read(p->wake[0], &byte, 1) > 0)
		continue;
	if (p->release) {
		p->release = false;
		for (size_t i = 0; i < LINKS; i++) {
			if (p->links[i].held)
				release_link(p, &p->links[i]);
		}
	}
	for (size_t i = 0; p->silence && i < LINKS; i++)
		p->links[i].silent = p->links[i].server >= 0;
	p->silence = false;
	if (p->drop) {
		close_links(p);
		p->drop = p->holding = false;
	}
}

/* Each link has two slots, behind those of the wake pipe and the listener. poll() skips -1. A held
 * client is not read from, the server always is unless the link is silent. */
static void
fill_pollfds(const struct proxy *p, struct pollfd *fds)
{
	fds[0] = (struct pollfd){ p->wake[0], POLLIN, 0 };
	fds[1] = (struct pollfd){ p->listener, POLLIN, 0 };
	for (size_t i = 0; i < LINKS; i++) {
		const struct link *link = &p->links[i];

		fds[2 + 2 * i] = (struct pollfd){ link->held || link->silent ? -1 :
			link->client, POLLIN, 0 };
		fds[3 + 2 * i] = (struct pollfd){ link->silent ? -1 : link->server, POLLIN, 0 };
	}
}

static void
serve_links(struct proxy *p, const struct pollfd *fds)
{
	for (size_t i = 0; i < LINKS; i++) {
		struct link *link = &p->links[i];

		if (fds[3 + 2 * i].revents != 0 && link->server == fds[3 + 2 * i].fd &&
		    link->server >= 0)
			from_server(p, link);
		if (fds[2 + 2 * i].revents != 0 && link->client == fds[2 + 2 * i].fd &&
		    link->client >= 0)
			from_client(p, link);
	}
}

static void *
run(void *data)
{
	struct proxy *p = data;
	struct pollfd fds[2 + 2 * LINKS];
	bool end = false;

	while (!end) {
		fill_pollfds(p, fds);
		if (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0)
			continue;
		pthread_mutex_lock(&p->mutex);
		if (fds[0].revents != 0)
			obey(p);
		if (fds[1].revents != 0)
			add_link(p);
		serve_links(p, fds);
		end = p->end;
		pthread_mutex_unlock(&p->mutex);
	}
	close_links(p);
	return NULL;
}

/* The socket beside the option file is the server's, or that of a router before a cluster. */
static void
find_server(void)
{
	const char *file = getenv("LOCKQ_DEFAULTS_FILE"), *slash = strrchr(file, '/');

	if (slash != NULL)
		snprintf(server_path, sizeof(server_path), "%.*s/mysql.sock", (int)(slash - file),
		    file);
	if (slash == NULL || access(server_path, R_OK) != 0)
		snprintf(server_path, sizeof(server_path), "%s", text_of("SELECT @@socket"));
}

struct proxy *
proxy_new(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct proxy *p = calloc(1, sizeof(*p));
	size_t n = 0;

	while (proxies[n] != NULL)
		assert_true(++n < PROXIES);
	find_server();
	assert_true(strlen(server_path) < sizeof(address.sun_path));
	assert_non_null(p);
	p->log = calloc(LOGGED, sizeof(*p->log));
	assert_non_null(p->log);
	for (size_t i = 0; i < LINKS; i++)
		p->links[i].client = p->links[i].server = -1;
	snprintf(p->folder, sizeof(p->folder), "/tmp/lockq-test-XXXXXX");
	assert_non_null(mkdtemp(p->folder));
	snprintf(p->path, sizeof(p->path), "%s/s", p->folder);
	memcpy(address.sun_path, p->path, sizeof(p->path));
	p->listener = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_true(p->listener >= 0);
	assert_int_equal(bind(p->listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(p->listener, LINKS), 0);
	assert_int_equal(pipe(p->wake), 0);
	assert_int_equal(fcntl(p->wake[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(pthread_mutex_init(&p->mutex, NULL), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	proxies[n] = p;
	return p;
}

struct lockq_connection
proxy_where(struct proxy *p)
{
	struct lockq_connection where = worker_where();

	where.socket = p->path;
	return where;
}

static void
nudge(struct proxy *p)
{
	assert_int_equal(write(p->wake[1], "", 1), 1);
}

static void
add_rule(struct proxy *p, struct rule rule)
{
	size_t i = 0;

	pthread_mutex_lock(&p->mutex);
	while (i < RULES && p->rules[i].text != NULL)
		i++;
	if (i < RULES)
		p->rules[i] = rule;
	pthread_mutex_unlock(&p->mutex);
	assert_true(i < RULES);
}

void
proxy_hold(struct proxy *p, const char *text, unsigned int nth)
{
	add_rule(p, (struct rule){ .text = text, .nth = nth, .action = HOLD });
}

void
proxy_hold_each(struct proxy *p, proxy_wish *wish, void *data)
{
	pthread_mutex_lock(&p->mutex);
	p->wish = wish;
	p->wish_data = data;
	pthread_mutex_unlock(&p->mutex);
}

unsigned int
proxy_held(struct proxy *p, char *text, size_t size)
{
	unsigned int n_held;

	pthread_mutex_lock(&p->mutex);
	n_held = p->n_held;
	text[0] = '\0';
	if (n_held > 0)
		snprintf(text, size, "%s", p->log[p->held].text);
	pthread_mutex_unlock(&p->mutex);
	return n_held;
}

void
proxy_cut(struct proxy *p, const char *text, unsigned int nth, enum proxy_cut when)
{
	add_rule(p, (struct rule){ .text = text, .nth = nth,
	    .action = when == CUT_BEFORE ? BEFORE : AFTER });
}

void
proxy_hold_and_cut(struct proxy *p, const char *text, unsigned int nth)
{
	add_rule(p, (struct rule){ .text = text, .nth = nth, .action = HOLD_CUT });
}

void
proxy_fail(struct proxy *p, const char *text, unsigned int nth, unsigned int times,
    unsigned int error)
{
	add_rule(p, (struct rule){ text, nth, FAIL, times, error });
}

bool
proxy_is_holding(struct proxy *p)
{
	bool holding;

	pthread_mutex_lock(&p->mutex);
	holding = p->holding;
	pthread_mutex_unlock(&p->mutex);
	return holding;
}

void
proxy_until_held(struct proxy *p)
{
	uint64_t start = db_clock_ms();

	while (!proxy_is_holding(p)) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
}

void
proxy_release(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->release = true;
	p->holding = false;
	pthread_mutex_unlock(&p->mutex);
	nudge(p);
}

/* Returns how many connections have a client, or are kept without one. */
static unsigned int
n_connections(struct proxy *p, bool zombies)
{
	unsigned int n = 0;

	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < LINKS; i++)
		n += zombies ? p->links[i].zombie : p->links[i].client >= 0;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

static void
until_none(struct proxy *p, bool zombies)
{
	uint64_t start = db_clock_ms();

	while (n_connections(p, zombies) > 0) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
}

void
proxy_until_answered(struct proxy *p)
{
	until_none(p, true);
}

void
proxy_until_left(struct proxy *p)
{
	until_none(p, false);
}

void
proxy_silence(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->silence = true;
	pthread_mutex_unlock(&p->mutex);
	nudge(p);
}

void
proxy_drop(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->drop = true;
	pthread_mutex_unlock(&p->mutex);
	nudge(p);
}

void
proxy_refuse(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->refuse = true;
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_accept(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->refuse = false;
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_crowd(struct proxy *p, bool crowded)
{
	pthread_mutex_lock(&p->mutex);
	p->crowded = crowded;
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_route(struct proxy *p)
{
	pthread_mutex_lock(&p->mutex);
	p->routes = true;
	pthread_mutex_unlock(&p->mutex);
}

static unsigned int
n_crowded(struct proxy *p)
{
	unsigned int n;

	pthread_mutex_lock(&p->mutex);
	n = p->n_crowded;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

void
proxy_until_crowded(struct proxy *p, unsigned int n)
{
	uint64_t start = db_clock_ms();

	while (n_crowded(p) < n) {
		assert_true(db_clock_ms() - start < PATIENCE_MS);
		db_sleep_ms(1);
	}
}

void
proxy_pretend(struct proxy *p, const char *version)
{
	pthread_mutex_lock(&p->mutex);
	p->version = version;
	pthread_mutex_unlock(&p->mutex);
}

void
proxy_replace(struct proxy *p, const char *from, const char *to)
{
	assert_int_equal(strlen(from), strlen(to));
	pthread_mutex_lock(&p->mutex);
	p->from = from;
	p->to = to;
	pthread_mutex_unlock(&p->mutex);
}

size_t
proxy_round_trips(struct proxy *p)
{
	size_t n;

	pthread_mutex_lock(&p->mutex);
	n = p->asked;
	pthread_mutex_unlock(&p->mutex);
	return n;
}

void
proxy_text(struct proxy *p, size_t position, char *text, size_t size)
{
	pthread_mutex_lock(&p->mutex);
	snprintf(text, size, "%s", p->log[position].text);
	pthread_mutex_unlock(&p->mutex);
}

size_t
proxy_total(struct proxy *p)
{
	return proxy_count(p, "");
}

size_t
proxy_count(struct proxy *p, const char *text)
{
	size_t n = 0;

	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < p->n_log; i++)
		n += is_about(p->log[i].text, text);
	pthread_mutex_unlock(&p->mutex);
	return n;
}

size_t
proxy_position(struct proxy *p, const char *text, unsigned int nth)
{
	size_t position = SIZE_MAX;

	pthread_mutex_lock(&p->mutex);
	for (size_t i = 0; i < p->n_log && position == SIZE_MAX; i++) {
		if (is_about(p->log[i].text, text) && --nth == 0)
			position = i;
	}
	pthread_mutex_unlock(&p->mutex);
	return position;
}

unsigned int
proxy_connection(struct proxy *p, size_t position)
{
	unsigned int connection;

	pthread_mutex_lock(&p->mutex);
	connection = p->log[position].connection;
	pthread_mutex_unlock(&p->mutex);
	return connection;
}

void
proxies_relent(void)
{
	for (size_t i = 0; i < PROXIES; i++) {
		struct proxy *p = proxies[i];

		if (p == NULL)
			continue;
		pthread_mutex_lock(&p->mutex);
		memset(p->rules, 0, sizeof(p->rules));
		p->wish = NULL;
		p->refuse = p->crowded = p->holding = false;
		p->release = true;
		pthread_mutex_unlock(&p->mutex);
		nudge(p);
	}
}

void
proxies_end(void)
{
	for (size_t i = 0; i < PROXIES; i++) {
		struct proxy *p = proxies[i];

		if (p == NULL)
			continue;
		pthread_mutex_lock(&p->mutex);
		p->end = true;
		pthread_mutex_unlock(&p->mutex);
		nudge(p);
		pthread_join(p->thread, NULL);
		close(p->listener);
		close(p->wake[0]);
		close(p->wake[1]);
		unlink(p->path);
		rmdir(p->folder);
		free(p->log);
		free(p);
		proxies[i] = NULL;
	}
}
