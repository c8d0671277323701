/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Printing from Rust on a kernel without it, which does not know "%pA": the text is made
 * here, and the kernel gets "%s". Included once in a module, by the output of helpers.sh.
 */
#include <linux/printk.h>
#include <linux/seq_file.h>

/* Maximum length of a line of the kernel log. */
#define RUST_LINE 1024

/* Of the kernel crate: as vsnprintf(), but returns the end, and writes no NUL. */
char *rust_fmt_argument(char *buf, char *end, const void *arguments);

/* FORMAT is a level, of two bytes, and "%s: %pA" or "%pA". */
int rust__printk(const char *format, ...)
{
	bool named = !strcmp(format + 2, "%s: %pA");
	const char *name = "";
	char line[RUST_LINE];
	char *end = line + sizeof(line) - 1;
	va_list arguments;

	va_start(arguments, format);
	if (named)
		name = va_arg(arguments, const char *);
	end = min(end, rust_fmt_argument(line, end, va_arg(arguments, const void *)));
	va_end(arguments);
	*end = '\0';
	return _printk("%.2s%s%s%s", format, name, named ? ": " : "", line);
}

/* FORMAT is "%pA". */
void rust_seq_printf(struct seq_file *m, const char *format, ...)
{
	char *buf;
	size_t size = seq_get_buf(m, &buf);
	va_list arguments;
	char *end;

	va_start(arguments, format);
	end = rust_fmt_argument(buf, buf + size, va_arg(arguments, const void *));
	va_end(arguments);
	/* Where there is no room for it, the file is read again with more. */
	seq_commit(m, end < buf + size ? end - buf : -1);
}
