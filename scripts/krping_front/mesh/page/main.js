// SPDX-License-Identifier: GPL-2.0
// What is chosen, by clicks, keys, lists and the address; and the lists.

// The address names what is chosen: #CLIENT,SERVER, and after these the test, size, rail and
// figure if they are given.
function addressed() {
	const words = location.hash.slice(1).split(",").map((word) => {
		try {
			return decodeURIComponent(word);
		} catch {
			return "";
		}
	});
	const [client, server] = words.slice(0, 2).map((name) => numbers.get(name));
	if (client === undefined || server === undefined)
		return false;
	const [test, size, rail, figure] = words.slice(2);
	const number = mesh.matrices.findIndex((each) => (!test || each.test === test)
		&& (!size || each.size === Number(size)) && (!rail || each.rail === rail));
	[state.client, state.server] = [client, server];
	choose(Math.max(0, number), figure || state.figure);
	return true;
}

function note() {
	const matrix = mesh.matrices[state.matrix];
	const words = [names[state.client], names[state.server], matrix.test, matrix.size, matrix.rail,
		       state.figure];
	const wanted = `#${words.map(encodeURIComponent).join(",")}`;
	if (location.hash !== wanted)
		history.replaceState(null, "", wanted);
}

function move(client, server) {
	state.client = Math.min(names.length - 1, Math.max(0, client));
	state.server = Math.min(names.length - 1, Math.max(0, server));
	draw();
	show(true);
	note();
}

function choose(number, figure) {
	state.matrix = number;
	const figures = [...Object.keys(mesh.matrices[number].figures), "errors"];
	state.figure = figures.includes(figure) ? figure : figures[0];
	byId("matrix").value = `${number}`;
	byId("figure").replaceChildren(...figures.map((name) => {
		const option = element("option", label(name));
		option.value = name;
		return option;
	}));
	byId("figure").value = state.figure;
	draw();
	show(true);
}

function listed(id, groups, text, none = "none") {
	const list = byId(id);
	if (!groups.length)
		element("li", none, list);
	for (const group of groups) {
		const button = element("button", text(group), element("li", null, list));
		button.type = "button";
		button.addEventListener("click", () => {
			[state.client, state.server] = pairOf(group[0]);
			choose(mesh.matrices.findIndex((matrix) => same(matrix, group[0])),
			       group[0].figure);
			note();
			map.focus();
		});
	}
}

function pairOf(each) {
	if (each.client === undefined)
		return [state.client, state.server];
	const client = each.client === null ? null : numbers.get(each.client);
	const server = each.server === null ? null : numbers.get(each.server);
	// Of a host one of its pairs.
	const other = (number) => (number + 1) % names.length;
	if (client === null)
		return [other(server), server];
	return [client, server === null || server === client ? other(client) : server];
}

// FOUND, those of the same host or pair together.
function together(found) {
	const groups = new Map();
	for (const each of found) {
		const key = JSON.stringify([each.kind, each.client, each.server]);
		groups.set(key, [...groups.get(key) ?? [], each]);
	}
	return [...groups.values()];
}

// How much worse FIGURE is, at most.
function worse(figure, factor) {
	if (figure === "errors")
		return `up to ${Math.round(100 * factor)}% of its runs failed`;
	const most = Number(factor.toPrecision(3));
	return figure === "retransmits" ? `up to ${most} retransmits in a run`
		: `${label(figure)} is up to ${most} times worse than typical`;
}

// GROUP, all accusations of one host or pair, as a sentence.
function accused(group) {
	const first = group[0];
	if (group.length === 1)
		return `${title(first)}: ${first.sentence}`;
	const figures = new Map();
	for (const each of group)
		figures.set(each.figure, Math.max(figures.get(each.figure) ?? 0, each.factor));
	const texts = [...figures].map(([figure, factor]) => worse(figure, factor));
	const count = new Set(group.map(title)).size;
	return `${first.sentence.split(": ")[0]}: ${texts.join(", ")}; in ${count} of `
		+ `${mesh.matrices.length} matrices`;
}

function hosts() {
	const made = byId("hosts");
	const head = element("tr", null, made);
	["host", "state", "kernel", "module", "addresses", "clock"].forEach(
		(text) => element("th", text, head));
	for (const host of mesh.hosts) {
		const row = element("tr", null, made);
		element("td", host.name, row);
		element("td", host.reason === null ? "took part" : host.reason, row,
			host.reason === null ? "" : "bad");
		element("td", host.kernel, row);
		element("td", host.module, row);
		element("td", Object.values(host.addresses).filter(Boolean).join(", "), row);
		const jumps = host.clock_jumps.map(
			(jump) => `set by ${jump.ns / 1e6} ms in round ${jump.round}`);
		element("td", host.clock_offset_ns === null ? "-" : [
			`${(host.clock_offset_ns / 1e6).toFixed(3)} ms`, ...jumps].join("; "), row);
	}
}

byId("summary").textContent = `${mesh.started}: ${names.length} hosts, ${mesh.asked.pattern}, `
	+ `${mesh.runs.all} runs, ${mesh.runs.failed} failed, `
	+ (mesh.again.failed ? `${mesh.again.failed} failed when run again, ` : "")
	+ `${mesh.misses.length} beyond limits, ${mesh.verdict}${mesh.interrupted ? "; interrupted" : ""}`;
mesh.matrices.forEach((matrix, number) => {
	const option = element("option", title(matrix), byId("matrix"));
	option.value = `${number}`;
});
byId("matrix").addEventListener("change", (event) => {
	choose(Number(event.target.value), state.figure);
	note();
});
byId("figure").addEventListener("change", (event) => {
	choose(state.matrix, event.target.value);
	note();
});
map.addEventListener("click", (event) => {
	const box = map.getBoundingClientRect();
	move(Math.floor((event.clientY - box.top - state.top) / state.cell),
	     Math.floor((event.clientX - box.left - state.left) / state.cell));
});
map.addEventListener("keydown", (event) => {
	const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
			PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -names.length],
			End: [0, names.length] };
	const step = steps[event.key];
	if (step) {
		event.preventDefault();
		move(state.client + step[0], state.server + step[1]);
	}
});
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
window.addEventListener("resize", draw);
window.addEventListener("hashchange", addressed);
listed("outliers", together(mesh.outliers), accused, mesh.verdict);
listed("dismissed", together(mesh.dismissed), accused);
listed("unjudged", [...mesh.doubtful, ...mesh.unjudged].map((each) => [each]), ([each]) =>
	 `${title(each)}: ${each.sentence}`);
listed("misses", mesh.misses.map((each) => [each]), ([each]) => `${title(each)}: ${each.client} to `
	+ `${each.server}: ${label(each.figure)} is ${sentence(each.figure, each.value)}, and the `
	+ `limit ${sentence(each.figure, each.limit)}`);
hosts();
if (mesh.matrices.length && !addressed())
	choose(0, "");
