// SPDX-License-Identifier: GPL-2.0
// The heat map and its legend.
const map = byId("map");
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const FONT = "11px system-ui, sans-serif";
// A cell of that many pixels has room for its figure, and a line of that many for a name.
const WRITTEN = 54;
const LINE = 12;

function pixels(count, paint) {
	const small = document.createElement("canvas");
	[small.width, small.height] = count;
	const context = small.getContext("2d");
	const image = context.createImageData(...count);
	paint((x, y, rgb) => image.data.set([...rgb, 255], 4 * (y * count[0] + x)));
	context.putImageData(image, 0, 0);
	return small;
}

// The accusations of the matrix that is shown.
const accusations = () => mesh.outliers.filter((each) => same(each, mesh.matrices[state.matrix]));

function layout(context) {
	const count = names.length;
	context.font = FONT;
	const longest = Math.min(160, Math.max(...names.map((name) => context.measureText(name).width)));
	state.left = state.top = Math.ceil(longest) + 8;
	// As large as there is room for, but no larger than is of use; a pixel at least.
	const room = Math.max(280, byId("frame").clientWidth) - state.left - 4;
	state.cell = Math.max(1, Math.min(60, Math.floor(room / count)));
}

function cross(context, x, y) {
	const [left, top] = [state.left + x * state.cell, state.top + y * state.cell];
	const edge = Math.max(2, state.cell / 5);
	context.beginPath();
	context.moveTo(left + edge, top + edge);
	context.lineTo(left + state.cell - edge, top + state.cell - edge);
	context.moveTo(left + state.cell - edge, top + edge);
	context.lineTo(left + edge, top + state.cell - edge);
	context.stroke();
}

// A dark border around a light one can be seen on each colour.
function border(context, client, server, inner, width) {
	for (const [style, line] of [[css("--ground"), width + 2], [inner, width]]) {
		context.strokeStyle = style;
		context.lineWidth = line;
		context.strokeRect(state.left + server * state.cell, state.top + client * state.cell,
				   state.cell, state.cell);
	}
}

// Names beside the map; where lines would overlap, some of them, and those that are accused.
function write(context, accused) {
	const every = Math.max(1, Math.ceil(LINE / state.cell));
	const bold = new Set([state.client, state.server].map((number) => names[number]));
	const taken = [[], []];
	const first = (one, other) => (accused.has(names[other]) - accused.has(names[one]))
		|| (other % every === 0) - (one % every === 0);
	context.textBaseline = "middle";
	for (const number of [...names.keys()].sort(first)) {
		const name = names[number];
		if (number % every && !accused.has(name))
			continue;
		const middle = (number + .5) * state.cell;
		const free = (side) => taken[side].every((other) => Math.abs(other - middle) >= LINE);
		context.fillStyle = css(accused.has(name) ? "--failed" : "--text");
		context.font = `${bold.has(name) || accused.has(name) ? "bold " : ""}${FONT}`;
		if (free(0)) {
			taken[0].push(middle);
			context.fillText(name, 2, state.top + middle, state.left - 6);
		}
		if (free(1)) {
			taken[1].push(middle);
			context.save();
			context.translate(state.left + middle, state.top - 4);
			context.rotate(-Math.PI / 2);
			context.fillText(name, 0, 0, state.top - 6);
			context.restore();
		}
	}
}

// The figures within the cells.
function print(context, cells, matrix) {
	context.font = FONT;
	context.textAlign = "center";
	context.textBaseline = "middle";
	cells.forEach((line, y) => line.forEach((cell, x) => {
		if (cell === null || !matrix.runs[y][x] || matrix.errors[y][x])
			return;
		const [red, green, blue] = colour(cell);
		context.fillStyle = 0.3 * red + 0.59 * green + 0.11 * blue > 125 ? "#000" : "#fff";
		context.fillText(sentence(state.figure, cell, 3), state.left + (x + .5) * state.cell,
				 state.top + (y + .5) * state.cell, state.cell - 2);
	}));
	context.textAlign = "start";
}

function draw() {
	const count = names.length;
	const matrix = mesh.matrices[state.matrix];
	const cells = values();
	[state.low, state.high] = range(cells);
	const context = map.getContext("2d");
	layout(context);
	const size = state.left + count * state.cell + 4;
	const ratio = window.devicePixelRatio || 1;
	map.width = map.height = size * ratio;
	map.style.width = map.style.height = `${size}px`;
	map.dataset.cell = state.cell;
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
	if (state.cell >= 6)
		matrix.errors.forEach((line, y) => line.forEach((bad, x) => bad && cross(context, x, y)));
	if (state.cell >= WRITTEN)
		print(context, cells, matrix);
	const accused = new Set();
	for (const each of accusations()) {
		if (each.kind === "pair" && state.cell >= 4)
			border(context, numbers.get(each.client), numbers.get(each.server),
			       css("--failed"), 2);
		else if (each.kind !== "pair")
			accused.add(each.client ?? each.server);
	}
	write(context, accused);
	border(context, state.client, state.server, css("--focus"), 3);
	legend();
}

function legend() {
	const [low, high] = worseIsMore(state.figure) ? [state.low, state.high] : [state.high, state.low];
	const least = COUNTS.includes(state.figure) ? 0 : low;
	byId("low").textContent = `better ${sentence(state.figure, least)}`;
	byId("high").textContent = `${sentence(state.figure, high)} worse`;
	const scale = byId("scale").getContext("2d");
	for (let x = 0; x < 128; x += 1) {
		scale.fillStyle = `rgb(${colour(low * Math.pow(high / low, x / 127))})`;
		scale.fillRect(x, 0, 1, 12);
	}
}
