// SPDX-License-Identifier: GPL-2.0
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <net/net_namespace.h>

#include "../helpers.h"

struct net *rust_helper_get_current_net(void)
{
	return current->nsproxy ? get_net(current->nsproxy->net_ns) : NULL;
}

void rust_helper_put_net(struct net *net)
{
	put_net(net);
}

unsigned int rust_helper_ifindex(struct net *net, const char *name)
{
	struct net_device *dev = dev_get_by_name(net, name);
	unsigned int index = dev ? dev->ifindex : 0;

	dev_put(dev);
	return index;
}
