// SPDX-License-Identifier: GPL-2.0
// Draws the document in #data. Texts of it become text nodes only, never markup.
"use strict";
(() => {
	const mesh = JSON.parse(document.getElementById("data").textContent);
	const names = mesh.hosts.map((host) => host.name);
	const numbers = new Map(names.map((name, number) => [name, number]));
	const byId = (id) => document.getElementById(id);
	// cividis: it ascends in brightness, and is alike for all kinds of colour vision.
	const COLOURS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102],
			 [254, 232, 56]];
	const UNITS = { time: ["ns", "us", "ms", "s"], bytes: ["B/s", "kB/s", "MB/s", "GB/s"],
			rate: ["/s", "k/s", "M/s", "G/s"] };
	const map = byId("map");
	const state = { matrix: 0, figure: "", client: 0, server: Math.min(1, names.length - 1),
			cell: 1, left: 0, top: 0, low: 0, high: 0 };

	function element(name, text, parent, className) {
		const made = document.createElement(name);
		if (text !== undefined && text !== null)
			made.textContent = text;
		if (className)
			made.className = className;
		if (parent)
			parent.append(made);
		return made;
	}

	function sentence(figure, value) {
		if (value === null || value === undefined)
			return "-";
		if (figure === "errors")
			return `${value} failed`;
		const units = UNITS[figure.endsWith("_ns") ? "time" : figure === "rate" ? "rate" : "bytes"];
		let power = 0;
		while (value >= 1000 && power < 3) {
			value /= 1000;
			power += 1;
		}
		return `${Number(value.toPrecision(4))} ${units[power]}`;
	}

	const label = (figure) => figure.replace(/_ns$/, "").replace("bytes_per_s", "bandwidth");
	const title = (key) => `${key.test}, ${key.size} bytes, rail ${key.rail}`;
	const worseIsMore = (figure) => figure.endsWith("_ns") || figure === "errors";
	const same = (one, other) => one.test === other.test && one.size === other.size
		&& one.rail === other.rail;

	function values() {
		const matrix = mesh.matrices[state.matrix];
		return state.figure === "errors" ? matrix.errors : matrix.figures[state.figure];
	}

	// What is worse is brighter.
	function colour(value) {
		const range = Math.log(state.high) - Math.log(state.low);
		let share = range > 0 ? (Math.log(Math.max(value, 1e-9)) - Math.log(state.low)) / range : 0;
		share = Math.min(1, Math.max(0, share));
		if (!worseIsMore(state.figure))
			share = 1 - share;
		const place = share * (COLOURS.length - 1);
		const from = COLOURS[Math.floor(place)];
		const to = COLOURS[Math.min(COLOURS.length - 1, Math.floor(place) + 1)];
		return from.map((each, part) => Math.round(each + (to[part] - each) * (place % 1)));
	}

	function range(cells) {
		const known = cells.flat().filter((cell) => cell !== null && cell > 0);
		known.sort((one, other) => one - other);
		if (!known.length)
			return [1, 1];
		// A few cells far off leave the others something of the scale.
		const low = known[Math.floor((known.length - 1) * 0.01)];
		return [low, Math.max(known[Math.ceil((known.length - 1) * 0.99)], low)];
	}

	const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

	function pixels(count, paint) {
		const small = document.createElement("canvas");
		[small.width, small.height] = count;
		const context = small.getContext("2d");
		const image = context.createImageData(...count);
		paint((x, y, rgb) => image.data.set([...rgb, 255], 4 * (y * count[0] + x)));
		context.putImageData(image, 0, 0);
		return small;
	}

	function draw() {
		const count = names.length;
		const matrix = mesh.matrices[state.matrix];
		const cells = values();
		[state.low, state.high] = range(cells);
		state.cell = Math.max(1, Math.min(26, Math.floor(640 / count)));
		const named = state.cell >= 11;
		const longest = Math.min(22, Math.max(...names.map((name) => name.length)));
		state.left = state.top = named ? 7 * longest + 6 : 4;
		const size = state.left + count * state.cell + 4;
		const ratio = window.devicePixelRatio || 1;
		map.width = map.height = size * ratio;
		map.style.width = map.style.height = `${size}px`;
		const context = map.getContext("2d");
		context.scale(ratio, ratio);
		context.imageSmoothingEnabled = false;
		context.fillStyle = css("--none");
		context.fillRect(state.left, state.top, count * state.cell, count * state.cell);
		const failed = /^#(..)(..)(..)$/.exec(css("--failed")).slice(1).map((hex) => parseInt(hex, 16));
		const small = pixels([count, count], (set) => cells.forEach((line, y) => line.forEach(
			(cell, x) => {
				if (matrix.errors[y][x])
					set(x, y, failed);
				else if (cell !== null && matrix.runs[y][x])
					set(x, y, colour(cell));
			})));
		context.drawImage(small, state.left, state.top, count * state.cell, count * state.cell);
		context.strokeStyle = css("--ground");
		context.lineWidth = 2;
		for (let y = 0; y < count && state.cell >= 6; y += 1) {
			for (let x = 0; x < count; x += 1) {
				if (!matrix.errors[y][x])
					continue;
				const [left, top] = [state.left + x * state.cell, state.top + y * state.cell];
				context.beginPath();
				context.moveTo(left + 2, top + 2);
				context.lineTo(left + state.cell - 2, top + state.cell - 2);
				context.moveTo(left + state.cell - 2, top + 2);
				context.lineTo(left + 2, top + state.cell - 2);
				context.stroke();
			}
		}
		if (named) {
			context.fillStyle = css("--text");
			context.font = "11px system-ui, sans-serif";
			context.textBaseline = "middle";
			names.forEach((name, number) => {
				const middle = (number + .5) * state.cell;
				context.fillText(name, 2, state.top + middle, state.left - 6);
				context.save();
				context.translate(state.left + middle, state.top - 4);
				context.rotate(-Math.PI / 2);
				context.fillText(name, 0, 0, state.top - 6);
				context.restore();
			});
		}
		context.strokeStyle = css("--focus");
		context.lineWidth = 3;
		context.strokeRect(state.left + state.server * state.cell - 1.5,
				   state.top + state.client * state.cell - 1.5,
				   state.cell + 3, state.cell + 3);
		legend();
	}

	function legend() {
		const [low, high] = worseIsMore(state.figure) ? [state.low, state.high] : [state.high, state.low];
		byId("low").textContent = `better ${sentence(state.figure, low)}`;
		byId("high").textContent = `${sentence(state.figure, high)} worse`;
		const scale = byId("scale").getContext("2d");
		for (let x = 0; x < 128; x += 1) {
			scale.fillStyle = `rgb(${colour(low * Math.pow(high / low, x / 127))})`;
			scale.fillRect(x, 0, 1, 12);
		}
	}

	const failuresOf = (client, server) => mesh.failures.filter(
		(each) => each.client === names[client] && each.server === names[server]);

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
		const seen = new Set();
		for (const each of failuresOf(client, server)) {
			// That is said of the host, below.
			if (each.errno === "EHOSTDOWN")
				continue;
			const text = `${title(each)}: ${each.errno}: ${each.reason}`;
			if (!seen.has(text))
				element("p", text, box, "bad");
			seen.add(text);
		}
		for (const host of [mesh.hosts[client], mesh.hosts[server]]) {
			if (host.reason)
				element("p", `${host.name}: ${host.reason}`, box, "bad");
		}
		const table = element("table", null, box);
		const head = element("tr", null, table);
		["test", "size", "rail", "figure", "value"].forEach((text) => element("th", text, head));
		for (const each of mesh.matrices) {
			for (const [figure, lines] of Object.entries(each.figures)) {
				if (lines[client][server] === null)
					continue;
				const row = element("tr", null, table);
				[each.test, each.size, each.rail, label(figure)].forEach(
					(text) => element("td", text, row));
				element("td", sentence(figure, lines[client][server]), row, "number");
			}
		}
		if (state.figure !== "errors")
			charts(box, matrix, client, server);
	}

	function charts(box, matrix, client, server) {
		const figure = state.figure;
		const sizes = mesh.matrices.filter((each) => each.test === matrix.test
			&& each.rail === matrix.rail && each.figures[figure][client][server] !== null);
		if (sizes.length > 1)
			chart(box, `${matrix.test} ${label(figure)} by size`, figure, sizes.map(
				(each) => [`${each.size}`, each.figures[figure][client][server]]));
		const series = matrix.series.find((each) => each.client === client && each.server === server);
		if (series && series.figures[figure])
			chart(box, `${title(matrix)}: ${label(figure)} by repeat`, figure,
			      series.figures[figure].map((value, number) => [`${number + 1}`, value]));
	}

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
		const most = Math.max(...points.map(([, value]) => value)) || 1;
		const place = ([, value], number) => [
			edge + (width - 2 * edge) * (points.length > 1 ? number / (points.length - 1) : .5),
			height - edge - (height - 2 * edge) * value / most];
		add("polyline", { points: points.map((point, number) => place(point, number).join(","))
			.join(" ") }, picture);
		points.forEach((point, number) => {
			const [x, y] = place(point, number);
			add("circle", { cx: x, cy: y, r: 3 }, picture);
			if (points.length <= 12) {
				add("text", { x, y: height - 8, "text-anchor": "middle" }, picture, point[0]);
				add("text", { x, y: y - 8, "text-anchor": "middle" }, picture,
				    sentence(figure, point[1]));
			}
		});
	}

	function move(client, server, details) {
		state.client = Math.min(names.length - 1, Math.max(0, client));
		state.server = Math.min(names.length - 1, Math.max(0, server));
		draw();
		show(details);
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

	function listed(id, found, text, target) {
		const list = byId(id);
		if (!found.length)
			element("li", "none", list);
		for (const each of found) {
			const button = element("button", text(each), element("li", null, list));
			button.type = "button";
			button.addEventListener("click", () => {
				const number = mesh.matrices.findIndex((matrix) => same(matrix, each));
				const [client, server] = target(each);
				[state.client, state.server] = [client, server];
				choose(number, each.figure);
				map.focus();
			});
		}
	}

	function pairOf(each) {
		const client = each.client === null ? null : numbers.get(each.client);
		const server = each.server === null ? null : numbers.get(each.server);
		// Of a host one of its pairs.
		const other = (number) => (number + 1) % names.length;
		if (client === null)
			return [other(server), server];
		return [client, server === null || server === client ? other(client) : server];
	}

	function hosts() {
		const table = byId("hosts");
		const head = element("tr", null, table);
		["host", "state", "kernel", "module", "addresses", "clock"].forEach(
			(text) => element("th", text, head));
		for (const host of mesh.hosts) {
			const row = element("tr", null, table);
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
		+ `${mesh.runs.all} runs, ${mesh.runs.failed} failed, ${mesh.misses.length} beyond limits, `
		+ `${mesh.outliers.length} outliers${mesh.interrupted ? "; interrupted" : ""}`;
	mesh.matrices.forEach((matrix, number) => {
		const option = element("option", title(matrix), byId("matrix"));
		option.value = `${number}`;
	});
	byId("matrix").addEventListener("change", (event) => choose(Number(event.target.value), state.figure));
	byId("figure").addEventListener("change", (event) => choose(state.matrix, event.target.value));
	const cellAt = (event) => {
		const box = map.getBoundingClientRect();
		return [Math.floor((event.clientY - box.top - state.top) / state.cell),
			Math.floor((event.clientX - box.left - state.left) / state.cell)];
	};
	map.addEventListener("click", (event) => move(...cellAt(event), true));
	map.addEventListener("keydown", (event) => {
		const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1],
				PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -names.length],
				End: [0, names.length] };
		const step = steps[event.key];
		if (step) {
			event.preventDefault();
			move(state.client + step[0], state.server + step[1], true);
		}
	});
	window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
	listed("outliers", mesh.outliers, (each) => `${title(each)}: ${each.sentence}`, pairOf);
	listed("misses", mesh.misses, (each) => `${title(each)}: ${each.client} to ${each.server}: `
		+ `${label(each.figure)} is ${sentence(each.figure, each.value)}, and the limit `
		+ sentence(each.figure, each.limit), pairOf);
	hosts();
	if (mesh.matrices.length)
		choose(0, "");
})();
