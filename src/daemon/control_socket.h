/* SPDX-License-Identifier: MIT */
/* The node of the control socket: made, taken over from a dead daemon, removed. */
#ifndef PST_CONTROL_SOCKET_H
#define PST_CONTROL_SOCKET_H

#include <sys/types.h>
#include <sys/un.h>

#include <penstock/error.h>

struct pst_control_socket {
	int fd;
	struct sockaddr_un addr;
	dev_t dev; /* of the node we made, so that we remove no other */
	ino_t ino;
};

/*
 * Listens at path, mode 0600. Returns 0; -EADDRINUSE when another daemon listens there; another
 * negative errno.
 */
int pst_control_socket_open(const char *path, struct pst_control_socket *sock,
			    struct pst_error *err);

/* The same at PST_CONTROL_PATH; makes its directory. */
int pst_control_socket_open_default(struct pst_control_socket *sock, struct pst_error *err);

void pst_control_socket_close(struct pst_control_socket *sock);

#endif
