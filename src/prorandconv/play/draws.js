// How a draw is made: standard random numbers, fixed by the seed, scaled by the settings.
//
// A number is a hash of the seed and of what it stands for, so it stays the same whatever else
// changes: moving one setting shows the effect of this setting alone.

function defineDraws(fields) {
	"use strict"
	const EPS = 0.01 // lower end of the ranges of σ_g, σ_Δ and σ_w
	const MOST_REPEATS = 10
	const STREAMS = ["weight", "offsets", "gamma", "beta", "sigma_g", "sigma_delta", "sigma_w"]

	function scramble(number) {
		let h = number | 0
		h = Math.imul(h ^ (h >>> 16), 0x21f0aaad)
		h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
		return h ^ (h >>> 15)
	}

	// Uniform numbers in (0, 1) by index, of one stream of one seed.
	function uniforms(seed, stream) {
		const first = scramble(seed + 0x9e3779b9 * (1 + STREAMS.indexOf(stream)))
		const second = scramble(first + 0x3c6ef372)
		return index => ((scramble(scramble(index + first) ^ second) >>> 0) + 0.5) / 2 ** 32
	}

	// Standard normal numbers by index (Box and Muller).
	function normals(seed, stream) {
		const u = uniforms(seed, stream)
		return i => Math.sqrt(-2 * Math.log(u(2 * i))) * Math.cos(2 * Math.PI * u(2 * i + 1))
	}

	// Visit the taps of a kernel: number, place from the middle, and a number of this place.
	function eachTap(k, visit) {
		for (let tap = 0; tap < k * k; tap++) {
			const [i, j] = [Math.floor(tap / k) - (k - 1) / 2, (tap % k) - (k - 1) / 2]
			visit(tap, i, j, (i + 16) * 32 + (j + 16))
		}
	}

	// b_Δ for pictures of this size: the paper's 0.2 up to 64 pixels, 0.5 from 224, and between.
	function offsetBound(height, width) {
		const side = Math.min(Math.max(Math.min(height, width), 64), 224)
		return 0.2 + 0.3 * (Math.log(side / 64) / Math.log(224 / 64))
	}

	const tensor = (shape, data) => ({shape, data: Float32Array.from(data)})

	function weight(shape, seed, sigma_w, sigma_g) {
		const normal = normals(seed, "weight")
		const k = shape.at(-1)
		const data = new Float32Array(shape.reduce((a, b) => a * b))
		for (let start = 0; start < data.length; start += k * k) {
			eachTap(k, (tap, i, j, place) => {
				const filter = sigma_g ? Math.exp(-(i * i + j * j) / (2 * sigma_g ** 2)) : 1
				data[start + tap] = normal((start / (k * k)) * 1024 + place) * sigma_w * filter
			})
		}
		return {shape, data}
	}

	// Keep the last few results: fields cost more than all the rest of a draw.
	function remembering(make) {
		const made = new Map()
		return (...facts) => {
			const key = JSON.stringify(facts)
			if (!made.has(key)) made.set(key, make(...facts))
			if (made.size > 4) made.delete(made.keys().next().value)
			return made.get(key)
		}
	}

	const spectrum = remembering(fields.spectrum)

	// Coefficients of fields with deviation 1, for dy and dx of each tap.
	const unitFields = remembering((k, seed, [height, width], alpha) => {
		const side = Math.max(height, width)
		const {count, amplitude} = spectrum(side, alpha)
		const synthesise = fields.synthesiser(count, count, side, height, width)
		const data = new Float64Array(2 * k * k * count * count)
		eachTap(k, (tap, i, j, place) => {
			for (const axis of [0, 1]) {
				const normal = normals(scramble(seed) + 2 * place + axis, "offsets")
				const own = amplitude.map((a, n) => a * normal(Math.floor(n / count) * 4096 + (n % count)))
				fields.normalise(own, synthesise(own))
				data.set(own, (2 * tap + axis) * own.length)
			}
		})
		return {shape: [2 * k * k, count, count], data}
	})

	const scaledFields = remembering((sigma, ...facts) => {
		const {shape, data} = unitFields(...facts)
		const scaled = data.map(value => value * sigma)
		return tensor(shape, scaled)
	})

	// The draw of one seed for a picture of this size (height, width).
	function make(settings, seed, size) {
		const {k, method, smoothing, offsets, standardise, affine, tanh, padding, alpha} = settings
		const upTo = (high, stream) => EPS + uniforms(seed, stream)(0) * (high - EPS)
		const high = settings.b_delta ?? offsetBound(...size)
		const sigma_g = smoothing ? upTo(settings.sigma_g, "sigma_g") : null
		const sigma_delta = offsets ? upTo(high, "sigma_delta") : null
		const sigma_w = settings.b_w ? upTo(settings.b_w, "sigma_w") : 1 / Math.sqrt(3 * k * k)
		const progressive = method === "pro"
		const layers = progressive && settings.weights === "different" ? [MOST_REPEATS] : []
		const perChannel = (stream, std) => {
			const numbers = [0, 1, 2].map(channel => std * normals(seed, stream)(channel))
			return affine ? tensor([3], numbers) : null
		}
		const coefficients = offsets && scaledFields(sigma_delta, k, seed, size, alpha)
		const bound = progressive && !standardise && !tanh ? "clamp" : null
		const contrast = ["standardise", "affine", "tanh"].filter(part => settings[part])
		const range = {output: "tanh", mean: [0.5], std: [0.5]}
		return {
			transform: progressive ? "ProRandConv" : "RandConv",
			options: {contrast, eps: 1e-5, padding, bound, ...range},
			size,
			repeats: progressive ? settings.L : 1,
			layered: layers.length > 0,
			weight: weight([...layers, 3, 3, k, k], seed, sigma_w, sigma_g),
			gamma: perChannel("gamma", settings.sigma_gamma),
			beta: perChannel("beta", settings.sigma_beta),
			mix: null,
			offsets: offsets ? {kind: "waves", side: Math.max(...size), coefficients} : null,
			drawn: {sigma_g, sigma_delta}
		}
	}

	return {make, offsetBound}
}
