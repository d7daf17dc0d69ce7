// SPDX-License-Identifier: Apache-2.0
/* Sessions: made in a folder with room, for their owner only; and what is no session. */
#include "recorder/session.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recorder/recorder.h"
#include "tests/support/recording.h"

#define MIB (UINT64_C(1) << 20)

static char base[] = "/tmp/kymo-session-test-XXXXXX";
static char dir[KYMO_DIR_BYTES];
static Kymo__Config config = KYMO__CONFIG__INIT;
static Kymo__Session run = KYMO__SESSION__INIT;
static struct kymo_session *session;
static struct kymo_error error;

static void make_base(void)
{
	cr_assert(mkdtemp(base));
	config.session_dir = base;
}

static void remove_base(void)
{
	kymo_session_close(session);
	recording_delete(base);
}

TestSuite(session, .init = make_base, .fini = remove_base, .timeout = 20);

static const struct kymo_session_page *create(void)
{
	cr_assert_eq(kymo_session_create(&config, &run, dir, &error), 0, "%s", error.message);
	kymo_session_close(session);
	cr_assert_eq(kymo_session_open(dir, &session, &error), 0, "%s", error.message);
	return kymo_session_page(session);
}

static const char *path_of(const char *file)
{
	static char path[KYMO_DIR_BYTES + 32];

	snprintf(path, sizeof path, "%s/%s", dir, file);
	return path;
}

static mode_t mode_of(const char *path)
{
	struct stat status;

	cr_assert_eq(stat(path, &status), 0);
	return status.st_mode & 07777;
}

Test(session, is_its_owners_only)
{
	umask(0);
	create();
	cr_assert_eq(strncmp(dir, base, strlen(base)), 0);
	cr_assert_eq(mode_of(dir), 0700);
	cr_assert_eq(mode_of(path_of("session")), 0600);
	cr_assert_eq(mode_of(path_of("run")), 0600);
}

Test(session, keeps_the_configuration)
{
	config.events = 0x1234;
	config.profile = "LINE";
	config.output = "/somewhere/x.kymo";
	create();
	cr_assert_eq(kymo_session_config(session)->events, 0x1234);
	cr_assert_str_eq(kymo_session_config(session)->profile, "LINE");
	cr_assert_str_eq(kymo_session_config(session)->output, "/somewhere/x.kymo");
	cr_assert_str_eq(kymo_session_dir(session), dir);
}

Test(session, blocks_and_samples_unless_told_otherwise)
{
	const struct kymo_session_page *page = create();

	cr_assert_eq(page->policy, KYMO_POLICY_BLOCK);
	cr_assert_eq(page->clock_mode, KYMO_CLOCK_SAMPLED);
	config.policy = KYMO_POLICY_OVERWRITE;
	config.clock_mode = KYMO_CLOCK_EXACT;
	page = create();
	cr_assert_eq(page->policy, KYMO_POLICY_OVERWRITE);
	cr_assert_eq(page->clock_mode, KYMO_CLOCK_EXACT);
}

Test(session, has_slots_by_the_room_and_by_what_was_asked_for)
{
	static const struct {
		uint64_t budget, ring;
		uint32_t slot;
		uint32_t slot_bytes, max_slots;
	} cases[] = {
		{256 * MIB, 0, 0, 64 << 10, 64},
		{32 * MIB, 0, 0, 16 << 10, 64},
		{256 * MIB, 1 * MIB, 0, 64 << 10, 16},
		{256 * MIB, 100000, 0, 32 << 10, 3},
		{256 * MIB, 8192, 0, 4096, 2},
		{256 * MIB, 1, 0, 4096, 2},
		{256 * MIB, 0, 5000, 4096, 64},
		{256 * MIB, 0, 8 << 20, 1 << 20, 64},
		{256 * MIB, 1 << 30, 4096, 4096, KYMO_MAX_SLOTS},
	};

	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		const struct kymo_session_page *page;

		config.budget_bytes = cases[i].budget;
		config.ring_bytes = cases[i].ring;
		config.slot_bytes = cases[i].slot;
		page = create();
		cr_assert_eq(page->budget_bytes, cases[i].budget, "case %zu", i);
		cr_assert_eq(page->slot_bytes, cases[i].slot_bytes, "case %zu", i);
		cr_assert_eq(page->max_slots, cases[i].max_slots, "case %zu", i);
		cr_assert_eq(page->meta_bytes, cases[i].budget / 4, "case %zu", i);
	}
}

Test(session, too_small_a_room_is_refused_and_nothing_stays)
{
	config.budget_bytes = 255 << 10;
	cr_assert_eq(kymo_session_create(&config, &run, dir, &error), -ENOSPC);
	cr_assert(strstr(error.message, "no room"));
	cr_assert_eq(rmdir(base), 0, "something is left");
	cr_assert_eq(mkdir(base, 0700), 0);
}

Test(session, a_folder_that_is_not_there_is_named)
{
	config.session_dir = "/nowhere/at/all";
	cr_assert_eq(kymo_session_create(&config, &run, dir, &error), -ENOENT);
	cr_assert(strstr(error.message, "/nowhere/at/all"), "%s", error.message);
}

/* The Session message in the file `run`; the caller frees it. */
static Kymo__Session *read_run(void)
{
	uint8_t packed[4096];
	int fd = open(path_of("run"), O_RDONLY);
	ssize_t bytes = read(fd, packed, sizeof packed);

	close(fd);
	cr_assert_gt(bytes, 0);
	return kymo__session__unpack(NULL, (size_t)bytes, packed);
}

