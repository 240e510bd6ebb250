// What can be set, the paper's values, and how settings are written into the address.
"use strict"

const PARTS = ["standardise", "affine", "tanh"]
const CHOICES = {
	picture: ["astronaut", "cat", "retina", "street"],
	size: [32, 96, 160, 224, 384],
	method: ["pro", "rand"],
	k: [1, 3, 5, 7],
	b_w: [0, 1, 2],
	weights: ["same", "different"],
	padding: ["zeros", "reflect", "replicate"]
}

// Sliders of each group: [name, label, symbol, lowest, highest, step].
const SLIDERS = {
	convolution: [
		["k", "Kernel size", "k", 1, 7, 2],
		["L", "Repetitions", "L", 1, 10, 1]
	],
	smoothing: [["sigma_g", "Width of the filter, up to", "σ<sub>g</sub>", 0.05, 3, 0.05]],
	offsets: [
		["b_delta", "Size in pixels, up to", "b<sub>Δ</sub>", 0.05, 4, 0.05],
		["alpha", "Smoothness", "α", 0, 12, 0.5]
	],
	contrast: [
		["sigma_gamma", "Spread of the scale", "σ<sub>γ</sub>", 0, 2, 0.05],
		["sigma_beta", "Spread of the shift", "σ<sub>β</sub>", 0, 2, 0.05]
	]
}

// The switches, with those parts of the block on that a text names.
const withParts = text => {
	const on = part => text.includes(part) || text.includes("all three")
	const [smoothing, offsets, contrast] = ["smoothing", "offsets", "contrast"].map(on)
	return {smoothing, offsets, standardise: contrast, affine: contrast, tanh: contrast}
}

// The paper's settings; b_delta is null where it follows the picture's size.
const PLAIN = {k: 3, L: 10, weights: "same", b_w: 0, padding: "zeros", sigma_g: 1, b_delta: null}
Object.assign(PLAIN, {alpha: 10, sigma_gamma: 0.5, sigma_beta: 0.5, ...withParts("")})
const PAPER = {pro: {...PLAIN, ...withParts("all three")}, rand: PLAIN}

// Rows of the component table; a label says what a row adds to plain convolutions.
const [SINGLE, MULTI] = ["Single: one convolution", "Multi (S): same weights"]
const PRESETS = [
	[SINGLE, "rand", "RandConv"],
	[SINGLE, "rand", "+ smoothing"],
	[SINGLE, "rand", "+ contrast"],
	[SINGLE, "rand", "+ offsets"],
	[SINGLE, "rand", "σ_w up to 1"],
	[SINGLE, "rand", "σ_w up to 2"],
	["Multi (D): different weights", "pro", "Progressive (Diff)"],
	[MULTI, "pro", "Progressive (Same)"],
	[MULTI, "pro", "+ contrast"],
	[MULTI, "pro", "+ offsets"],
	[MULTI, "pro", "+ contrast + offsets"],
	[MULTI, "pro", "+ smoothing"],
	[MULTI, "pro", "+ smoothing + contrast"],
	[MULTI, "pro", "+ smoothing + offsets"],
	[MULTI, "pro", "Pro-RandConv: all three"]
].map(([group, method, label]) => {
	const weights = label.includes("Diff") ? "different" : "same"
	const b_w = label.includes("σ_w") ? +label.at(-1) : 0
	return {group, label, method, settings: {...PLAIN, ...withParts(label), weights, b_w}}
})

const START = {picture: "astronaut", size: 224, seed: 4, method: "pro"}

// The state that an address describes; what is unknown or out of range is left out.
function stateFrom(hash) {
	const state = {...START, pro: {...PAPER.pro}, rand: {...PAPER.rand}}
	for (const [key, text] of new URLSearchParams(hash.slice(1))) {
		const [name, rand] = key.split(".").reverse()
		const target = name in START ? state : state[rand ? "rand" : "pro"]
		const value = {true: true, false: false}[text] ?? (Number.isNaN(+text) ? text : +text)
		const [, , , low, high] =
			Object.values(SLIDERS)
				.flat()
				.find(row => row[0] === name) ?? []
		const known =
			name in CHOICES
				? CHOICES[name].includes(value)
				: name === "seed"
					? Number.isInteger(value) && value >= 0
					: low === undefined
						? typeof target[name] === typeof value
						: value >= low && value <= high
		if (name in target && known) target[name] = value
	}
	return state
}

// The address of a state: what differs from the start and the paper.
function hashOf(state) {
	const query = new URLSearchParams()
	const add = (prefix, settings, usual) => {
		for (const name of Object.keys(usual)) {
			const value = settings[name]
			if (value !== usual[name] && value !== null) query.set(prefix + name, value)
		}
	}
	add("", state, START)
	add("", state.pro, PAPER.pro)
	add("rand.", state.rand, PAPER.rand)
	return `#${query}`
}
