// SPDX-License-Identifier: GPL-2.0
// What is said of the pair that is chosen.

// Whether the accusation EACH is about CLIENT and SERVER.
function concerns(each, client, server) {
	if (each.kind === "pair")
		return each.client === names[client] && each.server === names[server];
	return each.client === names[client] || each.server === names[server]
		|| (each.kind === "host" && [names[client], names[server]].includes(each.client));
}

// Why runs of the pair failed, each sentence once.
function failures(box, client, server) {
	const seen = new Set();
	for (const each of mesh.failures) {
		// That a host has no part is said of the host, below.
		if (each.client !== names[client] || each.server !== names[server]
		    || each.errno === "EHOSTDOWN")
			continue;
		const text = `${title(each)}${each.again ? ", when run again" : ""}: ${each.errno}: `
			+ each.reason;
		if (!seen.has(text))
			element("p", text, box, "bad");
		seen.add(text);
	}
	for (const host of [mesh.hosts[client], mesh.hosts[server]]) {
		if (host.reason)
			element("p", `${host.name}: ${host.reason}`, box, "bad");
	}
}

function median(cells) {
	const found = cells.flat().filter((cell) => cell !== null).sort((one, other) => one - other);
	return found.length ? found[Math.floor((found.length - 1) / 2)] : null;
}

function table(box, client, server) {
	const rows = [];
	for (const each of mesh.matrices) {
		for (const [figure, lines] of Object.entries(each.figures)) {
			if (lines[client][server] !== null)
				rows.push([each, figure, lines]);
		}
	}
	if (!rows.length)
		return;
	const made = element("table", null, box);
	const head = element("tr", null, made);
	["test", "size", "rail", "figure", "value", "of all"].forEach(
		(text) => element("th", text, head));
	for (const [each, figure, lines] of rows) {
		const row = element("tr", null, made);
		[each.test, each.size, each.rail, label(figure)].forEach(
			(text) => element("td", text, row));
		element("td", sentence(figure, lines[client][server]), row, "number");
		element("td", sentence(figure, median(lines)), row, "number");
	}
}

function show(details) {
	const { client, server } = state;
	const matrix = mesh.matrices[state.matrix];
	const value = values()[client][server];
	const pair = `${names[client]} to ${names[server]}`;
	const failed = matrix.errors[client][server] ? `, ${matrix.errors[client][server]} failed` : "";
	byId("cell").textContent = client === server && !matrix.runs[client][server] ? names[client]
		: `${pair}: ${matrix.runs[client][server] ? sentence(state.figure, value) : "not run"}`
			+ (state.figure === "errors" ? "" : failed);
	if (!details)
		return;
	byId("pair").textContent = pair;
	const box = byId("details");
	box.replaceChildren();
	failures(box, client, server);
	for (const each of mesh.outliers) {
		if (same(each, matrix) && concerns(each, client, server))
			element("p", each.sentence, box, "bad");
	}
	table(box, client, server);
	if (state.figure !== "errors")
		charts(box, matrix, client, server);
}

function charts(box, matrix, client, server) {
	const figure = state.figure;
	const sizes = mesh.matrices.filter((each) => each.test === matrix.test
		&& each.rail === matrix.rail && each.figures[figure][client][server] !== null);
	if (sizes.length > 1)
		chart(box, `${matrix.test} ${label(figure)} by size`, figure, sizes.map((each) => [
			`${each.size}`, each.figures[figure][client][server],
			median(each.figures[figure])]));
	const series = matrix.series.find((each) => each.client === client && each.server === server);
	if (series && series.figures[figure]) {
		const typical = median(matrix.figures[figure]);
		chart(box, `${title(matrix)}: ${label(figure)} by run`, figure,
		      series.figures[figure].map((value, number) => [`${number + 1}`, value, typical]));
	}
}

// POINTS are names, values, and what is typical there.
function chart(box, text, figure, points) {
	element("h3", text, box);
	const space = "http://www.w3.org/2000/svg";
	const add = (name, attributes, parent, content) => {
		const made = document.createElementNS(space, name);
		Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
		if (content !== undefined)
			made.textContent = content;
		parent.append(made);
		return made;
	};
	const [width, height, edge] = [420, 150, 30];
	const picture = add("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
		"aria-label": points.map(([name, value]) => `${name}: ${sentence(figure, value)}`)
			.join(", ") }, box);
	const most = Math.max(...points.flatMap(([, value, typical]) => [value, typical ?? 0])) || 1;
	const place = (value, number) => [
		edge + (width - 2 * edge) * (points.length > 1 ? number / (points.length - 1) : .5),
		height - edge - (height - 2 * edge) * value / most];
	const line = (picked, name) => add("polyline", { class: name, points: points.map(
		(point, number) => place(picked(point), number).join(",")).join(" ") }, picture);
	add("line", { x1: edge, x2: width - edge, y1: height - edge, y2: height - edge }, picture);
	line(([, , typical]) => typical ?? 0, "typical");
	line(([, value]) => value, "value");
	points.forEach(([name, value], number) => {
		const [x, y] = place(value, number);
		add("circle", { cx: x, cy: y, r: 3 }, picture);
		if (points.length <= 12) {
			add("text", { x, y: height - 8, "text-anchor": "middle" }, picture, name);
			add("text", { x, y: y - 8, "text-anchor": "middle" }, picture,
			    sentence(figure, value));
		}
	});
	element("p", "dashed: the median of all pairs; from zero up", box, "soft");
}
