/* SPDX-License-Identifier: MIT */
/* Builders, the check every command passes, and Identify, against the numbers of the specification.
 */
#include <endian.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "nvme_int.h"

static const struct pst_nvme_ns ns512 = {
	.nsid = 1,
	.lbas = 1000,
	.lba_size = 512,
	.lba_shift = 9,
	.max_transfer = 1 << 19,
};
static const struct pst_nvme_ns ns4096 = {
	.nsid = 1,
	.lbas = 1000,
	.lba_size = 4096,
	.lba_shift = 12,
	.max_transfer = 1 << 19,
};

static struct nvme_uring_cmd rw(uint8_t opcode, uint64_t slba, uint32_t blocks, uint32_t length)
{
	struct nvme_uring_cmd cmd;

	pst_nvme_cmd_rw(&cmd, opcode, 1, slba, blocks);
	cmd.addr = 0x1000;
	cmd.data_len = length;
	return cmd;
}

static int check(const struct pst_nvme_ns *ns, struct nvme_uring_cmd cmd)
{
	return pst_nvme_cmd_check(ns, &cmd, cmd.data_len);
}

static void read_and_write_have_the_wire_layout(void **state)
{
	struct nvme_uring_cmd cmd;

	(void)state;
	memset(&cmd, 0xff, sizeof(cmd));
	pst_nvme_cmd_rw(&cmd, PST_NVME_READ, 5, 0x123456789abcULL, 256);
	assert_int_equal(cmd.opcode, 0x02);
	assert_int_equal(cmd.nsid, 5);
	assert_int_equal(cmd.cdw10, 0x56789abc);
	assert_int_equal(cmd.cdw11, 0x1234);
	/* NLB is one less than the number of blocks */
	assert_int_equal(cmd.cdw12, 255);
	assert_int_equal(cmd.flags | cmd.cdw2 | cmd.cdw3 | cmd.cdw13 | cmd.cdw14 | cmd.cdw15, 0);
	assert_int_equal(cmd.metadata | cmd.addr | cmd.data_len | cmd.metadata_len, 0);
	pst_nvme_cmd_rw(&cmd, PST_NVME_WRITE, 5, 0, 65536);
	assert_int_equal(cmd.opcode, 0x01);
	assert_int_equal(cmd.cdw12, 0xffff);
}

static void flush_has_nothing_but_its_namespace(void **state)
{
	struct nvme_uring_cmd zero = {.nsid = 3};
	struct nvme_uring_cmd cmd;

	(void)state;
	pst_nvme_cmd_flush(&cmd, 3);
	assert_memory_equal(&cmd, &zero, sizeof(cmd));
}

static void dataset_management_counts_ranges_from_zero(void **state)
{
	struct pst_nvme_dsm_range ranges[256];
	struct nvme_uring_cmd cmd;

	(void)state;
	assert_int_equal(sizeof(ranges[0]), 16);
	pst_nvme_cmd_dsm(&cmd, 1, ranges, 256, 1U << 2);
	assert_int_equal(cmd.opcode, 0x09);
	assert_int_equal(cmd.cdw10, 255);
	assert_int_equal(cmd.cdw11, 4);
	assert_int_equal(cmd.data_len, 4096);
	assert_int_equal(check(&ns512, cmd), 0);
}

static void identify_puts_cns_and_csi_in_their_places(void **state)
{
	struct nvme_uring_cmd cmd;
	char data[1];

	(void)state;
	pst_nvme_cmd_identify(&cmd, 7, 0x05, 2, data);
	assert_int_equal(cmd.opcode, 0x06);
	assert_int_equal(cmd.nsid, 7);
	assert_int_equal(cmd.cdw10, 0x05);
	assert_int_equal(cmd.cdw11, 0x02000000);
	assert_int_equal(cmd.data_len, 4096);
}

static void data_must_be_as_long_as_the_blocks(void **state)
{
	(void)state;
	assert_int_equal(check(&ns512, rw(PST_NVME_READ, 0, 8, 4096)), 0);
	/* The mistake that lets a device write past a buffer: 512-byte blocks of a 4096-byte
	 * namespace. */
	assert_int_equal(check(&ns4096, rw(PST_NVME_READ, 0, 8, 4096)), -EINVAL);
	assert_int_equal(check(&ns4096, rw(PST_NVME_WRITE, 0, 8, 32768)), 0);
	assert_int_equal(check(&ns512, rw(PST_NVME_WRITE, 0, 8, 8192)), -EINVAL);
	assert_int_equal(check(&ns512, rw(PST_NVME_COMPARE, 0, 8, 0)), -EINVAL);
	/* Commands with a range and without data */
	assert_int_equal(check(&ns512, rw(PST_NVME_VERIFY, 0, 8, 0)), 0);
	assert_int_equal(check(&ns512, rw(PST_NVME_WRITE_ZEROES, 0, 8, 4096)), -EINVAL);
}

