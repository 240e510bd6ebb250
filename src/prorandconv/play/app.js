// The page: pictures, draws and settings in; frames, files and Python out.
"use strict"

const {offsetBound} = defineDraws(defineFields())
const drawFile = defineDrawFile()

let state = stateFrom(location.hash)
let picture = null // { name, image, canvas, data, number }
let loaded = null // a draw from a file: { text, draw, before }
let kept = null // setting A: { settings, image }
let takeText = null // who waits for a draw file's text
const strips = {pro: {id: 0, blocks: {}}, rand: {id: 0, blocks: {}}}

const active = () => state[state.method]
const shown = () => active()[state.method === "pro" ? "L" : "k"]
const block = () => strips[state.method].blocks[state.method === "pro" ? 1 : shown()]
const result = () => strips[state.method].frames?.[shown()]
const say = text => ($("#status").textContent = text)

// Frames

const send = startService(message => {
	const {type, strip, id, name} = message
	if (type === "text") takeText(message.text)
	if (!strip || id !== strips[strip].id) return
	if (type === "done") $(`#${strip}`).ariaBusy = false
	if (type === "frame") showFrame(message)
	if (strip === state.method && name === shown()) showResult()
})

// What the worker makes a draw of: settings and a seed, or a file and other repetitions.
function facts(strip) {
	const settings = {...state[strip], method: strip}
	if (!loaded || strip !== state.method) return {settings, seed: state.seed}
	return {text: loaded.text, changes: {repeats: state[strip].L}}
}

// Ask for a strip if anything that it shows has changed.
function request(strip) {
	const own = strips[strip]
	const {k, L} = state[strip]
	const pro = strip === "pro"
	const kernels = pro || loaded ? [k] : CHOICES.k
	const asked = {...facts(strip), kernels, most: pro ? Math.max(10, L) : 1}
	const but = (name, value) => (["L", "repeats", !pro && "k"].includes(name) ? 0 : value)
	const key = picture.number + JSON.stringify(asked, but)
	if (key === own.key) return
	Object.assign(own, {key, id: own.id + 1, frames: {}})
	$(`#${strip}`).ariaBusy = true
	for (const button of $(`#${strip}`).children) button.className = "old"
	send({type: "strip", strip, id: own.id, ...asked})
}

function showFrame({strip, name, rgba, block: described}) {
	const own = strips[strip]
	own.frames[name] = new ImageData(rgba, picture.canvas.width)
	if (described) own.blocks[name] = described
	const button = $(`#${strip} [value="${name}"]`)
	if (!button) return // a draw from a file may have other sizes
	paint(button.firstChild, own.frames[name])
	button.className = ""
	button.disabled = false
}

function refresh() {
	if (!loaded) history.replaceState(null, "", hashOf(state))
	request(state.method)
	request(state.method === "pro" ? "rand" : "pro")
	showResult()
}

function showResult() {
	showControls()
	if (!result()) return
	paint($("#result"), result())
	const title = state.method === "pro" ? "Pro-RandConv, L" : "RandConv, k"
	$("#caption").textContent = `${title} = ${shown()}`
	$("#seed").textContent = loaded ? "from a file" : `number ${state.seed}`
	showDetails()
}

function showDetails() {
	const open = name => $(`#${name}`).open && result() && $$(`#${name} canvas`)
	const [kernel, arrows, histograms, pair] = ["kernels", "arrows", "histograms", "compare"].map(
		open
	)
	if (kernel) drawKernel(kernel[0], block())
	if (arrows) {
		const times = drawArrows(arrows[0], picture.canvas, block())
		$("#arrows p").textContent = block().points.length
			? `Offsets of the middle tap, enlarged ${times.toFixed(0)} times.`
			: "This draw has no offsets."
	}
	if (histograms)
		[picture.data, result()].forEach((image, i) => drawHistogram(histograms[i], image))
	if (pair && kept) {
		;[kept.image, result()].forEach((image, i) => paint(pair[i], image))
		const now = {...active(), seed: state.seed}
		const [a, b] = [kept.settings, now].map(side => name => side[name] ?? "auto")
		const differs = Object.keys(now).filter(name => a(name) !== b(name))
		const list = differs.map(name => `${name} ${a(name)} → ${b(name)}`)
		$("#compare p").textContent = list.join(", ") || "No difference yet: change a setting."
	}
}

// Pictures and draw files

