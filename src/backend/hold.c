/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>

#include "base.h"
#include "hold.h"

int pst_hold_block(const char *node, const char *served, int *fd, struct pst_error *err)
{
	*fd = open(node, O_RDONLY | O_EXCL | O_CLOEXEC);
	if (*fd >= 0)
		return 0;
	if (errno == EBUSY)
		return pst_error_set(
			err, -EBUSY,
			"%s is in use: %s or a partition of it is mounted, or held by "
			"another (lsblk %s); release it, or add force to serve it all the "
			"same",
			served, node, node);
	return pst_error_set(err, -errno,
			     "%s cannot be held while %s is served: %s; add force to do without",
			     node, served, pst_errname(errno));
}
