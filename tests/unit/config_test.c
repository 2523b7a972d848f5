/* SPDX-License-Identifier: MIT */
/* --export from text to struct, and the sentence for each way it can be wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "config.h"

static struct pst_export_config good(const char *text)
{
	struct pst_error err = PST_ERROR_INIT;
	struct pst_export_config exp;

	if (pst_config_export(text, &exp, &err) != 0)
		fail_msg("%s: %s", text, err.text);
	return exp;
}

/* The sentence has all three parts: each is said by a piece of it. */
static void bad(const char *text, const char *object, const char *reason, const char *remedy)
{
	struct pst_error err = PST_ERROR_INIT;
	struct pst_export_config exp;

	assert_int_equal(pst_config_export(text, &exp, &err), -EINVAL);
	assert_int_equal(err.code, -EINVAL);
	if (!strstr(err.text, object) || !strstr(err.text, reason) || !strstr(err.text, remedy))
		fail_msg("%s: \"%s\" lacks \"%s\", \"%s\" or \"%s\"", text, err.text, object,
			 reason, remedy);
}

/* A key that is wrong in an export that is right otherwise. */
static void bad_key(const char *key, const char *reason, const char *remedy)
{
	char text[512];

	(void)snprintf(text, sizeof(text), "name=disk0,source=null:1G,%s", key);
	bad(text, "export disk0: ", reason, remedy);
}

static void defaults_are_those_of_the_contract(void **state)
{
	struct pst_export_config exp = good("name=disk0,source=nvme:/dev/ng0n1");

	(void)state;
	assert_string_equal(exp.params.name, "disk0");
	assert_string_equal(exp.source, "nvme:/dev/ng0n1");
	assert_int_equal(exp.source_size, 0);
	assert_int_equal(exp.params.queues, 1);
	assert_int_equal(exp.params.queue_size, 256);
	assert_int_equal(exp.params.bounce, 64 << 20);
	assert_int_equal(exp.params.umem, PST_AUTO);
	assert_int_equal(exp.params.fixed, PST_AUTO);
	assert_int_equal(exp.params.busy_poll_us, PST_BUSY_POLL_AUTO);
	assert_false(exp.params.nvme_poll);
	assert_false(exp.params.packed);
	assert_true(exp.params.indirect);
	assert_true(exp.params.event_idx);
	assert_true(exp.params.attach);
	assert_null(exp.params.pool);
	assert_int_equal(exp.open.offset, 0);
	assert_int_equal(exp.open.size, 0);
	assert_false(exp.open.read_only);
	assert_false(exp.open.force);
	assert_string_equal(exp.open.serial, "");
	assert_int_equal(exp.open.timeout_ms, 60000);
}

static void every_key_is_stored(void **state)
{
	struct pst_export_config exp = good(
		"source=nvme:/dev/ng1n2,transport=vduse,queues=4,queue-size=1024,read-only,"
		"serial=S 1,,2,bounce=1M,umem=on,fixed=off,busy-poll=50,nvme-poll=on,packed=on,"
		"indirect=off,event-idx=off,offset=4k,size=1G,timeout=5,attach=no,force,name=a-b_c."
		"1");

	(void)state;
	assert_string_equal(exp.params.name, "a-b_c.1");
	assert_int_equal(exp.params.queues, 4);
	assert_int_equal(exp.params.queue_size, 1024);
	assert_true(exp.open.read_only);
	assert_string_equal(exp.open.serial, "S 1,2");
	assert_int_equal(exp.params.bounce, 1 << 20);
	assert_int_equal(exp.params.umem, PST_ON);
	assert_int_equal(exp.params.fixed, PST_OFF);
	assert_int_equal(exp.params.busy_poll_us, 50);
	assert_true(exp.params.nvme_poll);
	assert_true(exp.params.packed);
	assert_false(exp.params.indirect);
	assert_false(exp.params.event_idx);
	assert_int_equal(exp.open.offset, 4096);
	assert_int_equal(exp.open.size, 1 << 30);
	assert_int_equal(exp.open.timeout_ms, 5000);
	assert_false(exp.params.attach);
	assert_true(exp.open.force);
}

