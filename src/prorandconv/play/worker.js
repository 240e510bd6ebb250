// The worker: strips of frames, one at a time, so that a newer request is heard.

function defineService(drawFile, draws, operator, post) {
	"use strict"
	const ARROWS = 15 // along the longer side
	let picture = null
	const jobs = new Map() // by strip, the frames that are still to be made
	const clock = new MessageChannel()

	// The draw of a request: its file's with other repetitions, or its seed's.
	let file = {}
	function drawOf({text, changes, settings, seed}) {
		if (!text) return draws.make(settings, seed, [picture.height, picture.width])
		if (file.text !== text) file = {text, draw: drawFile.read(text)}
		return {...file.draw, ...changes}
	}

	// Frames of Pro-RandConv are repetitions of one draw; of RandConv, kernel sizes.
	function* frames(request) {
		const {strip, id, settings, most, kernels} = request
		for (const k of kernels) {
			const draw = drawOf({...request, settings: {...settings, k}})
			const prepared = operator.prepare(draw, picture.height, picture.width)
			const original = operator.toPlanes(draw, picture.rgba)
			let planes = original
			for (let repetition = 1; repetition <= most; repetition++) {
				if (draw.layered && repetition > draw.weight.shape[0]) break
				planes = operator.step(prepared, planes, repetition - 1)
				const rgba = operator.toBytes(draw, operator.finish(draw, original, planes))
				const block = repetition === 1 ? describe(prepared) : null
				const name = strip === "pro" ? repetition : k
				yield {type: "frame", strip, id, name, rgba, block}
			}
		}
		yield {type: "done", strip, id}
	}

	// What the page shows of a draw; of the offsets, the middle tap's at a few points.
	function describe({draw, height, width, displaced}) {
		const spacing = Math.max(height, width) / ARROWS
		const [dy, dx] = displaced.slice(displaced.length / 2 - 1)
		const points = []
		for (let y = spacing / 2; dy && y < height; y += spacing) {
			for (let x = spacing / 2; x < width; x += spacing) {
				const pixel = Math.floor(y) * width + Math.floor(x)
				points.push([x, y, dx[pixel], dy[pixel]])
			}
		}
		return {weight: draw.weight, drawn: draw.drawn, spacing, points}
	}

	// Make one frame of the oldest request, then listen again.
	clock.port1.onmessage = () => {
		if (!jobs.size) return
		const [strip, job] = jobs.entries().next().value
		const {value, done} = job.next()
		if (done) jobs.delete(strip)
		else post(value, value.rgba ? [value.rgba.buffer] : [])
		clock.port2.postMessage(null)
	}

	const answers = {
		picture(message) {
			picture = message
			jobs.clear()
		},
		strip(message) {
			jobs.delete(message.strip)
			jobs.set(message.strip, frames(message))
			clock.port2.postMessage(null)
		},
		text(message) {
			post({type: "text", text: drawFile.write(drawOf(message))}, [])
		}
	}
	return message => answers[message.type](message)
}

// Start the service in a worker, or in the page where there is none; returns `send`.
function startService(receive) {
	"use strict"
	const parts = [defineFields, defineDrawFile, defineDraws, defineOperator, defineService]
	const start = post => {
		const fields = defineFields()
		const operator = defineOperator(fields)
		return defineService(defineDrawFile(), defineDraws(fields), operator, post)
	}
	try {
		const source = `${parts.join("\n")}
      const answer = (${start})((message, moved) => postMessage(message, moved));
      onmessage = ({ data }) => answer(data);`
		const worker = new Worker(URL.createObjectURL(new Blob([source], {type: "text/javascript"})))
		worker.onmessage = ({data}) => receive(data)
		return message => worker.postMessage(message)
	} catch {
		return start(receive)
	}
}
