/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <unistd.h>

#include <linux/vdpa.h>
#include <netlink/genl/ctrl.h>
#include <netlink/genl/genl.h>
#include <netlink/netlink.h>

#include "base.h"
#include "vdpa.h"

static int note_error(struct sockaddr_nl *from, struct nlmsgerr *nlerr, void *arg)
{
	(void)from;
	*(int *)arg = nlerr->error;
	return NL_STOP;
}

static int note_ack(struct nl_msg *msg, void *arg)
{
	(void)msg;
	*(int *)arg = 0;
	return NL_STOP;
}

/* Sends one command and waits for its answer: 0 or the kernel's negative errno. */
static int transact(uint8_t command, const char *name, const char *mgmtdev)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct nl_msg *msg = nlmsg_alloc();
	int result = -EIO;
	int waiting = 1;
	int family;

	if (!sock || !msg) {
		result = -ENOMEM;
		goto out;
	}
	if (genl_connect(sock) != 0)
		goto out;
	family = genl_ctrl_resolve(sock, VDPA_GENL_NAME);
	if (family < 0) {
		result = -ENOPROTOOPT;
		goto out;
	}
	if (!genlmsg_put(msg, NL_AUTO_PORT, NL_AUTO_SEQ, family, 0, NLM_F_ACK, command,
			 VDPA_GENL_VERSION) ||
	    nla_put_string(msg, VDPA_ATTR_DEV_NAME, name) != 0 ||
	    (mgmtdev && nla_put_string(msg, VDPA_ATTR_MGMTDEV_DEV_NAME, mgmtdev) != 0)) {
		result = -ENOMEM;
		goto out;
	}

	nl_socket_modify_err_cb(sock, NL_CB_CUSTOM, note_error, &waiting);
	(void)nl_socket_modify_cb(sock, NL_CB_ACK, NL_CB_CUSTOM, note_ack, &waiting);
	/* The kernel works on the command within sending. */
	if (nl_send_auto(sock, msg) < 0)
		goto out;
	while (waiting > 0 && nl_recvmsgs_default(sock) >= 0)
		;
	result = waiting > 0 ? -EIO : waiting;

out:
	nlmsg_free(msg);
	nl_socket_free(sock);
	return result;
}

static int explain(int code, const char *what, const char *name, struct pst_error *err)
{
	switch (code) {
	case -ENOPROTOOPT:
		return pst_error_set(
			err, -ENODEV,
			"device %s cannot be %s: this kernel has no vdpa netlink family; "
			"load it with: modprobe vdpa",
			name, what);
	case -EPERM:
		return pst_error_set(
			err, code,
			"device %s cannot be %s: CAP_NET_ADMIN in the host's network "
			"namespace is needed; run as root, or give attach=no and let root "
			"do it (vdpa dev add name %s mgmtdev vduse)",
			name, what, name);
	case -EEXIST:
		return pst_error_set(err, code,
				     "device %s cannot be %s: a vdpa device of that name "
				     "exists; choose another name",
				     name, what);
	default:
		return pst_error_set(err, code, "device %s cannot be %s: %s (vdpa dev show)", name,
				     what, pst_errname(code));
	}
}

int pst_vdpa_add(const char *name, struct pst_error *err)
{
	int ret = transact(VDPA_CMD_DEV_NEW, name, "vduse");

	return ret ? explain(ret, "attached", name, err) : 0;
}

int pst_vdpa_del(const char *name, struct pst_error *err)
{
	int ret = transact(VDPA_CMD_DEV_DEL, name, NULL);

	return ret ? explain(ret, "detached", name, err) : 0;
}

int pst_vdpa_check(struct pst_error *err)
{
	if (access("/sys/bus/vdpa/drivers/virtio_vdpa", F_OK) != 0)
		return pst_error_set(
			err, -ENODEV,
			"the host cannot use the device: driver virtio_vdpa is missing; "
			"load it with: modprobe virtio_vdpa");
	if (access("/sys/bus/virtio/drivers/virtio_blk", F_OK) != 0)
		return pst_error_set(
			err, -ENODEV,
			"the host cannot use the device: driver virtio_blk is missing; "
			"load it with: modprobe virtio_blk");
	return 0;
}