static void switches_can_be_spelled_out(void **state)
{
	struct pst_export_config exp =
		good("name=d,source=null:1G,read-only=off,force=off,umem=off,"
		     "fixed=auto,busy-poll=off,attach=yes");

	(void)state;
	assert_false(exp.open.read_only);
	assert_false(exp.open.force);
	assert_int_equal(exp.params.umem, PST_OFF);
	assert_int_equal(exp.params.fixed, PST_AUTO);
	assert_int_equal(exp.params.busy_poll_us, 0);
	assert_true(exp.params.attach);
	assert_int_equal(exp.source_size, 1 << 30);
	assert_int_equal(good("name=d,source=null:1G,busy-poll=auto").params.busy_poll_us,
			 PST_BUSY_POLL_AUTO);
	assert_string_equal(good("name=d,source=null:1G,serial=12345678901234567890").open.serial,
			    "12345678901234567890");
}

static void names_are_checked(void **state)
{
	char text[128] = "source=null:1G,name=";
	size_t length = strlen(text);

	(void)state;
	memset(text + length, 'n', PST_EXPORT_NAME_MAX);
	assert_int_equal(strlen(good(text).params.name), PST_EXPORT_NAME_MAX);
	text[strlen(text)] = 'n';
	bad(text, "export nnn", "65 characters", "at most 64");
	bad("source=null:1G", "--export \"source=null:1G\"", "has no name",
	    "add for example name=");
	bad("", "--export \"\"", "has no name", "add for example name=");
	bad("name,source=null:1G", "--export", "has no name", "add");
	bad("name=,source=null:1G", "export ", "is empty", "name=disk0");
	bad("name=a b,source=null:1G", "export a b", "position 2", "use letters");
	bad("name=../x,source=null:1G", "export ../x", "position 3", "use letters");
	bad("name=d\xc3\xa4,source=null:1G", "export d", "position 2", "use letters");
	bad("name=.,source=null:1G", "export .", "cannot be had", "take another");
	bad("name=control,source=null:1G", "export control", "cannot be had", "take another");
}

static void sources_are_checked(void **state)
{
	char text[512] = "name=d,source=nvme:/";
	size_t length = strlen(text);

	(void)state;
	memset(text + length, 'p', PST_SOURCE_MAX);
	bad(text, "export d", "its source has 261 characters", "at most 255");
	bad("name=d", "export d", "has no source", "add for example source=");
	bad("name=d,source=", "export d", "is none", "write nvme:");
	bad("name=d,source=ng0n1", "export d", "source=ng0n1 is none", "write nvme:");
	bad("name=d,source=/dev/ng0n1", "export d", "does not say", "source=nvme:/dev/ng0n1");
	bad("name=d,source=ceph:x", "export d", "unknown", "write nvme:");
	bad("name=d,source=nvme:", "export d", "names no namespace", "nvme list");
	bad("name=d,source=null:", "export d", "has no size", "null:1G");
	bad("name=d,source=null:x", "export d", "has no size", "null:1G");
	bad("name=d,source=/srv/disk.img", "export d", "does not say", "source=file:/srv/disk.img");
	bad("name=d,source=file:", "export d", "names no file", "file:/srv/disk.img");
	bad("name=d,source=files:x", "export d", "unknown", "file:PATH");
	bad("name=d,source=mem:", "export d", "has no size", "source=mem:1G");
	bad("name=d,source=mem:1000", "export d", "has no size", "source=mem:1G");
	bad("name=d,source=mem:1M,offset=1M", "export d", "passes the end", "smaller offset=");
	bad("name=d,source=null:511", "export d", "has no size", "null:1G");
	bad("name=d,source=null:1G,transport=ublk", "export d", "unknown", "transport=vduse");
}

