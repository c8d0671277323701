// SPDX-License-Identifier: GPL-2.0
#include <linux/cgroup.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/kernel_stat.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/sched/stat.h>
#include <linux/sched/task.h>
#include <linux/string.h>

#include "../helpers.h"

unsigned int rust_helper_possible_cpus(void)
{
	return num_possible_cpus();
}

struct task_struct *rust_helper_kthread_run(int (*fn)(void *data), void *data,
					    const char *name)
{
	struct task_struct *task = kthread_create(fn, data, "%s", name);

	/* Held until it is joined, however early the thread returns. */
	if (!IS_ERR(task)) {
		get_task_struct(task);
		wake_up_process(task);
	}
	return task;
}

void rust_helper_put_task(struct task_struct *task)
{
	put_task_struct(task);
}

bool rust_helper_cpu_online(unsigned int cpu)
{
	return cpu < nr_cpu_ids && cpu_online(cpu);
}

unsigned int rust_helper_online_cpus(void)
{
	return num_online_cpus();
}

void rust_helper_nap(u64 ns)
{
	unsigned long us = div_u64(ns, NSEC_PER_USEC);

	usleep_range_state(us, us + us / 4 + 1, TASK_IDLE);
}

/* Returns the time that a CPU has spent in softirqs, in nanoseconds. */
u64 rust_helper_softirq_ns(unsigned int cpu)
{
	return cpu_possible(cpu) ? kcpustat_cpu(cpu).cpustat[CPUTIME_SOFTIRQ] : 0;
}

/* Returns the steps in which that time grows, in nanoseconds. */
u32 rust_helper_softirq_step_ns(void)
{
	return IS_ENABLED(CONFIG_IRQ_TIME_ACCOUNTING) ||
	       IS_ENABLED(CONFIG_VIRT_CPU_ACCOUNTING_NATIVE) ? 1 : TICK_NSEC;
}

int rust_helper_run_on(unsigned int cpu)
{
	if (cpu >= nr_cpu_ids)
		return -EINVAL;
	return set_cpus_allowed_ptr(current, cpumask_of(cpu));
}

/* Returns true if the freezer of control groups has frozen the task. */
bool rust_helper_task_frozen(struct task_struct *task)
{
	return cgroup_task_frozen(task);
}

unsigned long rust_helper_jiffies(void)
{
	return jiffies;
}

bool rust_helper_single_task_running(void)
{
	return single_task_running();
}

void rust_helper_cond_resched(void)
{
	cond_resched();
	cpu_relax();
}

void rust_helper_throttle_locally(void)
{
	current->flags |= PF_LOCAL_THROTTLE;
}

void rust_helper_current_comm(char *to)
{
	strscpy_pad(to, current->comm, TASK_COMM_LEN);
}
