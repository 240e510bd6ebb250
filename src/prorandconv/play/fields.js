// Gaussian random fields as sums of waves: the smooth noise from which offsets are made.
//
// A field on a square of `side` pixels is the sum of coefficient[r, c] * wave_r(y) * wave_c(x); a
// picture that is not square takes the upper left part. Wave 0 is 1; wave r is sqrt(2) cos (odd r)
// or sqrt(2) sin (even r) with (r + 1) >> 1 cycles per side.
//
// What the worker needs is one function a file: from a page opened as a file, a worker can only be
// started from text, and functions have theirs.

function defineFields() {
	"use strict"
	const STEEP = 6 // from this exponent on, the few waves that carry power are enough
	const LEFT_OUT = 1e-6 // largest share of the variance that they may leave out

	const cycles = wave => (wave + 1) >> 1

	// Waves 0 to count - 1 at pixels 0 to length - 1, a row each.
	function waves(count, side, length) {
		return Array.from({length: count}, (_, r) =>
			Float64Array.from({length}, (_, t) => {
				const angle = (2 * Math.PI * ((cycles(r) * t) % side)) / side
				return r === 0 ? 1 : Math.SQRT2 * (r % 2 ? Math.cos(angle) : Math.sin(angle))
			})
		)
	}

	function addScaled(sum, factor, row, length) {
		for (let i = 0; i < length; i++) sum[i] += factor * row[i]
	}

	// A maker of fields (height * width) from coefficients (rows, columns), for many of one size.
	function synthesiser(rows, columns, side, height, width) {
		const [down, along] = [waves(rows, side, height), waves(columns, side, width)]
		return coefficients => {
			const field = new Float64Array(height * width)
			for (let r = 0; r < rows; r++) {
				const ofRow = new Float64Array(width)
				along.forEach((wave, c) => addScaled(ofRow, coefficients[r * columns + c], wave, width))
				for (let y = 0; y < height; y++) {
					addScaled(field.subarray(y * width, (y + 1) * width), down[r][y], ofRow, width)
				}
			}
			return field
		}
	}

	// Power |k|^-alpha of a pair of frequencies; the constant has none.
	const power = (fy, fx, alpha) => (fy || fx ? Math.hypot(fy, fx) ** -alpha : 0)

	// How many waves a field is made of, and their amplitudes (count, count).
	function spectrum(side, alpha) {
		const count = alpha < STEEP ? side : fewestWaves(side, alpha)
		// The last cosine of an even side has a root mean square of sqrt(2).
		const norm = wave => (2 * cycles(wave) === side ? Math.SQRT2 : 1)
		const amplitude = Float64Array.from({length: count * count}, (_, i) => {
			const [r, c] = [Math.floor(i / count), i % count]
			return Math.sqrt(power(cycles(r), cycles(c), alpha)) / (norm(r) * norm(c))
		})
		return {count, amplitude}
	}

	function fewestWaves(side, alpha) {
		const highest = side >> 1
		const byFrequency = new Float64Array(highest + 1)
		for (let r = 0; r < side; r++) {
			for (let c = 0; c < side; c++) {
				byFrequency[Math.max(cycles(r), cycles(c))] += power(cycles(r), cycles(c), alpha)
			}
		}
		const total = byFrequency.reduce((a, b) => a + b)
		let [f, kept] = [0, 0]
		while (f < highest && total - kept > LEFT_OUT * total) kept += byFrequency[++f]
		return Math.min(2 * f + 1, side)
	}

	// Shift and scale coefficients so that their field has mean 0 and deviation 1.
	function normalise(coefficients, field) {
		const mean = field.reduce((a, b) => a + b) / field.length
		const variance = field.reduce((sum, v) => sum + (v - mean) ** 2, 0) / field.length
		coefficients[0] -= mean
		const scale = 1 / Math.max(Math.sqrt(variance), 1e-30)
		for (let i = 0; i < coefficients.length; i++) coefficients[i] *= scale
	}

	return {synthesiser, spectrum, normalise}
}