static void queues_are_checked(void **state)
{
	(void)state;
	bad_key("queues=0", "queues=0", "1 to 64");
	bad_key("queues=65", "queues=65", "1 to 64");
	bad_key("queues=-1", "queues=-1", "1 to 64");
	bad_key("queues=", "queues=", "1 to 64");
	bad_key("queues", "no value", "queues=1");
	bad_key("queue-size=100", "not a power of two", "take 64 or 128");
	bad_key("queue-size=1023", "not a power of two", "take 512 or 1024");
	bad_key("queue-size=3", "not a power of two", "take 2 or 4");
	bad_key("queue-size=1", "out of range", "from 2 to 1024");
	bad_key("queue-size=0", "out of range", "from 2 to 1024");
	bad_key("queue-size=2048", "out of range", "from 2 to 1024");
	bad_key("queue-size=x", "out of range", "from 2 to 1024");
}

static void memory_is_checked(void **state)
{
	(void)state;
	bad_key("bounce=1023k", "bounce=1023k", "1M to 1G");
	bad_key("bounce=2G", "bounce=2G", "1M to 1G");
	bad_key("bounce=lots", "bounce=lots", "1M to 1G");
	bad_key("bounce=1048577", "not a multiple of 4096", "take 1052672");
	bad_key("umem=maybe", "umem=maybe", "umem=auto, umem=on or umem=off");
	bad_key("fixed=2", "fixed=2", "fixed=auto, fixed=on or fixed=off");
	bad_key("fixed=on,umem=off", "fixed=on", "leave out umem=off");
	bad_key("umem", "no value", "umem=auto");
}

static void slices_are_checked(void **state)
{
	(void)state;
	bad_key("offset=100", "not a multiple of 512", "take 512");
	bad_key("offset=1000", "not a multiple of 512", "take 512");
	bad_key("offset=-512", "not a number of bytes", "offset=1G");
	bad_key("size=513", "not a multiple of 512", "take 512");
	bad_key("size=0", "leaves nothing", "leave size= out");
	bad_key("offset=1G", "passes the end", "smaller offset=");
	bad_key("offset=512,size=1G", "passes the end", "smaller offset=");
	bad("name=d,source=nvme:/dev/ng0n1,offset=18446744073709551104,size=1k", "export d",
	    "64 bits", "within the source");
	assert_int_equal(good("name=d,source=null:1G,offset=512M,size=512M").open.offset,
			 512 << 20);
}

static void other_values_are_checked(void **state)
{
	(void)state;
	bad_key("serial=123456789012345678901", "21 bytes", "1 to 20");
	bad_key("serial=", "0 bytes", "1 to 20");
	bad_key("serial=a\tb", "position 2", "use ASCII");
	bad_key("busy-poll=1000001", "busy-poll=1000001", "auto, off");
	bad_key("busy-poll=on", "busy-poll=on", "auto, off");
	bad_key("timeout=60s", "timeout=60s", "0 to 86400");
	bad_key("timeout=86401", "timeout=86401", "0 to 86400");
	bad_key("nvme-poll=on", "nvme-poll=on", "leave it out");
	bad_key("packed=maybe", "packed=maybe", "packed=on or packed=off");
	bad_key("packed", "no value", "packed=on or packed=off");
	bad_key("attach=perhaps", "attach=perhaps", "attach=yes or attach=no");
	bad_key("read-only=2", "read-only=2", "read-only=on or read-only=off");
	bad_key("force=", "force=", "force=on or force=off");
}

static void keys_are_known_and_single(void **state)
{
	(void)state;
	bad_key("queus=1", "\"queus\" is unknown", "did you mean queues?");
	bad_key("queue_size=64", "unknown", "did you mean queue-size?");
	bad_key("readonly", "unknown", "did you mean read-only?");
	bad_key("Umem=on", "unknown", "did you mean umem?");
	bad_key("something-else=1", "unknown", "penstock serve --help");
	bad_key("a-word-longer-than-every-key-there-is=1", "unknown", "penstock serve --help");
	bad_key("queues=1,queues=2", "queues is given twice", "leave one out");
	bad_key("name=b", "name is given twice", "leave one out");
	bad_key("=1", "an empty key", "key=value");
}

static void check(const char *const *texts, size_t count, const char *sentence)
{
	struct pst_export_config exports[4];
	struct pst_serve_config config = {.exports = exports, .nr_exports = count};
	struct pst_error err = PST_ERROR_INIT;
	size_t i;

	for (i = 0; i < count; i++)
		exports[i] = good(texts[i]);
	assert_int_equal(pst_config_check(&config, &err), sentence ? -EINVAL : 0);
	if (sentence && !strstr(err.text, sentence))
		fail_msg("\"%s\" lacks \"%s\"", err.text, sentence);
}

