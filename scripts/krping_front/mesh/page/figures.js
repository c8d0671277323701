// SPDX-License-Identifier: GPL-2.0
// The document, figures with their units, and colours. Texts of the document become text nodes
// only, never markup.
const mesh = JSON.parse(document.getElementById("data").textContent);
const names = mesh.hosts.map((host) => host.name);
const numbers = new Map(names.map((name, number) => [name, number]));
const byId = (id) => document.getElementById(id);
// cividis: it ascends in brightness, and is alike for all kinds of colour vision.
const COLOURS = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102],
		 [254, 232, 56]];
const UNITS = { time: ["ns", "us", "ms", "s"], rate: ["/s", "k/s", "M/s", "G/s"] };
const MIB = 1 << 20;
// Figures without units, most of which may be 0.
const COUNTS = ["errors", "retransmits"];
// What is chosen, and how the map is drawn.
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

// VALUE with its unit, with so many DIGITS.
function sentence(figure, value, digits = 4) {
	if (value === null || value === undefined)
		return "-";
	if (figure === "errors")
		return `${value} failed`;
	if (COUNTS.includes(figure))
		return `${Number(value.toPrecision(digits))}`;
	if (figure === "bytes_per_s") {
		const mib = value / MIB;
		return `${mib >= 1000 ? Math.round(mib) : Number(mib.toPrecision(digits))} MiB/s`;
	}
	const units = UNITS[figure.endsWith("_ns") ? "time" : "rate"];
	let power = 0;
	while (value >= 1000 && power < 3) {
		value /= 1000;
		power += 1;
	}
	return `${Number(value.toPrecision(digits))} ${units[power]}`;
}

const label = (figure) => figure.replace(/_ns$/, "").replace("bytes_per_s", "bandwidth");
const title = (key) => `${key.test}, ${key.size} bytes, rail ${key.rail}`;
const worseIsMore = (figure) => figure.endsWith("_ns") || COUNTS.includes(figure);
const same = (one, other) => one.test === other.test && one.size === other.size
	&& one.rail === other.rail;

function values() {
	const matrix = mesh.matrices[state.matrix];
	return state.figure === "errors" ? matrix.errors : matrix.figures[state.figure];
}

function known(cells) {
	return cells.flat().filter((cell) => cell !== null && cell > 0)
		.sort((one, other) => one - other);
}

// The ends of the scale for CELLS.
function range(cells) {
	const found = known(cells);
	if (!found.length)
		return [1, 1];
	// A few cells far off leave the others something of the scale.
	const low = found[Math.floor((found.length - 1) * 0.01)];
	return [low, Math.max(found[Math.ceil((found.length - 1) * 0.99)], low)];
}

// What is worse is brighter.
function colour(value) {
	const width = Math.log(state.high) - Math.log(state.low);
	let share = width > 0 ? (Math.log(Math.max(value, 1e-9)) - Math.log(state.low)) / width : 0;
	share = Math.min(1, Math.max(0, share));
	if (!worseIsMore(state.figure))
		share = 1 - share;
	const place = share * (COLOURS.length - 1);
	const from = COLOURS[Math.floor(place)];
	const to = COLOURS[Math.min(COLOURS.length - 1, Math.floor(place) + 1)];
	return from.map((each, part) => Math.round(each + (to[part] - each) * (place % 1)));
}