function usePicture(name, image, sample) {
	const canvas = scaled(image, loaded ? Math.max(...loaded.draw.size) : state.size, loaded)
	const {width, height} = canvas
	const data = canvas.getContext("2d").getImageData(0, 0, width, height)
	picture = {name, image, canvas, data, number: (picture?.number ?? 0) + 1}
	state.picture = sample ? name : null
	paint($("#original"), data)
	$("#wipe").style.setProperty("--shape", width / height)
	send({type: "picture", rgba: data.data, height, width})
	const [from, to] = [`${image.naturalWidth} × ${image.naturalHeight}`, `${width} × ${height}`]
	say(`${name}: ${from} pixels${from === to ? "" : `, scaled to ${to}`}`)
	refresh()
}

const rescale = () => usePicture(picture.name, picture.image, state.picture)
const useSample = async name => usePicture(name, await decoded(await sampleAddress(name)), true)

async function useFile(file) {
	if (!file) return
	const address = URL.createObjectURL(file)
	try {
		if (/json$/i.test(file.name)) useDraw(file.name, await file.text())
		else usePicture(file.name.replace(/\.\w+$/, ""), await decoded(address), false)
	} catch (error) {
		if (!(error instanceof NoPictureError || error instanceof drawFile.DrawFileError)) throw error
		say(`“${file.name}” cannot be used: ${error.message}.`)
	} finally {
		URL.revokeObjectURL(address)
	}
}

function useDraw(name, text) {
	const draw = drawFile.read(text)
	leaveFile()
	state.method = draw.transform === "ProRandConv" ? "pro" : "rand"
	loaded = {text, draw, before: active()}
	const {padding, contrast} = draw.options
	const parts = Object.fromEntries(PARTS.map(part => [part, contrast.includes(part)]))
	const [k, L] = [draw.weight.shape.at(-1), draw.repeats]
	state[state.method] = {...PAPER[state.method], k, L, padding, ...parts}
	rescale()
	const [height, width] = draw.size
	say(`Draw from “${name}”, made for ${width} × ${height} pixels. “New draw” leaves it.`)
}

function leaveFile() {
	if (!loaded) return
	state[state.method] = loaded.before
	loaded = null
	rescale()
}

// Out

function drawText() {
	return new Promise(done => {
		takeText = done
		send({type: "text", ...facts(state.method)})
	})
}

function names() {
	const stem = picture.name.replace(/[^\w-]+/g, "-")
	const both = `${stem}-${state.method}randconv-${loaded ? "file" : state.seed}-${shown()}`
	const {width, height} = picture.canvas
	const original = `${stem}-${width}x${height}.png`
	return {original, draw: `${both}.draw.json`, result: `${both}.png`}
}

function save(blob, download) {
	const href = URL.createObjectURL(blob)
	make("a", {href, download}).click()
	setTimeout(() => URL.revokeObjectURL(href), 1000)
	say(`Saved ${download}.`)
}

async function copyPython() {
	const code = pythonCode(active(), await drawText(), names())
	try {
		await navigator.clipboard.writeText(code)
		say("Copied. “Save original” writes the picture that the code opens.")
	} catch {
		save(new Blob([code]), "playground.py") // the clipboard may be forbidden
	}
}

// Start

$("#new").onclick = () => {
	leaveFile()
	state.seed = Math.floor(Math.random() * 100000)
	history.pushState(null, "") // the browser's "back" returns to the old draw
	refresh()
}
$("#copy").onclick = copyPython
$("#save-draw").onclick = async () => save(new Blob([await drawText()]), names().draw)
for (const name of ["original", "result"]) {
	$(`#save-${name}`).onclick = () => $(`#${name}`).toBlob(blob => save(blob, names()[name]))
}
$("#choose").onchange = ({target}) => useFile(target.files[0]).then(() => (target.value = ""))
ondragover = event => event.preventDefault()
ondrop = event => (event.preventDefault(), useFile(event.dataTransfer.files[0]))
document.onpaste = ({clipboardData}) => useFile(clipboardData.files[0])
$("#size").onchange = ({target}) => {
	state.size = +target.value
	if (loaded) leaveFile()
	else rescale()
}
$("#keep").onclick = () => {
	if (result()) kept = {settings: {...active(), seed: state.seed}, image: result()}
	showDetails()
}
$("#handle").oninput = ({target}) => $("#wipe").style.setProperty("--wipe", `${target.value}%`)
for (const view of $$("details")) view.ontoggle = showDetails
onresize = matchMedia("(prefers-color-scheme: dark)").onchange = showDetails
onhashchange = () => {
	leaveFile()
	state = {...stateFrom(location.hash), picture: state.picture}
	rescale()
}
buildControls()
showControls()
useSample(state.picture)