#define CHECK(sentence, ...)                                                                       \
	check((const char *const[]){__VA_ARGS__},                                                  \
	      sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *), sentence)

static void exports_do_not_clash(void **state)
{
	struct pst_serve_config none = {0};
	struct pst_error err = PST_ERROR_INIT;

	(void)state;
	assert_int_equal(pst_config_check(&none, &err), -EINVAL);
	assert_non_null(strstr(err.text, "add --export"));

	CHECK(NULL, "name=a,source=null:1G", "name=b,source=null:1G");
	CHECK("export a: another has the same name: give each its own", "name=a,source=null:1G",
	      "name=a,source=null:2G");
	CHECK("export b: its part of nvme:/dev/ng0n1 is that of export a too: give each a slice",
	      "name=a,source=nvme:/dev/ng0n1", "name=b,source=nvme:/dev/ng0n1");
	CHECK("export b: ", "name=a,source=nvme:/dev/ng0n1,size=1M",
	      "name=b,source=nvme:/dev/ng0n1,offset=512k");
	CHECK(NULL, "name=a,source=nvme:/dev/ng0n1,size=1M",
	      "name=b,source=nvme:/dev/ng0n1,offset=1M,size=1M",
	      "name=c,source=nvme:/dev/ng0n1,offset=2M");
	CHECK(NULL, "name=a,source=nvme:/dev/ng0n1,read-only",
	      "name=b,source=nvme:/dev/ng0n1,read-only");
	CHECK(NULL, "name=a,source=nvme:/dev/ng0n1,force", "name=b,source=nvme:/dev/ng0n1,force");
}

static void the_control_path_fits_a_socket(void **state)
{
	struct pst_export_config exp = good("name=d,source=null:1G");
	char path[109];
	struct pst_serve_config config = {.exports = &exp, .nr_exports = 1, .control = path};
	struct pst_error err = PST_ERROR_INIT;

	(void)state;
	memset(path, 'p', sizeof(path));
	path[107] = '\0';
	assert_int_equal(pst_config_check(&config, &err), 0);
	path[107] = 'p';
	path[108] = '\0';
	assert_int_equal(pst_config_check(&config, &err), -EINVAL);
	assert_non_null(strstr(err.text, "108 characters: take one of 1 to 107"));
	path[0] = '\0';
	assert_int_equal(pst_config_check(&config, &err), -EINVAL);
}

static void workers_follow_queues_and_cpus(void **state)
{
	struct pst_export_config exports[] = {good("name=a,source=null:1G,queues=2"),
					      good("name=b,source=null:1G,queues=8")};
	struct pst_serve_config config = {.exports = exports, .nr_exports = 2};

	(void)state;
	assert_int_equal(pst_config_workers(&config, 4), 4);
	assert_int_equal(pst_config_workers(&config, 16), 8);
	assert_int_equal(pst_config_workers(&config, 1), 1);
	config.workers = 3;
	assert_int_equal(pst_config_workers(&config, 1), 3);
}

static void every_key_has_help(void **state)
{
	const char *line;
	size_t i;

	(void)state;
	for (i = 0; (line = pst_config_key_help(i)); i++)
		assert_true(strlen(line) > 20 && strlen(line) < 80);
	assert_int_equal(i, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_contract),
		cmocka_unit_test(every_key_is_stored),
		cmocka_unit_test(switches_can_be_spelled_out),
		cmocka_unit_test(names_are_checked),
		cmocka_unit_test(sources_are_checked),
		cmocka_unit_test(queues_are_checked),
		cmocka_unit_test(memory_is_checked),
		cmocka_unit_test(slices_are_checked),
		cmocka_unit_test(other_values_are_checked),
		cmocka_unit_test(keys_are_known_and_single),
		cmocka_unit_test(exports_do_not_clash),
		cmocka_unit_test(the_control_path_fits_a_socket),
		cmocka_unit_test(workers_follow_queues_and_cpus),
		cmocka_unit_test(every_key_has_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
