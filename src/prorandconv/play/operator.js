// The operator: one draw applied to one picture, as in the paper's Algorithm 1.
// A picture is three planes of numbers: red, green and blue.

function defineOperator(fields) {
	"use strict"

	// Bring a position back into the picture, as the padding continues it.
	function wrap(position, length, padding) {
		if (padding === "zeros") return Math.min(Math.max(position, -1), length)
		if (padding === "replicate") return Math.min(Math.max(position, 0), length - 1)
		const period = Math.max(2 * (length - 1), 1)
		const within = Math.abs(position) % period
		return length === 1 ? 0 : Math.min(within, period - within)
	}

	// Offsets in pixels: a field (height * width) for dy and dx of each tap, or none.
	function displacements({offsets}, height, width) {
		if (!offsets) return []
		const {data, shape} = offsets.coefficients
		const [count, rows, columns] = shape
		const size = rows * columns
		const synthesise = fields.synthesiser(rows, columns, offsets.side, height, width)
		const coefficients = n => data.subarray(n * size, (n + 1) * size)
		return Array.from({length: count}, (_, n) => synthesise(coefficients(n)))
	}

	// Where a tap samples: its upper left neighbour in a padded plane, and the way from there.
	function sampling(i, j, dy, dx, height, width, padding) {
		const corner = new Int32Array(height * width)
		const [down, right] = [new Float64Array(corner.length), new Float64Array(corner.length)]
		for (let y = 0, p = 0; y < height; y++) {
			for (let x = 0; x < width; x++, p++) {
				const row = wrap(y + i + (dy ? dy[p] : 0), height, padding)
				const column = wrap(x + j + (dx ? dx[p] : 0), width, padding)
				const [top, left] = [Math.floor(row), Math.floor(column)]
				corner[p] = (top + 1) * (width + 3) + left + 1
				down[p] = row - top
				right[p] = column - left
			}
		}
		return {corner, down, right}
	}

	const lastPositions = new WeakMap() // by offsets: most settings leave them as they are

	// A draw for pictures of one size, ready to be applied.
	function prepare(draw, height, width) {
		const key = draw.offsets?.coefficients ?? draw
		const {padding} = draw.options
		const facts = [padding, height, width].join()
		const last = lastPositions.get(key)
		if (last?.facts === facts) return {...last, draw}
		const k = draw.weight.shape.at(-1)
		const displaced = displacements(draw, height, width)
		const taps = Array.from({length: k * k}, (_, tap) => {
			const [i, j] = [Math.floor(tap / k) - (k - 1) / 2, (tap % k) - (k - 1) / 2]
			return sampling(i, j, displaced[2 * tap], displaced[2 * tap + 1], height, width, padding)
		})
		const prepared = {facts, height, width, displaced, taps}
		lastPositions.set(key, prepared)
		return {...prepared, draw}
	}

	// A plane with zeros around it, so that every sampled position has four neighbours.
	function padded(plane, {height, width}) {
		const result = new Float64Array((height + 3) * (width + 3))
		for (let y = 0; y < height; y++) {
			result.set(plane.subarray(y * width, (y + 1) * width), (y + 1) * (width + 3) + 1)
		}
		return result
	}

	// One repetition: convolution (Eq. 2), standardisation, affine (Eq. 3) and tanh.
	function step(prepared, planes, repetition) {
		const {draw, taps, width} = prepared
		const result = planes.map(plane => new Float64Array(plane.length))
		const sources = planes.map(plane => padded(plane, prepared))
		const size = 9 * taps.length
		const start = draw.layered ? repetition * size : 0
		const weights = draw.weight.data.subarray(start, start + size)
		const most = weights.reduce((largest, w) => Math.max(largest, Math.abs(w)), 0)
		taps.forEach((tap, number) => {
			const matrix = Array.from({length: 9}, (_, pair) => weights[pair * taps.length + number])
			// Smoothing makes many taps vanish: they are not worth the time.
			if (matrix.some(w => Math.abs(w) > 1e-9 * most)) {
				convolve(tap, matrix, sources, result, width + 3)
			}
		})
		result.forEach((plane, channel) => contrast(draw, plane, channel))
		return result
	}

	// Add one tap, sampled between four neighbours, to the result.
	function convolve(tap, matrix, [red, green, blue], [toRed, toGreen, toBlue], stride) {
		const {corner, down, right} = tap
		const [rr, rg, rb, gr, gg, gb, br, bg, bb] = matrix
		for (let p = 0; p < corner.length; p++) {
			const a = corner[p]
			const c = a + stride
			const both = down[p] * right[p]
			const below = down[p] - both
			const beside = right[p] - both
			const here = 1 - down[p] - beside
			const r = red[a] * here + red[a + 1] * beside + red[c] * below + red[c + 1] * both
			const g = green[a] * here + green[a + 1] * beside + green[c] * below + green[c + 1] * both
			const b = blue[a] * here + blue[a + 1] * beside + blue[c] * below + blue[c + 1] * both
			toRed[p] += rr * r + rg * g + rb * b
			toGreen[p] += gr * r + gg * g + gb * b
			toBlue[p] += br * r + bg * g + bb * b
		}
	}

	function scaleAndShift(plane, scale, shift) {
		for (let p = 0; p < plane.length; p++) plane[p] = plane[p] * scale + shift
	}

	// Zero mean and unit variance: biased variance, eps in the root.
	function standardise(plane, eps) {
		let [sum, squares] = [0, 0]
		for (let p = 0; p < plane.length; p++) sum += plane[p]
		const mean = sum / plane.length
		for (let p = 0; p < plane.length; p++) squares += (plane[p] - mean) * (plane[p] - mean)
		const inverse = 1 / Math.sqrt(squares / plane.length + eps)
		scaleAndShift(plane, inverse, -mean * inverse)
	}

	function contrast({gamma, beta, options}, plane, channel) {
		const has = part => options.contrast.includes(part)
		if (has("standardise")) standardise(plane, options.eps)
		if (has("affine") && gamma) scaleAndShift(plane, gamma.data[channel], beta.data[channel])
		if (has("tanh")) for (let p = 0; p < plane.length; p++) plane[p] = Math.tanh(plane[p])
	}

	// Mean and deviation by which a channel is normalised.
	function normalisation({mean, std}, channel) {
		return [mean, std].map(values => values[values.length === 1 ? 0 : channel])
	}

	// What follows all repetitions: bound, output range, mixing with the original.
	function finish({options, mix}, original, planes) {
		return planes.map((plane, channel) => {
			const [mean, std] = normalisation(options, channel)
			let result = plane.slice()
			if (options.bound === "standardise") standardise(result, options.eps)
			if (options.bound === "clamp") {
				result = result.map(v => Math.min(Math.max(v, -mean / std), (1 - mean) / std))
			}
			if (options.output === "pixels") scaleAndShift(result, 0.5 / std, (0.5 - mean) / std)
			if (mix) result = result.map((v, p) => v + mix.data[0] * (original[channel][p] - v))
			return result
		})
	}

	// Planes of a picture (RGBA bytes), normalised as the network expects.
	function toPlanes({options}, rgba) {
		return [0, 1, 2].map(channel => {
			const plane = new Float64Array(rgba.length / 4)
			const [mean, std] = normalisation(options, channel)
			for (let p = 0; p < plane.length; p++) plane[p] = (rgba[4 * p + channel] / 255 - mean) / std
			return plane
		})
	}

	// A picture (RGBA bytes) of planes, rounded and clipped.
	function toBytes({options}, planes) {
		const fromTanh = options.contrast.includes("tanh") && options.output === "tanh"
		const rgba = new Uint8ClampedArray(4 * planes[0].length).fill(255)
		planes.forEach((plane, channel) => {
			const [mean, std] = fromTanh ? [0.5, 0.5] : normalisation(options, channel)
			for (let p = 0; p < plane.length; p++) rgba[4 * p + channel] = 255 * (plane[p] * std + mean)
		})
		return rgba
	}

	return {prepare, step, finish, toPlanes, toBytes}
}
