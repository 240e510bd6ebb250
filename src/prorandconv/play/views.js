// Small drawings of what a draw consists of and what it does.
"use strict"

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name)

// Clear a canvas and scale it to the screen's pixels.
function sheet(canvas, height) {
	const density = window.devicePixelRatio
	canvas.width = canvas.clientWidth * density
	canvas.height = height * density
	canvas.style.height = `${height}px`
	const context = canvas.getContext("2d")
	context.scale(density, density)
	return context
}

// The kernel: rows of squares by output channel, columns by input channel.
function drawKernel(canvas, {weight}) {
	const [width, gap] = [canvas.clientWidth, 8]
	const context = sheet(canvas, width)
	const k = weight.shape.at(-1)
	const cell = (width - 2 * gap) / (3 * k)
	const numbers = weight.data.subarray(0, 9 * k * k)
	const most = numbers.reduce((largest, w) => Math.max(largest, Math.abs(w)), 1e-12)
	numbers.forEach((value, index) => {
		const [pair, tap] = [Math.floor(index / (k * k)), index % (k * k)]
		const x = (pair % 3) * (k * cell + gap) + (tap % k) * cell
		const y = Math.floor(pair / 3) * (k * cell + gap) + Math.floor(tap / k) * cell
		const fill = (name, alpha) => {
			context.fillStyle = colour(name)
			context.globalAlpha = alpha
			context.fillRect(x, y, cell - 1, cell - 1)
		}
		fill("--sunken", 1)
		fill(value < 0 ? "--cold" : "--accent", Math.abs(value) / most)
	})
}

// Offsets as arrows over the picture; returns how much they are enlarged.
function drawArrows(canvas, picture, {points, spacing}) {
	const scale = canvas.clientWidth / picture.width
	const context = sheet(canvas, picture.height * scale)
	context.globalAlpha = 0.35
	context.drawImage(picture, 0, 0, picture.width * scale, picture.height * scale)
	context.globalAlpha = 1
	const longest = Math.max(...points.map(([, , dx, dy]) => Math.hypot(dx, dy)))
	const enlarged = (1.2 * spacing) / longest
	context.strokeStyle = colour("--accent")
	context.lineWidth = 1.5
	for (const [x, y, dx, dy] of points) {
		context.save()
		context.translate(x * scale, y * scale)
		context.rotate(Math.atan2(dy, dx))
		const length = Math.hypot(dx, dy) * enlarged * scale
		context.stroke(new Path2D(`M0 0H${length}l-4-3m4 3l-4 3`))
		context.restore()
	}
	return enlarged
}

// Histograms of red, green and blue, 64 bins each.
function drawHistogram(canvas, {data}) {
	const height = 120
	const context = sheet(canvas, height)
	const bins = [0, 1, 2].map(() => new Array(64).fill(0))
	data.forEach((byte, p) => p % 4 < 3 && bins[p % 4][byte >> 2]++)
	// One full bin, of a saturated picture, must not flatten all the others.
	const most = bins.flat().sort((a, b) => b - a)[3] || 1
	bins.forEach((counts, channel) => {
		const point = (n, bin) =>
			`L${((bin + 0.5) / 64) * canvas.clientWidth} ${height * (1 - n / most)}`
		const path = new Path2D(`M0 ${height}${counts.map(point).join("")}V${height}`)
		context.fillStyle = context.strokeStyle = colour(["--red", "--green", "--blue"][channel])
		context.globalAlpha = 0.2
		context.fill(path)
		context.globalAlpha = 1
		context.stroke(path)
	})
}