static void extended_blocks_carry_their_metadata(void **state)
{
	struct pst_nvme_ns ns = ns512;

	(void)state;
	ns.metadata_size = 8;
	assert_int_equal(check(&ns, rw(PST_NVME_READ, 0, 8, 8 * 512)), 0);
	ns.extended = true;
	assert_int_equal(check(&ns, rw(PST_NVME_READ, 0, 8, 8 * 512)), -EINVAL);
	assert_int_equal(check(&ns, rw(PST_NVME_READ, 0, 8, 8 * 520)), 0);
}

static void ranges_end_with_the_namespace(void **state)
{
	(void)state;
	assert_int_equal(check(&ns512, rw(PST_NVME_READ, 999, 1, 512)), 0);
	assert_int_equal(check(&ns512, rw(PST_NVME_READ, 999, 2, 1024)), -ERANGE);
	assert_int_equal(check(&ns512, rw(PST_NVME_READ, 1000, 1, 512)), -ERANGE);
	assert_int_equal(check(&ns512, rw(PST_NVME_READ, UINT64_MAX, 2, 1024)), -ERANGE);
	assert_int_equal(check(&ns512, rw(PST_NVME_WRITE_ZEROES, 990, 20, 0)), -ERANGE);
}

static void what_the_kernel_would_refuse_is_refused_before(void **state)
{
	struct pst_nvme_ns ns = ns512;
	struct nvme_uring_cmd cmd = rw(PST_NVME_READ, 0, 8, 4096);

	(void)state;
	cmd.nsid = 2;
	assert_int_equal(check(&ns, cmd), -EINVAL);
	cmd = rw(PST_NVME_READ, 0, 8, 4096);
	cmd.flags = 1;
	assert_int_equal(check(&ns, cmd), -EINVAL);
	ns.max_transfer = 4096;
	assert_int_equal(check(&ns, rw(PST_NVME_READ, 0, 16, 8192)), -EMSGSIZE);
	pst_nvme_cmd_flush(&cmd, 1);
	assert_int_equal(check(&ns, cmd), 0);
	cmd.addr = 0x1000;
	assert_int_equal(check(&ns, cmd), -EINVAL);
}

struct identified {
	struct pst_nvme_id_ctrl ctrl;
	struct pst_nvme_id_ns id;
	struct pst_nvme_sysfs sysfs;
	struct pst_nvme_ns ns;
};

static void set_up(struct identified *it)
{
	memset(it, 0, sizeof(*it));
	memcpy(it->ctrl.sn, "SN 1                ", 20);
	memcpy(it->ctrl.mn, "A model                                 ", 40);
	memcpy(it->ctrl.fr, "1.0     ", 8);
	it->ctrl.mdts = 7;
	it->ctrl.oncs = htole16(0x0c);
	it->ctrl.vwc = 1;
	it->id.nsze = htole64(0x10000);
	it->id.lbaf[0].lbads = 9;
	it->sysfs.max_hw_sectors_kb = 512;
	it->sysfs.max_segments = 128;
}

static void identify_is_decoded(void **state)
{
	struct identified it;

	(void)state;
	set_up(&it);
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL), 0);
	assert_string_equal(it.ns.serial, "SN 1");
	assert_string_equal(it.ns.model, "A model");
	assert_string_equal(it.ns.firmware, "1.0");
	assert_int_equal(it.ns.bytes, 0x10000 * 512);
	assert_int_equal(it.ns.lba_size, 512);
	assert_true(it.ns.volatile_cache);
	assert_true(it.ns.dsm);
	assert_true(it.ns.write_zeroes);
	assert_int_equal(it.ns.physical_block_size, 512);
}

