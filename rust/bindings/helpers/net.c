// SPDX-License-Identifier: GPL-2.0
#include <linux/fs.h>
#include <linux/in.h>
#include <linux/inetdevice.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/ns_common.h>
#include <linux/nsproxy.h>
#include <linux/socket.h>
#include <linux/tcp.h>
#include <linux/uio.h>
#include <net/addrconf.h>
#include <net/if_inet6.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "../helpers.h"

struct net *rust_helper_get_current_net(void)
{
	return current->nsproxy ? get_net(current->nsproxy->net_ns) : NULL;
}

void rust_helper_put_net(struct net *net)
{
	put_net(net);
}

bool rust_helper_net_is_in_use(struct net *net)
{
	return ns_ref_active_read(net) > 0;
}

unsigned int rust_helper_ifindex(struct net *net, const char *name)
{
	struct net_device *dev = dev_get_by_name(net, name);
	unsigned int index = dev ? dev->ifindex : 0;

	dev_put(dev);
	return index;
}

/*
 * The socket holds a reference on its namespace, which those that the kernel creates do not,
 * and sends without waiting for more. Those that it accepts are alike.
 *
 * The reference is there until TCP is done, which may be after the release. Without it, the
 * release would stop the timers, and what is lost then would not be repeated.
 */
int rust_helper_tcp_create(struct net *net, int family, struct socket **sock)
{
	int ret = sock_create_kern(net, family, SOCK_STREAM, IPPROTO_TCP, sock);

	if (ret)
		return ret;
	sk_net_refcnt_upgrade((*sock)->sk);
	tcp_sock_set_nodelay((*sock)->sk);
	return 0;
}

void rust_helper_sock_reuse_address(struct socket *sock)
{
	sock_set_reuseaddr(sock->sk);
}

/* Here and below, @timeout is in jiffies; with 0 nothing waits. */
int rust_helper_sock_connect(struct socket *sock, void *addr, int len, long timeout)
{
	WRITE_ONCE(sock->sk->sk_sndtimeo, timeout);
	return kernel_connect(sock, addr, len, 0);
}

int rust_helper_sock_accept(struct socket *sock, struct socket **accepted, long timeout)
{
	WRITE_ONCE(sock->sk->sk_rcvtimeo, timeout);
	return kernel_accept(sock, accepted, 0);
}

int rust_helper_sock_send(struct socket *sock, const void *from, size_t len, long timeout)
{
	size_t part = min_t(size_t, len, MAX_RW_COUNT);
	struct msghdr msg = { .msg_flags = MSG_NOSIGNAL };
	struct kvec vec = { .iov_base = (void *)from, .iov_len = part };

	WRITE_ONCE(sock->sk->sk_sndtimeo, timeout);
	return kernel_sendmsg(sock, &msg, &vec, 1, part);
}

int rust_helper_sock_receive(struct socket *sock, void *to, size_t len, long timeout)
{
	size_t part = min_t(size_t, len, MAX_RW_COUNT);
	struct msghdr msg = {};
	struct kvec vec = { .iov_base = to, .iov_len = part };

	WRITE_ONCE(sock->sk->sk_rcvtimeo, timeout);
	return kernel_recvmsg(sock, &msg, &vec, 1, part, MSG_WAITALL);
}

void rust_helper_sock_end_sending(struct socket *sock)
{
	/* It fails where the connection is gone. */
	kernel_sock_shutdown(sock, SHUT_WR);
}

/*
 * Fills @to with addresses of the interfaces of @net, @room at most, but none that only mean
 * something on their own link. Returns how many. Interfaces can only be walked in C.
 */
unsigned int rust_helper_addresses(struct net *net, struct __kernel_sockaddr_storage *to,
				   unsigned int room)
{
	struct net_device *dev;
	unsigned int n = 0;

	rcu_read_lock();
	for_each_netdev_rcu(net, dev) {
		struct in_device *v4 = __in_dev_get_rcu(dev);
		const struct in_ifaddr *each;

		if (v4) {
			in_dev_for_each_ifa_rcu(each, v4) {
				struct sockaddr_in *address = (void *)&to[n];

				if (n == room)
					goto out;
				address->sin_family = AF_INET;
				address->sin_addr.s_addr = each->ifa_local;
				n++;
			}
		}
#if IS_ENABLED(CONFIG_IPV6)
		struct inet6_dev *v6 = __in6_dev_get(dev);
		const struct inet6_ifaddr *each6;

		if (v6) {
			list_for_each_entry_rcu(each6, &v6->addr_list, if_list) {
				struct sockaddr_in6 *address = (void *)&to[n];

				if (ipv6_addr_type(&each6->addr) & IPV6_ADDR_LINKLOCAL)
					continue;
				if (n == room)
					goto out;
				address->sin6_family = AF_INET6;
				address->sin6_addr = each6->addr;
				n++;
			}
		}
#endif
	}
out:
	rcu_read_unlock();
	return n;
}
