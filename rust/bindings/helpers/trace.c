// SPDX-License-Identifier: GPL-2.0

#define CREATE_TRACE_POINTS
#include "../krping_trace.h"

#include "../helpers.h"

void rust_helper_trace_post(u32 qpn, u32 operation, u32 count)
{
	trace_post(qpn, operation, count);
}

void rust_helper_trace_posted(u32 qpn, u32 operation, u32 error)
{
	trace_posted(qpn, operation, error);
}

void rust_helper_trace_completion(u32 qpn, u32 operation, u32 status)
{
	trace_completion(qpn, operation, status);
}

void rust_helper_trace_callback(u32 qpn, u32 operation, u32 status)
{
	trace_callback(qpn, operation, status);
}

void rust_helper_trace_connect(const void *connection, u32 milestone)
{
	trace_connect(connection, milestone);
}