static void the_largest_transfer_is_the_least_of_three(void **state)
{
	struct identified it;

	(void)state;
	set_up(&it);
	(void)pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL);
	assert_int_equal(it.ns.max_transfer, 127 * 4096);
	it.ctrl.mdts = 5;
	(void)pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL);
	assert_int_equal(it.ns.max_transfer, 32 * 4096);
	it.sysfs.max_hw_sectors_kb = 65;
	it.id.lbaf[0].lbads = 12;
	(void)pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL);
	assert_int_equal(it.ns.max_transfer, 64 << 10);
	/* MDTS 0 is no limit */
	it.ctrl.mdts = 0;
	it.sysfs.max_hw_sectors_kb = 1 << 20;
	it.sysfs.max_segments = 0;
	(void)pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL);
	assert_int_equal(it.ns.max_transfer, 65536 * 4096);
}

static void the_format_has_six_bits_when_there_are_more_than_sixteen(void **state)
{
	struct identified it;

	(void)state;
	set_up(&it);
	it.id.flbas = 0x21; /* low bits 1, bits 5-6: 1 */
	it.id.lbaf[1].lbads = 9;
	it.id.lbaf[17].lbads = 12;
	it.id.nlbaf = 1;
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL), 0);
	assert_int_equal(it.ns.lba_size, 512);
	it.id.nlbaf = 17;
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL), 0);
	assert_int_equal(it.ns.lba_size, 4096);
}

static void metadata_and_protection_are_seen(void **state)
{
	struct identified it;

	(void)state;
	set_up(&it);
	it.id.lbaf[0].ms = htole16(8);
	it.id.flbas = 0x10;
	it.id.dps = 0x09;
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, NULL), 0);
	assert_int_equal(it.ns.metadata_size, 8);
	assert_true(it.ns.extended);
	assert_int_equal(it.ns.pi_type, 1);
	assert_true(it.ns.pi_first);
}

static void impossible_identify_data_is_refused(void **state)
{
	struct pst_error err = PST_ERROR_INIT;
	struct identified it;

	(void)state;
	set_up(&it);
	it.id.lbaf[0].lbads = 0;
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, &err), -EINVAL);
	assert_non_null(strstr(err.text, "logical blocks"));
	it.id.lbaf[0].lbads = 9;
	it.id.nsze = htole64(UINT64_MAX);
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, &err), -EINVAL);
	it.id.nlbaf = 20;
	it.id.flbas = 0x65; /* format 53 of 21 */
	assert_int_equal(pst_nvme_decode(&it.ns, &it.ctrl, &it.id, &it.sysfs, &err), -EINVAL);
}

static void results_keep_errno_status_and_value_apart(void **state)
{
	struct pst_nvme_result result;

	(void)state;
	pst_nvme_result_set(&result, 0, 42);
	assert_true(pst_nvme_ok(&result));
	assert_int_equal(result.value, 42);
	pst_nvme_result_set(&result, -EINTR, 0);
	assert_int_equal(result.error, -EINTR);
	assert_int_equal(result.status, 0);
	assert_int_equal(pst_nvme_result_errno(&result), -EINTR);
	pst_nvme_result_set(&result, 0x4000 | 0x2000 | 0x281, 0);
	assert_int_equal(result.error, 0);
	assert_int_equal(result.status, 0x281);
	assert_true(result.dnr);
	assert_true(result.more);
	assert_string_equal(pst_nvme_status_text(result.status), "Unrecovered Read Error");
	assert_int_equal(pst_nvme_result_errno(&result), -ENODATA);
	pst_nvme_result_set(&result, 0x001, 0);
	assert_int_equal(pst_nvme_result_errno(&result), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_and_write_have_the_wire_layout),
		cmocka_unit_test(flush_has_nothing_but_its_namespace),
		cmocka_unit_test(dataset_management_counts_ranges_from_zero),
		cmocka_unit_test(identify_puts_cns_and_csi_in_their_places),
		cmocka_unit_test(data_must_be_as_long_as_the_blocks),
		cmocka_unit_test(extended_blocks_carry_their_metadata),
		cmocka_unit_test(ranges_end_with_the_namespace),
		cmocka_unit_test(what_the_kernel_would_refuse_is_refused_before),
		cmocka_unit_test(identify_is_decoded),
		cmocka_unit_test(the_largest_transfer_is_the_least_of_three),
		cmocka_unit_test(the_format_has_six_bits_when_there_are_more_than_sixteen),
		cmocka_unit_test(metadata_and_protection_are_seen),
		cmocka_unit_test(impossible_identify_data_is_refused),
		cmocka_unit_test(results_keep_errno_status_and_value_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
