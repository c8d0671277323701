// SPDX-License-Identifier: GPL-2.0
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/security.h>

#include "../helpers.h"

const struct cred *rust_helper_get_current_cred(void)
{
	return get_current_cred();
}

const struct cred *rust_helper_override_creds(const struct cred *cred)
{
	return override_creds(cred);
}

void rust_helper_revert_creds(const struct cred *cred)
{
	revert_creds(cred);
}

bool rust_helper_capable_net_admin(void)
{
	return capable(CAP_NET_ADMIN);
}

bool rust_helper_capable_sys_admin(void)
{
	return capable(CAP_SYS_ADMIN);
}

bool rust_helper_capable_sys_rawio(void)
{
	return capable(CAP_SYS_RAWIO);
}

int rust_helper_memory_locked_down(void)
{
	return security_locked_down(LOCKDOWN_DEV_MEM);
}
