// Pictures: samples, and those that are chosen, dropped or pasted.
"use strict"

class NoPictureError extends Error {}

const samples = {} // name -> promise of its address
const arrived = {}
const addSample = (name, address) => arrived[name](address) // called by the files in samples/

// Load a sample's script: scripts are all that pages opened as files may load.
function sampleAddress(name) {
	samples[name] ??= new Promise(done => {
		arrived[name] = done
		const script = document.createElement("script")
		script.src = `samples/${name}.js`
		document.head.append(script)
	})
	return samples[name]
}

async function decoded(address) {
	const image = new Image()
	image.src = address
	await image.decode().catch(() => {
		throw new NoPictureError("this browser sees no picture in it; a PNG, JPEG or WebP will do")
	})
	return image
}

// A canvas with the picture on white; a longer side than `side` is shrunk to it.
function scaled(image, side, enlarge) {
	let [width, height] = [image.naturalWidth, image.naturalHeight]
	const factor = side / Math.max(width, height)
	const target = [width, height].map(n =>
		Math.max(1, Math.round(n * (enlarge ? factor : Math.min(factor, 1))))
	)
	let source = image
	// By halves: a canvas that shrinks a picture by more at once leaves pixels out.
	do {
		;[width, height] = [width, height].map((n, axis) => Math.max(target[axis], n >> 1))
		const canvas = Object.assign(document.createElement("canvas"), {width, height})
		const context = canvas.getContext("2d", {willReadFrequently: true})
		context.imageSmoothingQuality = "high"
		context.fillStyle = "#fff"
		context.fillRect(0, 0, width, height)
		context.drawImage(source, 0, 0, width, height)
		source = canvas
	} while (width > target[0] || height > target[1])
	return source
}

// Show image data on a canvas.
function paint(canvas, image) {
	Object.assign(canvas, {width: image.width, height: image.height})
	canvas.getContext("2d").putImageData(image, 0, 0)
}
