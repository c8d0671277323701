/* SPDX-License-Identifier: GPL-2.0 */
/* Tracepoints: krping:post and the others, for perf, trace-cmd and bpftrace. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM krping

#if !defined(KRPING_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define KRPING_TRACE_H

#include <linux/tracepoint.h>

/* In the order of the variants of Operation in rust/logic/failure.rs. */
#define show_operation(operation)			\
	__print_symbolic(operation,			\
			 { 0, "SEND" },			\
			 { 1, "READ" },			\
			 { 2, "WRITE" },		\
			 { 3, "REG_MR" },		\
			 { 4, "LOCAL_INV" },		\
			 { 5, "RECV" },			\
			 { 6, "CONTROL" },		\
			 { 7, "ATOMIC" })

/* In the order of the variants of Progress in rust/engine/outcome.rs. */
#define show_milestone(milestone)			\
	__print_symbolic(milestone,			\
			 { 0, "started" },		\
			 { 1, "address resolved" },	\
			 { 2, "route resolved" },	\
			 { 3, "established" },		\
			 { 4, "warm" },			\
			 { 5, "measured" },		\
			 { 6, "finished" })

DECLARE_EVENT_CLASS(krping_requests,
	TP_PROTO(u32 qpn, u32 operation, u32 value),
	TP_ARGS(qpn, operation, value),
	TP_STRUCT__entry(
		__field(u32, qpn)
		__field(u32, operation)
		__field(u32, value)
	),
	TP_fast_assign(
		__entry->qpn = qpn;
		__entry->operation = operation;
		__entry->value = value;
	),
	TP_printk("qpn=%u operation=%s count=%u", __entry->qpn,
		  show_operation(__entry->operation), __entry->value)
);

/* A list of requests is about to be handed to the driver. */
DEFINE_EVENT(krping_requests, post,
	TP_PROTO(u32 qpn, u32 operation, u32 value),
	TP_ARGS(qpn, operation, value)
);

/* The driver has taken it, or has refused it: value is the errno then. */
DEFINE_EVENT_PRINT(krping_requests, posted,
	TP_PROTO(u32 qpn, u32 operation, u32 value),
	TP_ARGS(qpn, operation, value),
	TP_printk("qpn=%u operation=%s errno=%u", __entry->qpn,
		  show_operation(__entry->operation), __entry->value)
);

/* A completion is about to be handed to the test. */
DEFINE_EVENT_PRINT(krping_requests, completion,
	TP_PROTO(u32 qpn, u32 operation, u32 value),
	TP_ARGS(qpn, operation, value),
	TP_printk("qpn=%u operation=%s status=%u", __entry->qpn,
		  show_operation(__entry->operation), __entry->value)
);

/* The test has done with it what it had to, the posts that follow among it. */
DEFINE_EVENT_PRINT(krping_requests, callback,
	TP_PROTO(u32 qpn, u32 operation, u32 value),
	TP_ARGS(qpn, operation, value),
	TP_printk("qpn=%u operation=%s status=%u", __entry->qpn,
		  show_operation(__entry->operation), __entry->value)
);

/* A connection has reached a milestone. */
TRACE_EVENT(connect,
	TP_PROTO(const void *connection, u32 milestone),
	TP_ARGS(connection, milestone),
	TP_STRUCT__entry(
		__field(const void *, connection)
		__field(u32, milestone)
	),
	TP_fast_assign(
		__entry->connection = connection;
		__entry->milestone = milestone;
	),
	TP_printk("connection=%p milestone=%s", __entry->connection,
		  show_milestone(__entry->milestone))
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE krping_trace
#include <trace/define_trace.h>
