/* SPDX-License-Identifier: MIT */
/* Mode sync: one ioctl after the other, whatever the queue depth. */
#include "job.h"

static int send_one(const struct pst_job *job, const struct pst_slot *slot)
{
	struct pst_nvme_result result;
	struct nvme_uring_cmd cmd;

	pst_job_command(job, slot, &cmd);
	(void)pst_nvme_io_sync(job->devices[slot->device].target->ns, &cmd, &result);
	return result.error ? result.error : result.status;
}

static void turn_around(struct pst_job *job)
{
	struct pst_slot *slot = &job->slots[0];
	uint64_t now = pst_now_ns();

	while (job->quota && now < job->deadline && !pst_job_stopped(job)) {
		if (pst_job_pick(job, slot, now)) {
			int res = send_one(job, slot);

			now = pst_now_ns();
			pst_job_complete(job, slot, res, now);
			if (job->quota != UINT64_MAX)
				job->quota--;
			continue;
		}
		if (!job->pace.rate || job->reading_back)
			break;
		pst_job_sleep(now, pst_min_u64(job->pace.next, job->deadline));
		now = pst_now_ns();
	}
	if (job->counting)
		pst_job_clock_stop(job, now);
}

void pst_job_run_sync(struct pst_job *job)
{
	pst_job_clock_start(job);
	turn_around(job);
	if (pst_job_start_reading_back(job))
		turn_around(job);
}