Test(session, the_run_is_kept_without_secrets)
{
	static char *argv[] = {"app.py",	 "--password",	   "hunter2", "--api-key=abc", "--token",
			       "--verbose",	 "--DB-Password=x", "token",   "-x",		"plain"};
	static const char *const kept[] = {"app.py",	"--password", "[redacted]", "--api-key=[redacted]",
					   "--token",	"--verbose",  "--DB-Password=[redacted]",
					   "token",	"-x",	      "plain"};
	enum { COUNT = sizeof argv / sizeof argv[0] };
	Kymo__Session *read;

	run.argv = argv;
	run.n_argv = COUNT;
	run.working_directory = "/here";
	create();
	read = read_run();
	cr_assert(read);
	cr_assert_eq(read->n_argv, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		cr_assert_str_eq(read->argv[i], kept[i]);
	cr_assert_str_eq(read->working_directory, "/here");
	cr_assert_eq(read->id.len, 16);
	cr_assert_eq(read->budget_bytes, kymo_session_page(session)->budget_bytes);
	cr_assert_str_eq(read->config->session_dir, base);
	kymo__session__free_unpacked(read, NULL);
	cr_assert_eq((void *)run.argv, (void *)argv, "the caller's message is as it was");
	cr_assert_null(run.config);
}

Test(session, two_sessions_have_two_folders_and_ids)
{
	char first[KYMO_DIR_BYTES];
	Kymo__Session *reads[2];

	create();
	reads[0] = read_run();
	strcpy(first, dir);
	create();
	reads[1] = read_run();
	cr_assert_str_neq(first, dir);
	cr_assert_neq(memcmp(reads[0]->id.data, reads[1]->id.data, 16), 0);
	for (int i = 0; i < 2; i++)
		kymo__session__free_unpacked(reads[i], NULL);
}

Test(session, removing_it_leaves_nothing)
{
	create();
	kymo_session_remove(dir);
	cr_assert_eq(access(dir, F_OK), -1);
}

/* Overwrite @bytes of the file `session`. */
static void damage(long offset, const void *bytes, size_t length)
{
	int fd = open(path_of("session"), O_RDWR);

	cr_assert_eq(pwrite(fd, bytes, length, offset), (ssize_t)length);
	close(fd);
}

static int open_again(void)
{
	kymo_session_close(session);
	session = NULL;
	return kymo_session_open(dir, &session, &error);
}

Test(session, another_version_of_the_memory_is_named)
{
	uint32_t version = KYMO_ABI_VERSION + 1;

	create();
	damage(offsetof(struct kymo_session_page, abi_version), &version, 4);
	cr_assert_eq(open_again(), -EPROTO);
	cr_assert(strstr(error.message, "version 2"), "%s", error.message);
	cr_assert_null(session);
}

Test(session, what_is_no_session_is_refused)
{
	static const uint32_t wrong_slots[] = {0, 100, 2048, 5000, 2 << 20};
	uint32_t many = KYMO_MAX_SLOTS + 1, none = 0, bytes = 1 << 30;

	for (size_t i = 0; i < sizeof wrong_slots / sizeof wrong_slots[0]; i++) {
		create();
		damage(offsetof(struct kymo_session_page, slot_bytes), &wrong_slots[i], 4);
		cr_assert_eq(open_again(), -EBADMSG);
	}
	create();
	damage(offsetof(struct kymo_session_page, max_slots), &many, 4);
	cr_assert_eq(open_again(), -EBADMSG);
	create();
	damage(offsetof(struct kymo_session_page, max_slots), &none, 4);
	cr_assert_eq(open_again(), -EBADMSG);
	create();
	damage(offsetof(struct kymo_session_page, config_bytes), &bytes, 4);
	cr_assert_eq(open_again(), -EBADMSG);
	create();
	damage(0, "nonsense", 8);
	cr_assert_eq(open_again(), -EBADMSG);
	create();
	cr_assert_eq(truncate(path_of("session"), 100), 0);
	cr_assert_eq(open_again(), -EPERM);
	cr_assert_eq(unlink(path_of("session")), 0);
	cr_assert_eq(symlink("run", path_of("session")), 0);
	cr_assert_eq(open_again(), -ELOOP);
	cr_assert_eq(unlink(path_of("session")), 0);
	cr_assert_eq(open_again(), -ENOENT);
}

Test(session, another_users_session_is_refused)
{
	create();
	if (chown(path_of("session"), 12345, 12345) < 0)
		cr_skip_test("not root");
	cr_assert_eq(open_again(), -EPERM);
}

Test(session, no_descriptor_stays_open)
{
	int before = dup(0), after;

	close(before);
	create();
	after = dup(0);
	close(after);
	cr_assert_eq(before, after);
}

Test(session, a_snapshot_needs_a_live_reader)
{
	create();
	cr_assert_eq(kymo_snapshot(session, "why", 0), -ENOTCONN);
	kymo_session_page(session)->reader_state = KYMO_READER_LIVE;
	cr_assert_eq(kymo_snapshot(session, "why", 0), -ETIMEDOUT);
	cr_assert_eq(kymo_session_page(session)->snapshots_wanted, 1);
	/* Done before it is asked for: the next one. */
	kymo_session_page(session)->snapshots_done = 2;
	cr_assert_eq(kymo_snapshot(session, "why", 0), 0);
}
