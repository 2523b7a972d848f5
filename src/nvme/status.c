/* SPDX-License-Identifier: MIT */
/* Status codes in the specification's words (NVMe Base 2.0c, figures 94 to 98) and as errnos. */
#include <errno.h>

#include "base.h"
#include "nvme_int.h"

static const struct {
	uint16_t status; /* type << 8 | code */
	int16_t code;	 /* errno as the kernel's block layer maps it */
	const char *text;
} statuses[] = {
	{0x000, 0, "Successful Completion"},
	{0x001, -EOPNOTSUPP, "Invalid Command Opcode"},
	{0x002, -EOPNOTSUPP, "Invalid Field in Command"},
	{0x003, -EIO, "Command ID Conflict"},
	{0x004, -EIO, "Data Transfer Error"},
	{0x005, -EIO, "Commands Aborted due to Power Loss Notification"},
	{0x006, -EIO, "Internal Error"},
	{0x007, -EIO, "Command Abort Requested"},
	{0x008, -EIO, "Command Aborted due to SQ Deletion"},
	{0x009, -EIO, "Command Aborted due to Failed Fused Command"},
	{0x00a, -EIO, "Command Aborted due to Missing Fused Command"},
	{0x00b, -EIO, "Invalid Namespace or Format"},
	{0x00c, -EIO, "Command Sequence Error"},
	{0x00d, -EIO, "Invalid SGL Segment Descriptor"},
	{0x00e, -EIO, "Invalid Number of SGL Descriptors"},
	{0x00f, -EIO, "Data SGL Length Invalid"},
	{0x010, -EIO, "Metadata SGL Length Invalid"},
	{0x011, -EIO, "SGL Descriptor Type Invalid"},
	{0x012, -EIO, "Invalid Use of Controller Memory Buffer"},
	{0x013, -EIO, "PRP Offset Invalid"},
	{0x014, -EIO, "Atomic Write Unit Exceeded"},
	{0x015, -EACCES, "Operation Denied"},
	{0x016, -EIO, "SGL Offset Invalid"},
	{0x018, -EIO, "Host Identifier Inconsistent Format"},
	{0x019, -EIO, "Keep Alive Timer Expired"},
	{0x01a, -EIO, "Keep Alive Timeout Invalid"},
	{0x01b, -EIO, "Command Aborted due to Preempt and Abort"},
	{0x01c, -EIO, "Sanitize Failed"},
	{0x01d, -EIO, "Sanitize In Progress"},
	{0x01e, -EIO, "SGL Data Block Granularity Invalid"},
	{0x01f, -EIO, "Command Not Supported for Queue in CMB"},
	{0x020, -EROFS, "Namespace is Write Protected"},
	{0x021, -EAGAIN, "Command Interrupted"},
	{0x022, -EAGAIN, "Transient Transport Error"},
	{0x023, -EIO, "Command Prohibited by Command and Feature Lockdown"},
	{0x024, -EIO, "Admin Command Media Not Ready"},
	{0x080, -EIO, "LBA Out of Range"},
	{0x081, -ENOSPC, "Capacity Exceeded"},
	{0x082, -EAGAIN, "Namespace Not Ready"},
	{0x083, -EBADE, "Reservation Conflict"},
	{0x084, -EIO, "Format In Progress"},
	{0x085, -EIO, "Invalid Value Size"},
	{0x086, -EIO, "Invalid Key Size"},
	{0x087, -EIO, "KV Key Does Not Exist"},
	{0x088, -EIO, "Unrecovered Error"},
	{0x089, -EIO, "Key Exists"},
	{0x100, -EIO, "Completion Queue Invalid"},
	{0x101, -EIO, "Invalid Queue Identifier"},
	{0x102, -EIO, "Invalid Queue Size"},
	{0x103, -EIO, "Abort Command Limit Exceeded"},
	{0x105, -EIO, "Asynchronous Event Request Limit Exceeded"},
	{0x106, -EIO, "Invalid Firmware Slot"},
	{0x107, -EIO, "Invalid Firmware Image"},
	{0x108, -EIO, "Invalid Interrupt Vector"},
	{0x109, -EIO, "Invalid Log Page"},
	{0x10a, -EIO, "Invalid Format"},
	{0x10b, -EIO, "Firmware Activation Requires Conventional Reset"},
	{0x10c, -EIO, "Invalid Queue Deletion"},
	{0x10d, -EIO, "Feature Identifier Not Saveable"},
	{0x10e, -EIO, "Feature Not Changeable"},
	{0x10f, -EIO, "Feature Not Namespace Specific"},
	{0x110, -EIO, "Firmware Activation Requires NVM Subsystem Reset"},
	{0x111, -EIO, "Firmware Activation Requires Controller Level Reset"},
	{0x112, -EIO, "Firmware Activation Requires Maximum Time Violation"},
	{0x113, -EIO, "Firmware Activation Prohibited"},
	{0x114, -EIO, "Overlapping Range"},
	{0x115, -EIO, "Namespace Insufficient Capacity"},
	{0x116, -EIO, "Namespace Identifier Unavailable"},
	{0x118, -EIO, "Namespace Already Attached"},
	{0x119, -EIO, "Namespace Is Private"},
	{0x11a, -EIO, "Namespace Not Attached"},
	{0x11b, -EIO, "Thin Provisioning Not Supported"},
	{0x11c, -EIO, "Controller List Invalid"},
	{0x11d, -EIO, "Device Self-test In Progress"},
	{0x11e, -EIO, "Boot Partition Write Prohibited"},
	{0x11f, -EIO, "Invalid Controller Identifier"},
	{0x120, -EIO, "Invalid Secondary Controller State"},
	{0x121, -EIO, "Invalid Number of Controller Resources"},
	{0x122, -EIO, "Invalid Resource Identifier"},
	{0x123, -EIO, "Sanitize Prohibited While Persistent Memory Region is Enabled"},
	{0x124, -EIO, "ANA Group Identifier Invalid"},
	{0x125, -EIO, "ANA Attach Failed"},
	{0x126, -ENOSPC, "Insufficient Capacity"},
	{0x127, -EIO, "Namespace Attachment Limit Exceeded"},
	{0x128, -EIO, "Prohibition of Command Execution Not Supported"},
	{0x129, -EOPNOTSUPP, "I/O Command Set Not Supported"},
	{0x12a, -EIO, "I/O Command Set Not Enabled"},
	{0x12b, -EIO, "I/O Command Set Combination Rejected"},
	{0x12c, -EIO, "Invalid I/O Command Set"},
	{0x12d, -EIO, "Identifier Unavailable"},
	{0x180, -EIO, "Conflicting Attributes"},
	{0x181, -EILSEQ, "Invalid Protection Information"},
	{0x182, -EROFS, "Attempted Write to Read Only Range"},
	{0x183, -EIO, "Command Size Limit Exceeded"},
	{0x1b8, -EIO, "Zoned Boundary Error"},
	{0x1b9, -EIO, "Zone Is Full"},
	{0x1ba, -EROFS, "Zone Is Read Only"},
	{0x1bb, -EIO, "Zone Is Offline"},
	{0x1bc, -EIO, "Zone Invalid Write"},
	{0x1bd, -EOVERFLOW, "Too Many Active Zones"},
	{0x1be, -ETOOMANYREFS, "Too Many Open Zones"},
	{0x1bf, -EIO, "Invalid Zone State Transition"},
	{0x280, -EIO, "Write Fault"},
	{0x281, -ENODATA, "Unrecovered Read Error"},
	{0x282, -EILSEQ, "End-to-end Guard Check Error"},
	{0x283, -EILSEQ, "End-to-end Application Tag Check Error"},
	{0x284, -EILSEQ, "End-to-end Reference Tag Check Error"},
	{0x285, -EIO, "Compare Failure"},
	{0x286, -EACCES, "Access Denied"},
	{0x287, -EIO, "Deallocated or Unwritten Logical Block"},
	{0x288, -EIO, "End-to-End Storage Tag Check Error"},
	{0x300, -EIO, "Internal Path Error"},
	{0x301, -EIO, "Asymmetric Access Persistent Loss"},
	{0x302, -EAGAIN, "Asymmetric Access Inaccessible"},
	{0x303, -EAGAIN, "Asymmetric Access Transition"},
	{0x360, -EAGAIN, "Controller Pathing Error"},
	{0x370, -EAGAIN, "Host Pathing Error"},
	{0x371, -EAGAIN, "Command Aborted By Host"},
};

static int find_status(uint16_t status)
{
	size_t i;

	for (i = 0; i < PST_ARRAY_SIZE(statuses); i++) {
		if (statuses[i].status == (status & 0x7ff))
			return (int)i;
	}
	return -1;
}

const char *pst_nvme_status_text(uint16_t status)
{
	int i = find_status(status);

	return i < 0 ? "unknown status" : statuses[i].text;
}

int pst_nvme_result_errno(const struct pst_nvme_result *result)
{
	int i;

	if (result->error || result->status == 0)
		return result->error;
	i = find_status(result->status);
	return i < 0 ? -EIO : statuses[i].code;
}
