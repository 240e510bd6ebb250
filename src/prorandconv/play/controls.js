// The settings on the page: built once, read when they change, shown as they are.
"use strict"

const $ = selector => document.querySelector(selector)
const $$ = selector => [...document.querySelectorAll(selector)]
const make = (tag, facts, ...children) => {
	const element = Object.assign(document.createElement(tag), facts)
	element.append(...children)
	return element
}
const form = $("form").elements

function buildSlider(name, label, symbol, min, max, step) {
	const input = make("input", {type: "range", name, id: name, min, max, step})
	const reset = () => change({[name]: PAPER[state.method][name]})
	const back = make("button", {type: "button", textContent: "↺", className: "back"})
	back.ariaLabel = back.title = `${label}: the paper’s value`
	back.onclick = () => (reset(), input.focus())
	input.ondblclick = reset
	const title = make("label", {htmlFor: name, innerHTML: `${label} <i>${symbol}</i>`})
	return make("div", {className: "slider"}, title, make("output"), back, input, make("small"))
}

function buildControls() {
	for (const [group, sliders] of Object.entries(SLIDERS)) {
		$(`.${group}`).append(...sliders.map(slider => buildSlider(...slider)))
	}
	PRESETS.forEach(({group, label}, number) => {
		const list = $("#preset")
		if (list.lastChild?.label !== group) list.append(make("optgroup", {label: group}))
		list.lastChild.append(new Option(label, number))
	})
	$("#size").append(...CHOICES.size.map(size => new Option(`${size} pixels`, size)))
	for (const [strip, sign, count] of [
		["pro", "L", 10],
		["rand", "k", 4]
	]) {
		for (let n = 1; n <= count; n++) {
			const value = strip === "pro" ? n : 2 * n - 1
			const button = make("button", {value, disabled: true}, make("canvas"), `${sign} = ${value}`)
			button.onclick = () => {
				if (strip !== state.method) leaveFile()
				state.method = strip
				change({[sign]: value})
			}
			$(`#${strip}`).append(button)
		}
	}
	for (const value of CHOICES.picture) {
		const button = make("button", {value, title: value, ariaLabel: `Sample: ${value}`})
		button.onclick = () => useSample(value)
		sampleAddress(value).then(src => button.append(make("img", {src, alt: ""})))
		$("#samples").append(button)
	}
}

function change(settings) {
	Object.assign(active(), settings)
	refresh()
}

$("form").oninput = ({target: {id, name, type, checked, value}}) => {
	if (id === "preset") {
		leaveFile()
		const {k, padding} = active()
		const {method, settings} = PRESETS[value]
		state.method = method
		change({...settings, padding, ...(method === "rand" && {k})})
	} else if (name === "contrast") {
		change(Object.fromEntries(PARTS.map(part => [part, checked])))
	} else {
		const text = typeof PLAIN[name] === "string"
		change({[name]: type === "checkbox" ? checked : text ? value : +value})
	}
}

function showControls() {
	const {width = 224, height = 224} = picture?.canvas ?? {}
	const settings = active()
	const b_delta = settings.b_delta ?? offsetBound(height, width)
	const usual = PAPER[state.method]
	for (const field of form) {
		const {name, type} = field
		if (type === "checkbox") field.checked = settings[name]
		else if (name) field.value = name === "b_delta" ? b_delta : settings[name]
		field.disabled = loaded && name && name !== "L"
	}
	const parts = PARTS.filter(part => settings[part]).length
	form.contrast.checked = parts
	form.contrast.indeterminate = parts % PARTS.length
	const {sigma_g, sigma_delta} = block()?.drawn ?? {}
	const scales = {sigma_g: ["σ_g", sigma_g], b_delta: ["σ_Δ", sigma_delta]}
	for (const [, output, back, {name}, note] of $$(".slider").map(row => row.children)) {
		const value = name === "b_delta" ? b_delta : settings[name]
		output.textContent = name === "k" ? `${settings.k} × ${settings.k}` : +value.toFixed(2)
		back.hidden = loaded || settings[name] === usual[name]
		const [sign, scale] = scales[name] ?? []
		note.textContent = scale ? `in this draw, ${sign} = ${scale.toFixed(2)}` : ""
	}
	const used = {
		smoothing: settings.smoothing,
		offsets: settings.offsets,
		contrast: settings.affine
	}
	for (const group of Object.keys(used)) $(`.${group}`).classList.toggle("off", !used[group])
	form.L.parentNode.hidden = form.weights.parentNode.hidden = state.method === "rand"
	const free = ["L", "padding", state.method === "rand" && "k"]
	const fits = row =>
		row.method === state.method &&
		Object.keys(PLAIN).every(n => free.includes(n) || row.settings[n] === settings[n])
	$("#preset").value = loaded ? "" : PRESETS.findIndex(fits)
	$("#size").value = state.size
	for (const button of $$("#samples button")) button.ariaPressed = button.value === state.picture
	for (const button of $$(".strip button")) {
		button.ariaPressed = button.parentNode.id === state.method && +button.value === shown()
	}
}
